#include "policies/eviction/rank.h"

#include <stdlib.h>

#include "sim/core/mem.h"

uint64_t rank_within(const struct cache *cache, holding_id holding)
{
    uint32_t position = holding_position(cache, holding);
    return holding_is_kv(cache, holding) ? UINT32_MAX - position : (1ull << 32) + position;
}

static struct rank_mark *mark_of(const struct eviction *eviction, holding_id holding)
{
    char *memory = eviction->holdings;
    return (struct rank_mark *)(void *)(memory + holding * eviction->ops->holding_size);
}

static bool before(const struct rank_entry *a, const struct rank_entry *b)
{
    if (a->key.first != b->key.first)
        return a->key.first < b->key.first;
    if (a->key.second != b->key.second)
        return a->key.second < b->key.second;
    if (a->key.within != b->key.within)
        return a->key.within < b->key.within;
    return a->holding < b->holding;
}

static void put(struct rank *rank, struct rank_entry entry)
{
    size_t at = rank->count++;
    rank->entries = mem_grow(rank->entries, &rank->capacity, rank->count, sizeof *rank->entries);
    for (; at > 0 && before(&entry, &rank->entries[(at - 1) / 2]); at = (at - 1) / 2)
        rank->entries[at] = rank->entries[(at - 1) / 2];
    rank->entries[at] = entry;
}

static void pop(struct rank *rank)
{
    struct rank_entry *entries = rank->entries;
    struct rank_entry last = entries[--rank->count];
    size_t at = 0;
    for (size_t child = 1; child < rank->count; child = 2 * at + 1) {
        if (child + 1 < rank->count && before(&entries[child + 1], &entries[child]))
            child++;
        if (!before(&entries[child], &last))
            break;
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = last;
}

void rank_push(struct eviction *eviction, holding_id holding)
{
    struct rank *rank = eviction->state;
    struct rank_mark *mark = mark_of(eviction, holding);
    mark->present = 1;
    put(rank, (struct rank_entry){rank->key_of(eviction, holding), holding, ++mark->stamp});
}

void rank_gone(struct eviction *eviction, holding_id holding)
{
    const struct cache *cache = eviction->cache;
    struct rank_mark *mark = mark_of(eviction, holding);
    mark->stamp++;
    mark->present = 0;
    if (!holding_is_kv(cache, holding))
        return;
    node_id parent = cache->workload->nodes[holding].parent;
    if (parent != NODE_ROOT && cache->nodes[parent].children == 0)
        rank_push(eviction, parent);
}

void rank_fini(struct eviction *eviction)
{
    struct rank *rank = eviction->state;
    free(rank->entries);
    free(rank->aside);
}

holding_id rank_choose(struct eviction *eviction, enum part wanted)
{
    struct rank *rank = eviction->state;
    const struct cache *cache = eviction->cache;
    size_t aside = 0;
    holding_id chosen = HOLDING_NONE;
    while (rank->count > 0) {
        struct rank_entry top = rank->entries[0];
        bool is_kv = holding_is_kv(cache, top.holding);
        bool stale = mark_of(eviction, top.holding)->stamp != top.stamp ||
                     (is_kv && cache->nodes[top.holding].children > 0);
        bool fits = wanted == PART_ANY || (wanted == PART_KV) == is_kv;
        if (!stale && fits && holding_droppable(cache, top.holding)) {
            chosen = top.holding;
            break;
        }
        pop(rank);
        if (stale)
            continue;
        rank->aside = mem_grow(rank->aside, &rank->aside_capacity, aside + 1, sizeof *rank->aside);
        rank->aside[aside++] = top;
    }
    while (aside > 0)
        put(rank, rank->aside[--aside]);
    return chosen;
}

/* Everything that could go must have an entry that is not stale. */
int rank_check(const struct eviction *eviction, struct err *err)
{
    const struct rank *rank = eviction->state;
    const struct cache *cache = eviction->cache;
    uint64_t entered = 0, expected = cache->live_snapshots;
    for (size_t i = 0; i < rank->count; i++) {
        holding_id holding = rank->entries[i].holding;
        if (i > 0 && before(&rank->entries[i], &rank->entries[(i - 1) / 2]))
            return err_set(err, "%s: entry %zu is out of order", eviction->ops->plugin.name, i);
        bool is_end = !holding_is_kv(cache, holding) || cache->nodes[holding].children == 0;
        entered += is_end && mark_of(eviction, holding)->stamp == rank->entries[i].stamp &&
                   mark_of(eviction, holding)->present;
    }
    for (node_id node = 1; cache->kv_is_holding && node < cache->workload->node_count; node++)
        expected += cache->nodes[node].resident > 0 && cache->nodes[node].children == 0;
    if (entered == expected)
        return 0;
    return err_set(err, "%s: %llu holdings can go, %llu are ranked", eviction->ops->plugin.name,
                   (unsigned long long)expected, (unsigned long long)entered);
}
