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
 * For a memory strategy whose shortages name a part, each kind has a list of its own, and the older
 * of both fronts leaves when either kind helps. Where snapshots are the only holdings, and KV is
 * short, only a snapshot at the end of its path helps: those also stand in a heap by age. A
 * snapshot enters it when it becomes such an end, and is thrown away when it comes up and is not
 * one any more, or has been used since.
 *
 * Where paths are long, they are used as a whole: lru_path.c. */
#include "policies/eviction/lru.h"

#include <stdlib.h>

#include "sim/core/mem.h"

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

static int init(struct eviction *lru, struct err *err)
{
    (void)err;
    const struct lru *settings = lru->settings;
    ((struct lists *)lru->state)->by_part = lru->cache->memory.ops->flags & MEMORY_BY_PART;
    lru->refreshes_path = settings->refresh != REFRESH_HIT;
    lru->consumed_last = settings->refresh == REFRESH_BOTH;
    return 0;
}

static void fini(struct eviction *lru)
{
    struct lists *lists = lru->state;
    free(lists->moments);
    free(lists->ends.entries);
    free(lists->aside);
    lru_path_fini(lru);
}

/* Before anything is used or added: KV has its place among that of the same moment only. */
static struct lists *at_moment(struct eviction *lru)
{
    struct lists *lists = lru->state;
    if (lists->moment != cache_moment(lru->cache)) {
        lists->moment = cache_moment(lru->cache);
        lists->kv_place = 0;
    }
    return lists;
}

/* Puts a link before another, or at the young end if that is 0. */
static void insert(struct eviction *lru, uint32_t link, uint32_t before)
{
    struct list *list = lru_list(lru, link - 1);
    struct link *here = lru_link(lru, link);
    here->younger = before;
    here->older = before ? lru_link(lru, before)->older : list->youngest;
    if (here->older)
        lru_link(lru, here->older)->younger = link;
    else
        list->oldest = link;
    if (before)
        lru_link(lru, before)->older = link;
    else
        list->youngest = link;
}

static void take_out(struct eviction *lru, holding_id holding)
{
    struct lists *lists = lru->state;
    struct list *list = lru_list(lru, holding);
    struct link *here = lru_link(lru, holding + 1);
    if (lists->kv_place == holding + 1)
        lists->kv_place = here->younger;
    if (here->older)
        lru_link(lru, here->older)->younger = here->younger;
    else
        list->oldest = here->younger;
    if (here->younger)
        lru_link(lru, here->younger)->older = here->older;
    else
        list->youngest = here->older;
}

void lru_renew_run(struct eviction *lru, holding_id oldest, holding_id youngest)
{
    struct list *list = lru_list(lru, oldest);
    uint32_t older = lru_link(lru, oldest + 1)->older;
    uint32_t younger = lru_link(lru, youngest + 1)->younger;
    if (younger == 0)
        return;
    lru_link(lru, younger)->older = older;
    if (older)
        lru_link(lru, older)->younger = younger;
    else
        list->oldest = younger;
    lru_link(lru, list->youngest)->younger = oldest + 1;
    lru_link(lru, oldest + 1)->older = list->youngest;
    lru_link(lru, youngest + 1)->younger = 0;
    list->youngest = youngest + 1;
}

uint32_t lru_moment(const struct eviction *lru, holding_id holding)
{
    const struct lists *lists = lru->state;
    bool is_kv = holding_is_kv(lru->cache, holding);
    const struct trail *trail = is_kv ? &lists->kv_trail : &lists->snapshot_trail;
    uint32_t added = lists->moments[holding];
    if (trail->paths == NULL)
        return added;
    node_id node = is_kv ? holding : holding_snapshot(lru->cache, holding)->node;
    uint32_t walked = trail_number(trail, trail->paths->places[node]);
    return walked > added ? walked - 1 : added;
}

static struct heap_key age_of(const struct eviction *lru, holding_id holding)
{
    return (struct heap_key){lru_moment(lru, holding), 0, heap_within(lru->cache, holding)};
}

static void enter_end(struct eviction *lru, uint32_t snapshot)
{
    holding_id holding = snapshot_holding(lru->cache, snapshot);
    if (snapshot_ends_path(lru->cache, snapshot))
        heap_put(&((struct lists *)lru->state)->ends,
                 (struct heap_entry){age_of(lru, holding), holding, 0});
}

/* Only by_part: the holding is as young as this request, and may be the end of its path. */
static void renew(struct eviction *lru, holding_id holding)
{
    struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    lists->moments = mem_grow(lists->moments, &lists->moments_capacity, (size_t)holding + 1,
                              sizeof *lists->moments);
    lists->moments[holding] = lists->moment;
    if (cache->tracks_ends)
        enter_end(lru, holding_snapshot_id(cache, holding));
}

static void gone(struct eviction *lru, holding_id holding)
{
    const struct cache *cache = lru->cache;
    take_out(lru, holding);
    if (cache->paths && !holding_is_kv(cache, holding))
        lru_snapshot_moved(lru, holding_snapshot(cache, holding)->node);
    if (cache->tracks_ends) {
        uint32_t end = cache_path_end(cache, holding_snapshot(cache, holding)->node);
        if (end != SNAPSHOT_NONE)
            enter_end(lru, end);
    }
}

