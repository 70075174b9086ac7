/* branch - a snapshot where a prompt leaves what is stored.
 *
 * The prompt that leaves computes on from there, so it can take the snapshot at once (Marconi,
 * arXiv 2411.19379, section 4.1): the third user of a prefix finds it. With second-sight it only
 * marks the place, and the next prompt that comes through takes the snapshot. */
#include "sim/placement.h"

struct branch {
    unsigned sight;
};

enum { SIGHT_FIRST, SIGHT_SECOND };
static const char *const sights[] = {"first", "second", NULL};

static const struct param params[] = {
    PARAM_CHOICES(struct branch, sight, "first", sights,
                  "who takes it: the prompt that leaves (first), or the next one (second)"),
    PARAM_END};

static void init(struct placement *placement)
{
    if (((const struct branch *)placement->settings)->sight == SIGHT_SECOND)
        remembered_open(placement->state, placement->workload);
}

static void fini(struct placement *placement)
{
    remembered_close(placement->state);
}

/* Wants the places above the hit where prompts left, and remembers where this one leaves. */
static void plan_second(struct placement *placement, const struct placement_view *view,
                        struct positions *positions)
{
    const struct node *nodes = view->workload->nodes;
    struct remembered *left = placement->state;
    uint64_t passed = 0, *steps = &placement->steps;
    node_id node = remembered_next(left, view, view->prompt_node, steps);
    for (; node != NODE_ROOT; node = remembered_next(left, view, nodes[node].parent, steps))
        positions_add_interior(positions, nodes[node].end);
    if (!view->forks || view->match_tokens <= view->hit_tokens)
        return;
    node = view->paths
               ? paths_at(view->paths, view->prompt_node, view->match_tokens, &passed, steps)
               : workload_node_at(view->workload, view->prompt_node, view->match_tokens);
    if (nodes[node].end == view->match_tokens)
        remembered_set(left, view, node, true);
}

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    const struct branch *branch = placement->settings;
    if (branch->sight == SIGHT_SECOND)
        plan_second(placement, view, positions);
    else if (view->forks)
        positions_add_interior(positions, view->match_tokens);
}

const struct placement_ops placement_branch = {
    .plugin = {.name = "branch",
               .summary = "where a prompt leaves what is stored",
               .params = params,
               .settings_size = sizeof(struct branch),
               .state_size = sizeof(struct remembered)},
    .init = init,
    .fini = fini,
    .plan = plan,
};
