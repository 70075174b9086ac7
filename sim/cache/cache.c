#include "sim/cache/cache.h"

#include <stdlib.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"

struct cache *cache_open(const struct workload *workload, const struct cache_settings *settings,
                         const struct memory *memory)
{
    struct cache *cache = mem_zalloc(sizeof *cache);
    cache->workload = workload;
    cache->settings = *settings;
    cache->kv_is_holding = !settings->recurrent || settings->keep_orphans;
    cache->memory = *memory;
    if (settings->keep_only_for_fork)
        cache->forked = mem_array(workload->node_count, sizeof *cache->forked);
    cache->tracks_ends = !cache->kv_is_holding && (memory->ops->flags & MEMORY_BY_PART);
    cache->page_shift = NO_SHIFT;
    for (uint32_t shift = 0; shift < 32; shift++)
        if (memory->page_tokens == 1ull << shift)
            cache->page_shift = shift;
    cache->nodes = mem_array(workload->node_count, sizeof *cache->nodes);
    if (memory->ops->next_in_place)
        cache->kin = mem_array(workload->node_count, sizeof *cache->kin);
    cache->pinned_node = NODE_ROOT;
    return cache;
}

int cache_set_eviction(struct cache *cache, const struct eviction_ops *ops, void *settings,
                       const struct future *future, struct err *err)
{
    cache->eviction = (struct eviction){.ops = ops,
                                        .settings = settings,
                                        .state = mem_zalloc(ops->plugin.state_size),
                                        .cache = cache,
                                        .future = ops->plugin.offline ? future : NULL};
    cache->eviction.holdings = mem_grow_zeroed(NULL, &cache->holding_capacity,
                                               cache->workload->node_count, ops->holding_size);
    if ((ops->flags & EVICTION_REFUSES) && (cache->memory.ops->flags & MEMORY_PLACED))
        return err_set(err,
                       "eviction '%s' stores before it makes room, which memory '%s' cannot: its "
                       "pages have places",
                       ops->plugin.name, cache->memory.ops->plugin.name);
    cache->refuses = (ops->flags & EVICTION_REFUSES) ||
                     ((ops->flags & EVICTION_MAY_REFUSE) &&
                      !(cache->memory.ops->flags & MEMORY_PLACED));
    return ops->init ? ops->init(&cache->eviction, err) : 0;
}

void cache_close(struct cache *cache)
{
    if (cache == NULL)
        return;
    if (cache->eviction.ops && cache->eviction.ops->fini)
        cache->eviction.ops->fini(&cache->eviction);
    if (cache->memory.ops->fini)
        cache->memory.ops->fini(&cache->memory);
    free(cache->eviction.holdings);
    free(cache->eviction.state);
    free(cache->memory.state);
    free(cache->nodes);
    free(cache->kin);
    free(cache->forked);
    free(cache->snapshots);
    free(cache->stream_newest);
    free(cache->path);
    free(cache);
}

void cache_begin(struct cache *cache, uint32_t arrival, const struct request *request)
{
    if (cache->eviction.ops->begin)
        cache->eviction.ops->begin(&cache->eviction, arrival, request);
    if (cache->memory.ops->begin)
        cache->memory.ops->begin(&cache->memory, arrival);
}

uint32_t holding_position(const struct cache *cache, holding_id holding)
{
    if (!holding_is_kv(cache, holding))
        return holding_snapshot(cache, holding)->position;
    return workload_node_start(cache->workload, holding) + cache->nodes[holding].resident;
}

uint32_t cache_path_end(const struct cache *cache, node_id node)
{
    while (node != NODE_ROOT && cache->nodes[node].resident == 0)
        node = cache->workload->nodes[node].parent;
    if (cache->nodes[node].children > 0 || cache->nodes[node].snapshots == 0)
        return SNAPSHOT_NONE;
    return cache->nodes[node].snapshots - 1;
}

uint64_t cache_external_bytes(const struct cache *cache)
{
    const struct memory *memory = &cache->memory;
    if (memory->ops->unusable_bytes == NULL || memory->capacity_bytes == UNITS_UNLIMITED)
        return 0;
    return memory->ops->unusable_bytes(memory, cache->wants);
}

struct cache_bytes cache_count_bytes(const struct cache *cache)
{
    const struct memory *memory = &cache->memory;
    struct cache_bytes bytes = {.kv = cache->kv_tokens * memory->kv_bytes_per_token,
                                .snapshots = cache->live_snapshots * memory->snapshot_bytes,
                                .live = cache->live_states * memory->state_bytes};
    bytes.padding = memory->used_bytes - bytes.kv - bytes.snapshots - bytes.live;
    if (memory->capacity_bytes == UNITS_UNLIMITED)
        return bytes;
    bytes.external = cache_external_bytes(cache);
    bytes.free = memory->capacity_bytes - memory->used_bytes - bytes.external;
    return bytes;
}

struct cache_stranded cache_count_stranded(const struct cache *cache)
{
    uint64_t kv_tokens = 0, snapshots = 0;
    bool *needed = mem_array(cache->workload->node_count, sizeof *needed); /* by something deeper */
    for (node_id node = cache->workload->node_count; node-- > 1;) {
        uint32_t start = workload_node_start(cache->workload, node);
        uint32_t end = start + cache->nodes[node].resident;
        uint32_t link = cache->nodes[node].snapshots;
        for (; link != 0 && cache->snapshots[link - 1].position > end;
             link = cache->snapshots[link - 1].next)
            snapshots++;
        if (!needed[node])
            kv_tokens += end - (link != 0 ? cache->snapshots[link - 1].position : start);
        needed[cache->workload->nodes[node].parent] |= needed[node] || link != 0;
    }
    free(needed);
    return (struct cache_stranded){.kv_bytes = kv_tokens * cache->memory.kv_bytes_per_token,
                                   .snapshot_bytes = snapshots * cache->memory.snapshot_bytes};
}

bool cache_add_live_state(struct cache *cache)
{
    struct memory_need need = {.live_states = 1};
    struct memory_shortage shortage;
    if (cache->memory.ops->falls_short(&cache->memory, need, &shortage))
        return false;
    cache->memory.ops->live_add(&cache->memory);
    cache->live_states++;
    return true;
}

void cache_drop_live_state(struct cache *cache)
{
    cache->memory.ops->live_drop(&cache->memory);
    cache->live_states--;
}
