/* replay.h - the replay engine: each request is complete before the next; time only orders.
 *
 * For each arrival: look up, let the placement name positions, store, count. Fast; for hit rates
 * and for searching policies. Live states take no room here, unless --slots-per-request says how
 * many of them each request has; as requests are served one by one, that is room for one request.
 */
#ifndef SNAPSIM_REPLAY_H
#define SNAPSIM_REPLAY_H

#include "sim/bound/bound.h"
#include "sim/cache/cache.h"
#include "sim/engine/config.h"
#include "sim/load/arrival.h"

/* The plug-ins that a run may name; each list ends with NULL. */
struct plugins {
    const struct plugin *const *placements, *const *evictions, *const *memories;
    const struct plan *plan; /* for those that follow one; NULL */
};

/* Where the tokens of a prompt went. The first is the hit; the five below it are its misses, and
 * all six add up to the prompt. */
struct outcome {
    uint64_t hit_tokens;
    uint64_t missed_new_tokens;         /* never seen before */
    uint64_t missed_evicted_tokens;     /* seen; their KV was in memory once and is no more */
    uint64_t missed_no_snapshot_tokens; /* seen; no usable snapshot, KV or not */
    uint64_t missed_rounding_tokens;    /* lost to pages, or to the grain of snapshots */
    uint64_t missed_last_tokens;        /* seen; computed because one token has to be */
};

struct request_result {
    uint32_t request; /* index into the workload's requests */
    uint64_t at_ns;
    uint32_t prompt_tokens, match_tokens, seen_tokens;
    struct outcome outcome;
    uint64_t snapshots_taken; /* by this request */
    uint64_t used_bytes;      /* after it */
    struct cache_bytes bytes; /* the same by kind; only for an observer */
};

struct result {
    uint64_t requests, prompt_tokens, computed_tokens, reply_tokens, hit_requests, hit_pages;
    struct outcome sum;
    struct cache_counters cache;
    uint64_t snapshots_hit;
    struct cache_bytes mean;        /* over time; over requests, if all came at one moment */
    struct cache_stranded stranded; /* the mean of up to 16 samples */
    uint64_t page_tokens, place_bytes, quota_bytes; /* of the memory strategy: see memory.h */
    uint64_t moved_bytes, moved_places;
    uint64_t digest; /* of every request's outcome, in order */

    /* What the settings resolved to. */
    struct config config; /* plug-ins with all their parameters, arrival */
    struct model_sizes sizes;
};

/* Called after each request; may be NULL. */
typedef void replay_observer(void *user, const struct request_result *request);

/* Runs one cell. err: settings that do not go together, or (in SIM_CHECK builds) a failed audit.
 * Close *out with result_close. The workload and the schedule must be made for the same config. */
int replay_run(struct result *out, const struct config *config, const struct workload *workload,
               const struct schedule *schedule, const struct plugins *plugins,
               replay_observer *observer, void *user, struct err *err) MUST_CHECK;
void result_close(struct result *result);

/* What the bounds of a config's runs are for. err: the model. */
int replay_bound_input(struct bound_input *out, const struct config *config,
                       const struct workload *workload, const struct schedule *schedule,
                       struct err *err) MUST_CHECK;

#endif
