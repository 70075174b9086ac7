/* plan.h - a schedule that knows the future: how deep each request will hit, and which snapshots
 * each takes and keeps for that.
 *
 * The requests are gone through by what they gain at the dual's prices, and by arrival; each gets
 * the deepest hit for which there still is room, its KV cut to that if need be. The better one
 * stays. No policy can see what this uses; but whoever knew the depths could follow them through
 * the ordinary cache, token by token, so what it hits can be reached. */
#ifndef SNAPSIM_PLAN_H
#define SNAPSIM_PLAN_H

#include "sim/bound/draft.h"
#include "sim/bound/dual.h"

/* A snapshot that an arrival takes, or stands on itself, and leaves for a later one. */
struct plan_snapshot {
    uint32_t position;
    uint32_t until; /* the arrival that comes for it */
};

struct plan {
    uint32_t *depths;                /* by arrival: what it hits */
    size_t *first;                   /* by arrival: its snapshots are [first[i], first[i + 1]) */
    struct plan_snapshot *snapshots; /* of each arrival in the order of `until` */
    uint32_t arrivals;
    uint64_t hit_tokens;
};

/* The dual must have searched. */
void plan_open(struct plan *plan, const struct bound_input *input, const struct dual *dual);
void plan_close(struct plan *plan);

/* The snapshot at a position that an arrival leaves, or NULL. */
const struct plan_snapshot *plan_find(const struct plan *plan, uint32_t arrival, uint32_t position);

#endif
