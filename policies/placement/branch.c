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

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    const struct branch *branch = placement->settings;
    bool *marked = placement->nodes; /* a prompt left at the end of this node */
    if (branch->sight == SIGHT_FIRST) {
        if (view->forks)
            positions_add_interior(positions, view->match_tokens);
        return;
    }
    const struct node *nodes = view->workload->nodes;
    for (node_id node = view->prompt_node; nodes[node].end > view->hit_tokens;
         node = nodes[node].parent) {
        if (marked[node])
            positions_add_interior(positions, nodes[node].end);
        if (view->forks && nodes[node].end == view->match_tokens)
            marked[node] = true;
    }
}

const struct placement_ops placement_branch = {
    .plugin = {.name = "branch",
               .summary = "where a prompt leaves what is stored",
               .params = params,
               .settings_size = sizeof(struct branch)},
    .node_size = sizeof(bool),
    .plan = plan,
};
