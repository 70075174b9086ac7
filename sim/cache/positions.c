#include <stdlib.h>

#include "sim/core/mem.h"
#include "sim/core/whole.h"
#include "sim/placement.h"

/* ---- grains ---- */

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    return a / whole_divisor(a, b) * b; /* both are at most 2^20 */
}

struct grains grains_of(uint64_t grain, uint64_t match_unit, uint64_t chunk)
{
    uint64_t unit = match_unit ? match_unit : 1;
    if (grain) {
        uint64_t both = common_multiple(grain, unit);
        return (struct grains){.end = both, .grid = both, .interior = both, .chunk = chunk};
    }
    /* A server that matches whole units ends its steps at them, unless they are too short. */
    uint64_t interior = unit >= chunk ? unit : common_multiple(chunk, unit);
    return (struct grains){.end = unit, .grid = unit, .interior = interior, .chunk = chunk};
}

static uint64_t grain_of_interval(const struct grains *grains, uint64_t interval)
{
    return interval >= grains->chunk ? grains->grid : grains->interior;
}

uint64_t grains_grid_in_force(const struct grains *grains, uint64_t interval)
{
    uint64_t grain = grain_of_interval(grains, interval);
    return interval % grain == 0 ? interval : grain;
}

/* ---- positions ---- */

void positions_clear(struct positions *positions)
{
    positions->count = 0;
    positions->newest = 0;
}

/* Makes one of two wishes for the same position. */
static void join(struct wanted_position *into, const struct wanted_position *other)
{
    if (into->asked < other->asked)
        into->asked = other->asked;
    into->newest_only = into->newest_only && other->newest_only;
}

static inline void add(struct positions *positions, uint64_t position, uint64_t grain,
                       bool newest_only)
{
    if (position > WORKLOAD_TOKENS_MAX)
        return;
    const struct wanted_position wanted = {.position = (uint32_t)(position - position % grain),
                                           .asked = (uint32_t)position,
                                           .newest_only = newest_only};
    size_t count = positions->count;
    if (count > 0 && positions->items[count - 1].position == wanted.position) {
        join(&positions->items[count - 1], &wanted);
        return;
    }
    if (count == positions->capacity)
        positions->items =
            mem_grow(positions->items, &positions->capacity, count + 1, sizeof *positions->items);
    positions->items[count] = wanted;
    positions->count = count + 1;
}

void positions_add_end(struct positions *positions, uint32_t position)
{
    add(positions, position, positions->grains.end, false);
}

void positions_add_newest_end(struct positions *positions, uint32_t position)
{
    add(positions, position, positions->grains.end, true);
    positions->newest = (uint32_t)(position - position % positions->grains.end);
}

void positions_add_interior(struct positions *positions, uint64_t position)
{
    add(positions, position, positions->grains.interior, false);
}

void positions_add_multiples(struct positions *positions, uint64_t interval, uint32_t above,
                             uint32_t end)
{
    uint64_t grain = grain_of_interval(&positions->grains, interval);
    for (uint64_t next = above - above % interval + interval; next <= end; next += interval) {
        if (interval < grain) { /* of those that are floored to one position, the last one counts */
            uint64_t last = next - next % grain + grain - 1;
            next = last < end ? last - last % interval : end - end % interval;
        }
        add(positions, next, grain, false);
    }
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
        join(&items[kept - 1], &items[i]);
    }
    positions->count = kept;
}
