/* lru:refresh=hit|path|both - the least recently used holding leaves first.
 *
 * Two lists from oldest to youngest, of KV and of snapshots; the older of both fronts leaves, KV
 * before snapshots of the same request. Within a request the order is: KV deepest to shallowest,
 * then snapshots shallowest to deepest (eviction.h). KV that is used comes deepest first and goes
 * to the young end; KV that is added later, above nothing that was there, is deeper still and
 * belongs just before it, so the list remembers that place.
 *
 * refresh says what a look-up renews among snapshots: `hit` only the one it starts from (the rest
 * of the path served nobody), `path` all on the path, `both` all, with the consumed one youngest.
 * KV of the path is renewed in every case: up to the hit it is used, above it is computed anew.
 *
 * Where snapshots are the only holdings, and a memory strategy asks for KV, only a snapshot at the
 * end of its path helps: those also stand in a heap by age. A snapshot enters it when it becomes
 * such an end, and is thrown away when it comes up and is not one any more, or has been used since.
 */
#include <stdlib.h>

#include "policies/eviction/heap.h"
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
    uint32_t arrival; /* of the request that added or used it last */
};

struct list {
    uint32_t oldest, youngest;
};

struct lists {
    struct list kv, snapshots;
    uint32_t
        kv_place; /* where this request's next, deeper KV goes: just before it; 0: at the end */
    uint32_t arrival;
    struct heap ends;
};

static struct link *link_of(const struct eviction *lru, uint32_t link)
{
    return &((struct link *)lru->holdings)[link - 1];
}

static struct list *list_of(const struct eviction *lru, holding_id holding)
{
    struct lists *lists = lru->state;
    return holding_is_kv(lru->cache, holding) ? &lists->kv : &lists->snapshots;
}

static int init(struct eviction *lru, struct err *err)
{
    (void)err;
    const struct lru *settings = lru->settings;
    lru->refreshes_path = settings->refresh != REFRESH_HIT;
    lru->consumed_last = settings->refresh == REFRESH_BOTH;
    return 0;
}

static void fini(struct eviction *lru)
{
    free(((struct lists *)lru->state)->ends.entries);
}

static void begin(struct eviction *lru, uint32_t arrival)
{
    struct lists *lists = lru->state;
    lists->kv_place = 0;
    lists->arrival = arrival;
}

