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
    uint64_t first = (view->hit_tokens / fixed->interval + 1) * fixed->interval;
    for (uint64_t position = first; position <= view->end_tokens; position += fixed->interval)
        positions_add_on_grid(positions, position, fixed->interval);
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
