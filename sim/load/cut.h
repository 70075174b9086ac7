/* cut.h - a forest of segments, and its cutting into the nodes of a workload.
 *
 *     segment 1  [0 ............ 5000)
 *     segment 2          attach 3000 [3000 .... 3700)
 *
 * A segment is a run of tokens that starts at a point of an earlier segment. When all are known,
 * they are cut at every point where another attaches and at every point asked for. */
#ifndef SNAPSIM_CUT_H
#define SNAPSIM_CUT_H

#include <stddef.h>

#include "sim/load/workload.h"

#define CUT_ROOT 0u /* the segment without tokens from which all start */

struct cut_point {
    uint32_t segment;
    uint32_t position; /* tokens from the start of the prompt: attach < position <= end */
};

struct cut {
    struct cut_segment {
        struct cut_point attach;
        uint32_t end;
        uint32_t jump, level; /* a segment above it, further up; how many are above it */
    } * segments;
    size_t count, capacity;
};

void cut_open(struct cut *cut);
void cut_close(struct cut *cut);

/* Adds a segment [attach.position, end) and returns its number. */
uint32_t cut_add_segment(struct cut *cut, struct cut_point attach, uint32_t end);

/* The segment, among `segment` and those it hangs on, that holds the token before `position`. Its
 * steps are few also where many hang one on another (*steps counts them). */
uint32_t cut_segment_at(const struct cut *cut, uint32_t segment, uint32_t position,
                        uint64_t *steps);

/* Cuts, and gives for each point the node that ends there. Nodes are the caller's to free. */
void cut_finish(const struct cut *cut, const struct cut_point *points, size_t point_count,
                node_id *found, struct node **nodes, uint32_t *node_count);

#endif
