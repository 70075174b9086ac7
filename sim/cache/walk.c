#include "sim/cache/walk.h"

/* Making paths costs about as much as looking at so many nodes for each node of the tree. It is
 * done when a run has walked that far, and more than FAR_NODES for each request, below which it is
 * not worth it. Builds that check themselves do it at once, early or late, by the size of the tree.
 */
#ifdef SIM_CHECK
#define COST_OF_PATHS(node_count) ((node_count) * ((node_count) % 3) / 2)
#define FAR_NODES 0
#else
#define COST_OF_PATHS(node_count) ((node_count)*16)
#define FAR_NODES 256
#endif

void walk_make_paths(struct cache *cache)
{
    const struct workload *workload = cache->workload;
    uint64_t cost = COST_OF_PATHS((uint64_t)workload->node_count), walked = cache_walked(cache);
    if (walked < cost || walked < cache->counters.lookups * FAR_NODES) {
        cache->walk_due = walked < cost ? cost : walked + cost;
        return;
    }
    cache->paths = paths_open(workload);
    cache->memory.paths = cache->paths;
    marks_open(&cache->with_snapshots, workload->node_count);
    for (node_id node = 1; node < workload->node_count; node++)
        if (cache->nodes[node].snapshots != 0)
            marks_set(&cache->with_snapshots, cache->paths->places[node]);
}

/* The deepest node on a path for which a test holds, which holds from the root down. */
static inline node_id walk_on(struct cache *cache, node_id node, paths_test *test, const void *user,
                              uint64_t *passed)
{
    const struct node *nodes = cache->workload->nodes;
    uint64_t here = 0, near = walk_near(cache);
    while (node != NODE_ROOT && !test(user, node)) {
        if (here == near) {
            node = paths_last(cache->paths, node, test, user, passed, &cache->steps);
            break;
        }
        here++;
        node = nodes[node].parent;
    }
    *passed += here;
    cache->walked += here;
    return node;
}

static bool is_resident(const void *cache_nodes, node_id node)
{
    return ((const struct cache_node *)cache_nodes)[node].resident > 0;
}

node_id walk_on_to_resident(struct cache *cache, node_id node, uint64_t *passed)
{
    return walk_on(cache, node, is_resident, cache->nodes, passed);
}

static bool is_kept(const void *cache_nodes, node_id node)
{
    return ((const struct cache_node *)cache_nodes)[node].kept > 0;
}

node_id walk_on_to_kept(struct cache *cache, node_id node, uint64_t *passed)
{
    return walk_on(cache, node, is_kept, cache->nodes, passed);
}

node_id walk_on_to_position(struct cache *cache, node_id node, uint32_t position, uint64_t *passed)
{
    const struct workload *workload = cache->workload;
    uint64_t here = 0, near = walk_near(cache);
    while (node != NODE_ROOT && workload_node_start(workload, node) >= position) {
        if (here == near) {
            node = paths_at(cache->paths, node, position, passed, &cache->steps);
            break;
        }
        here++;
        node = workload->nodes[node].parent;
    }
    *passed += here;
    cache->walked += here;
    return node;
}

node_id walk_on_to_snapshots(struct cache *cache, node_id node, uint64_t *passed)
{
    const struct node *nodes = cache->workload->nodes;
    uint64_t here = 0, near = walk_near(cache);
    while (node != NODE_ROOT && cache->nodes[node].snapshots == 0) {
        if (here == near) {
            node = paths_nearest(cache->paths, node, &cache->with_snapshots, passed, &cache->steps);
            break;
        }
        here++;
        node = nodes[node].parent;
    }
    *passed += here;
    cache->walked += here;
    return node;
}
