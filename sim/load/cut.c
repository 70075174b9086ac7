#include "sim/load/cut.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

void cut_open(struct cut *cut)
{
    *cut = (struct cut){0};
    cut_add_segment(cut, (struct cut_point){CUT_ROOT, 0}, 0);
}

void cut_close(struct cut *cut)
{
    free(cut->segments);
    *cut = (struct cut){0};
}

/* Where a jump ends: where two jumps from the segment above end, if those are equally far, else at
 * the segment above. Jumps then double as they go up, so that any segment above is reached in a
 * logarithm of steps (Myers, An applicative random-access stack, 1983). */
static uint32_t jump_of(const struct cut *cut, uint32_t above)
{
    const struct cut_segment *segments = cut->segments;
    uint32_t first = segments[above].jump, second = segments[first].jump;
    bool equal = segments[above].level - segments[first].level ==
                 segments[first].level - segments[second].level;
    return equal ? second : above;
}

uint32_t cut_add_segment(struct cut *cut, struct cut_point attach, uint32_t end)
{
    size_t id = cut->count++;
    assert(id < UINT32_MAX);
    cut->segments = mem_grow(cut->segments, &cut->capacity, cut->count, sizeof *cut->segments);
    struct cut_segment segment = {attach, end, CUT_ROOT, 0};
    if (id != CUT_ROOT) {
        segment.level = cut->segments[attach.segment].level + 1;
        segment.jump = jump_of(cut, attach.segment);
    }
    cut->segments[id] = segment;
    return (uint32_t)id;
}

uint32_t cut_segment_at(const struct cut *cut, uint32_t segment, uint32_t position, uint64_t *steps)
{
    const struct cut_segment *segments = cut->segments;
    while (segment != CUT_ROOT && position <= segments[segment].attach.position) {
        /* A jump may not go past the wanted one: the first whose attach is before the position. */
        uint32_t jump = segments[segment].jump;
        segment =
            position <= segments[jump].attach.position ? jump : segments[segment].attach.segment;
        ++*steps;
    }
    return segment;
}

static int by_position(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* All cuts, segment after segment: those of segment s are cuts[first[s]] .. cuts[first[s+1]-1],
 * ascending and each once when sorted. */
struct cuts {
    size_t *first;
    uint32_t *position;
};

/* The root has no tokens to cut: what lies there is the root itself. */
static void count_point(struct cut_point point, size_t *first)
{
    if (point.segment != CUT_ROOT)
        first[point.segment + 1]++;
}

static void put_point(struct cut_point point, size_t *next, uint32_t *position)
{
    if (point.segment != CUT_ROOT)
        position[next[point.segment]++] = point.position;
}

static struct cut_point end_of(const struct cut *cut, size_t segment)
{
    return (struct cut_point){(uint32_t)segment, cut->segments[segment].end};
}

static struct cuts collect(const struct cut *cut, const struct cut_point *points, size_t count)
{
    struct cuts cuts = {.first = mem_array(cut->count + 1, sizeof *cuts.first)};
    for (size_t i = 0; i < count; i++)
        count_point(points[i], cuts.first);
    for (size_t s = 1; s < cut->count; s++) {
        count_point(cut->segments[s].attach, cuts.first);
        count_point(end_of(cut, s), cuts.first);
    }
    for (size_t s = 0; s < cut->count; s++)
        cuts.first[s + 1] += cuts.first[s];
    cuts.position = mem_array(cuts.first[cut->count], sizeof *cuts.position);
    size_t *next = mem_array(cut->count, sizeof *next);
    memcpy(next, cuts.first, cut->count * sizeof *next);
    for (size_t i = 0; i < count; i++)
        put_point(points[i], next, cuts.position);
    for (size_t s = 1; s < cut->count; s++) {
        put_point(cut->segments[s].attach, next, cuts.position);
        put_point(end_of(cut, s), next, cuts.position);
    }
    free(next);
    return cuts;
}

/* Sorts each segment's cuts and closes up over equal ones. */
static void sort_unique(struct cuts *cuts, size_t segments)
{
    size_t kept = 0, from = 0;
    for (size_t s = 0; s < segments; s++) {
        size_t to = cuts->first[s + 1];
        qsort(cuts->position + from, to - from, sizeof *cuts->position, by_position);
        size_t start = kept;
        for (size_t i = from; i < to; i++)
            if (kept == start || cuts->position[i] != cuts->position[kept - 1])
                cuts->position[kept++] = cuts->position[i];
        cuts->first[s] = start;
        from = to;
    }
    cuts->first[segments] = kept;
}

/* Node 0 is the root; the cuts follow in order, so node = index of the cut + 1. */
static node_id node_at(const struct cuts *cuts, struct cut_point point)
{
    if (point.segment == CUT_ROOT)
        return NODE_ROOT;
    size_t low = cuts->first[point.segment], high = cuts->first[point.segment + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cuts->position[middle] < point.position)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low < cuts->first[point.segment + 1] && cuts->position[low] == point.position);
    return (node_id)(low + 1);
}

void cut_finish(const struct cut *cut, const struct cut_point *points, size_t point_count,
                node_id *found, struct node **nodes, uint32_t *node_count)
{
    struct cuts cuts = collect(cut, points, point_count);
    sort_unique(&cuts, cut->count);
    size_t count = cuts.first[cut->count];
    struct node *made = mem_array(count + 1, sizeof *made);
    for (size_t s = 1; s < cut->count; s++) {
        node_id parent = node_at(&cuts, cut->segments[s].attach);
        for (size_t i = cuts.first[s]; i < cuts.first[s + 1]; i++) {
            made[i + 1] = (struct node){parent, cuts.position[i]};
            parent = (node_id)(i + 1);
        }
    }
    for (size_t i = 0; i < point_count; i++)
        found[i] = node_at(&cuts, points[i]);
    *nodes = made;
    *node_count = (uint32_t)(count + 1);
    free(cuts.first);
    free(cuts.position);
}
