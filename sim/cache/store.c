#include "sim/cache/store.h"

#include <assert.h>

#include "sim/core/mem.h"

uint64_t cache_pages(const struct cache *cache, uint32_t from, uint32_t to, bool at_end)
{
    if (to <= from)
        return 0;
    uint32_t round_up = (uint32_t)cache->memory.page_tokens - 1;
    uint32_t before = cache_whole_pages(cache, at_end ? from + round_up : from);
    return cache_whole_pages(cache, to + round_up) - before;
}

/* A node gets its first KV. */
static void join_kin(struct cache *cache, node_id node, node_id parent)
{
    struct kin *kin = cache->kin;
    uint32_t next = kin[parent].first_child;
    kin[node].next = next;
    kin[node].previous = 0;
    if (next)
        kin[next - 1].previous = node + 1;
    kin[parent].first_child = node + 1;
}

/* A node loses its last KV. */
static void leave_kin(struct cache *cache, node_id node, node_id parent)
{
    struct kin *kin = cache->kin;
    if (kin[node].previous)
        kin[kin[node].previous - 1].next = kin[node].next;
    else
        kin[parent].first_child = kin[node].next;
    if (kin[node].next)
        kin[kin[node].next - 1].previous = kin[node].previous;
}

void store_kv(struct cache *cache, node_id node, uint32_t position)
{
    struct cache_node *here = &cache->nodes[node];
    uint32_t start = workload_node_start(cache->workload, node);
    uint32_t from = start + here->resident;
    if (position <= from)
        return;
    assert(here->children == 0 && position <= cache->workload->nodes[node].end);
    struct cache_node *parent = &cache->nodes[cache->workload->nodes[node].parent];
    bool at_end = here->resident > 0 || parent->children == 0;
    uint64_t pages = cache_pages(cache, from, position, at_end);
    if (here->resident == 0) {
        parent->children++;
        if (cache->kin)
            join_kin(cache, node, cache->workload->nodes[node].parent);
    }
    here->resident = position - start;
    if (here->kept < here->resident)
        here->kept = here->resident;
    cache->kv_tokens += position - from;
    cache->kv_pages += pages;
    cache->counters.kv_tokens_stored += position - from;
    cache->memory.ops->kv_grow(&cache->memory, node, pages);
    if (cache->kv_is_holding)
        cache->eviction.ops->added(&cache->eviction, node, from);
}

/* Cuts the resident KV of a node that starts at `start` back to `resident` tokens. */
static void shrink(struct cache *cache, node_id node, uint32_t start, uint32_t resident)
{
    struct cache_node *here = &cache->nodes[node];
    struct cache_node *parent = &cache->nodes[cache->workload->nodes[node].parent];
    assert(here->children == 0 && resident < here->resident);
    uint32_t from = start + resident, to = start + here->resident;
    bool at_end = resident > 0 || parent->children == 1;
    uint64_t pages = cache_pages(cache, from, to, at_end);
    here->resident = resident;
    if (resident == 0) {
        parent->children--;
        if (cache->kin)
            leave_kin(cache, node, cache->workload->nodes[node].parent);
    }
    cache->kv_tokens -= to - from;
    cache->kv_pages -= pages;
    cache->counters.kv_tokens_evicted += to - from;
    cache->memory.ops->kv_shrink(&cache->memory, node, pages, resident == 0);
    if (!cache->kv_is_holding)
        return;
    if (resident == 0)
        cache->eviction.ops->gone(&cache->eviction, node);
    else if (cache->eviction.ops->shrunk)
        cache->eviction.ops->shrunk(&cache->eviction, node);
}

