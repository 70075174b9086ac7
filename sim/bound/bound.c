#include "sim/bound/bound.h"

#include <assert.h>

#include "sim/bound/exact.h"
#include "sim/core/units.h"

/* What the bounds stand on. */
struct ground {
    struct pieces pieces;
    struct dual dual;
};

/* Returns the dual's value. */
static double open_ground(struct ground *ground, const struct bound_input *input, uint64_t steps)
{
    pieces_open(&ground->pieces, input);
    dual_open(&ground->dual, &ground->pieces, input);
    if (input->capacity_bytes == UNITS_UNLIMITED)
        return (double)ground->pieces.ideal_tokens;
    return dual_search(&ground->dual, steps);
}

static void close_ground(struct ground *ground)
{
    dual_close(&ground->dual);
    pieces_close(&ground->pieces);
}

void bound_find(struct bound *out, struct plan *plan, const struct bound_input *input,
                uint64_t steps)
{
    struct ground ground;
    double value = open_ground(&ground, input, steps);
    value += value * 1e-9; /* more than the sums can be wrong by */
    *out = (struct bound){ground.pieces.prompt_tokens, ground.pieces.ideal_tokens,
                          ground.pieces.ideal_tokens};
    if (value < (double)out->ideal_tokens)
        out->dual_tokens = (uint64_t)value;
    if (plan)
        plan_open(plan, input, &ground.dual);
    close_ground(&ground);
}

bool bound_find_exact(uint64_t *tokens, const struct bound_input *input, uint64_t trials)
{
    enum { STEPS = 400 };
    struct ground ground;
    struct plan plan;
    assert(input->snapshot_bytes > 0);
    open_ground(&ground, input, STEPS);
    plan_open(&plan, input, &ground.dual);
    *tokens = plan.hit_tokens;
    bool found = exact_find(tokens, input, &ground.dual, trials);
    plan_close(&plan);
    close_ground(&ground);
    return found;
}
