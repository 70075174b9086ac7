#include "sim/load/blockmap.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define GROUP_BITS 6u
#define GROUP_SIZE (1u << GROUP_BITS)

struct blockmap_slot {
    uint64_t space, prefix; /* number >> GROUP_BITS */
    uint32_t group;         /* index + 1, 0 if the slot is free */
};

static size_t slot_of(const struct blockmap *map, uint64_t space, uint64_t prefix)
{
    uint64_t hash = (prefix ^ (space << 40 | space >> 24)) * 0x9e3779b97f4a7c15u;
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)(hash ^ (hash >> 32)) & mask;
    while (map->slots[at].group != 0 &&
           (map->slots[at].prefix != prefix || map->slots[at].space != space))
        at = (at + 1) & mask;
    return at;
}

static void grow(struct blockmap *map)
{
    struct blockmap_slot *old = map->slots;
    size_t old_count = map->slot_count;
    map->slot_count = old_count ? old_count * 2 : 256;
    map->slots = mem_array(map->slot_count, sizeof *map->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].group != 0)
            map->slots[slot_of(map, old[i].space, old[i].prefix)] = old[i];
    free(old);
}

struct block_entry *blockmap_find(const struct blockmap *map, uint64_t space, uint64_t number)
{
    if (map->slot_count == 0)
        return NULL;
    const struct blockmap_slot *slot = &map->slots[slot_of(map, space, number >> GROUP_BITS)];
    if (slot->group == 0)
        return NULL;
    size_t base = (size_t)(slot->group - 1) * GROUP_SIZE;
    return &map->groups[base + (number & (GROUP_SIZE - 1))];
}

struct block_entry *blockmap_put(struct blockmap *map, uint64_t space, uint64_t number)
{
    if (2 * (map->used + 1) > map->slot_count)
        grow(map);
    struct blockmap_slot *slot = &map->slots[slot_of(map, space, number >> GROUP_BITS)];
    if (slot->group == 0) {
        size_t need = (map->used + 1) * GROUP_SIZE;
        map->groups = mem_grow(map->groups, &map->group_capacity, need, sizeof *map->groups);
        memset(&map->groups[map->used * GROUP_SIZE], 0, GROUP_SIZE * sizeof *map->groups);
        *slot = (struct blockmap_slot){space, number >> GROUP_BITS, (uint32_t)++map->used};
    }
    size_t base = (size_t)(slot->group - 1) * GROUP_SIZE;
    return &map->groups[base + (number & (GROUP_SIZE - 1))];
}

void blockmap_clear(struct blockmap *map)
{
    if (map->used > 0)
        memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    map->used = 0;
}

void blockmap_close(struct blockmap *map)
{
    free(map->slots);
    free(map->groups);
    *map = (struct blockmap){0};
}
