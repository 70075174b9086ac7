/* fifo - the holding that came first leaves first.
 *
 * A snapshot's age is when it was taken. KV can only go from the end of its path, so it is the
 * oldest *end* that leaves. KV of one node may have come in stretches (its end was dropped and
 * computed again), so each node keeps a stack of them, and its end has the age of the last. */
#include <stdlib.h>

#include "policies/eviction/rank.h"
#include "sim/core/mem.h"

/* KV of a node from a position on, until the next stretch. */
struct stretch {
    uint64_t moment;
    uint32_t from;
    uint32_t below; /* 1 + the stretch under it, or 0; also the free list */
};

struct per_holding {
    struct rank_mark mark;
    uint32_t top;    /* KV: 1 + its last stretch */
    uint32_t moment; /* snapshots: when it was taken */
};

struct fifo {
    struct rank rank;
    struct stretch *stretches;
    size_t count, capacity;
    uint32_t free;
};

static struct per_holding *of(const struct eviction *eviction, holding_id holding)
{
    return &((struct per_holding *)eviction->holdings)[holding];
}

static void pop_stretch(struct fifo *fifo, struct per_holding *node)
{
    uint32_t top = node->top - 1;
    node->top = fifo->stretches[top].below;
    fifo->stretches[top].below = fifo->free;
    fifo->free = top + 1;
}

/* Forgets the stretches of a node that start at or after a position: they were dropped. */
static bool trim_stretches(struct fifo *fifo, struct per_holding *node, uint32_t end)
{
    uint32_t before = node->top;
    while (node->top && fifo->stretches[node->top - 1].from >= end)
        pop_stretch(fifo, node);
    return node->top != before;
}

static void push_stretch(struct fifo *fifo, struct per_holding *node, uint32_t from,
                         uint32_t moment)
{
    if (!fifo->free) {
        fifo->stretches =
            mem_grow(fifo->stretches, &fifo->capacity, fifo->count + 1, sizeof *fifo->stretches);
        fifo->stretches[fifo->count].below = 0;
        fifo->free = (uint32_t)++fifo->count;
    }
    uint32_t slot = fifo->free - 1;
    fifo->free = fifo->stretches[slot].below;
    fifo->stretches[slot] = (struct stretch){moment, from, node->top};
    node->top = slot + 1;
}

static struct heap_key key_of(struct eviction *eviction, holding_id holding)
{
    struct fifo *fifo = eviction->state;
    struct per_holding *here = of(eviction, holding);
    uint64_t moment = here->moment;
    if (holding_is_kv(eviction->cache, holding))
        moment = fifo->stretches[here->top - 1].moment;
    return (struct heap_key){moment, 0, heap_within(eviction->cache, holding)};
}

static int init(struct eviction *eviction, struct err *err)
{
    (void)err;
    struct fifo *fifo = eviction->state;
    fifo->rank.key_of = key_of;
    return 0;
}

static void fini(struct eviction *eviction)
{
    free(((struct fifo *)eviction->state)->stretches);
    rank_fini(eviction);
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    struct fifo *fifo = eviction->state;
    struct per_holding *here = of(eviction, holding);
    if (!holding_is_kv(eviction->cache, holding)) {
        here->moment = cache_moment(eviction->cache);
    } else if (from < holding_position(eviction->cache, holding)) {
        trim_stretches(fifo, here, from);
        push_stretch(fifo, here, from, cache_moment(eviction->cache));
    }
    rank_push(eviction, holding);
}

static void used(struct eviction *eviction, holding_id holding)
{
    (void)eviction; /* use does not make it younger */
    (void)holding;
}

static void path_used(struct eviction *eviction, node_id node)
{
    (void)eviction;
    (void)node;
}

/* Its end may lie in an older stretch now. */
static void shrunk(struct eviction *eviction, holding_id holding)
{
    if (trim_stretches(eviction->state, of(eviction, holding),
                       holding_position(eviction->cache, holding)))
        rank_push(eviction, holding);
}

static struct victim choose(struct eviction *eviction, enum part wanted)
{
    const struct fifo *fifo = eviction->state;
    struct victim victim = {rank_choose(eviction, wanted), 0};
    if (victim.holding != HOLDING_NONE && holding_is_kv(eviction->cache, victim.holding))
        victim.down_to = fifo->stretches[of(eviction, victim.holding)->top - 1].from;
    return victim;
}

/* The last stretch of KV that is there begins before its end. */
static int check(const struct eviction *eviction, struct err *err)
{
    const struct fifo *fifo = eviction->state;
    const struct cache *cache = eviction->cache;
    for (node_id node = 1; cache->kv_is_holding && node < cache->workload->node_count; node++) {
        uint32_t top = of(eviction, node)->top;
        if (cache->nodes[node].resident > 0 &&
            (top == 0 || fifo->stretches[top - 1].from >= holding_position(cache, node)))
            return err_set(err, "fifo: the last stretch of node %u is not there", node);
    }
    return rank_check(eviction, err);
}

const struct eviction_ops eviction_fifo = {
    .plugin = {.name = "fifo",
               .summary = "what came first leaves first",
               .state_size = sizeof(struct fifo)},
    .holding_size = sizeof(struct per_holding),
    .init = init,
    .fini = fini,
    .added = added,
    .used = used,
    .path_used = path_used,
    .gone = rank_gone,
    .shrunk = shrunk,
    .choose = choose,
    .check = check,
};
