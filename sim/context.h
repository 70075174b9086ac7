/* context.h - what a server knows at the moment when a request comes.
 *
 * Every hook of a policy is given this, and nothing else about the load: neither requests that come
 * later, nor how the tree is cut because of them. */
#ifndef SNAPSIM_CONTEXT_H
#define SNAPSIM_CONTEXT_H

#include "sim/load/workload.h"
#include "sim/model/model.h"

/* The request before this one in its stream: the turn that the same user, or agent, had before. */
struct context_before {
    uint32_t arrival; /* its place in the order of arrival */
    uint64_t at_ns;   /* when it came; this one's time minus that is the pause between them */
    uint32_t prompt_tokens, reply_tokens;
};

struct context {
    uint32_t arrival;              /* the request's place in the order of arrival: 0, 1, ... */
    uint64_t at_ns;                /* when it comes, after the start of the run */
    uint32_t turn;                 /* how many requests of its stream came before it */
    struct context_before before;  /* of turn 1 and later; zeroes on turn 0 */
    const struct request *request; /* its stream, conversation and path; a server knows the path
                                      beyond the prompt only when the reply has ended */
};

/* What does not change in a run; given to every policy when it is opened. Outlives the policy. */
struct run_facts {
    const struct model *model;
    const struct model_sizes *sizes; /* bytes of a snapshot, a live state, a token's KV, per GPU */
    uint64_t capacity_bytes;         /* UNITS_UNLIMITED: no limit */
};

#endif
