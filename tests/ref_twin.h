/* ref_twin.h - the fast cache and the reference model, driven by the same steps.
 *
 * Each step is taken by both, then everything that can be seen is compared: the answer, what the
 * look-up found, the bytes in use, which KV is resident, where snapshots stand, the counters; and
 * the fast cache audits itself. Steps are noted in `log`, so that a failure can show the way. */
#ifndef SNAPSIM_REF_TWIN_H
#define SNAPSIM_REF_TWIN_H

#include "sim/engine/cell.h"
#include "tests/ref_case.h"
#include "tests/ref_running.h"

/* A request at work in both; slots are numbered. */
struct twin_slot {
    struct running fast;
    struct ref_running model;
};

struct twin {
    const struct ref_case *settings;
    const struct ref_trace *trace;
    struct record *record;
    struct config config;
    struct load load;
    struct models models;
    struct setup setup;
    struct cell cell;

    struct ref_request *requests; /* in the order in which they come */
    uint32_t request_count;
    struct ref_cache *model;
    struct twin_slot *slots;
    uint32_t slot_count;

    uint32_t **paths;  /* by request: the model's prefixes on its path; NULL before its start */
    uint32_t *walkers; /* by node: 1 + a request that started and walks it, or 0 */
    struct positions positions; /* scratch */
    struct text log;
};

/* Between ref_models_open and ref_models_close. The cell and the trace are borrowed. Close it also
 * after a failure. */
int twin_open(struct twin *out, const struct ref_case *cell, const struct ref_trace *trace,
              uint32_t slot_count, struct err *err) MUST_CHECK;
void twin_close(struct twin *twin);

/* Ends the test, and shows the cell, the trace and the steps so far. */
void twin_fail(const struct twin *twin, const char *where, const char *what);

static inline bool twin_is_running(const struct twin *twin, uint32_t slot)
{
    return twin->slots[slot].model.request != NULL;
}

/* How many tokens of the path of a request that has started are resident, in the model. */
uint32_t twin_resident(const struct twin *twin, uint32_t arrival);

/* The steps. -1: the two differ, and err says in what. *done: what both answered. */
int twin_start(struct twin *twin, uint32_t slot, uint32_t arrival, struct err *err) MUST_CHECK;
int twin_reserve(struct twin *twin, uint32_t slot, uint32_t kv_end, const struct ref_wishes *wanted,
                 bool *done, struct err *err) MUST_CHECK;
int twin_commit(struct twin *twin, uint32_t slot, bool *done, struct err *err) MUST_CHECK;
int twin_add_live_state(struct twin *twin, uint32_t slot, bool *done, struct err *err) MUST_CHECK;
int twin_abort(struct twin *twin, uint32_t slot, struct err *err) MUST_CHECK;
int twin_end(struct twin *twin, uint32_t slot, struct err *err) MUST_CHECK;

#endif
