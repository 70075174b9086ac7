#include "policies/eviction/rank.h"

#include <stdlib.h>

#include "sim/core/mem.h"

static struct rank_mark *mark_of(const struct eviction *eviction, holding_id holding)
{
    char *memory = eviction->holdings;
    return (struct rank_mark *)(void *)(memory + holding * eviction->ops->holding_size);
}

static bool is_stale(const struct eviction *eviction, const struct heap *heap,
                     const struct heap_entry *entry)
{
    const struct rank *rank = eviction->state;
    const struct cache *cache = eviction->cache;
    if (mark_of(eviction, entry->holding)->stamp != entry->stamp)
        return true;
    if (holding_is_kv(cache, entry->holding))
        return cache->nodes[entry->holding].children > 0;
    return heap == &rank->ends &&
           !snapshot_ends_path(cache, holding_snapshot_id(cache, entry->holding));
}

#define HEAP_SLACK 64

/* Puts an entry in. Every use of a holding leaves its older entry behind, so a heap that has
 * doubled is first cleared of those: it stays as small as what it ranks. */
static void enter(const struct eviction *eviction, struct heap *heap, struct heap_entry entry)
{
    if (heap->count >= 2 * heap->settled + HEAP_SLACK) {
        size_t before = heap->count;
        heap->count = 0;
        for (size_t i = 0; i < before; i++) /* in place: no more are put than were read */
            if (!is_stale(eviction, heap, &heap->entries[i]))
                heap_put(heap, heap->entries[i]);
        heap->settled = heap->count;
    }
    heap_put(heap, entry);
}

void rank_push(struct eviction *eviction, holding_id holding)
{
    struct rank *rank = eviction->state;
    const struct cache *cache = eviction->cache;
    struct rank_mark *mark = mark_of(eviction, holding);
    mark->present = 1;
    struct heap_entry entry = {rank->key_of(eviction, holding), holding, ++mark->stamp};
    if (holding_is_kv(cache, holding)) {
        enter(eviction, &rank->kv, entry);
        return;
    }
    enter(eviction, &rank->snapshots, entry);
    if (cache->tracks_ends && snapshot_ends_path(cache, holding_snapshot_id(cache, holding)))
        enter(eviction, &rank->ends, entry);
}

void rank_gone(struct eviction *eviction, holding_id holding)
{
    const struct cache *cache = eviction->cache;
    struct rank_mark *mark = mark_of(eviction, holding);
    mark->stamp++;
    mark->present = 0;
    if (holding_is_kv(cache, holding)) {
        node_id parent = cache->workload->nodes[holding].parent;
        if (parent != NODE_ROOT && cache->nodes[parent].children == 0)
            rank_push(eviction, parent);
    } else if (cache->tracks_ends) {
        uint32_t end = cache_path_end(cache, holding_snapshot(cache, holding)->node);
        if (end != SNAPSHOT_NONE)
            rank_push(eviction, snapshot_holding(cache, end));
    }
}

void rank_fini(struct eviction *eviction)
{
    struct rank *rank = eviction->state;
    free(rank->kv.entries);
    free(rank->snapshots.entries);
    free(rank->ends.entries);
    free(rank->aside);
}

/* The first of a heap that can go, without taking it out; *found as HOLDING_NONE if none can. */
static void find_first(struct eviction *eviction, struct heap *heap, enum part wanted,
                       struct heap_entry *found)
{
    struct rank *rank = eviction->state;
    size_t aside = 0;
    found->holding = HOLDING_NONE;
    while (heap->count > 0) {
        struct heap_entry top = heap->entries[0];
        bool stale = is_stale(eviction, heap, &top);
        if (!stale && holding_droppable(eviction->cache, top.holding, wanted)) {
            *found = top;
            break;
        }
        heap_pop(heap);
        if (stale)
            continue;
        rank->aside = mem_grow(rank->aside, &rank->aside_capacity, aside + 1, sizeof *rank->aside);
        rank->aside[aside++] = top;
    }
    while (aside > 0)
        heap_put(heap, rank->aside[--aside]);
}

holding_id rank_choose(struct eviction *eviction, enum part wanted)
{
    struct rank *rank = eviction->state;
    bool kv_is_holding = eviction->cache->kv_is_holding;
    struct heap_entry kv = {.holding = HOLDING_NONE}, snapshot = {.holding = HOLDING_NONE};
    if (wanted == PART_KV && !kv_is_holding) {
        find_first(eviction, &rank->ends, wanted, &snapshot);
        return snapshot.holding;
    }
    if (wanted != PART_SNAPSHOT)
        find_first(eviction, &rank->kv, wanted, &kv);
    if (wanted != PART_KV)
        find_first(eviction, &rank->snapshots, wanted, &snapshot);
    if (kv.holding == HOLDING_NONE || snapshot.holding == HOLDING_NONE)
        return kv.holding == HOLDING_NONE ? snapshot.holding : kv.holding;
    return heap_before(&kv, &snapshot) ? kv.holding : snapshot.holding;
}

static uint64_t count_valid(const struct eviction *eviction, const struct heap *heap)
{
    uint64_t valid = 0;
    for (size_t i = 0; i < heap->count; i++)
        valid += !is_stale(eviction, heap, &heap->entries[i]) &&
                 mark_of(eviction, heap->entries[i].holding)->present;
    return valid;
}

struct victim rank_victim(struct eviction *eviction, enum part wanted)
{
    return (struct victim){rank_choose(eviction, wanted), 0};
}

/* Everything that could go must have an entry that is not stale. */
int rank_check(const struct eviction *eviction, struct err *err)
{
    const struct rank *rank = eviction->state;
    const struct cache *cache = eviction->cache;
    uint64_t kv = 0, ends = 0;
    for (node_id node = 1; node < cache->workload->node_count; node++)
        kv += cache->kv_is_holding && cache->nodes[node].resident > 0 &&
              cache->nodes[node].children == 0;
    for (uint32_t i = 0; cache->tracks_ends && i < cache->snapshot_count; i++)
        ends += cache->snapshots[i].live && snapshot_ends_path(cache, i);
    if (!heap_is_ordered(&rank->kv) || !heap_is_ordered(&rank->snapshots) ||
        !heap_is_ordered(&rank->ends))
        return err_set(err, "%s: an entry is out of order", eviction->ops->plugin.name);
    if (count_valid(eviction, &rank->kv) == kv &&
        count_valid(eviction, &rank->snapshots) == cache->live_snapshots &&
        count_valid(eviction, &rank->ends) == ends)
        return 0;
    return err_set(err, "%s: holdings that can go are not ranked", eviction->ops->plugin.name);
}
