/* lru.h - the lists of lru.c, for lru_path.c, which moves whole paths in them. */
#ifndef SNAPSIM_LRU_H
#define SNAPSIM_LRU_H

#include "policies/eviction/heap.h"
#include "sim/cache/cache.h"
#include "sim/load/trail.h"

/* Links are 1 + holding, 0 for none. */
struct link {
    uint32_t older, younger;
};

struct list {
    uint32_t oldest, youngest;
};

struct lists {
    bool by_part;
    struct list kv, snapshots; /* unless by_part, the first holds both */
    uint32_t
        kv_place;    /* where this request's next, deeper KV goes: just before it; 0: at the end */
    uint32_t moment; /* the present one, when a hook was called last */

    /* Only by_part: */
    uint32_t *moments; /* by holding: when it was added, or used alone, last */
    size_t moments_capacity;
    struct heap ends;
    struct heap_entry *aside; /* scratch: taken out of it, to be put back */
    size_t aside_capacity;

    /* Once there is cache->paths: 1 + the moment at which a node's KV, or its snapshots, were used
     * last with all of the path. Of one piece of the trail, the KV stands side by side in the list,
     * deeper first; and so do the snapshots of joined nodes, shallower first. The snapshots of a
     * loose node may stand anywhere. */
    struct trail kv_trail, snapshot_trail;
    struct marks joined, loose; /* places of nodes that have snapshots */
};

static inline struct link *lru_link(const struct eviction *lru, uint32_t link)
{
    return &((struct link *)lru->holdings)[link - 1];
}

static inline struct list *lru_list(const struct eviction *lru, holding_id holding)
{
    struct lists *lists = lru->state;
    return !lists->by_part || holding_is_kv(lru->cache, holding) ? &lists->kv : &lists->snapshots;
}

/* Moves neighbours in a list to its young end, in their order. */
void lru_renew_run(struct eviction *lru, holding_id oldest, holding_id youngest);

/* When a holding was added or used last; only by_part. */
uint32_t lru_moment(const struct eviction *lru, holding_id holding);

/* ---- lru_path.c, once there is cache->paths ---- */

/* All KV on the path up from a node is used. */
void lru_path_used(struct eviction *lru, node_id node);

/* KV of a node was added, to a path that this request has used or added down to there. */
void lru_path_added(struct eviction *lru, node_id node);

/* All snapshots on the path up from a node are used: all above it, and its own up to a position. */
void lru_snapshots_used(struct eviction *lru, node_id node, uint32_t position);

/* A node's snapshot was added, used alone, or is gone. */
void lru_snapshot_moved(struct eviction *lru, node_id node);

void lru_path_fini(struct eviction *lru);
int lru_path_check(const struct eviction *lru, struct err *err);

#endif
