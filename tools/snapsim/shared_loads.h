/* shared_loads.h - the workloads and schedules of a sweep, each made once and shared by all cells
 * and threads that need it. */
#ifndef SNAPSIM_SHARED_LOADS_H
#define SNAPSIM_SHARED_LOADS_H

#include "sim/load/arrival.h"
#include "tools/snapsim/cells.h"

struct shared_load {
    const struct cell *first; /* the first cell that needs it */
    struct workload *workload;
    struct schedule *schedule;
    bool owns_workload; /* false: another entry's, with another schedule */
    struct err err;     /* why there is none, if workload or schedule is NULL */
};

struct shared_loads {
    struct shared_load *loads;
    size_t count, capacity;
    size_t *of_cell; /* by cell: index into loads */
};

/* Opens every trace that the cells need; relative paths are looked up in directory, then in the
 * current one. What cannot be opened is said in its entry, and is an error of its cells alone. */
void shared_loads_open(struct shared_loads *out, const struct sweep *sweep, const char *directory);
void shared_loads_close(struct shared_loads *loads);

#endif
