/* future.h - what only offline plug-ins are shown: the whole load, in the order in which it comes.
 */
#ifndef SNAPSIM_FUTURE_H
#define SNAPSIM_FUTURE_H

#include "sim/load/arrival.h"

struct plan; /* sim/bound/plan.h */

struct future {
    const struct workload *workload;
    const struct schedule *schedule;
    uint64_t min_compute_tokens; /* of each prompt: no hit reaches into its last ones */
    const struct plan *plan;     /* for those that follow one; else NULL */
};

#endif
