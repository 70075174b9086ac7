/* limits.h - between what the best possible lies, for the load, the model and the capacity of a
 * setting: the dual of sim/bound/bound.h from above, and from below what a replay hits that
 * follows its plan. */
#ifndef SNAPSIM_LIMITS_H
#define SNAPSIM_LIMITS_H

#include <pthread.h>

#include "sim/core/json.h"
#include "sim/model/models.h"
#include "tools/snapsim/load.h"

#define LIMITS_STEPS 400 /* prices that are tried unless asked for */

struct limits {
    uint64_t ideal_tokens, dual_tokens;
    uint64_t feasible_tokens; /* by a plan; memory ideal */
    uint64_t exact_tokens;    /* the best there is; only where it was asked for */
    bool exact_known;
};

struct limits_wanted {
    uint64_t steps; /* prices that are tried, at least 1 */
    bool ends_only; /* for snapshots at ends of prompts and replies only */
    bool exact;
};

/* err: the model; or, if the exact ones are wanted, the load is too large for that. */
int limits_find(struct limits *out, const struct config *config, const struct load *load,
                struct models *models, const struct limits_wanted *wanted,
                struct err *err) MUST_CHECK;

/* Adds them to the `result` of a JSON object. */
void limits_write(const struct limits *limits, struct json *result);

/* Found once for all settings and threads that share them. */
struct limits_memo {
    struct limits_entry *entries;
    size_t count, capacity;
    pthread_mutex_t lock;
    pthread_cond_t found;
};

void limits_memo_open(struct limits_memo *memo);
void limits_memo_close(struct limits_memo *memo);

/* load_id: equal for equal loads. */
int limits_memo_find(struct limits_memo *memo, struct limits *out, const struct config *config,
                     const struct load *load, size_t load_id, struct models *models,
                     struct err *err) MUST_CHECK;

#endif