void store_drop_orphans(struct cache *cache, node_id node)
{
    if (cache->kv_is_holding && !cache->settings.keep_only_for_fork)
        return;
    for (; node != NODE_ROOT && cache->nodes[node].children == 0;
         node = cache->workload->nodes[node].parent, cache->steps++) {
        uint32_t resident = cache->nodes[node].resident;
        if (resident == 0)
            continue;
        uint32_t start = workload_node_start(cache->workload, node);
        uint32_t link = cache->nodes[node].snapshots;
        uint32_t needed = link != 0 ? cache->snapshots[link - 1].position - start : 0;
        if (cache->kv_pins[node] > 0 && cache_pinned_to(cache, node) - start > needed)
            needed = cache_pinned_to(cache, node) - start;
        if (needed == resident || (cache->forked && cache->forked[node]))
            return;
        shrink(cache, node, start, needed);
        if (needed > 0)
            return;
    }
}

/* Cuts a node's KV back to a position, with the snapshots above it. Where orphans go with them,
 * there may be even less KV afterwards. */
static void cut(struct cache *cache, node_id node, uint32_t position)
{
    uint32_t start = workload_node_start(cache->workload, node);
    while (cache->nodes[node].snapshots != 0 && !cache->settings.dual_index) {
        uint32_t deepest = cache->nodes[node].snapshots - 1;
        if (cache->snapshots[deepest].position <= position)
            break;
        store_drop_snapshot(cache, deepest);
    }
    if (start + cache->nodes[node].resident > position)
        shrink(cache, node, start, position - start);
}

/* So many pages before an end, but not below floor. */
static uint32_t pages_back(const struct cache *cache, uint32_t end, uint64_t pages, uint32_t floor)
{
    uint32_t page = (uint32_t)cache->memory.page_tokens;
    uint32_t end_page = cache_whole_pages(cache, end + page - 1);
    uint32_t target = pages < end_page ? (end_page - (uint32_t)pages) * page : 0;
    return target > floor ? target : floor;
}

void store_drop_kv(struct cache *cache, node_id node, uint64_t pages, uint32_t down_to)
{
    uint32_t start = workload_node_start(cache->workload, node);
    uint32_t end = start + cache->nodes[node].resident;
    uint32_t floor = down_to > start ? down_to : start;
    if (cache->kv_pins[node] > 0 && cache_pinned_to(cache, node) > floor)
        floor = cache_pinned_to(cache, node);
    assert(cache->kv_is_holding && floor < end && pages > 0);
    uint32_t deepest = cache->settings.dual_index ? 0 : cache->nodes[node].snapshots;
    if (deepest != 0 && cache->snapshots[deepest - 1].position == end) {
        store_drop_snapshot(cache, deepest - 1);
        return;
    }
    if (deepest != 0 && cache->snapshots[deepest - 1].position > floor)
        floor = cache->snapshots[deepest - 1].position;
    shrink(cache, node, start, pages_back(cache, end, pages, floor) - start);
    store_drop_orphans(cache, node);
}

void store_drop_pages(struct cache *cache, node_id node, uint64_t pages)
{
    const struct kin *kin = cache->kin;
    node_id leaf = node;
    for (;;) {
        for (; kin[leaf].first_child; cache->steps++)
            leaf = kin[leaf].first_child - 1;
        if (leaf == node)
            break;
        cut(cache, leaf, workload_node_start(cache->workload, leaf));
        while (leaf != node && cache->nodes[leaf].resident == 0)
            leaf = cache->workload->nodes[leaf].parent;
    }
    if (cache->nodes[node].resident == 0)
        return;
    uint32_t start = workload_node_start(cache->workload, node);
    cut(cache, node, pages_back(cache, start + cache->nodes[node].resident, pages, start));
    store_drop_orphans(cache, node);
}

void store_use_path(struct cache *cache, node_id node)
{
    if (cache->memory.ops->path_used)
        cache->memory.ops->path_used(&cache->memory, node);
}

void store_use_snapshot(struct cache *cache, uint32_t snapshot)
{
    if (cache->memory.ops->used)
        cache->memory.ops->used(&cache->memory, snapshot);
}

