/* rank.h - holdings in order of a key, for policies whose order is not that of last use.
 *
 * One heap for KV and one for snapshots. A holding's key changes by pushing it again: the older
 * entry is recognised by its stamp and thrown away when it comes up. KV that has deeper KV above it
 * cannot go; it is thrown away too, and comes back when it is the end of its path again.
 *
 * Where snapshots are the only holdings and a memory strategy asks for KV (MEMORY_BY_PART), a third
 * heap has the snapshots at the ends of their paths, by the same rule. */
#ifndef SNAPSIM_RANK_H
#define SNAPSIM_RANK_H

#include "policies/eviction/heap.h"
#include "sim/cache/cache.h"

/* The first member of a policy's memory of each holding. */
struct rank_mark {
    uint32_t stamp;   /* of its newest entry */
    uint32_t present; /* it has been added and is not gone */
};

/* The first member of a policy's state. */
struct rank {
    struct heap_key (*key_of)(struct eviction *eviction, holding_id holding);
    struct heap kv, snapshots, ends;
    struct heap_entry *aside; /* scratch of rank_choose */
    size_t aside_capacity;
};

/* Enters a holding at the key that it has now. */
void rank_push(struct eviction *eviction, holding_id holding);

/* The hooks of eviction.h that every ranked policy shares. */
void rank_gone(struct eviction *eviction, holding_id holding);
void rank_fini(struct eviction *eviction);
int rank_check(const struct eviction *eviction, struct err *err);

/* The smallest holding that can be dropped for the wanted part, or HOLDING_NONE. */
holding_id rank_choose(struct eviction *eviction, enum part wanted);

/* The same as the hook of eviction.h, for policies whose keys hold for a whole node. */
struct victim rank_victim(struct eviction *eviction, enum part wanted);

#endif