static void added(struct eviction *lru, holding_id holding, uint32_t from)
{
    struct lists *lists = at_moment(lru);
    const struct cache *cache = lru->cache;
    if (!holding_is_kv(cache, holding)) {
        insert(lru, holding + 1, 0);
        if (cache->paths)
            lru_snapshot_moved(lru, holding_snapshot(cache, holding)->node);
    } else {
        if (from > workload_node_start(cache->workload, holding))
            take_out(lru, holding); /* it was there, and moves to its place among what is new */
        insert(lru, holding + 1, lists->kv_place);
        lists->kv_place = holding + 1;
        if (cache->paths)
            lru_path_added(lru, holding);
    }
    if (lists->by_part)
        renew(lru, holding);
}

static void used(struct eviction *lru, holding_id holding)
{
    struct lists *lists = at_moment(lru);
    const struct cache *cache = lru->cache;
    lru_renew_run(lru, holding, holding);
    if (lists->kv_place == 0 && holding_is_kv(cache, holding))
        lists->kv_place = holding + 1;
    if (cache->paths && !holding_is_kv(cache, holding))
        lru_snapshot_moved(lru, holding_snapshot(cache, holding)->node);
    if (lists->by_part)
        renew(lru, holding);
}

static void path_used(struct eviction *lru, node_id node)
{
    (void)at_moment(lru);
    if (lru->cache->paths) {
        lru_path_used(lru, node);
        return;
    }
    for (; node != NODE_ROOT; node = lru->cache->workload->nodes[node].parent, lru->walked++)
        used(lru, node);
}

static uint32_t oldest_of(const struct eviction *lru, const struct list *list, enum part wanted)
{
    uint32_t link = list->oldest;
    while (link && !holding_droppable(lru->cache, link - 1, wanted))
        link = lru_link(lru, link)->younger;
    return link;
}

/* Whether an entry says what is so: the snapshot is there, ends its path, and has that age. */
static bool is_an_end(const struct eviction *lru, const struct heap_entry *entry)
{
    const struct cache *cache = lru->cache;
    if (!holding_snapshot(cache, entry->holding)->live ||
        !snapshot_ends_path(cache, holding_snapshot_id(cache, entry->holding)))
        return false;
    struct heap_key age = age_of(lru, entry->holding);
    return age.first == entry->key.first && age.within == entry->key.within;
}

/* Of the snapshots at the ends of their paths, the oldest that is not pinned. */
static uint32_t oldest_end(const struct eviction *lru)
{
    struct lists *lists = lru->state;
    struct heap *ends = &lists->ends;
    size_t pinned = 0;
    uint32_t found = 0;
    for (; ends->count > 0 && found == 0; heap_pop(ends)) {
        const struct heap_entry top = ends->entries[0];
        if (!is_an_end(lru, &top))
            continue;
        if (holding_droppable(lru->cache, top.holding, PART_KV))
            found = top.holding + 1;
        lists->aside =
            mem_grow(lists->aside, &lists->aside_capacity, pinned + 1, sizeof *lists->aside);
        lists->aside[pinned++] = top;
    }
    while (pinned > 0)
        heap_put(ends, lists->aside[--pinned]);
    return found;
}

static struct victim choose(struct eviction *lru, enum part wanted)
{
    const struct lists *lists = lru->state;
    uint32_t kv = 0, snapshot = 0;
    if (wanted != PART_SNAPSHOT)
        kv = oldest_of(lru, &lists->kv, wanted);
    if (!lists->by_part)
        return (struct victim){kv ? kv - 1 : HOLDING_NONE, 0};
    if (wanted != PART_KV)
        snapshot = oldest_of(lru, &lists->snapshots, wanted);
    else if (lru->cache->tracks_ends)
        snapshot = oldest_end(lru);
    if (kv && snapshot && lru_moment(lru, snapshot - 1) < lru_moment(lru, kv - 1))
        kv = 0;
    uint32_t link = kv ? kv : snapshot;
    return (struct victim){link ? link - 1 : HOLDING_NONE, 0};
}

/* Counts what stands in a list; fails unless all is linked both ways, and in order of age. */
static int count_list(const struct eviction *lru, const struct list *list, uint64_t *kv,
                      uint64_t *snapshots, struct err *err)
{
    const struct lists *lists = lru->state;
    uint32_t before = 0;
    for (uint32_t link = list->oldest; link; link = lru_link(lru, link)->younger) {
        if (lru_link(lru, link)->older != before)
            return err_set(err, "lru: holding %u is not linked back", link - 1);
        if (lists->by_part && before && lru_moment(lru, before - 1) > lru_moment(lru, link - 1))
            return err_set(err, "lru: holding %u is younger than the next", before - 1);
        before = link;
        bool is_kv = holding_is_kv(lru->cache, link - 1);
        *kv += is_kv;
        *snapshots += !is_kv;
    }
    return before == list->youngest ? 0 : err_set(err, "lru: a list ends too early");
}

static int check(const struct eviction *lru, struct err *err)
{
    const struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    uint64_t kv = 0, snapshots = 0, resident = 0;
    if (lru_path_check(lru, err) != 0)
        return -1;
    if (count_list(lru, &lists->kv, &kv, &snapshots, err) != 0 ||
        count_list(lru, &lists->snapshots, &kv, &snapshots, err) != 0)
        return -1;
    for (node_id node = 1; cache->kv_is_holding && node < cache->workload->node_count; node++)
        resident += cache->nodes[node].resident > 0;
    if (snapshots != cache->live_snapshots || kv != resident)
        return err_set(err, "lru: the lists hold %llu snapshots of %u, %llu KV nodes of %llu",
                       (unsigned long long)snapshots, cache->live_snapshots, (unsigned long long)kv,
                       (unsigned long long)resident);
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
    .added = added,
    .used = used,
    .path_used = path_used,
    .snapshots_used = lru_snapshots_used,
    .gone = gone,
    .choose = choose,
    .check = check,
};
