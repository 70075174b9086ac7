/* cell.h - what one run changes: the cache, and the placements at work.
 *
 * A cell is a set-up at work on a load. Many cells share both, and nothing else. */
#ifndef SNAPSIM_CELL_H
#define SNAPSIM_CELL_H

#include "sim/engine/setup.h"

struct cell {
    const struct setup *setup;
    const struct workload *workload;
    const struct schedule *schedule;
    struct future future; /* for offline plug-ins */
    struct cache *cache;
    struct running server; /* owns the live states of the one request that runs at a time */
    struct placement_set placements;
    struct positions positions; /* scratch: what the placements ask for */
};

/* All is borrowed. The cell must stay where it is until it is closed. variant: which of the memory
 * strategy's settings (memory.h). err: settings that do not go together, or with the load. */
int cell_open(struct cell *out, const struct setup *setup, const struct workload *workload,
              const struct schedule *schedule, uint32_t variant, struct err *err) MUST_CHECK;
void cell_close(struct cell *cell); /* also after a failed cell_open */

/* What a server knows when the request at a place of the schedule comes. */
struct context cell_context(const struct cell *cell, uint32_t arrival);

/* The positions at which the request that was looked up takes snapshots: cell->positions. */
void cell_plan(struct cell *cell, const struct context *context, const struct lookup *found);

#endif
