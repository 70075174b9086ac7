/* lfu - the holding that was used least often leaves first, the longest unused among equals.
 *
 * A snapshot's count starts when it is taken and goes up with each request that starts from it or
 * would take it again. KV counts every request whose prompt or reply goes through it, whether or
 * not it was in memory at the time, so that tokens that always go together have the same count. */
#include "policies/eviction/rank.h"

struct per_holding {
    struct rank_mark mark;
    uint32_t uses;
    uint32_t last; /* arrival of the last use */
};

struct lfu {
    struct rank rank;
    uint32_t arrival;
};

static struct per_holding *of(const struct eviction *eviction, holding_id holding)
{
    return &((struct per_holding *)eviction->holdings)[holding];
}

static struct heap_key key_of(struct eviction *eviction, holding_id holding)
{
    const struct per_holding *here = of(eviction, holding);
    return (struct heap_key){here->uses, here->last, heap_within(eviction->cache, holding)};
}

static int init(struct eviction *eviction, struct err *err)
{
    (void)err;
    ((struct lfu *)eviction->state)->rank.key_of = key_of;
    return 0;
}

static void count_use(struct eviction *eviction, holding_id holding)
{
    struct per_holding *here = of(eviction, holding);
    uint32_t arrival = ((const struct lfu *)eviction->state)->arrival;
    if (here->uses > 0 && here->last == arrival)
        return; /* one request uses a thing once */
    here->uses++;
    here->last = arrival;
    if (here->mark.present)
        rank_push(eviction, holding);
}

static void begin(struct eviction *eviction, const struct context *context)
{
    const struct cache *cache = eviction->cache;
    ((struct lfu *)eviction->state)->arrival = context->arrival;
    if (!cache->kv_is_holding)
        return;
    for (node_id node = context->request->reply_node; node != NODE_ROOT;
         node = cache->workload->nodes[node].parent)
        count_use(eviction, node);
}

static void used(struct eviction *eviction, holding_id holding)
{
    if (!holding_is_kv(eviction->cache, holding))
        count_use(eviction, holding);
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    (void)from;
    struct per_holding *here = of(eviction, holding);
    if (!holding_is_kv(eviction->cache, holding))
        here->uses = 0;
    count_use(eviction, holding);
    rank_push(eviction, holding);
}

const struct eviction_ops eviction_lfu = {
    .plugin = {.name = "lfu",
               .summary = "what was used least often leaves first",
               .state_size = sizeof(struct lfu)},
    .holding_size = sizeof(struct per_holding),
    .init = init,
    .fini = rank_fini,
    .begin = begin,
    .added = added,
    .used = used,
    .gone = rank_gone,
    .choose = rank_victim,
    .check = rank_check,
};
