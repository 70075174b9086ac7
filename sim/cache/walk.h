/* walk.h - finding things on the path from a node up to the root; for the files of sim/cache.
 *
 * What is looked for is mostly near, so nodes are looked at one by one first. What is far away, in
 * a conversation of many turns, is found by paths.h, once the run has walked long enough to earn
 * that back. Each function finds the same either way, and adds the nodes below what it has found to
 * *passed. */
#ifndef SNAPSIM_WALK_H
#define SNAPSIM_WALK_H

#include "sim/cache/cache.h"

/* Nodes that are looked at one by one before paths.h is asked. Builds that check themselves are
 * content with little, here and in walk.c, so that the small loads of tests come to both ways. */
#ifdef SIM_CHECK
#define NEAR_NODES 1
#else
#define NEAR_NODES 8
#endif

static inline uint64_t walk_near(const struct cache *cache)
{
    return cache->paths ? NEAR_NODES : UINT64_MAX;
}

/* Makes cache->paths, if the requests up to now walked far; or says when to ask again. */
void walk_make_paths(struct cache *cache);

/* Before each request. */
static inline void walk_begin(struct cache *cache)
{
    if (cache->paths == NULL && cache_walked(cache) >= cache->walk_due)
        walk_make_paths(cache);
}

/* What the functions below do where the node itself is not the one. */
node_id walk_on_to_resident(struct cache *cache, node_id node, uint64_t *passed);
node_id walk_on_to_kept(struct cache *cache, node_id node, uint64_t *passed);
node_id walk_on_to_position(struct cache *cache, node_id node, uint32_t position, uint64_t *passed);
node_id walk_on_to_snapshots(struct cache *cache, node_id node, uint64_t *passed);

/* The deepest node with KV on the path up from a node; the root if there is none. */
static inline node_id walk_to_resident(struct cache *cache, node_id node, uint64_t *passed)
{
    bool is_here = node == NODE_ROOT || cache->nodes[node].resident > 0;
    return is_here ? node : walk_on_to_resident(cache, node, passed);
}

/* The deepest node that ever had KV; the root if there is none. */
static inline node_id walk_to_kept(struct cache *cache, node_id node, uint64_t *passed)
{
    bool is_here = node == NODE_ROOT || cache->nodes[node].kept > 0;
    return is_here ? node : walk_on_to_kept(cache, node, passed);
}

/* The node that holds the token before a position; the root for position 0. */
static inline node_id walk_to_position(struct cache *cache, node_id node, uint32_t position,
                                       uint64_t *passed)
{
    bool is_here = node == NODE_ROOT || workload_node_start(cache->workload, node) < position;
    return is_here ? node : walk_on_to_position(cache, node, position, passed);
}

/* The deepest node with snapshots; the root if there is none. */
static inline node_id walk_to_snapshots(struct cache *cache, node_id node, uint64_t *passed)
{
    bool is_here = node == NODE_ROOT || cache->nodes[node].snapshots != 0;
    return is_here ? node : walk_on_to_snapshots(cache, node, passed);
}

#endif
