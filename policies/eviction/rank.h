/* rank.h - holdings in order of a key, for policies whose order is not that of last use.
 *
 * A binary heap, smallest key first. A holding's key changes by pushing it again: the older entry
 * is recognised by its stamp and thrown away when it comes up. KV that has deeper KV above it
 * cannot go; it is thrown away too, and comes back when it is the end of its path again. */
#ifndef SNAPSIM_RANK_H
#define SNAPSIM_RANK_H

#include "sim/cache/cache.h"

struct rank_key {
    uint64_t first, second; /* compared in this order */
    uint64_t within;        /* order within one request: rank_within() */
};

/* The first member of a policy's memory of each holding. */
struct rank_mark {
    uint32_t stamp;   /* of its newest entry */
    uint32_t present; /* it has been added and is not gone */
};

struct rank_entry {
    struct rank_key key;
    holding_id holding;
    uint32_t stamp;
};

/* The first member of a policy's state. */
struct rank {
    struct rank_key (*key_of)(struct eviction *eviction, holding_id holding);
    struct rank_entry *entries, *aside; /* aside: scratch of rank_choose */
    size_t count, capacity, aside_capacity;
};

/* The order of eviction.h: KV before snapshots; KV deeper first, snapshots shallower first. */
uint64_t rank_within(const struct cache *cache, holding_id holding);

/* Enters a holding at the key that it has now. */
void rank_push(struct eviction *eviction, holding_id holding);

/* The hooks of eviction.h that every ranked policy shares. */
void rank_gone(struct eviction *eviction, holding_id holding);
void rank_fini(struct eviction *eviction);
int rank_check(const struct eviction *eviction, struct err *err);

/* The smallest droppable holding of the wanted part, or HOLDING_NONE. */
holding_id rank_choose(struct eviction *eviction, enum part wanted);

#endif
