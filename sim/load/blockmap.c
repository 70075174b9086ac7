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

/* Runs at least this long become intervals. There are few of them, so a sorted array will do. */
#define LONG_RUN 256u

/* Numbers mostly ascend, so an interval mostly goes to the end. One that would have to move more
 * others than this is kept block by block. */
#define SHIFTED_MAX 4096u

struct blockmap_interval {
    uint64_t space, first, count;
    struct block_entry entry; /* of the first number */
    uint32_t step;
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

/* How many intervals start at or before a number. */
static size_t intervals_before(const struct blockmap *map, uint64_t space, uint64_t number)
{
    size_t low = 0, high = map->interval_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct blockmap_interval *interval = &map->intervals[middle];
        if (interval->space < space || (interval->space == space && interval->first <= number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct block_entry find_in_intervals(const struct blockmap *map, uint64_t space,
                                            uint64_t number)
{
    struct block_entry nothing = {0, 0};
    size_t before = intervals_before(map, space, number);
    if (before == 0)
        return nothing;
    const struct blockmap_interval *interval = &map->intervals[before - 1];
    uint64_t offset = number - interval->first;
    if (interval->space != space || offset >= interval->count)
        return nothing;
    return (struct block_entry){interval->entry.owner,
                                interval->entry.end + (uint32_t)offset * interval->step};
}

struct block_entry blockmap_find(const struct blockmap *map, uint64_t space, uint64_t number)
{
    struct block_entry found = {0, 0};
    if (map->slot_count > 0) {
        const struct blockmap_slot *slot = &map->slots[slot_of(map, space, number >> GROUP_BITS)];
        size_t base = slot->group ? (size_t)(slot->group - 1) * GROUP_SIZE : 0;
        if (slot->group != 0)
            found = map->groups[base + (number & (GROUP_SIZE - 1))];
    }
    return found.owner != 0 || map->interval_count == 0 ? found
                                                        : find_in_intervals(map, space, number);
}

void blockmap_put(struct blockmap *map, uint64_t space, uint64_t number, struct block_entry entry)
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
    map->groups[base + (number & (GROUP_SIZE - 1))] = entry;
}

void blockmap_put_run(struct blockmap *map, uint64_t space, uint64_t first, uint64_t count,
                      struct block_entry entry, uint32_t step)
{
    size_t at = intervals_before(map, space, first);
    if (count < LONG_RUN || map->interval_count - at > SHIFTED_MAX) {
        for (uint64_t i = 0; i < count; i++, entry.end += step)
            blockmap_put(map, space, first + i, entry);
        return;
    }
    map->intervals = mem_grow(map->intervals, &map->interval_capacity, map->interval_count + 1,
                              sizeof *map->intervals);
    memmove(&map->intervals[at + 1], &map->intervals[at],
            (map->interval_count - at) * sizeof *map->intervals);
    map->intervals[at] = (struct blockmap_interval){space, first, count, entry, step};
    map->interval_count++;
}

void blockmap_clear(struct blockmap *map)
{
    if (map->used > 0)
        memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    map->used = 0;
    map->interval_count = 0;
}

void blockmap_close(struct blockmap *map)
{
    free(map->slots);
    free(map->groups);
    free(map->intervals);
    *map = (struct blockmap){0};
}
