#include <stdlib.h>

#include "sim/core/mem.h"
#include "sim/placement.h"

static void add(struct positions *positions, uint64_t position, uint64_t grain, bool newest_only)
{
    if (position > WORKLOAD_TOKENS_MAX)
        return;
    positions->items = mem_grow(positions->items, &positions->capacity, positions->count + 1,
                                sizeof *positions->items);
    positions->items[positions->count++] =
        (struct wanted_position){.position = (uint32_t)(position - position % grain),
                                 .asked = (uint32_t)position,
                                 .newest_only = newest_only};
}

void positions_add_end(struct positions *positions, uint32_t position)
{
    add(positions, position, positions->end_grain, false);
}

void positions_add_newest_end(struct positions *positions, uint32_t position)
{
    add(positions, position, positions->end_grain, true);
}

void positions_add_interior(struct positions *positions, uint64_t position)
{
    add(positions, position, positions->interior_grain, false);
}

static int by_position(const void *a, const void *b)
{
    const struct wanted_position *x = a, *y = b;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->asked != y->asked)
        return x->asked < y->asked ? -1 : 1;
    return (int)x->newest_only - (int)y->newest_only;
}

static bool sorted(const struct positions *positions)
{
    for (size_t i = 1; i < positions->count; i++)
        if (by_position(&positions->items[i - 1], &positions->items[i]) > 0)
            return false;
    return true;
}

void positions_settle(struct positions *positions, uint32_t above, uint32_t end)
{
    struct wanted_position *items = positions->items;
    if (!sorted(positions))
        qsort(items, positions->count, sizeof *items, by_position);
    size_t kept = 0;
    for (size_t i = 0; i < positions->count; i++) {
        if (items[i].position <= above || items[i].position > end)
            continue;
        if (kept == 0 || items[kept - 1].position != items[i].position) {
            items[kept++] = items[i];
            continue;
        }
        items[kept - 1].asked = items[i].asked;
        items[kept - 1].newest_only = items[kept - 1].newest_only && items[i].newest_only;
    }
    positions->count = kept;
}
