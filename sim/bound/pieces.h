/* pieces.h - what each request finds of its path, cut where the request that used it last changes.
 *
 *     prompt of request 7   0 ---------- 3000 ------------- 5000 ... not seen before
 *     used last by            request 6        request 2            [0, 3000) and [3000, 5000)
 *
 * Within a piece all tokens, and the states after them, wait equally long for the request; so what
 * depth costs and gains there grows by the token. A deeper piece was used last no later than a
 * shallower one, because who goes through it goes through all that is above it. The last tokens of
 * a prompt, which are computed in any case, and the reply are of no use to the request; but they
 * may be held for others while it comes, so they are pieces of their own. */
#ifndef SNAPSIM_PIECES_H
#define SNAPSIM_PIECES_H

#include <stdbool.h>

#include "sim/load/arrival.h"

/* What a bound is for: a load, and what its cache is like. A request can take snapshots after as
 * many tokens as are a multiple of the interior grain; from some depth on, at multiples of the grid
 * too, as placements with an interval take them; and at the ends of its prompt and reply, floored
 * to the end grain (struct grains in sim/placement.h). */
struct bound_input {
    const struct workload *workload;
    const struct schedule *schedule;
    uint64_t min_compute_tokens;                    /* of each prompt */
    uint64_t kv_bytes;                              /* of a token */
    uint64_t snapshot_bytes;                        /* 0 for a model without recurrent layers */
    uint64_t capacity_bytes;                        /* UNITS_UNLIMITED: no limit */
    uint64_t interior_grain, grid_grain, end_grain; /* tokens, at least 1 */
    uint64_t grid_from;                             /* the shallowest place on the grid */
};

#define NO_INTERIOR UINT32_MAX /* an interior grain or a grid: no prompt is so long */

/* The deepest place for a snapshot at or above a depth, ends of requests aside; 0: none. */
static inline uint32_t bound_place(const struct bound_input *input, uint32_t depth)
{
    uint64_t interior = depth - depth % input->interior_grain;
    uint64_t grid = depth - depth % input->grid_grain;
    return (uint32_t)(grid >= input->grid_from && grid > interior ? grid : interior);
}

struct piece {
    uint32_t end;       /* tokens; it starts where the one above ends */
    uint32_t since;     /* the arrival that used it last */
    uint32_t low, high; /* the shallowest and the deepest place for a snapshot in it; 0: none */
};

struct pieces {
    struct piece *items; /* of each arrival the deepest first */
    size_t count, capacity;
    size_t *first;  /* by arrival: its pieces are [first[i], first[i + 1]) */
    size_t *usable; /* by arrival: those it can hit are [usable[i], first[i + 1]) */
    uint32_t arrivals;
    uint64_t prompt_tokens, ideal_tokens; /* of all prompts; of all that can be hit */
};

void pieces_open(struct pieces *out, const struct bound_input *input);
void pieces_close(struct pieces *pieces);

static inline bool pieces_can_hit(const struct pieces *pieces, uint32_t arrival)
{
    return pieces->usable[arrival] < pieces->first[arrival + 1];
}

/* How deep an arrival can hit. */
static inline uint32_t pieces_limit(const struct pieces *pieces, uint32_t arrival)
{
    return pieces_can_hit(pieces, arrival) ? pieces->items[pieces->usable[arrival]].end : 0;
}

/* Where a piece of an arrival starts. */
static inline uint32_t piece_start(const struct pieces *pieces, uint32_t arrival, size_t piece)
{
    return piece + 1 < pieces->first[arrival + 1] ? pieces->items[piece + 1].end : 0;
}

#endif
