/* arrival.h - when each request of a workload comes, and what was seen before it.
 *
 * A request comes at the start of its conversation plus its recorded offset; where offsets were not
 * recorded, think times are drawn. Starts are recorded or drawn:
 *
 *     sequential     each conversation to its end before the next, in the order of the trace
 *     recorded       as the trace says
 *     poisson:RATE   RATE conversations start per second
 *     open:N         Poisson at the rate that keeps N conversations open on average
 *     auto           recorded if the trace has all starts, else open:32
 *
 * It needs no tree: the tree is made for it (record.h). A schedule is made once and shared, like
 * the workload, by all runs that use it. */
#ifndef SNAPSIM_ARRIVAL_H
#define SNAPSIM_ARRIVAL_H

#include "sim/load/workload.h"

struct arrival {
    uint32_t request;     /* index into the workload's requests */
    uint32_t seen_tokens; /* leading tokens of its prompt that earlier requests have shown */
    uint64_t at_ns;       /* after the start of the run; never decreases */
    uint32_t turn;        /* how many requests of its stream come before it */
    uint32_t before;      /* the last of them, as a place in this order; of turn 1 and later */
};

struct schedule {
    struct arrival *arrivals; /* of all requests */
    uint32_t count, total;    /* how many are replayed, and all */
    char *how;                /* the resolved setting, as in "open:32" */
    char *setting;            /* the options that give it: "--arrival open:32 --seed 1" */
    uint64_t order_digest;    /* of the order of all; never 0 */
};

/* Whether a setting is one of those above. */
int arrival_check(const char *how, struct err *err) MUST_CHECK;

/* limit: only the first so many requests of the order, 0 for all. err for an unknown setting, or
 * one that the trace cannot give. The workload needs no tree; seen_tokens are 0. */
int schedule_open(struct schedule **out, const struct workload *workload, const char *how,
                  uint64_t seed, uint64_t limit, struct err *err) MUST_CHECK;
void schedule_close(struct schedule *schedule);

/* Fills in seen_tokens, which need the tree. */
void schedule_fill_seen(struct schedule *schedule, const struct workload *workload);

#endif
