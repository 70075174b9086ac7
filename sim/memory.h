/* memory.h - the interface of memory strategies: how bytes are divided between KV, snapshots and
 * the live states of running requests.
 *
 * The cache says what it wants to hold; the strategy says whether that fits, what has to go before
 * it does, and keeps the books in bytes. KV is counted in pages of page_tokens tokens.
 *
 * Identity. A node's KV grows and shrinks at its end, so a strategy whose pages have identity keeps
 * a stack of pages per node, and a list per snapshot. A page that a fork cuts is counted once for
 * each branch: the first branch goes on in the page of the node above, later ones copy it. When the
 * first branch leaves before the others, the copy that is freed is the one on the nearest node
 * above that has any; when the last branch leaves, its copy passes to the node above, whose tail it
 * holds. So kv_shrink may ask for one page more than lies on the node, and a node that is `gone`
 * may leave one page behind. */
#ifndef SNAPSIM_MEMORY_H
#define SNAPSIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/plugin.h"
#include "sim/load/paths.h"
#include "sim/model/model.h"

enum part { PART_ANY, PART_KV, PART_SNAPSHOT };

struct memory_need {
    uint64_t kv_pages, snapshots, live_states;
};

/* What must go before a need fits. */
struct memory_shortage {
    enum part part;    /* what is short, if only dropping that helps; PART_ANY: either kind helps */
    enum part wants;   /* what could not be placed; PART_ANY: bytes */
    uint64_t kv_pages; /* how many pages of KV would do, at least 1 */
    bool other_helps;  /* if nothing of that part can go, the other one is worth trying */
    uint32_t place;    /* over 0: empty this place (next_in_place), whatever is in it */
};

/* Something that has pages: a node's KV, or a snapshot. */
struct memory_holder {
    bool is_snapshot;
    uint32_t id;       /* node or snapshot */
    uint64_t kv_pages; /* how many pages must go from the node's end */
};

struct memory {
    const struct memory_ops *ops;
    void *settings, *state;
    const struct workload *workload;
    const struct paths *paths; /* NULL at first; set before some request, where paths are long */
    uint64_t walked, steps;    /* kept by the strategy: see cache_steps() */
    uint64_t capacity_bytes;   /* UNITS_UNLIMITED: no limit */
    uint64_t used_bytes;       /* kept by the strategy: all that is not free, padding included */
    uint64_t kv_bytes_per_token, snapshot_bytes, state_bytes;
    const struct model_sizes *sizes; /* per layer, for strategies that cut by layers */
    uint64_t align_tokens;           /* the granularity of the model's attention kernels */
    uint64_t live_slots;             /* live states that lie here for each running request */
    uint32_t variant;                /* which of ops->variants; 0 without them */

    /* Asked for (0: the strategy's choice) when init is called, what is used afterwards. */
    uint64_t page_tokens;
    bool pages_are_blocks; /* --page-tokens trace: a page is a block of the trace, and a last
                              partial block is a page of its own */

    /* For the report; kept by the strategy. */
    uint64_t place_bytes;  /* of a large page or slab; 0 without them */
    uint64_t quota_bytes;  /* what a fixed split gives to states; 0 without one */
    uint64_t moved_bytes;  /* by compaction */
    uint64_t moved_places; /* slabs or large pages that went from one kind to the other */
};

enum {
    MEMORY_EXACT = 1,   /* bytes are bytes: nothing is lost to pages or places */
    MEMORY_BY_PART = 2, /* shortages name parts: policies must know the ends of paths */
    MEMORY_PLACED = 4,  /* pages have places: nothing may be stored before there is room */
};

struct memory_ops {
    struct plugin plugin;
    unsigned flags;
    /* How many settings a strategy that is found by search wants to try; optional. The run whose
     * hits save most is the result. */
    uint32_t (*variants)(const struct memory *memory);
    int (*init)(struct memory *memory, struct err *err); /* sets page_tokens */
    void (*fini)(struct memory *memory);                 /* optional */
    /* Whether a need would fit if nothing else were there. */
    bool (*fits_empty)(const struct memory *memory, struct memory_need need);
    /* Whether a need does not fit now, and if so, what is short. */
    bool (*falls_short)(struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage);
    /* Books. Without MEMORY_PLACED, a call may exceed the capacity under an eviction that refuses
     * (eviction.h). gone: the node has no KV any more. */
    void (*kv_grow)(struct memory *memory, node_id node, uint64_t pages);
    void (*kv_shrink)(struct memory *memory, node_id node, uint64_t pages, bool gone);
    void (*snapshot_add)(struct memory *memory, uint32_t snapshot);
    void (*snapshot_drop)(struct memory *memory, uint32_t snapshot);
    void (*live_add)(struct memory *memory);
    void (*live_drop)(struct memory *memory);
    /* Bytes that this must take, padding included: the audit compares with used_bytes. */
    uint64_t (*expected_bytes)(const struct memory *memory, struct memory_need held);
    /* Free bytes that cannot be used for a part (PART_ANY: for neither); optional. */
    uint64_t (*unusable_bytes)(const struct memory *memory, enum part part);

    /* For strategies with places; optional. begin: a moment begins (cache.h); what was used
     * since that other one, when the oldest running request started, is in use. used: a snapshot
     * is. path_used: it uses the KV of a node and of all nodes above it. */
    void (*begin)(struct memory *memory, uint32_t moment, uint32_t since);
    void (*used)(struct memory *memory, uint32_t snapshot);
    void (*path_used)(struct memory *memory, node_id node);
    bool (*next_in_place)(const struct memory *memory, uint32_t place,
                          struct memory_holder *holder);
    int (*check)(const struct memory *memory, struct err *err); /* O(n) self-audit */
};

#endif
