/* store.h - the changes that can happen to a cache's contents; for the files of sim/cache.
 *
 * Each keeps nodes, counters, memory and the eviction policy in step. */
#ifndef SNAPSIM_STORE_H
#define SNAPSIM_STORE_H

#include "sim/cache/cache.h"

/* Makes KV resident on a node up to a position; its parent is resident to its end. */
void store_kv(struct cache *cache, node_id node, uint32_t position);

/* Drops KV at the end of a path: so many pages, but not below down_to, nor beyond this node. A
 * snapshot on the way stops it: where one stands at the very end, it leaves alone first, since
 * that may be room enough. (So what is dropped does not depend on where nodes end.) */
void store_drop_kv(struct cache *cache, node_id node, uint64_t pages, uint32_t down_to);

/* Cuts KV back to what snapshots and pins on a path need, and known forks may, from this node
 * upwards. Does nothing where orphans are kept. */
void store_drop_orphans(struct cache *cache, node_id node);

/* Drops all KV from some pages before a node's end on, with all that needs it. */
void store_drop_pages(struct cache *cache, node_id node, uint64_t pages);

/* Tell the memory strategy, if it wants to know, that KV on the path up from a node is used, or a
 * snapshot. */
void store_use_path(struct cache *cache, node_id node);
void store_use_snapshot(struct cache *cache, uint32_t snapshot);

/* Adds a snapshot; returns its number. */
uint32_t store_snapshot(struct cache *cache, node_id node, const struct wanted_position *wanted,
                        uint32_t stream);

/* Drops a snapshot, and with it, where orphans are not kept, the KV that nothing else needs. */
void store_drop_snapshot(struct cache *cache, uint32_t snapshot);

/* The snapshot at a position of a node, or SNAPSHOT_NONE. */
uint32_t store_find_snapshot(const struct cache *cache, node_id node, uint32_t position);

#endif
