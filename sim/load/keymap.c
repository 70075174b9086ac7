#include "sim/load/keymap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define SLOTS_LEAST 256

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static struct keymap_slot *slot_of(const struct keymap *map, uint64_t a, uint64_t b)
{
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)mix(b + mix(a)) & mask;
    while (map->slots[at].value != 0 && (map->slots[at].a != a || map->slots[at].b != b))
        at = (at + 1) & mask;
    return &map->slots[at];
}

static void grow(struct keymap *map)
{
    struct keymap_slot *old = map->slots;
    size_t old_count = map->slot_count;
    map->slot_count = old_count ? old_count * 2 : SLOTS_LEAST;
    map->slots = mem_array(map->slot_count, sizeof *map->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].value != 0)
            *slot_of(map, old[i].a, old[i].b) = old[i];
    free(old);
}

uint32_t keymap_find(const struct keymap *map, uint64_t a, uint64_t b)
{
    return map->slot_count > 0 ? slot_of(map, a, b)->value : 0;
}

void keymap_put(struct keymap *map, uint64_t a, uint64_t b, uint32_t value)
{
    assert(value != 0);
    if (2 * (map->used + 1) > map->slot_count)
        grow(map);
    struct keymap_slot *slot = slot_of(map, a, b);
    map->used += slot->value == 0;
    *slot = (struct keymap_slot){a, b, value};
}

void keymap_clear(struct keymap *map)
{
    if (map->slot_count > SLOTS_LEAST && map->slot_count / 16 > map->used)
        keymap_close(map);
    else if (map->used > 0)
        memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    map->used = 0;
}

void keymap_close(struct keymap *map)
{
    free(map->slots);
    *map = (struct keymap){0};
}