/* Puts a link before another, or at the young end if that is 0. */
static void insert(struct eviction *lru, uint32_t link, uint32_t before)
{
    struct list *list = list_of(lru, link - 1);
    struct link *here = link_of(lru, link);
    here->arrival = ((const struct lists *)lru->state)->arrival;
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

static void take_out(struct eviction *lru, holding_id holding)
{
    struct lists *lists = lru->state;
    struct list *list = list_of(lru, holding);
    struct link *here = link_of(lru, holding + 1);
    if (lists->kv_place == holding + 1)
        lists->kv_place = here->younger;
    if (here->older)
        link_of(lru, here->older)->younger = here->younger;
    else
        list->oldest = here->younger;
    if (here->younger)
        link_of(lru, here->younger)->older = here->older;
    else
        list->youngest = here->older;
}

static struct heap_key age_of(const struct eviction *lru, holding_id holding)
{
    return (struct heap_key){link_of(lru, holding + 1)->arrival, 0,
                             heap_within(lru->cache, holding)};
}

static void enter_end(struct eviction *lru, uint32_t snapshot)
{
    const struct cache *cache = lru->cache;
    holding_id holding = cache->workload->node_count + snapshot;
    if (snapshot != SNAPSHOT_NONE && snapshot_ends_path(cache, snapshot))
        heap_put(&((struct lists *)lru->state)->ends,
                 (struct heap_entry){age_of(lru, holding), holding, 0});
}

static void gone(struct eviction *lru, holding_id holding)
{
    const struct cache *cache = lru->cache;
    take_out(lru, holding);
    if (cache->tracks_ends && !holding_is_kv(cache, holding))
        enter_end(lru, cache_path_end(cache, holding_snapshot(cache, holding)->node));
}

static void added(struct eviction *lru, holding_id holding, uint32_t from)
{
    struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    if (!holding_is_kv(cache, holding)) {
        insert(lru, holding + 1, 0);
        if (cache->tracks_ends)
            enter_end(lru, holding - cache->workload->node_count);
        return;
    }
    if (from > workload_node_start(cache->workload, holding))
        return; /* it was used by the look-up, and stands where it belongs */
    insert(lru, holding + 1, lists->kv_place);
    lists->kv_place = holding + 1;
}

static void used(struct eviction *lru, holding_id holding)
{
    struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    if (list_of(lru, holding)->youngest != holding + 1) {
        take_out(lru, holding);
        insert(lru, holding + 1, 0);
    } else {
        link_of(lru, holding + 1)->arrival = lists->arrival;
    }
    if (holding_is_kv(cache, holding)) {
        if (lists->kv_place == 0)
            lists->kv_place = holding + 1;
    } else if (cache->tracks_ends) {
        enter_end(lru, holding - cache->workload->node_count);
    }
}

static uint32_t oldest_of(const struct eviction *lru, const struct list *list, enum part wanted)
{
    uint32_t link = list->oldest;
    while (link && !holding_droppable(lru->cache, link - 1, wanted))
        link = link_of(lru, link)->younger;
    return link;
}

/* Of the snapshots at the ends of their paths, the oldest. What is pinned belongs to the request
 * that is being served, and so is younger than all that can go. */
static uint32_t oldest_end(const struct eviction *lru)
{
    struct heap *ends = &((struct lists *)lru->state)->ends;
    for (; ends->count > 0; heap_pop(ends)) {
        holding_id holding = ends->entries[0].holding;
        struct heap_key age = age_of(lru, holding);
        if (holding_snapshot(lru->cache, holding)->live &&
            snapshot_ends_path(lru->cache, holding - lru->cache->workload->node_count) &&
            age.first == ends->entries[0].key.first && age.within == ends->entries[0].key.within)
            return holding_droppable(lru->cache, holding, PART_KV) ? holding + 1 : 0;
    }
    return 0;
}

static struct victim choose(struct eviction *lru, enum part wanted)
{
    const struct lists *lists = lru->state;
    uint32_t kv = 0, snapshot = 0;
    if (wanted == PART_KV && !lru->cache->kv_is_holding)
        snapshot = oldest_end(lru);
    else if (wanted != PART_KV)
        snapshot = oldest_of(lru, &lists->snapshots, wanted);
    if (wanted != PART_SNAPSHOT)
        kv = oldest_of(lru, &lists->kv, wanted);
    if (kv && (!snapshot || link_of(lru, kv)->arrival <= link_of(lru, snapshot)->arrival))
        return (struct victim){kv - 1, 0};
    return (struct victim){snapshot ? snapshot - 1 : HOLDING_NONE, 0};
}

/* How many stand in a list, all linked both ways and in order of age; UINT64_MAX if not. */
static uint64_t count_list(const struct eviction *lru, const struct list *list)
{
    uint64_t count = 0;
    uint32_t before = 0;
    for (uint32_t link = list->oldest; link; link = link_of(lru, link)->younger) {
        if (link_of(lru, link)->older != before ||
            (before && link_of(lru, before)->arrival > link_of(lru, link)->arrival))
            return UINT64_MAX;
        before = link;
        count++;
    }
    return before == list->youngest ? count : UINT64_MAX;
}

static int check(const struct eviction *lru, struct err *err)
{
    const struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    uint64_t kv = 0;
    for (node_id node = 1; cache->kv_is_holding && node < cache->workload->node_count; node++)
        kv += cache->nodes[node].resident > 0;
    if (count_list(lru, &lists->kv) != kv)
        return err_set(err, "lru: the list of KV is damaged");
    if (count_list(lru, &lists->snapshots) != cache->live_snapshots)
        return err_set(err, "lru: the list of snapshots is damaged");
    return 0;
}

const struct eviction_ops eviction_lru = {
    .plugin = {.name = "lru",
               .summary = "the least recently used leaves first",
               .params = params,
               .settings_size = sizeof(struct lru),
               .state_size = sizeof(struct lists)},
    .holding_size = sizeof(struct link),
    .init = init,
    .fini = fini,
    .begin = begin,
    .added = added,
    .used = used,
    .gone = gone,
    .choose = choose,
    .check = check,
};
