/* memory.h - the interface of memory strategies: how bytes are divided between KV and snapshots.
 *
 * The cache says what it wants to hold; the strategy says whether that fits, and keeps the books in
 * bytes. KV is counted in pages of page_tokens tokens; a page that a fork cuts is held once by each
 * branch. A strategy whose pages have identity keeps a stack of page numbers per node (a node's KV
 * grows and shrinks at its end only) and a list per snapshot. */
#ifndef SNAPSIM_MEMORY_H
#define SNAPSIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/plugin.h"
#include "sim/load/workload.h"

enum part { PART_ANY, PART_KV, PART_SNAPSHOT };

struct memory_need {
    uint64_t kv_pages, snapshots;
};

/* What must go before a need fits. */
struct memory_shortage {
    enum part part;    /* PART_ANY: dropping either kind helps */
    uint64_t kv_pages; /* how many, if it is KV that is dropped; at least 1 */
};

struct memory {
    const struct memory_ops *ops;
    void *settings, *state;
    uint64_t capacity_bytes; /* UNITS_UNLIMITED: no limit */
    uint64_t used_bytes;     /* kept by the strategy: all that is not free, padding included */
    uint64_t kv_bytes_per_token, snapshot_bytes;

    /* Asked for (0: the strategy's choice) when init is called, what is used afterwards. */
    uint64_t page_tokens;
    bool pages_are_blocks; /* --page-tokens trace: a page is a block of the trace, and a last
                              partial block is a page of its own */
};

struct memory_ops {
    struct plugin plugin;
    int (*init)(struct memory *memory, struct err *err); /* sets page_tokens */
    void (*fini)(struct memory *memory);                 /* optional */
    /* Whether a need would fit if nothing else were there. */
    bool (*fits_empty)(const struct memory *memory, struct memory_need need);
    /* Whether a need does not fit now, and if so, what is short. */
    bool (*falls_short)(const struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage);
    /* Books. A call may exceed the capacity only under an eviction that refuses (eviction.h). */
    void (*kv_grow)(struct memory *memory, node_id node, uint64_t pages);
    void (*kv_shrink)(struct memory *memory, node_id node, uint64_t pages);
    void (*snapshot_add)(struct memory *memory, uint32_t snapshot);
    void (*snapshot_drop)(struct memory *memory, uint32_t snapshot);
    /* Bytes that kv_pages and snapshots must take: the audit compares with used_bytes. */
    uint64_t (*expected_bytes)(const struct memory *memory, struct memory_need held);
};

#endif
