/* Making room
 *
 * Room is made for an admission beside what is there and what all running requests have reserved.
 * One victim after the other leaves; each may change what the admission lacks, so that is counted
 * anew. */
#include <assert.h>
#include <stdlib.h>

#include "sim/cache/admission.h"
#include "sim/cache/walk.h"
#include "sim/core/mem.h"

void admission_set_kv_end(struct cache *cache, struct admission *admission, uint32_t kv_end)
{
    const struct request *request = admission->running->context.request;
    uint32_t prompt_end = cache->workload->nodes[request->prompt_node].end;
    node_id deepest = kv_end > prompt_end ? request->reply_node : request->prompt_node;
    uint64_t passed = 0;
    admission->kv_end = kv_end;
    admission->kv_node = walk_to_position(cache, deepest, kv_end, &passed);
    admission->resident_node = admission->kv_node;
}

void admission_find_nodes(struct cache *cache, const struct admission *admission)
{
    uint64_t passed = 0;
    node_id node = admission->kv_node;
    if (cache->wanted_capacity < admission->count)
        cache->wanted_nodes = mem_grow(cache->wanted_nodes, &cache->wanted_capacity,
                                       admission->count, sizeof *cache->wanted_nodes);
    for (size_t i = admission->count; i-- > admission->first;) {
        node = walk_to_position(cache, node, admission->wanted[i].position, &passed);
        cache->wanted_nodes[i] = node;
    }
}

void admission_for_each(struct cache *cache, struct admission *admission, admission_visit *visit)
{
    for (size_t i = admission->first; i < admission->count; i++)
        visit(cache, admission, &admission->wanted[i], cache->wanted_nodes[i]);
    cache->steps += admission->count - admission->first;
}

/* KV pages that are missing on the path now. Every drop may change that: KV of the path above the
 * hit may go, and where a branch beside the path goes, the page that both had cut is the path's. */
static uint64_t missing_pages(struct cache *cache, struct admission *admission)
{
    uint64_t passed = 0;
    node_id node = walk_to_resident(cache, admission->resident_node, &passed);
    admission->resident_node = node; /* while room is made, KV only goes */
    uint32_t from = workload_node_start(cache->workload, node) + cache->nodes[node].resident;
    admission->missing_tokens = admission->kv_end > from ? admission->kv_end - from : 0;
    return cache_pages(cache, from, admission->kv_end, cache->nodes[node].children == 0);
}

static uint64_t missing_snapshots(const struct cache *cache, const struct admission *admission)
{
    size_t wanted = admission->count - admission->first;
    if (!admission->counts_anew)
        return wanted - admission->running->renewed_count;
    for (size_t i = admission->first; i < admission->count; i++)
        wanted -= store_find_snapshot(cache, cache->wanted_nodes[i],
                                      admission->wanted[i].position) != SNAPSHOT_NONE;
    return wanted;
}

struct memory_need admission_need(struct cache *cache, struct admission *admission)
{
    return (struct memory_need){.kv_pages = missing_pages(cache, admission),
                                .snapshots = missing_snapshots(cache, admission),
                                .live_states = admission->live_states};
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

static void refuse(struct cache *cache, const struct admission *admission, struct memory_need need)
{
    const struct memory_need kv = {.kv_pages = need.kv_pages};
    cache->wants = cache->memory.ops->fits_empty(&cache->memory, kv) ? PART_SNAPSHOT : PART_KV;
    count_uncached(cache, fits_as_bytes(cache, admission->kv_end, need.snapshots));
}

/* Up to where a request of the replay engine stores KV: to its deepest snapshot, or to its end
 * where KV is stored whether or not a snapshot needs it (whole pages of it, unless a page is a
 * block). */
uint32_t admission_kv_end(const struct cache *cache, const struct admission *admission)
{
    uint32_t kv_end =
        admission->count > admission->first ? admission->wanted[admission->count - 1].position : 0;
    if (!cache->kv_is_holding || cache->settings.keep_only_for_fork)
        return kv_end;
    uint32_t end = cache->workload->nodes[admission->running->context.request->reply_node].end;
    if (!cache->memory.pages_are_blocks)
        end = cache_whole_pages(cache, end) * (uint32_t)cache->memory.page_tokens;
    return end > kv_end ? end : kv_end;
}

bool room_reduce(struct cache *cache, struct admission *admission)
{
    uint64_t consumed = admission->running->found.snapshot != SNAPSHOT_NONE;
    size_t least = cache->kv_is_holding ? 0 : 1; /* without a snapshot, dropped KV is no use */
    for (;;) {
        size_t wanted = admission->count - admission->first;
        struct memory_need need = {cache_pages(cache, 0, admission->kv_end, true),
                                   consumed + wanted, cache->live_states};
        if (cache->memory.ops->fits_empty(&cache->memory, need))
            return true;
        if (wanted <= least) {
            refuse(cache, admission, need);
            return false;
        }
        admission->first++;
        cache->counters.snapshots_refused++;
        if (wanted == 1) /* the end was that of the snapshot that was given up */
            admission_set_kv_end(cache, admission, admission_kv_end(cache, admission));
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

bool room_make(struct cache *cache, struct admission *admission)
{
    const struct memory_ops *memory = cache->memory.ops;
    uint64_t snapshots = cache->live_snapshots;
    struct memory_shortage shortage;
    const struct memory_need reserved = cache->reserved;
    struct memory_need need = admission_need(cache, admission);
    need.kv_pages += reserved.kv_pages;
    need.snapshots += reserved.snapshots;
    bool stuck = false, bytes_fit = false; /* once they fit, they do */
    while (!stuck && memory->falls_short(&cache->memory, need, &shortage)) {
        if (!bytes_fit && !(memory->flags & MEMORY_EXACT))
            bytes_fit = fits_as_bytes(cache, cache->kv_tokens + admission->missing_tokens,
                                      cache->live_snapshots + need.snapshots);
        cache->wants = shortage.wants;
        stuck = !drop_one(cache, &shortage);
        cache->counters.split_evictions += bytes_fit && !stuck;
        need.kv_pages = reserved.kv_pages + missing_pages(cache, admission);
        if (admission->counts_anew)
            need.snapshots = reserved.snapshots + missing_snapshots(cache, admission);
    }
    cache->counters.snapshots_evicted += snapshots - cache->live_snapshots;
    admission->bytes_fit = bytes_fit;
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
