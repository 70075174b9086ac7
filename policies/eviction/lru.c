/* lru:refresh=hit|path|both - the least recently used holding leaves first.
 *
 * One list from oldest to youngest holds both kinds. Within a request the order is: KV deepest to
 * shallowest, then snapshots shallowest to deepest (eviction.h). KV that is used comes deepest
 * first and goes to the young end; KV that is added later, above nothing that was there, is deeper
 * still and belongs just before it, so the list remembers that place.
 *
 * refresh says what a look-up renews among snapshots: `hit` only the one it starts from (the rest
 * of the path served nobody), `path` all on the path, `both` all, with the consumed one youngest.
 * KV of the path is renewed in every case: up to the hit it is used, above it is computed anew.
 *
 * The simplest eviction, and the template for a new one. */
#include "sim/cache/cache.h"

struct lru {
    unsigned refresh;
};

enum { REFRESH_HIT, REFRESH_PATH, REFRESH_BOTH };
static const char *const refreshes[] = {"hit", "path", "both", NULL};

static const struct param params[] = {
    PARAM_CHOICES(struct lru, refresh, "hit", refreshes,
                  "what a look-up renews: the snapshot it starts from, all on the path, or all "
                  "with that one youngest"),
    PARAM_END};

/* Links are 1 + holding, 0 for none. */
struct link {
    uint32_t older, younger;
};

struct list {
    uint32_t oldest, youngest;
    uint32_t
        kv_place; /* where this request's next, deeper KV goes: just before it; 0: at the end */
};

static struct link *link_of(const struct eviction *lru, uint32_t link)
{
    return &((struct link *)lru->holdings)[link - 1];
}

static int init(struct eviction *lru, struct err *err)
{
    (void)err;
    const struct lru *settings = lru->settings;
    lru->refreshes_path = settings->refresh != REFRESH_HIT;
    lru->consumed_last = settings->refresh == REFRESH_BOTH;
    return 0;
}

static void begin(struct eviction *lru, uint32_t arrival, const struct request *request)
{
    (void)arrival;
    (void)request;
    ((struct list *)lru->state)->kv_place = 0;
}

/* Puts a link before another, or at the young end if that is 0. */
static void insert(struct eviction *lru, uint32_t link, uint32_t before)
{
    struct list *list = lru->state;
    struct link *here = link_of(lru, link);
    here->younger = before;
    here->older = before ? link_of(lru, before)->older : list->youngest;
    if (here->older)
        link_of(lru, here->older)->younger = link;
    else
        list->oldest = link;
    if (before)
        link_of(lru, before)->older = link;
    else
        list->youngest = link;
}

static void gone(struct eviction *lru, holding_id holding)
{
    struct list *list = lru->state;
    struct link *here = link_of(lru, holding + 1);
    if (list->kv_place == holding + 1)
        list->kv_place = here->younger;
    if (here->older)
        link_of(lru, here->older)->younger = here->younger;
    else
        list->oldest = here->younger;
    if (here->younger)
        link_of(lru, here->younger)->older = here->older;
    else
        list->youngest = here->older;
    *here = (struct link){0, 0};
}

static void added(struct eviction *lru, holding_id holding, uint32_t from)
{
    struct list *list = lru->state;
    if (!holding_is_kv(lru->cache, holding)) {
        insert(lru, holding + 1, 0);
        return;
    }
    if (from > workload_node_start(lru->cache->workload, holding))
        gone(lru, holding); /* it was there, and moves to its place among what is new */
    insert(lru, holding + 1, list->kv_place);
    list->kv_place = holding + 1;
}

static void used(struct eviction *lru, holding_id holding)
{
    struct list *list = lru->state;
    if (list->youngest != holding + 1) {
        gone(lru, holding);
        insert(lru, holding + 1, 0);
    }
    if (list->kv_place == 0 && holding_is_kv(lru->cache, holding))
        list->kv_place = holding + 1;
}

static struct victim choose(struct eviction *lru, enum part wanted)
{
    const struct list *list = lru->state;
    for (uint32_t link = list->oldest; link; link = link_of(lru, link)->younger) {
        bool is_kv = holding_is_kv(lru->cache, link - 1);
        if (wanted != PART_ANY && (wanted == PART_KV) != is_kv)
            continue;
        if (holding_droppable(lru->cache, link - 1))
            return (struct victim){link - 1, 0};
    }
    return (struct victim){HOLDING_NONE, 0};
}

static int check(const struct eviction *lru, struct err *err)
{
    const struct list *list = lru->state;
    uint64_t kv = 0, snapshots = 0;
    uint32_t before = 0;
    for (uint32_t link = list->oldest; link; link = link_of(lru, link)->younger) {
        if (link_of(lru, link)->older != before)
            return err_set(err, "lru: holding %u is not linked back", link - 1);
        before = link;
        bool is_kv = holding_is_kv(lru->cache, link - 1);
        kv += is_kv;
        snapshots += !is_kv;
    }
    if (before != list->youngest || snapshots != lru->cache->live_snapshots)
        return err_set(err, "lru: the list holds %llu snapshots of %u",
                       (unsigned long long)snapshots, lru->cache->live_snapshots);
    uint64_t resident = 0;
    for (node_id node = 1; lru->cache->kv_is_holding && node < lru->cache->workload->node_count;
         node++)
        resident += lru->cache->nodes[node].resident > 0;
    return kv == resident ? 0
                          : err_set(err, "lru: the list holds %llu KV nodes of %llu",
                                    (unsigned long long)kv, (unsigned long long)resident);
}

const struct eviction_ops eviction_lru = {
    .plugin = {.name = "lru",
               .summary = "the least recently used leaves first",
               .params = params,
               .settings_size = sizeof(struct lru),
               .state_size = sizeof(struct list)},
    .holding_size = sizeof(struct link),
    .init = init,
    .begin = begin,
    .added = added,
    .used = used,
    .gone = gone,
    .choose = choose,
    .check = check,
};
