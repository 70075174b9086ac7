/* pause:SECONDS - a snapshot after the reply only while a stream is busy: on its first turn, when
 * it came back within so many seconds, or when the reply before was a short one, as tool calls are.
 */
#include "sim/placement.h"
#include "tests/examples/examples.h"

struct pause {
    uint64_t most;      /* ns */
    uint64_t short_out; /* tokens */
};

static const struct param params[] = {
    PARAM(struct pause, most, PARAM_DURATION, "60s", 0, 0, "the longest pause of a busy stream"),
    PARAM(struct pause, short_out, PARAM_U64, "32", 0, 1 << 20, "tokens of a short reply, at most"),
    PARAM_END};

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    const struct pause *pause = placement->settings;
    const struct context *now = view->context;
    if (now->turn == 0 || now->at_ns - now->before.at_ns <= pause->most ||
        now->before.reply_tokens <= pause->short_out)
        positions_add_end(positions, view->end_tokens);
}

const struct placement_ops example_pause = {
    .plugin = {.name = "pause",
               .summary = "after the replies of streams that come back soon",
               .params = params,
               .settings_size = sizeof(struct pause)},
    .plan = plan,
};
