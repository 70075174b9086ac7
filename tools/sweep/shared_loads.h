/* shared_loads.h - the loads of a sweep, each made once and shared by all cells and threads that
 * need it. What is read of a trace is shared by the loads that are made of it.
 *
 * One is opened when the first cell that runs needs it, and goes with the last. What no cell needs,
 * as in a part of a sweep, is only read for its digest. What cannot be opened is an error of its
 * cells alone. */
#ifndef SNAPSIM_SHARED_LOADS_H
#define SNAPSIM_SHARED_LOADS_H

#include <pthread.h>

#include "tools/sweep/cells.h"
#include "tools/sweep/load.h"

struct shared_record {
    const struct sweep_cell *first; /* the first cell that needs it */
    char sha256[65];                /* of the trace's content, or "?" */
    struct record *record;
    size_t uses; /* loads that cells are still to take */
};

struct shared_load {
    const struct sweep_cell *first;
    size_t record; /* index into records */
    struct load load;
    bool failed;
    struct err err; /* why */
    size_t uses;    /* cells that are still to drop it */
};

struct shared_loads {
    const struct sweep *sweep;
    const char *directory;
    struct shared_record *records;
    struct shared_load *loads;
    size_t record_count, record_capacity, count, capacity;
    size_t *of_cell; /* by cell: index into loads */
    pthread_mutex_t lock;
};

/* Relative paths are looked up in directory, then in the current one. Both are borrowed. */
void shared_loads_open(struct shared_loads *out, const struct sweep *sweep, const char *directory);
void shared_loads_close(struct shared_loads *loads);

/* The digest of a cell's trace, or "?" if it cannot be read. */
const char *shared_loads_sha256(const struct shared_loads *loads, size_t cell);

/* Says that a cell will be run; before any is taken. */
void shared_loads_expect(struct shared_loads *loads, size_t cell);

/* The load of a cell that was expected, until it is dropped, which is due in either case. */
int shared_loads_take(struct shared_loads *loads, size_t cell, struct load *out,
                      struct err *err) MUST_CHECK;
void shared_loads_drop(struct shared_loads *loads, size_t cell);

/* The memory of all that is open. */
uint64_t shared_loads_bytes(const struct shared_loads *loads);

#endif
