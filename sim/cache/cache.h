/* cache.h - the prefix cache: what is resident, what may be dropped, and all accounting.
 *
 * The workload's tree is fixed; the cache keeps, for each node, how much of its KV is resident and
 * which snapshots lie on it.
 *
 *     prompt   0 ----------------- 3000 ----------- 5000
 *     KV       ======================================       resident [0, 4200): the *match*
 *     snapshots        ^1024              ^3000             deepest usable one: the *hit*
 *
 * Rules (docs: snapsim(1), RULES):
 *   - KV of a path is resident from the start; it grows and shrinks at its end.
 *   - A snapshot at p needs KV [0, p). Before that KV goes, the snapshot goes; with a dual index it
 *     stays, stranded, until it is evicted or its KV is there again.
 *   - orphans drop: KV that no snapshot needs is not kept. Snapshots are the only holdings.
 *     orphans keep: KV is stored to the end of the request, and is a holding of its own.
 *     orphans keep-for-fork: the same, but KV that no snapshot needs is kept only up to the deepest
 *     place where a request left the path: there a snapshot for others may come to stand.
 *     A model without recurrent layers has no snapshots: KV is stored and is a holding.
 *   - A request computes, and so may store, only what lies above its hit. If a snapshot that it
 *     would take is there already, that one is renewed.
 *   - What a request needs: the KV up to its deepest snapshot (or to its end, where KV is stored)
 *     and that snapshot. If that does not fit even into an empty memory, the request runs uncached.
 *     Of its other snapshots, the deepest that fit are taken.
 *   - While room is made, nothing on its path up to the hit, and no snapshot that it would renew,
 *     is dropped. */
#ifndef SNAPSIM_CACHE_H
#define SNAPSIM_CACHE_H

#include "sim/eviction.h"
#include "sim/memory.h"
#include "sim/placement.h"

#define SNAPSHOT_NONE UINT32_MAX

struct cache_node {
    uint32_t resident;  /* tokens of this node whose KV is here: [start, start + resident) */
    uint32_t kept;      /* the most that ever was resident: tells evicted from never kept */
    uint32_t children;  /* children with KV */
    uint32_t snapshots; /* 1 + the deepest snapshot on this node; 0 if there is none */
};

/* The children of a node that have KV: 1 + node, or 0. */
struct kin {
    uint32_t first_child, next, previous;
};

struct snapshot {
    node_id node;
    uint32_t position; /* tokens; node start < position <= node start + resident */
    uint32_t asked;    /* the position before flooring to the grain */
    uint32_t next;     /* 1 + the next shallower snapshot on this node, or 0; also the free list */
    uint32_t deeper;   /* 1 + the next deeper snapshot on this node, or 0 */
    uint32_t stream;   /* 1 + the stream whose newer snapshot replaces this one, or 0 */
    bool pinned, live;
};

struct cache_settings {
    bool recurrent;          /* the model has recurrent layers: a hit needs a snapshot */
    bool keep_orphans;       /* KV is a holding of its own, and stays without a snapshot */
    bool keep_only_for_fork; /* but only below where a request has left it: see RULES */
    bool dual_index;         /* snapshots stay without their KV, and are looked up apart */
    uint64_t match_unit;     /* tokens to which hits without recurrent layers are cut; 0: pages */
    uint64_t min_compute_tokens;
};

struct cache_counters {
    uint64_t snapshots_taken, snapshots_evicted, snapshots_replaced, snapshots_refused;
    uint64_t kv_tokens_stored, kv_tokens_evicted;
    uint64_t uncached_requests;
    uint64_t lookups, node_visits;
    uint64_t peak_bytes;
    uint64_t drops; /* victims and places, each with all that goes with it */
    /* Of the above, what happened though the bytes alone, without pages and places, would do. */
    uint64_t split_evictions, split_uncached;
};

/* Where the bytes of the capacity are; they add up to it (to what is in use, if unlimited). */
struct cache_bytes {
    uint64_t kv, snapshots, live;
    uint64_t padding;  /* in use, and holding nothing */
    uint64_t external; /* free, but of no use to what last could not be placed */
    uint64_t free;
};

/* Read freely; written only by the files of sim/cache. */
struct cache {
    const struct workload *workload;
    struct cache_settings settings;
    bool kv_is_holding;
    bool refuses;     /* what is new is stored first, and chosen from as well (eviction.h) */
    bool tracks_ends; /* policies must know the snapshots at the ends of paths */
    struct cache_node *nodes;
    struct snapshot *snapshots;
    uint32_t snapshot_count; /* slots in use or free */
    size_t snapshot_capacity;
    uint32_t snapshot_free; /* 1 + the first free slot, or 0 */
    uint32_t live_snapshots;
    uint64_t kv_tokens, kv_pages; /* resident */
    uint32_t live_states;         /* of running requests */
    enum part wants;              /* what last could not be placed */
    struct memory memory;
    uint32_t
        page_shift; /* memory.page_tokens is 1 << page_shift; NO_SHIFT if it is no power of 2 */
    struct eviction eviction;
    size_t holding_capacity;
    struct cache_counters counters;

    bool *forked;    /* by node: a request left the path at its end; NULL unless asked for */
    struct kin *kin; /* by node; NULL unless places are emptied (memory.h) */

    node_id pinned_node; /* KV up to pinned_position on the path to it may not go */
    uint32_t pinned_position;

    uint32_t *stream_newest; /* by stream: 1 + its newest replaceable snapshot, or 0 */
    uint32_t *path;          /* scratch: nodes or holdings of the current request, deepest first */
    size_t path_length, path_capacity;
};

