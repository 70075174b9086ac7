/* pool.h - free lists of equal units, which have no places: what `ideal`, `equal`, `max`, `gcd` and
 * `static` have in common.
 *
 * They differ in what a unit is, in how many of them a page of KV, a snapshot and a live state
 * take, and in whether there is one list or two that do not lend to each other. A struct pools is
 * the whole state; init fills it, the functions below are the hooks. */
#ifndef SNAPSIM_POOL_H
#define SNAPSIM_POOL_H

#include "sim/memory.h"

struct pool {
    uint64_t unit_bytes;
    uint64_t per_kv_page, per_snapshot, per_live_state; /* units; 0: they do not lie here */
    uint64_t units, used;
};

struct pools {
    struct pool items[2];
    struct pool *kv, *states; /* where they lie: in the same one, or each in its own */
};

/* One list with all of the capacity; units and used follow. */
void pool_open(struct memory *memory, const struct pool *pool);

/* How many units more are needed than there are; 0 if it fits. */
uint64_t pool_missing(const struct pool *pool, struct memory_need need);

bool pool_fits_empty(const struct memory *memory, struct memory_need need);
bool pool_falls_short(struct memory *memory, struct memory_need need,
                      struct memory_shortage *shortage); /* with one list */
void pool_kv_grow(struct memory *memory, node_id node, uint64_t pages);
void pool_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone);
void pool_snapshot_add(struct memory *memory, uint32_t snapshot);
void pool_snapshot_drop(struct memory *memory, uint32_t snapshot);
void pool_live_add(struct memory *memory);
void pool_live_drop(struct memory *memory);
uint64_t pool_expected_bytes(const struct memory *memory, struct memory_need held);
uint64_t pool_unusable_bytes(const struct memory *memory, enum part part); /* with one list */

/* The hooks of a strategy that is of pools, for its table; unusable_bytes and falls_short apart. */
#define POOL_HOOKS                                                                                 \
    .fits_empty = pool_fits_empty, .kv_grow = pool_kv_grow, .kv_shrink = pool_kv_shrink,           \
    .snapshot_add = pool_snapshot_add, .snapshot_drop = pool_snapshot_drop,                        \
    .live_add = pool_live_add, .live_drop = pool_live_drop, .expected_bytes = pool_expected_bytes

#endif
