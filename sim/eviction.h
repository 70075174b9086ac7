/* eviction.h - the interface of eviction policies: what leaves when memory is short.
 *
 * A *holding* is what can be dropped: a snapshot, or the KV of a node (its end goes first, by
 * pages). Whether KV is a holding of its own depends on the cache: see cache.h. A policy keeps
 * whatever order it likes in its own memory, reads the cache through const functions, and names
 * candidates; the cache checks them, drops them, does the accounting and calls `gone`.
 *
 * Calls for one request, in this order:
 *     begin
 *     (expired, gone)* until it names none
 *     used   KV on its path, deeper nodes first, then snapshots on it, shallower first
 *     (choose, gone)* while room is made
 *     added           KV that is new, or resident beyond the match, shallower nodes first; then
 *     added / used    its snapshots, shallower first (used: it was there and is taken again)
 *     (over, gone)* until it names none
 *
 * Ages: whatever a request adds or uses is as young as the request. Within one request KV is older
 * than snapshots, deeper KV is older, and a deeper snapshot is younger. */
#ifndef SNAPSIM_EVICTION_H
#define SNAPSIM_EVICTION_H

#include "sim/context.h"
#include "sim/future.h"
#include "sim/memory.h"

struct cache;

/* KV of node n is n; snapshot s is node_count + s. */
typedef uint32_t holding_id;
#define HOLDING_NONE UINT32_MAX

struct victim {
    holding_id holding; /* HOLDING_NONE: nothing can be dropped */
    uint32_t down_to;   /* for KV: the position below which it is not yet the next to go */
};

struct eviction {
    const struct eviction_ops *ops;
    void *settings, *state;
    const struct cache *cache;
    void *holdings; /* ops->holding_size bytes for each holding_id, zeroed; may move on `added` */

    /* Set by init: which snapshots `used` is called for when a path is looked up. Default: the
     * consumed one only. */
    bool refreshes_path; /* every snapshot on the path */
    bool consumed_last;  /* and the consumed one again, as the youngest */

    const struct run_facts *facts;
    const struct future *future; /* NULL unless the plug-in is offline */
    uint64_t walked, steps;      /* kept by the policy: see cache_steps() */
};

enum {
    EVICTION_REFUSES = 1, /* chooses among the request's own new holdings too, after they are in */
};

struct eviction_ops {
    struct plugin plugin;
    unsigned flags;
    size_t holding_size;
    int (*init)(struct eviction *eviction, struct err *err); /* optional */
    void (*fini)(struct eviction *eviction);                 /* optional */
    /* A request comes; optional. The context is valid during the call. */
    void (*begin)(struct eviction *eviction, const struct context *context);
    /* Names a holding whose time is over, whether or not memory is short; HOLDING_NONE when there
     * is none left. Optional. */
    holding_id (*expired)(struct eviction *eviction);
    /* from: where what is new begins; above a node's start if its KV was there and got longer, its
     * end if all of it was there and is only as young again as the request. */
    void (*added)(struct eviction *eviction, holding_id holding, uint32_t from);
    void (*used)(struct eviction *eviction, holding_id holding);
    /* optional, instead of calls of `used` for all KV on the path up from a node, and for all
     * snapshots on it up to a position; the latter only once cache->paths is there. With them a
     * policy can take less time than a path is long. */
    void (*path_used)(struct eviction *eviction, node_id node);
    void (*snapshots_used)(struct eviction *eviction, node_id node, uint32_t position);
    void (*gone)(struct eviction *eviction, holding_id holding);   /* after all that goes with it */
    void (*shrunk)(struct eviction *eviction, holding_id holding); /* KV, not all gone; optional */
    /* Names a holding for which holding_droppable(cache, holding, wanted) is true (cache.h). */
    struct victim (*choose)(struct eviction *eviction, enum part wanted);
    /* The same when a request ends, before what is new has to fit. Optional. */
    holding_id (*over)(struct eviction *eviction);
    int (*check)(const struct eviction *eviction, struct err *err); /* O(n) self-audit */
};

#endif
