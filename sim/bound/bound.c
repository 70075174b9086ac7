#include "sim/bound/bound.h"

#include "sim/core/units.h"

void bound_find(struct bound *out, struct plan *plan, const struct bound_input *input,
                uint64_t steps)
{
    struct bound_sizes sizes = {input->kv_bytes, input->snapshot_bytes, input->capacity_bytes};
    struct pieces pieces;
    struct dual dual;
    pieces_open(&pieces, input->workload, input->schedule, input->min_compute_tokens);
    dual_open(&dual, &pieces, &sizes);
    *out = (struct bound){pieces.prompt_tokens, pieces.ideal_tokens, pieces.ideal_tokens};
    if (input->capacity_bytes != UNITS_UNLIMITED) {
        double value = dual_search(&dual, steps);
        uint64_t tokens = (uint64_t)(value + value * 1e-9); /* more than the sums can be wrong by */
        if (tokens < out->ideal_tokens)
            out->dual_tokens = tokens;
    }
    if (plan)
        plan_open(plan, input, &dual);
    dual_close(&dual);
    pieces_close(&pieces);
}
