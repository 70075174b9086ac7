/* planned - offline, a pair: takes the snapshots of a plan (sim/bound/plan.h), keeps each until the
 * request comes that it is for, and lets go of it then.
 *
 * The plan comes with the run. With memory `ideal`, orphans `drop` and the plan's own capacity and
 * grains every request hits what was planned, and the eviction is never short; if it is, what is
 * not in the plan goes first, then what is kept for the request that comes last. */
#include <assert.h>

#include "policies/eviction/rank.h"
#include "sim/bound/plan.h"

/* ---- the placement ---- */

static void plan_positions(struct placement *placement, const struct placement_view *view,
                           struct positions *positions)
{
    const struct plan *plan = placement->future->plan;
    assert(plan && "planned: runs with a plan only");
    uint32_t arrival = view->context->arrival;
    size_t end = plan->first[arrival + 1];
    for (size_t i = plan->first[arrival]; i < end; i++) {
        uint32_t position = plan->snapshots[i].position;
        if (position % positions->grains.interior == 0)
            positions_add_interior(positions, position);
        else
            positions_add_end(positions, position);
    }
}

const struct placement_ops placement_planned = {
    .plugin = {.name = "planned", .summary = "offline: the snapshots of a plan", .offline = true},
    .plan = plan_positions,
};

/* ---- the eviction ---- */

struct per_holding {
    struct rank_mark mark;
    uint32_t until; /* the arrival that it is kept for; 0: none */
};

struct planned {
    struct rank rank;
    uint32_t arrival;
    const struct request *request;
};

static struct heap_key key_of(struct eviction *eviction, holding_id holding)
{
    uint64_t until = ((const struct per_holding *)eviction->holdings)[holding].until;
    return (struct heap_key){until ? UINT32_MAX - until : 0, 0,
                             heap_within(eviction->cache, holding)};
}

static int init(struct eviction *eviction, struct err *err)
{
    struct planned *planned = eviction->state;
    planned->rank.key_of = key_of;
    if (eviction->future->plan == NULL || eviction->cache->kv_is_holding)
        return err_set(err, "eviction planned: needs a plan, a model with recurrent layers, and "
                            "orphans drop");
    return 0;
}

static void begin(struct eviction *eviction, const struct context *context)
{
    struct planned *planned = eviction->state;
    planned->arrival = context->arrival;
    planned->request = context->request;
}

static void used(struct eviction *eviction, holding_id holding)
{
    const struct planned *planned = eviction->state;
    uint32_t position = holding_position(eviction->cache, holding);
    const struct plan_snapshot *found =
        plan_find(eviction->future->plan, planned->arrival, position);
    ((struct per_holding *)eviction->holdings)[holding].until = found ? found->until : 0;
    rank_push(eviction, holding);
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    (void)from;
    used(eviction, holding);
}

/* What the request came for goes, unless it is left for a later one. */
static holding_id over(struct eviction *eviction)
{
    const struct planned *planned = eviction->state;
    const struct plan *plan = eviction->future->plan;
    const struct cache *cache = eviction->cache;
    uint32_t depth = plan->depths[planned->arrival];
    if (depth == 0 || plan_find(plan, planned->arrival, depth))
        return HOLDING_NONE;
    node_id node = workload_node_at(cache->workload, planned->request->prompt_node, depth);
    uint32_t link = cache_snapshots_to(cache, node, depth);
    if (link == 0 || cache->snapshots[link - 1].position != depth)
        return HOLDING_NONE;
    return snapshot_holding(cache, link - 1);
}

const struct eviction_ops eviction_planned = {
    .plugin = {.name = "planned",
               .summary = "offline: what a plan does not need any more leaves",
               .state_size = sizeof(struct planned),
               .offline = true},
    .flags = EVICTION_REFUSES,
    .holding_size = sizeof(struct per_holding),
    .init = init,
    .fini = rank_fini,
    .begin = begin,
    .added = added,
    .used = used,
    .gone = rank_gone,
    .choose = rank_victim,
    .over = over,
    .check = rank_check,
};
