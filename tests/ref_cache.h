/* ref_cache.h - the slow, obvious model of the prefix cache, against which the fast one is tested.
 *
 * Requests are explicit lists of tokens. What is stored is a plain list of *prefixes* ("the KV of
 * the last token of this list of tokens is here") and a plain list of snapshots. Everything is
 * found by comparing tokens from the start; nothing is cut into nodes, pages are counted from
 * nothing, and what leaves next is found by looking at everything that could.
 *
 * The rules are those of sim/cache/cache.h and sim/eviction.h, written down a second time without
 * looking at how the fast code follows them. Four files: ref_running.c requests that run at the
 * same time, ref_cache.c look-up, and requests one by one, ref_evict.c room and victims,
 * ref_place.c placements. */
#ifndef SNAPSIM_REF_CACHE_H
#define SNAPSIM_REF_CACHE_H

#include "sim/engine/replay.h"

struct ref_request {
    const uint32_t *tokens; /* the prompt, then its reply if replies are kept */
    uint32_t prompt_tokens, end_tokens;
    uint32_t stream;
    uint32_t system_tokens;
    const uint32_t *bounds;
    uint32_t bound_count;
};

enum ref_eviction {
    REF_LRU_HIT,
    REF_LRU_PATH,
    REF_LRU_BOTH,
    REF_FIFO,
    REF_LFU,
    REF_BELADY,
};

struct ref_settings {
    const char *placement; /* as on the command line */
    enum ref_eviction eviction;
    bool recurrent, keep_orphans;
    bool pages_are_blocks; /* --page-tokens trace */
    bool equal_pages;      /* memory `equal`; else `ideal` */
    uint64_t page_tokens;  /* 1 with `ideal` */
    uint64_t capacity_bytes, kv_bytes, snapshot_bytes, live_bytes;
    uint64_t grain, min_compute_tokens;
};

/* One known prefix: the first `length` of `tokens`. */
struct ref_prefix {
    const uint32_t *tokens;
    uint32_t length;
    uint32_t before; /* the prefix that is one token shorter; 0 is the empty one */
    bool resident, ever_resident;
    uint64_t used, stored; /* ages: when it was last used or stored, when it became resident */
    uint64_t counted;      /* age of the last request that counted it */
    uint64_t count;        /* requests whose path it is on, resident or not */
};

struct ref_snapshot {
    uint32_t prefix, asked;
    uint32_t serial;
    uint32_t stream; /* 1 + the stream whose newer one replaces it, or 0 */
    uint64_t used, stored, counted, count;
};

struct ref_wanted {
    uint32_t position, asked;
    bool newest_only;
    uint32_t pinned; /* serial of the snapshot that a reservation found there, or 0 */
};

struct ref_wishes {
    struct ref_wanted *items;
    size_t count, capacity;
    uint32_t newest; /* `last`: where the stream wants its one snapshot; 0 if it does not say */
};

#define REF_PARTS_MAX 4

struct ref_part {
    char name[32];
    double number;
    bool flag; /* turn: bounds; branch: the second takes it; ladder: from the end */
};

struct ref_cache {
    struct ref_settings settings;
    const struct ref_request *requests;
    uint32_t request_count;
    uint32_t next; /* request of ref_next */
    uint32_t now;  /* the request that it turned to last */
    bool kv_is_holding;
    struct ref_prefix *prefixes;
    size_t prefix_count, prefix_capacity;
    struct ref_snapshot *snapshots;
    size_t snapshot_count, snapshot_capacity;
    uint32_t serial;
    struct ref_part parts[REF_PARTS_MAX];
    size_t part_count;
    uint32_t *marks[REF_PARTS_MAX]; /* prefixes at which a part of second sight saw a fork */
    size_t mark_count[REF_PARTS_MAX], mark_capacity[REF_PARTS_MAX];
    uint32_t *stream_newest; /* by stream: serial of its newest replaceable snapshot, or 0 */
    struct cache_counters counters;

    uint64_t moment;             /* goes up when the cache turns to a request */
    struct ref_running *current; /* the one that it turned to last */
    struct ref_running **running;
    size_t running_count, running_capacity;
    uint64_t live_states;
};

struct ref_cache *ref_open(const struct ref_settings *settings, const struct ref_request *requests,
                           uint32_t request_count);
void ref_close(struct ref_cache *cache);

/* Runs the next request. Fills all of out but `request` and `at_ns`. */
void ref_next(struct ref_cache *cache, struct request_result *out);

/* For the files of the model only. */

/* The age of something that is touched at this moment. Within a moment: KV deepest first, then
 * snapshots used at look-up, then the consumed one if it is renewed again, then what is stored. */
enum ref_phase { REF_AGE_KV, REF_AGE_LOOKED_UP, REF_AGE_CONSUMED, REF_AGE_STORED };
uint64_t ref_age(const struct ref_cache *cache, enum ref_phase phase, uint32_t position);
uint32_t ref_age_moment(uint64_t age); /* 0: never */

struct ref_snapshot *ref_snapshot_at(struct ref_cache *cache, uint32_t prefix);
bool ref_continues(const struct ref_cache *cache, uint32_t prefix);
uint64_t ref_used_bytes(const struct ref_cache *cache);
bool ref_refuses(const struct ref_cache *cache); /* stores first, and makes room at the end */

/* Finds where a request's prompt goes, and what it can use, and uses it. */
void ref_look_up(struct ref_cache *cache, struct ref_running *r);

/* What must fit beside what is there: KV of a path, snapshots, what others hold reserved. */
struct ref_need {
    const struct ref_running *path; /* NULL: no KV */
    uint32_t kv_end;
    const struct ref_wishes *wanted; /* snapshots on that path; NULL: none */
    uint64_t pages, snapshots, live_states;
};

void ref_remove_snapshot(struct ref_cache *cache, size_t index);
void ref_drop_orphans(struct ref_cache *cache);
bool ref_fits_empty(const struct ref_cache *cache, uint32_t kv_end, uint64_t snapshots);

/* Pages and snapshots that a need takes now, beside what is there. */
uint64_t ref_missing_pages(const struct ref_cache *cache, const struct ref_need *need);
uint64_t ref_missing_snapshots(struct ref_cache *cache, const struct ref_need *need);

/* Whether a need fits as things are. */
bool ref_fits(struct ref_cache *cache, const struct ref_need *need);

/* Drops one victim after another until a need fits; false if nothing more may go before it does. */
bool ref_make_room(struct ref_cache *cache, const struct ref_need *need);

bool ref_parse_placement(struct ref_cache *cache);
void ref_plan(struct ref_cache *cache, struct ref_wishes *wishes);

#endif
