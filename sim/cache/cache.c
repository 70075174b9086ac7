#include "sim/cache/cache.h"

#include <stdlib.h>

#include "sim/core/mem.h"

struct cache *cache_open(const struct workload *workload, const struct cache_settings *settings,
                         const struct memory *memory)
{
    struct cache *cache = mem_zalloc(sizeof *cache);
    cache->workload = workload;
    cache->settings = *settings;
    cache->kv_is_holding = !settings->recurrent || settings->keep_orphans;
    cache->memory = *memory;
    cache->page_shift = NO_SHIFT;
    for (uint32_t shift = 0; shift < 32; shift++)
        if (memory->page_tokens == 1ull << shift)
            cache->page_shift = shift;
    cache->nodes = mem_array(workload->node_count, sizeof *cache->nodes);
    cache->pinned_node = NODE_ROOT;
    return cache;
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
    free(cache->snapshots);
    free(cache->stream_newest);
    free(cache->path);
    free(cache);
}

uint32_t holding_position(const struct cache *cache, holding_id holding)
{
    if (!holding_is_kv(cache, holding))
        return holding_snapshot(cache, holding)->position;
    return workload_node_start(cache->workload, holding) + cache->nodes[holding].resident;
}
