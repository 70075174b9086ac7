/* Making room
 *
 * Room is made for a plan beside what is there and what all running requests have reserved. One
 * victim after the other leaves; each may change what the plan lacks, so that is counted anew. */
#include <assert.h>
#include <stdlib.h>

#include "sim/cache/plan.h"
#include "sim/cache/walk.h"
#include "sim/core/mem.h"

void plan_set_kv_end(struct cache *cache, struct plan *plan, uint32_t kv_end)
{
    const struct request *request = plan->running->context.request;
    uint32_t prompt_end = cache->workload->nodes[request->prompt_node].end;
    node_id deepest = kv_end > prompt_end ? request->reply_node : request->prompt_node;
    uint64_t passed = 0;
    plan->kv_end = kv_end;
    plan->kv_node = walk_to_position(cache, deepest, kv_end, &passed);
    plan->resident_node = plan->kv_node;
}

void plan_find_nodes(struct cache *cache, const struct plan *plan)
{
    uint64_t passed = 0;
    node_id node = plan->kv_node;
    if (cache->wanted_capacity < plan->count)
        cache->wanted_nodes = mem_grow(cache->wanted_nodes, &cache->wanted_capacity, plan->count,
                                       sizeof *cache->wanted_nodes);
    for (size_t i = plan->count; i-- > plan->first;) {
        node = walk_to_position(cache, node, plan->wanted[i].position, &passed);
        cache->wanted_nodes[i] = node;
    }
}

void plan_for_each(struct cache *cache, struct plan *plan, plan_visit *visit)
{
    for (size_t i = plan->first; i < plan->count; i++)
        visit(cache, plan, &plan->wanted[i], cache->wanted_nodes[i]);
    cache->steps += plan->count - plan->first;
}

/* KV pages that are missing on the path now. Every drop may change that: KV of the path above the
 * hit may go, and where a branch beside the path goes, the page that both had cut is the path's. */
static uint64_t missing_pages(struct cache *cache, struct plan *plan)
{
    uint64_t passed = 0;
    node_id node = walk_to_resident(cache, plan->resident_node, &passed);
    plan->resident_node = node; /* while room is made, KV only goes */
    uint32_t from = workload_node_start(cache->workload, node) + cache->nodes[node].resident;
    plan->missing_tokens = plan->kv_end > from ? plan->kv_end - from : 0;
    return cache_pages(cache, from, plan->kv_end, cache->nodes[node].children == 0);
}

static uint64_t missing_snapshots(const struct cache *cache, const struct plan *plan)
{
    size_t wanted = plan->count - plan->first;
    if (!plan->counts_anew)
        return wanted - plan->running->renewed_count;
    for (size_t i = plan->first; i < plan->count; i++)
        wanted -= store_find_snapshot(cache, cache->wanted_nodes[i], plan->wanted[i].position) !=
                  SNAPSHOT_NONE;
    return wanted;
}

struct memory_need plan_need(struct cache *cache, struct plan *plan)
{
    return (struct memory_need){.kv_pages = missing_pages(cache, plan),
                                .snapshots = missing_snapshots(cache, plan),
                                .live_states = plan->live_states};
}

/* Whether these bytes would fit without pages and places: if they do, what is dropped or refused
 * is the price of the memory strategy. */
static bool fits_as_bytes(const struct cache *cache, uint64_t kv_tokens, uint64_t snapshots)
{
    const struct memory *memory = &cache->memory;
    return kv_tokens * memory->kv_bytes_per_token + snapshots * memory->snapshot_bytes +
               cache->live_states * memory->state_bytes <=
           memory->capacity_bytes;
}

static void refuse(struct cache *cache, const struct plan *plan, struct memory_need need)
{
    const struct memory_need kv = {.kv_pages = need.kv_pages};
    cache->wants = cache->memory.ops->fits_empty(&cache->memory, kv) ? PART_SNAPSHOT : PART_KV;
    count_uncached(cache, fits_as_bytes(cache, plan->kv_end, need.snapshots));
}

/* Up to where a request of the replay engine stores KV: to its deepest snapshot, or to its end
 * where KV is stored whether or not a snapshot needs it (whole pages of it, unless a page is a
 * block). */
uint32_t plan_kv_end(const struct cache *cache, const struct plan *plan)
{
    uint32_t kv_end = plan->count > plan->first ? plan->wanted[plan->count - 1].position : 0;
    if (!cache->kv_is_holding || cache->settings.keep_only_for_fork)
        return kv_end;
    uint32_t end = cache->workload->nodes[plan->running->context.request->reply_node].end;
    if (!cache->memory.pages_are_blocks)
        end = cache_whole_pages(cache, end) * (uint32_t)cache->memory.page_tokens;
    return end > kv_end ? end : kv_end;
}

