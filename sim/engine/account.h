/* account.h - what a run counts: where each prompt's tokens went, and the sums of a result. */
#ifndef SNAPSIM_ACCOUNT_H
#define SNAPSIM_ACCOUNT_H

#include "sim/engine/cell.h"

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
    bool from_snapshot;       /* it started from one */
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
    struct grains grains;          /* where snapshots may be; zeroes for a model that has none */
    uint64_t snapshot_grid_tokens; /* of placements with an interval; 0 without one */
    uint64_t steps;                /* see cache_steps(); not printed */
    uint64_t digest;               /* of every request's outcome, in order */

    /* What the settings resolved to. */
    struct config config; /* plug-ins with all their parameters, arrival */
    struct model_sizes sizes;
    char model_sha256[SHA256_TEXT]; /* of its content: model_digest() */
};

/* What happened to one request that was looked up and stored; taken_before: snapshots that the run
 * had taken when the request came. */
struct request_result account_request(const struct cell *cell, uint32_t arrival,
                                      const struct lookup *found, uint64_t taken_before);

/* Adds a request to the sums and the digest. */
void account_add(struct result *result, const struct cell *cell,
                 const struct request_result *request);

/* Whether the books are in order; cheap, and done in every build. After each request: no more is in
 * use than there is. At the end: what came in either left or is there, and every prompt token went
 * somewhere. err names the request, or the sum that is wrong. */
int account_check_request(const struct cell *cell, const struct request_result *request,
                          struct err *err) MUST_CHECK;
int account_check_end(const struct result *result, const struct cell *cell,
                      struct err *err) MUST_CHECK;

void result_close(struct result *result);

#endif
