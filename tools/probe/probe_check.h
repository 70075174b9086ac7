/* probe_check.h - every kernel against the double-precision reference, at small shapes.
 *
 * One table of checks serves the host shim, where `make test` runs it, and the GPU, where it runs
 * before anything is timed: a kernel with a failed check is not timed and no file is written.
 * Outputs are poisoned with NaN before each run, so what a kernel forgets to write shows, and so
 * does what it writes behind its memory. */
#ifndef SNAPSIM_PROBE_CHECK_H
#define SNAPSIM_PROBE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "tools/probe/kernels.h"
#include "tools/probe/probe_lab.h"
#include "tools/probe/probe_plan.h"

#define CHECK_SEQUENCES 4

/* What a check runs at; each kind of kernel uses the fields that it knows. */
struct check_shape {
    uint32_t heads, key_heads, sequences;
    struct plan_sequence sequence[CHECK_SEQUENCES]; /* MLA decode: tokens = context */
    uint32_t interval, warps;
    enum kernel_gate gate;
    double gate_mean; /* of raw gate + bias: sets how strong the decay is */
    bool scalar, fresh, snapshot_bf16;
    bool large;      /* many blocks at once: for a GPU, too slow for the shim in a test */
    bool small_keys; /* so small that the epsilon of the norm counts */
    uint32_t page_tokens, split_tokens, channels;
};

/* The worst comparison of a check: the largest error relative to its bound. */
struct check_outcome {
    double error, bound; /* relative Frobenius; a bound of 0 asks for equality */
    char what[64];
};

struct check {
    const char *name;   /* unique */
    const char *kernel; /* whose timing depends on it, as in the calibration file */
    void (*run)(struct lab *lab, const struct check_shape *shape, struct check_outcome *outcome);
    struct check_shape shape;
};

size_t probe_check_count(void);
const struct check *probe_check_at(size_t index);

/* Returns -1 and err if it could not be run; *passed says whether the kernel is right. */
int probe_check_run(const struct check *check, uint64_t seed, struct check_outcome *outcome,
                    bool *passed, struct err *err) MUST_CHECK;

/* For the checks: compares and keeps the worst. */
void probe_check_compare(struct check_outcome *outcome, const char *what, const double *got,
                         const double *want, size_t count, double bound);
void probe_check_equal(struct check_outcome *outcome, const char *what, const void *got,
                       const void *want, size_t bytes);

/* check_recurrent.c, check_attention.c, check_bytes.c */
void check_recurrent_prefill(struct lab *lab, const struct check_shape *shape,
                             struct check_outcome *outcome);
void check_recurrent_resume(struct lab *lab, const struct check_shape *shape,
                            struct check_outcome *outcome);
void check_recurrent_decode(struct lab *lab, const struct check_shape *shape,
                            struct check_outcome *outcome);
void check_recurrent_conv_prefill(struct lab *lab, const struct check_shape *shape,
                                  struct check_outcome *outcome);
void check_recurrent_conv_update(struct lab *lab, const struct check_shape *shape,
                                 struct check_outcome *outcome);
void check_attention_decode(struct lab *lab, const struct check_shape *shape,
                            struct check_outcome *outcome);
void check_attention_prefill(struct lab *lab, const struct check_shape *shape,
                             struct check_outcome *outcome);
void check_bytes_snapshot(struct lab *lab, const struct check_shape *shape,
                          struct check_outcome *outcome);
void check_bytes_gather(struct lab *lab, const struct check_shape *shape,
                        struct check_outcome *outcome);
void check_bytes_plain(struct lab *lab, const struct check_shape *shape,
                       struct check_outcome *outcome);
void check_bytes_fill(struct lab *lab, const struct check_shape *shape,
                      struct check_outcome *outcome);

#endif
