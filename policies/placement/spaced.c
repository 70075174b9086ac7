/* ladder, balanced, sqrt, dyadic - positions that follow from the prompt's length alone.
 *
 * Sources: Sparse Prefix Caching (arXiv 2605.05219) for all four. With n the prompt's tokens:
 *   ladder:r    1, then next = max(previous + 1, floor(previous * r)) below n, then n itself;
 *               from=end counts the same distances back from n
 *   balanced:M  round-half-even(i (n + 1) / (M + 1)), i = 1 .. M: best for uniform overlaps
 *   sqrt        balanced with M = floor(sqrt(n))
 *   dyadic      1, 2, 4, ... up to n */
#include <math.h>

#include "sim/placement.h"

struct ladder {
    double ratio;
    unsigned from;
};

enum { FROM_START, FROM_END };
static const char *const ladder_ends[] = {"start", "end", NULL};

static const struct param ladder_params[] = {
    PARAM(struct ladder, ratio, PARAM_DOUBLE, "2", 1.0001, 1e6, "each rung's distance to the next"),
    PARAM_CHOICES(struct ladder, from, "start", ladder_ends,
                  "rungs are dense at the start, or at the end, of the prompt"),
    PARAM_END};

static void plan_ladder(struct placement *placement, const struct placement_view *view,
                        struct positions *positions)
{
    const struct ladder *ladder = placement->settings;
    uint64_t end = view->prompt_tokens;
    uint64_t rung = 1;
    while (rung < end) {
        positions_add_interior(positions, ladder->from == FROM_START ? rung : end - rung);
        uint64_t next = (uint64_t)((double)rung * ladder->ratio);
        rung = next > rung ? next : rung + 1;
    }
    positions_add_end(positions, view->prompt_tokens);
}

const struct placement_ops placement_ladder = {
    .plugin = {.name = "ladder",
               .summary = "geometric: dense at one end of the prompt, sparse towards the other",
               .params = ladder_params,
               .settings_size = sizeof(struct ladder)},
    .plan = plan_ladder,
};

/* round-half-even(i (n + 1) / (parts)) in integers. */
static uint64_t balanced_position(uint64_t i, uint64_t n, uint64_t parts)
{
    uint64_t numerator = i * (n + 1), whole = numerator / parts, rest = numerator % parts;
    if (2 * rest > parts || (2 * rest == parts && whole % 2 == 1))
        whole++;
    return whole;
}

static void plan_balanced_for(uint64_t count, const struct placement_view *view,
                              struct positions *positions)
{
    for (uint64_t i = 1; i <= count; i++)
        positions_add_interior(positions, balanced_position(i, view->prompt_tokens, count + 1));
}

struct balanced {
    uint64_t count;
};

static const struct param balanced_params[] = {
    PARAM(struct balanced, count, PARAM_U64, "16", 1, 1 << 20, "snapshots in each prompt"),
    PARAM_END};

static void plan_balanced(struct placement *placement, const struct placement_view *view,
                          struct positions *positions)
{
    const struct balanced *balanced = placement->settings;
    plan_balanced_for(balanced->count, view, positions);
}

const struct placement_ops placement_balanced = {
    .plugin = {.name = "balanced",
               .summary = "M snapshots at equal distances over the prompt",
               .params = balanced_params,
               .settings_size = sizeof(struct balanced)},
    .plan = plan_balanced,
};

static void plan_sqrt(struct placement *placement, const struct placement_view *view,
                      struct positions *positions)
{
    (void)placement;
    plan_balanced_for((uint64_t)sqrt((double)view->prompt_tokens), view, positions);
}

const struct placement_ops placement_sqrt = {
    .plugin = {.name = "sqrt", .summary = "as many, at equal distances, as the root of the length"},
    .plan = plan_sqrt,
};

static void plan_dyadic(struct placement *placement, const struct placement_view *view,
                        struct positions *positions)
{
    (void)placement;
    for (uint64_t position = 1; position <= view->prompt_tokens; position *= 2)
        positions_add_interior(positions, position);
}

const struct placement_ops placement_dyadic = {
    .plugin = {.name = "dyadic", .summary = "at powers of two"},
    .plan = plan_dyadic,
};