#define NO_SHIFT UINT32_MAX

/* Whole pages in so many tokens. Divisions are what paged strategies would spend their time on. */
static inline uint32_t cache_whole_pages(const struct cache *cache, uint32_t tokens)
{
    return cache->page_shift != NO_SHIFT ? tokens >> cache->page_shift
                                         : tokens / (uint32_t)cache->memory.page_tokens;
}

/* What a look-up found. */
struct lookup {
    uint32_t hit_tokens;
    uint32_t match_tokens;
    uint32_t kept_tokens; /* how much of the prompt ever was resident */
    uint32_t asked;       /* where the consumed snapshot was asked for; hit_tokens if none */
    uint32_t snapshot;    /* the consumed one, or SNAPSHOT_NONE */
    node_id match_node, hit_node;
    bool forks; /* what is stored goes on at match_tokens in another direction */
};

/* memory comes opened, and is closed with the cache. */
struct cache *cache_open(const struct workload *workload, const struct cache_settings *settings,
                         const struct memory *memory);
void cache_close(struct cache *cache);

/* To be set before the first request. ops, settings and future stay the caller's and must outlive
 * the cache. err: it does not go with the memory strategy, or its init fails. */
int cache_set_eviction(struct cache *cache, const struct eviction_ops *ops, void *settings,
                       const struct future *future, struct err *err) MUST_CHECK;

/* Takes room for the live state of a request that starts; false if there is none. */
bool cache_add_live_state(struct cache *cache);
void cache_drop_live_state(struct cache *cache);

/* A request comes: its index in the order of arrival. */
void cache_begin(struct cache *cache, uint32_t arrival, const struct request *request);

/* Finds the hit of a prompt and tells the eviction policy what it uses. */
struct lookup cache_lookup(struct cache *cache, const struct request *request);

/* Stores what a request computed. wanted holds settled positions above the hit. */
void cache_admit(struct cache *cache, const struct request *request, const struct lookup *lookup,
                 const struct positions *wanted);

/* For policies. */
static inline holding_id snapshot_holding(const struct cache *cache, uint32_t snapshot)
{
    return cache->workload->node_count + snapshot;
}

/* Of a holding that is a snapshot. */
static inline uint32_t holding_snapshot_id(const struct cache *cache, holding_id holding)
{
    return holding - cache->workload->node_count;
}

static inline bool holding_is_kv(const struct cache *cache, holding_id holding)
{
    return holding < cache->workload->node_count;
}

static inline const struct snapshot *holding_snapshot(const struct cache *cache, holding_id holding)
{
    return &cache->snapshots[holding_snapshot_id(cache, holding)];
}

/* Where a holding ends: a snapshot's position, or the end of the node's resident KV. */
uint32_t holding_position(const struct cache *cache, holding_id holding);

/* Whether nothing is resident beyond a snapshot: then its KV leaves with it, where orphans do. */
static inline bool snapshot_ends_path(const struct cache *cache, uint32_t snapshot)
{
    return cache->snapshots[snapshot].deeper == 0 &&
           cache->nodes[cache->snapshots[snapshot].node].children == 0;
}

/* Whether it exists, may go now, and helps when `wanted` is short:
 *     PART_ANY       a snapshot that is not pinned, or KV at the end of its path that is not pinned
 *                    altogether
 *     PART_SNAPSHOT  of these, the snapshots
 *     PART_KV        the KV; where KV is no holding, the snapshots with which KV leaves */
static inline bool holding_droppable(const struct cache *cache, holding_id holding,
                                     enum part wanted)
{
    if (!holding_is_kv(cache, holding)) {
        const struct snapshot *snapshot = holding_snapshot(cache, holding);
        if (!snapshot->live || snapshot->pinned)
            return false;
        return wanted != PART_KV ||
               (!cache->kv_is_holding &&
                snapshot_ends_path(cache, holding_snapshot_id(cache, holding)));
    }
    const struct cache_node *node = &cache->nodes[holding];
    if (node->resident == 0 || node->children > 0 || wanted == PART_SNAPSHOT)
        return false;
    return holding != cache->pinned_node ||
           holding_position(cache, holding) > cache->pinned_position;
}

/* The deepest snapshot of a node at or below a position: 1 + its number, or 0. */
static inline uint32_t cache_snapshots_to(const struct cache *cache, node_id node,
                                          uint32_t position)
{
    uint32_t link = cache->nodes[node].snapshots;
    while (link != 0 && cache->snapshots[link - 1].position > position)
        link = cache->snapshots[link - 1].next;
    return link;
}

/* The snapshot at the end of the path whose deepest resident node is `node` or the next above it;
 * SNAPSHOT_NONE if the path goes on, or ends without one. */
uint32_t cache_path_end(const struct cache *cache, node_id node);

struct cache_bytes cache_count_bytes(const struct cache *cache);
uint64_t cache_external_bytes(const struct cache *cache); /* that part of them */

/* For memory: pages of [from, to) on one path. at_end: from is the bare end of resident KV, so a
 * page that it cuts is held already; otherwise the branch needs its own copy of that page. */
uint64_t cache_pages(const struct cache *cache, uint32_t from, uint32_t to, bool at_end);

/* What no hit can use now: KV past the deepest snapshot of its path, and snapshots whose KV is not
 * there. O(nodes + snapshots). */
struct cache_stranded {
    uint64_t kv_bytes, snapshot_bytes;
};
struct cache_stranded cache_count_stranded(const struct cache *cache);

/* Recounts everything from nothing and compares; O(nodes + snapshots). err says what differs. */
int cache_audit(const struct cache *cache, struct err *err) MUST_CHECK;

#endif
