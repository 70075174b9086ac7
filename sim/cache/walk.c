#include "sim/cache/walk.h"

/* Nodes that are looked at one by one before paths.h is asked. Making paths costs about as much as
 * looking at STEPS_PER_NODE for each node of the tree; it is done when a run has walked so many,
 * and more than FAR_STEPS for each request, below which it is not worth it. Builds that check
 * themselves are content with so few that the small loads of tests come to both ways. */
#ifdef SIM_CHECK
#define NEAR_NODES 1
#define STEPS_PER_NODE 1
#define FAR_STEPS 1
#else
#define NEAR_NODES 8
#define STEPS_PER_NODE 16
#define FAR_STEPS 256
#endif

void walk_make_paths(struct cache *cache)
{
    const struct workload *workload = cache->workload;
    uint64_t steps = cache_walked(cache), cost = (uint64_t)workload->node_count * STEPS_PER_NODE;
    if (steps < cost || steps < cache->counters.lookups * FAR_STEPS) {
        cache->walk_due = steps < cost ? cost : steps + cost;
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
static inline node_id walk_to(struct cache *cache, node_id node, paths_test *test, const void *user,
                              uint64_t *passed)
{
    uint64_t here = 0, near = cache->paths ? NEAR_NODES : UINT64_MAX;
    while (node != NODE_ROOT && !test(user, node)) {
        if (here == near) {
            node = paths_last(cache->paths, node, test, user, passed, &cache->steps);
            break;
        }
        here++;
        node = cache->workload->nodes[node].parent;
    }
    *passed += here;
    cache->walked += here;
    return node;
}

static bool is_resident(const void *user, node_id node)
{
    return ((const struct cache_node *)user)[node].resident > 0;
}

static bool is_kept(const void *user, node_id node)
{
    return ((const struct cache_node *)user)[node].kept > 0;
}

node_id walk_up_to_resident(struct cache *cache, node_id node, uint64_t *passed)
{
    return walk_to(cache, node, is_resident, cache->nodes, passed);
}

node_id walk_up_to_kept(struct cache *cache, node_id node, uint64_t *passed)
{
    return walk_to(cache, node, is_kept, cache->nodes, passed);
}

struct place_wanted {
    const struct workload *workload;
    uint32_t position;
};

static bool begins_before(const void *user, node_id node)
{
    const struct place_wanted *wanted = user;
    return workload_node_start(wanted->workload, node) < wanted->position;
}

node_id walk_up_to_position(struct cache *cache, node_id node, uint32_t position, uint64_t *passed)
{
    const struct place_wanted wanted = {cache->workload, position};
    return walk_to(cache, node, begins_before, &wanted, passed);
}

node_id walk_up_to_snapshots(struct cache *cache, node_id node, uint64_t *passed)
{
    uint64_t here = 0, near = cache->paths ? NEAR_NODES : UINT64_MAX;
    while (node != NODE_ROOT && cache->nodes[node].snapshots == 0) {
        if (here == near) {
            node = paths_nearest(cache->paths, node, &cache->with_snapshots, passed, &cache->steps);
            break;
        }
        here++;
        node = cache->workload->nodes[node].parent;
    }
    *passed += here;
    cache->walked += here;
    return node;
}
