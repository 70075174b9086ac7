/* ref_trace.h - small random traces for tests, and what they mean, found without a tree.
 *
 * A trace is drawn as texts of tokens; a number names each distinct text that ends at a block's
 * end. From the numbers alone, ref_trace_resolve() finds lists of tokens by the rule that stands in
 * sim/load/build.h; ref_trace_build() gives the same numbers to the fast code. */
#ifndef SNAPSIM_REF_TRACE_H
#define SNAPSIM_REF_TRACE_H

#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "sim/load/build.h"
#include "tests/ref_cache.h"

#define REF_BOUNDS_MAX 4

/* One request as it was drawn. */
struct ref_drawn {
    uint32_t conversation, stream;
    uint32_t in, out;
    uint32_t *text; /* in + out tokens */
    uint64_t at;    /* from the start of the trace, in seconds */
    uint32_t system_tokens;
    uint32_t bounds[REF_BOUNDS_MAX];
    uint32_t bound_count;
    struct declared declared; /* of what comes back */
};

struct ref_trace {
    uint32_t block_tokens;
    bool local_numbers, drop_replies, keep_partial, replies_named;
    bool declares; /* set before drawing: half the requests say what comes back */
    uint64_t number_factor, number_shift; /* renaming: number x becomes x * factor + shift */
    struct ref_drawn *drawn;              /* in the order of the trace */
    uint32_t count;
};

/* How large a trace is drawn; each is a largest value. */
struct ref_shape {
    uint32_t requests, conversations, tokens, chunk;
};

void ref_trace_draw(struct ref_trace *trace, struct rng *rng, const struct ref_shape *shape);
void ref_trace_close(struct ref_trace *trace);

/* Copies some of the requests, in order. keep[i]: whether the i-th stays. */
void ref_trace_select(struct ref_trace *out, const struct ref_trace *from, const bool *keep);

int ref_trace_build(const struct ref_trace *trace, struct record **out, struct err *err) MUST_CHECK;

/* The lists of tokens, in the order of the trace, when the requests come in another one: order
 * holds their indices, NULL for that of the trace. Freed by ref_requests_close. */
struct ref_request *ref_trace_resolve(const struct ref_trace *trace, const uint32_t *order);
void ref_requests_close(struct ref_request *requests, uint32_t count);

/* The trace as C text that a test can be made of. */
void ref_trace_print(const struct ref_trace *trace, struct text *out);

#endif
