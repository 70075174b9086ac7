/* ref_running.h - requests that run at the same time, in the reference model.
 *
 * The rules are those of sim/cache/cache.h. Nothing is counted up and down: what is pinned is found
 * by asking every running request whether it pins that, and what is reserved by adding up what
 * every other running request holds.
 *
 *     path of a request   0 --------- hit ------- committed ------ kv_end
 *     pinned              ================================                  until it is over
 *     reserved                                            =========         until commit or abort
 */
#ifndef SNAPSIM_REF_RUNNING_H
#define SNAPSIM_REF_RUNNING_H

#include "tests/ref_cache.h"

/* Zeroed before its first start; ref_running_close when it is used no more. */
struct ref_running {
    const struct ref_request *request; /* NULL: it is not running */
    uint32_t arrival;
    uint32_t *path; /* path[p] is the prefix of its first p tokens */
    size_t path_capacity;

    /* what the look-up found */
    uint32_t seen, match, hit, kept, limit, consumed_asked;
    uint32_t consumed; /* serial of the consumed snapshot, or 0 */
    bool forks;

    uint32_t committed; /* KV that it has stored: [0, committed) */
    uint32_t newest;    /* `last`: the place of its stream's one snapshot; 0 if it does not say */
    uint64_t live_states;

    /* what it holds reserved */
    bool reserved;
    uint32_t kv_end;
    uint32_t kv_there; /* KV up to here was resident, and is pinned */
    struct ref_wishes wanted;
    uint64_t pages, snapshots;
};

void ref_start(struct ref_cache *cache, struct ref_running *r, uint32_t arrival);

/* Both are false if there is no room, although all that may go has gone. */
bool ref_reserve(struct ref_cache *cache, struct ref_running *r, uint32_t kv_end,
                 const struct ref_wishes *wanted);
bool ref_commit(struct ref_cache *cache, struct ref_running *r);

void ref_abort(struct ref_cache *cache, struct ref_running *r);
void ref_end(struct ref_cache *cache, struct ref_running *r);
bool ref_add_live_state(struct ref_cache *cache, struct ref_running *r);

/* Whether what is in use and all that is reserved fit together. */
bool ref_keeps_promises(struct ref_cache *cache);

void ref_running_close(struct ref_running *r);

/* For the files of the model only. */

uint32_t ref_resident_on_path(const struct ref_cache *cache, const struct ref_running *r,
                              uint32_t end);
void ref_use_kv(struct ref_cache *cache, const struct ref_running *r, uint32_t to);
uint32_t ref_kv_pin_end(const struct ref_running *r); /* KV of its path up to here may not go */
bool ref_snapshot_pinned(const struct ref_cache *cache, uint32_t serial);

/* A commit that does not look at the peak: one by one, a request is measured when it is over. */
bool ref_store(struct ref_cache *cache, struct ref_running *r);

#endif