static uint32_t take_slot(struct cache *cache)
{
    if (cache->snapshot_free != 0) {
        uint32_t slot = cache->snapshot_free - 1;
        cache->snapshot_free = cache->snapshots[slot].next;
        return slot;
    }
    uint32_t slot = cache->snapshot_count++;
    cache->snapshots = mem_grow(cache->snapshots, &cache->snapshot_capacity, cache->snapshot_count,
                                sizeof *cache->snapshots);
    size_t holdings = (size_t)cache->workload->node_count + cache->snapshot_count;
    cache->eviction.holdings = mem_grow_zeroed(cache->eviction.holdings, &cache->holding_capacity,
                                               holdings, cache->eviction.ops->holding_size);
    return slot;
}

uint32_t store_find_snapshot(const struct cache *cache, node_id node, uint32_t position)
{
    uint32_t link = cache_snapshots_to(cache, node, position);
    return link != 0 && cache->snapshots[link - 1].position == position ? link - 1 : SNAPSHOT_NONE;
}

/* Where there are paths, keeps the mark of a node whose first snapshot came or last one went. */
static inline void mark_snapshots(struct cache *cache, node_id node)
{
    if (cache->paths == NULL)
        return;
    uint32_t place = cache->paths->places[node];
    if (cache->nodes[node].snapshots != 0)
        marks_set(&cache->with_snapshots, place);
    else
        marks_clear(&cache->with_snapshots, place);
}

/* Makes `next` the one after `deeper` on a node; deeper 0 is the node itself. */
static void link_snapshot(struct cache *cache, node_id node, uint32_t deeper, uint32_t next)
{
    if (deeper != 0)
        cache->snapshots[deeper - 1].next = next;
    else
        cache->nodes[node].snapshots = next;
}

uint32_t store_snapshot(struct cache *cache, node_id node, const struct wanted_position *wanted,
                        uint32_t stream)
{
    uint32_t slot = take_slot(cache);
    uint32_t deeper = 0, next = cache->nodes[node].snapshots;
    while (next != 0 && cache->snapshots[next - 1].position > wanted->position) {
        deeper = next;
        next = cache->snapshots[next - 1].next;
    }
    cache->snapshots[slot] =
        (struct snapshot){.node = node,
                          .position = wanted->position,
                          .asked = wanted->asked,
                          .next = next,
                          .deeper = deeper,
                          .stream = stream,
                          .serial = (uint32_t)cache->counters.snapshots_taken + 1,
                          .live = true};
    link_snapshot(cache, node, deeper, slot + 1);
    if (next != 0)
        cache->snapshots[next - 1].deeper = slot + 1;
    mark_snapshots(cache, node);
    cache->live_snapshots++;
    cache->counters.snapshots_taken++;
    cache->memory.ops->snapshot_add(&cache->memory, slot);
    cache->eviction.ops->added(&cache->eviction, snapshot_holding(cache, slot), wanted->position);
    return slot;
}

void store_drop_snapshot(struct cache *cache, uint32_t snapshot)
{
    struct snapshot *gone = &cache->snapshots[snapshot];
    assert(gone->live && gone->pins == 0);
    node_id node = gone->node;
    link_snapshot(cache, node, gone->deeper, gone->next);
    if (gone->next != 0)
        cache->snapshots[gone->next - 1].deeper = gone->deeper;
    mark_snapshots(cache, node);
    gone->live = false;
    gone->stream = 0;
    gone->next = cache->snapshot_free;
    cache->snapshot_free = snapshot + 1;
#ifndef SIM_PLANTED_FAULT /* a build that must fail the audit: tests/cli/planted_fault.sh */
    cache->live_snapshots--;
#endif
    cache->memory.ops->snapshot_drop(&cache->memory, snapshot);
    store_drop_orphans(cache, node);
    cache->eviction.ops->gone(&cache->eviction, snapshot_holding(cache, snapshot));
}
