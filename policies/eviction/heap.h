/* heap.h - holdings in a binary heap, smallest key first.
 *
 * Entries are never changed or taken from the middle: a policy that changes its mind puts another
 * one, and throws the older away when it comes up. */
#ifndef SNAPSIM_HEAP_H
#define SNAPSIM_HEAP_H

#include "sim/eviction.h"

struct heap_key {
    uint64_t first, second; /* compared in this order */
    uint64_t within;        /* order within one request: heap_within() */
};

struct heap_entry {
    struct heap_key key;
    holding_id holding;
    uint32_t stamp; /* for the policy */
};

struct heap {
    struct heap_entry *entries;
    size_t count, capacity;
    size_t settled; /* count when entries that mean nothing were last thrown away */
};

/* The order of eviction.h: KV before snapshots; KV deeper first, snapshots shallower first. */
uint64_t heap_within(const struct cache *cache, holding_id holding);

bool heap_before(const struct heap_entry *a, const struct heap_entry *b);
void heap_put(struct heap *heap, struct heap_entry entry);
void heap_pop(struct heap *heap);

/* Whether every entry comes after the one above it. */
bool heap_is_ordered(const struct heap *heap);

#endif
