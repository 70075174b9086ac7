/* lfu - the holding that was used least often leaves first, the longest unused among equals.
 *
 * A snapshot's count starts when it is taken and goes up with each request that starts from it or
 * would take it again. KV counts every request whose prompt or reply goes through it, whether or
 * not it was in memory at the time, so that tokens that always go together have the same count.
 *
 * KV that goes is the end of a path, so the count of a node matters only while it is one. Where
 * paths are long, a request is therefore counted once, where it ends; the count of a node is that
 * of the requests that end at it or below, and its last use is in the trail of the requests. */
#include <stdlib.h>

#include "policies/eviction/rank.h"
#include "sim/core/mem.h"
#include "sim/load/trail.h"

struct per_holding {
    struct rank_mark mark;
    uint32_t uses;
    uint32_t last; /* moment of the last use */
};

struct lfu {
    struct rank rank;

    /* Once there is cache->paths, for KV, beside what was counted before: */
    struct trail trail;
    uint32_t *ends; /* by 1 + place: requests that end there, as sums of a Fenwick tree */
};

static struct per_holding *of(const struct eviction *eviction, holding_id holding)
{
    return &((struct per_holding *)eviction->holdings)[holding];
}

/* How many requests end at places below one. */
static uint32_t ends_before(const struct lfu *lfu, uint32_t place)
{
    uint32_t sum = 0;
    for (; place > 0; place &= place - 1)
        sum += lfu->ends[place];
    return sum;
}

static void count_end(struct lfu *lfu, uint32_t place)
{
    for (place++; place <= lfu->trail.paths->workload->node_count; place += place & (~place + 1))
        lfu->ends[place]++;
}

static struct heap_key key_of(struct eviction *eviction, holding_id holding)
{
    const struct lfu *lfu = eviction->state;
    const struct paths *paths = lfu->trail.paths;
    const struct per_holding *here = of(eviction, holding);
    uint64_t uses = here->uses, last = here->last;
    if (paths && holding_is_kv(eviction->cache, holding)) {
        uint32_t place = paths->places[holding];
        uint32_t walked = trail_number(&lfu->trail, place);
        uses += ends_before(lfu, place + paths->sizes[holding]) - ends_before(lfu, place);
        if (walked > last + 1)
            last = walked - 1;
    }
    return (struct heap_key){uses, last, heap_within(eviction->cache, holding)};
}

static int init(struct eviction *eviction, struct err *err)
{
    (void)err;
    ((struct lfu *)eviction->state)->rank.key_of = key_of;
    return 0;
}

static void fini(struct eviction *eviction)
{
    struct lfu *lfu = eviction->state;
    trail_close(&lfu->trail);
    free(lfu->ends);
    rank_fini(eviction);
}

static void count_use(struct eviction *eviction, holding_id holding)
{
    struct per_holding *here = of(eviction, holding);
    uint32_t moment = cache_moment(eviction->cache);
    if (here->uses > 0 && here->last == moment)
        return; /* one request uses a thing once */
    here->uses++;
    here->last = moment;
    if (here->mark.present)
        rank_push(eviction, holding);
}

static bool is_resident(const void *user, node_id node)
{
    return ((const struct cache_node *)user)[node].resident > 0;
}

/* The same as a use of every node on the path down to a node. */
static void count_path(struct eviction *eviction, node_id node)
{
    struct lfu *lfu = eviction->state;
    const struct cache *cache = eviction->cache;
    uint64_t passed = 0;
    if (lfu->trail.paths == NULL) {
        trail_open(&lfu->trail, cache->paths);
        lfu->ends = mem_array((size_t)cache->workload->node_count + 1, sizeof *lfu->ends);
    }
    eviction->steps += trail_walk(&lfu->trail, node, cache_moment(cache) + 1);
    count_end(lfu, cache->paths->places[node]);
    node = paths_last(cache->paths, node, is_resident, cache->nodes, &passed, &eviction->steps);
    if (node != NODE_ROOT && cache->nodes[node].children == 0)
        rank_push(eviction, node);
}

static void begin(struct eviction *eviction, const struct context *context)
{
    const struct cache *cache = eviction->cache;
    if (!cache->kv_is_holding)
        return;
    if (cache->paths) {
        count_path(eviction, context->request->reply_node);
        return;
    }
    for (node_id node = context->request->reply_node; node != NODE_ROOT;
         node = cache->workload->nodes[node].parent, eviction->walked++)
        count_use(eviction, node);
}

static void used(struct eviction *eviction, holding_id holding)
{
    if (!holding_is_kv(eviction->cache, holding))
        count_use(eviction, holding);
}

static void path_used(struct eviction *eviction, node_id node)
{
    (void)eviction; /* it was counted when the request came */
    (void)node;
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    (void)from;
    if (!holding_is_kv(eviction->cache, holding)) {
        of(eviction, holding)->uses = 0;
        count_use(eviction, holding);
    }
    rank_push(eviction, holding);
}

const struct eviction_ops eviction_lfu = {
    .plugin = {.name = "lfu",
               .summary = "what was used least often leaves first",
               .state_size = sizeof(struct lfu)},
    .holding_size = sizeof(struct per_holding),
    .init = init,
    .fini = fini,
    .begin = begin,
    .added = added,
    .used = used,
    .path_used = path_used,
    .gone = rank_gone,
    .choose = rank_victim,
    .check = rank_check,
};
