#include <assert.h>

#include "sim/cache/lookup.h"
#include "sim/cache/store.h"
#include "sim/cache/walk.h"
#include "sim/core/mem.h"

/* The deepest snapshot at or below `limit` on the path up from `node`. */
static void find_snapshot(struct cache *cache, node_id node, uint32_t limit, struct lookup *found)
{
    node = walk_to_position(cache, node, limit, &cache->counters.node_visits);
    for (;; node = cache->workload->nodes[node].parent) {
        node = walk_to_snapshots(cache, node, &cache->counters.node_visits);
        cache->counters.node_visits++;
        uint32_t link = cache_snapshots_to(cache, node, limit);
        if (link != 0) {
            const struct snapshot *snapshot = &cache->snapshots[link - 1];
            found->snapshot = link - 1;
            found->hit_tokens = snapshot->position;
            found->asked = snapshot->asked;
            found->hit_node = node;
            return;
        }
        if (node == NODE_ROOT)
            return;
    }
}

/* Without recurrent layers the match itself is the hit, cut to whole pages, or to the
 * match unit. */
static void cut_match(struct cache *cache, uint32_t limit, struct lookup *found)
{
    uint32_t hit = found->match_tokens;
    uint64_t passed = 0;
    uint64_t match_unit = cache->settings.match_unit;
    bool whole_blocks = cache->memory.pages_are_blocks && !match_unit && hit <= limit;
    if (hit > limit)
        hit = limit;
    if (!whole_blocks)
        hit = match_unit ? hit - hit % (uint32_t)match_unit
                         : cache_whole_pages(cache, hit) * (uint32_t)cache->memory.page_tokens;
    found->hit_tokens = hit;
    found->asked = found->match_tokens < limit ? found->match_tokens : limit;
    found->hit_node = hit == found->match_tokens
                          ? found->match_node
                          : walk_to_position(cache, found->match_node, hit, &passed);
}

void lookup_use_kv(struct cache *cache, node_id node)
{
    struct eviction *eviction = &cache->eviction;
    if (eviction->ops->path_used) {
        eviction->ops->path_used(eviction, node);
        return;
    }
    for (; node != NODE_ROOT; node = cache->workload->nodes[node].parent, eviction->walked++)
        eviction->ops->used(eviction, node);
}

/* Tells the policy of the snapshots on the path, shallower first. */
static void use_path_snapshots(struct cache *cache, node_id node, uint32_t match_tokens)
{
    struct eviction *eviction = &cache->eviction;
    if (eviction->ops->snapshots_used && cache->paths) {
        eviction->ops->snapshots_used(eviction, node, match_tokens);
        return;
    }
    cache->path_length = 0;
    for (; node != NODE_ROOT; node = cache->workload->nodes[node].parent, eviction->walked++) {
        for (uint32_t link = cache_snapshots_to(cache, node, match_tokens); link != 0;
             link = cache->snapshots[link - 1].next) {
            cache->path = mem_grow(cache->path, &cache->path_capacity, cache->path_length + 1,
                                   sizeof *cache->path);
            cache->path[cache->path_length++] = snapshot_holding(cache, link - 1);
        }
    }
    eviction->steps += cache->path_length;
    while (cache->path_length > 0)
        eviction->ops->used(eviction, cache->path[--cache->path_length]);
}

/* Tells the memory strategy what the request stands on. */
static void tell_memory(struct cache *cache, const struct lookup *found)
{
    store_use_path(cache, found->hit_node);
    if (found->snapshot != SNAPSHOT_NONE)
        store_use_snapshot(cache, found->snapshot);
}

static void tell_policy(struct cache *cache, const struct lookup *found)
{
    struct eviction *eviction = &cache->eviction;
    if (cache->kv_is_holding)
        lookup_use_kv(cache, found->match_node);
    if (eviction->refreshes_path && cache->settings.recurrent)
        use_path_snapshots(cache, found->match_node, found->match_tokens);
    if (found->snapshot != SNAPSHOT_NONE && (!eviction->refreshes_path || eviction->consumed_last))
        eviction->ops->used(eviction, snapshot_holding(cache, found->snapshot));
}

/* The deepest resident node of the path, and what of the path ever was: KV that is resident, or was
 * once, begins at the root, so both are the first that are met from below. */
static node_id find_match(struct cache *cache, node_id node, struct lookup *found)
{
    uint64_t passed = 0, near = walk_near(cache);
    node_id kept = NODE_ROOT;
    for (; node != NODE_ROOT && cache->nodes[node].resident == 0 && passed < near; passed++) {
        if (kept == NODE_ROOT && cache->nodes[node].kept > 0)
            kept = node;
        node = cache->workload->nodes[node].parent;
    }
    cache->walked += passed;
    if (kept == NODE_ROOT)
        kept = node = walk_to_kept(cache, node, &passed);
    node = walk_to_resident(cache, node, &passed);
    cache->counters.node_visits += passed;
    found->kept_tokens = workload_node_start(cache->workload, kept) + cache->nodes[kept].kept;
    found->match_node = node;
    found->match_tokens = workload_node_start(cache->workload, node) + cache->nodes[node].resident;
    return node;
}

struct lookup lookup_find(struct cache *cache, const struct request *request)
{
    const struct node *nodes = cache->workload->nodes;
    struct lookup found = {.snapshot = SNAPSHOT_NONE, .hit_node = NODE_ROOT};
    uint32_t prompt_tokens = nodes[request->prompt_node].end;
    uint64_t min_compute = cache->settings.min_compute_tokens;
    uint32_t limit = min_compute < prompt_tokens ? prompt_tokens - (uint32_t)min_compute : 0;
    cache->counters.lookups++;

    node_id node = find_match(cache, request->prompt_node, &found);
    const struct cache_node *last = &cache->nodes[node];
    found.forks = last->children > 0 && found.match_tokens < prompt_tokens;

    if (found.forks && cache->forked)
        cache->forked[node] = true;

    if (cache->settings.recurrent && cache->settings.dual_index) {
        cache->counters.lookups++;
        find_snapshot(cache, request->prompt_node,
                      limit < found.match_tokens ? limit : found.match_tokens, &found);
    } else if (cache->settings.recurrent)
        find_snapshot(cache, node, limit, &found);
    else
        cut_match(cache, limit, &found);
    tell_policy(cache, &found);
    tell_memory(cache, &found);
    return found;
}