bool room_reduce(struct cache *cache, struct plan *plan)
{
    uint64_t consumed = plan->running->found.snapshot != SNAPSHOT_NONE;
    size_t least = cache->kv_is_holding ? 0 : 1; /* without a snapshot, dropped KV is no use */
    for (;;) {
        size_t wanted = plan->count - plan->first;
        struct memory_need need = {cache_pages(cache, 0, plan->kv_end, true), consumed + wanted,
                                   cache->live_states};
        if (cache->memory.ops->fits_empty(&cache->memory, need))
            return true;
        if (wanted <= least) {
            refuse(cache, plan, need);
            return false;
        }
        plan->first++;
        cache->counters.snapshots_refused++;
        if (wanted == 1) /* the end was that of the snapshot that was given up */
            plan_set_kv_end(cache, plan, plan_kv_end(cache, plan));
    }
}

static void empty_place(struct cache *cache, uint32_t place)
{
    struct memory_holder holder;
    while (cache->memory.ops->next_in_place(&cache->memory, place, &holder)) {
        if (holder.is_snapshot)
            store_drop_snapshot(cache, holder.id);
        else
            store_drop_pages(cache, holder.id, holder.kv_pages);
    }
}

/* Drops what is in the place that is short, or one candidate of the policy; false if there is none.
 */
static bool drop_one(struct cache *cache, const struct memory_shortage *shortage)
{
    if (shortage->place) {
        empty_place(cache, shortage->place);
        cache->counters.drops++;
        return true;
    }
    struct eviction *eviction = &cache->eviction;
    enum part part = shortage->part;
    struct victim victim = eviction->ops->choose(eviction, part);
    if (victim.holding == HOLDING_NONE && shortage->other_helps) {
        part = PART_ANY;
        victim = eviction->ops->choose(eviction, part);
    }
    if (victim.holding == HOLDING_NONE)
        return false;
    assert(holding_droppable(cache, victim.holding, part));
    if (holding_is_kv(cache, victim.holding))
        store_drop_kv(cache, victim.holding, shortage->kv_pages, victim.down_to);
    else
        store_drop_snapshot(cache, holding_snapshot_id(cache, victim.holding));
    cache->counters.drops++;
    return true;
}

bool room_make(struct cache *cache, struct plan *plan)
{
    const struct memory_ops *memory = cache->memory.ops;
    uint64_t snapshots = cache->live_snapshots;
    struct memory_shortage shortage;
    const struct memory_need reserved = cache->reserved;
    struct memory_need need = plan_need(cache, plan);
    need.kv_pages += reserved.kv_pages;
    need.snapshots += reserved.snapshots;
    bool stuck = false, bytes_fit = false; /* once they fit, they do */
    while (!stuck && memory->falls_short(&cache->memory, need, &shortage)) {
        if (!bytes_fit && !(memory->flags & MEMORY_EXACT))
            bytes_fit = fits_as_bytes(cache, cache->kv_tokens + plan->missing_tokens,
                                      cache->live_snapshots + need.snapshots);
        cache->wants = shortage.wants;
        stuck = !drop_one(cache, &shortage);
        cache->counters.split_evictions += bytes_fit && !stuck;
        need.kv_pages = reserved.kv_pages + missing_pages(cache, plan);
        if (plan->counts_anew)
            need.snapshots = reserved.snapshots + missing_snapshots(cache, plan);
    }
    cache->counters.snapshots_evicted += snapshots - cache->live_snapshots;
    plan->bytes_fit = bytes_fit;
    return !stuck;
}

/* An eviction that refuses chooses among what is new, too: all goes in, then out until it fits. */
void room_trim(struct cache *cache)
{
    struct memory_shortage shortage;
    uint64_t snapshots = cache->live_snapshots;
    while (cache->memory.ops->falls_short(&cache->memory, cache->reserved, &shortage)) {
        bool bytes_fit = fits_as_bytes(cache, cache->kv_tokens, cache->live_snapshots);
        cache->wants = shortage.wants;
        bool dropped = drop_one(cache, &shortage);
        assert(dropped && "everything is droppable when nothing is pinned");
        (void)dropped;
        cache->counters.split_evictions += bytes_fit;
    }
    cache->counters.snapshots_evicted += snapshots - cache->live_snapshots;
}
