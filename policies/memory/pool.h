/* pool.h - one free list of equal units: what `ideal`, `equal`, `max` and `gcd` have in common.
 *
 * They differ in what a unit is, and in how many of them a page of KV, a snapshot and a live state
 * take. A struct pool is the whole state; init fills it, the functions below are the hooks. */
#ifndef SNAPSIM_POOL_H
#define SNAPSIM_POOL_H

#include "sim/memory.h"

struct pool {
    uint64_t unit_bytes;
    uint64_t per_kv_page, per_snapshot, per_live_state; /* units */
    uint64_t units, used;
};

/* a / b, rounded up; b over 0. */
uint64_t pool_ceil(uint64_t a, uint64_t b);

/* How many whole things of some bytes fit into a capacity that may be unlimited. */
uint64_t pool_whole(uint64_t capacity_bytes, uint64_t bytes);

/* Bytes of a slot that takes whichever state lies in this memory: a snapshot, and a live state
 * where requests have any. */
uint64_t pool_state_slot(const struct memory *memory);

/* Sets memory->page_tokens if it was not asked for; fails without KV, or for pages that are blocks
 * of the trace: only `equal` knows those. */
int pool_choose_page(struct memory *memory, uint64_t tokens, struct err *err) MUST_CHECK;

/* Counts the units, when the other fields are set. */
void pool_open(struct memory *memory);

bool pool_fits_empty(const struct memory *memory, struct memory_need need);
bool pool_falls_short(struct memory *memory, struct memory_need need,
                      struct memory_shortage *shortage);
void pool_kv_grow(struct memory *memory, node_id node, uint64_t pages);
void pool_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone);
void pool_snapshot_add(struct memory *memory, uint32_t snapshot);
void pool_snapshot_drop(struct memory *memory, uint32_t snapshot);
void pool_live_add(struct memory *memory);
void pool_live_drop(struct memory *memory);
uint64_t pool_expected_bytes(const struct memory *memory, struct memory_need held);
uint64_t pool_unusable_bytes(const struct memory *memory, enum part part);

/* The hooks of a strategy that is a pool, for its table; unusable_bytes apart. */
#define POOL_HOOKS                                                                                 \
    .fits_empty = pool_fits_empty, .falls_short = pool_falls_short, .kv_grow = pool_kv_grow,       \
    .kv_shrink = pool_kv_shrink, .snapshot_add = pool_snapshot_add,                                \
    .snapshot_drop = pool_snapshot_drop, .live_add = pool_live_add, .live_drop = pool_live_drop,   \
    .expected_bytes = pool_expected_bytes

#endif
