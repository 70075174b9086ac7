/* none, prompt-end, reply-end, turn, last, system-prompt - snapshots where messages end. */
#include "sim/placement.h"

static void plan_none(struct placement *placement, const struct placement_view *view,
                      struct positions *positions)
{
    (void)placement;
    (void)view;
    (void)positions;
}

const struct placement_ops placement_none = {
    .plugin = {.name = "none", .summary = "no snapshots at all"},
    .plan = plan_none,
};

static void plan_prompt_end(struct placement *placement, const struct placement_view *view,
                            struct positions *positions)
{
    (void)placement;
    positions_add_end(positions, view->prompt_tokens);
}

const struct placement_ops placement_prompt_end = {
    .plugin = {.name = "prompt-end", .summary = "at the end of each prompt"},
    .plan = plan_prompt_end,
};

static void plan_reply_end(struct placement *placement, const struct placement_view *view,
                           struct positions *positions)
{
    (void)placement;
    if (view->end_tokens > view->prompt_tokens)
        positions_add_end(positions, view->end_tokens);
}

const struct placement_ops placement_reply_end = {
    .plugin = {.name = "reply-end", .summary = "after the last token of each reply"},
    .plan = plan_reply_end,
};

struct turn {
    bool bounds;
};

static const struct param turn_params[] = {
    PARAM(struct turn, bounds, PARAM_BOOL, "0", 0, 1,
          "also at the ends of the messages within the prompt, where the trace has them"),
    PARAM_END};

static void plan_turn(struct placement *placement, const struct placement_view *view,
                      struct positions *positions)
{
    const struct turn *turn = placement->settings;
    for (uint32_t i = 0; turn->bounds && i < view->bound_count; i++)
        positions_add_interior(positions, view->bounds[i]);
    plan_prompt_end(placement, view, positions);
    plan_reply_end(placement, view, positions);
}

const struct placement_ops placement_turn = {
    .plugin = {.name = "turn",
               .summary = "at the end of each prompt and of each reply",
               .params = turn_params,
               .settings_size = sizeof(struct turn)},
    .plan = plan_turn,
};

static void plan_last(struct placement *placement, const struct placement_view *view,
                      struct positions *positions)
{
    (void)placement;
    positions_add_newest_end(positions, view->end_tokens);
}

const struct placement_ops placement_last = {
    .plugin = {.name = "last",
               .summary = "at the end of each request; only the newest of a stream stays"},
    .plan = plan_last,
};

static void plan_system_prompt(struct placement *placement, const struct placement_view *view,
                               struct positions *positions)
{
    (void)placement;
    if (view->system_tokens > 0)
        positions_add_interior(positions, view->system_tokens);
}

const struct placement_ops placement_system_prompt = {
    .plugin = {.name = "system-prompt", .summary = "where the system prompt ends, if it is known"},
    .plan = plan_system_prompt,
};
