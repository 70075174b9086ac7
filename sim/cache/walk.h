/* walk.h - finding things on the path from a node up to the root; for the files of sim/cache.
 *
 * What is looked for is mostly near, so nodes are looked at one by one first. What is far away, in
 * a conversation of many turns, is found by paths.h, once the run has walked long enough to earn
 * that back. Each function finds the same either way. */
#ifndef SNAPSIM_WALK_H
#define SNAPSIM_WALK_H

#include "sim/cache/cache.h"

/* Before each request: makes cache->paths if that is due. */
void walk_begin(struct cache *cache);

/* The deepest node with KV on the path up from a node, the root if there is none; and the deepest
 * that ever had KV. Add the nodes that they pass to *passed. */
node_id walk_to_resident(struct cache *cache, node_id node, uint64_t *passed);
node_id walk_to_kept(struct cache *cache, node_id node, uint64_t *passed);

/* The node on the path up from a node that holds the token before a position. */
node_id walk_to_position(struct cache *cache, node_id node, uint32_t position, uint64_t *passed);

/* The deepest node with snapshots on the path up from a node; the root if there is none. */
node_id walk_to_snapshots(struct cache *cache, node_id node, uint64_t *passed);

#endif
