/* fixed:N - a snapshot every N tokens, through prompt and reply.
 *
 * The simplest placement, and the template for a new one: settings and their table, plan(), the
 * table of functions (interval() is optional), and one line in policies/list.c. */
#include "sim/placement.h"

struct fixed {
    uint64_t interval; /* tokens */
};

static const struct param params[] = {
    PARAM(struct fixed, interval, PARAM_U64, "64", 1, 1 << 20, "tokens between snapshots"),
    PARAM_END};

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    const struct fixed *fixed = placement->settings;
    positions_add_multiples(positions, fixed->interval, view->hit_tokens, view->end_tokens);
}

static uint64_t interval(const void *settings)
{
    return ((const struct fixed *)settings)->interval;
}

const struct placement_ops placement_fixed = {
    .plugin = {.name = "fixed",
               .summary = "every N tokens, through prompt and reply",
               .params = params,
               .settings_size = sizeof(struct fixed)},
    .interval = interval,
    .plan = plan,
};
