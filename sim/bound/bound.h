/* bound.h - what no cache can pass: limits for one load, one model and one capacity.
 *
 * A hit of d tokens at a request needs, until that request comes, the KV of [0, d) and the state at
 * d. Each token's KV must have been there since the last request that went through it, and the
 * state at d since the last one through d: no rule of placement, eviction or memory strategy can
 * have it otherwise. Between two arrivals, all that is held takes at most the capacity.
 *
 *     ideal   all of that at no price: what earlier requests have shown, up to the token that is
 *             computed in any case
 *     dual    memory at a price for each byte and each gap between two arrivals (dual.h): no cache
 *             can save more
 *     exact   the best there is, for tiny loads only (exact.h)
 *     plan    a schedule that can be followed (plan.h): so much can be saved
 *
 * The dual does not ask who computed a state, lets KV be held without what is above it, sells
 * memory by the byte, and knows no pages; so it bounds every setting of that grain. Method:
 * Lagrangian relaxation, as in the space-time bound PFOO-U of Berger, Beckmann and Harchol-Balter
 * (SIGMETRICS 2018), with two kinds of objects and prices that vary over time. */
#ifndef SNAPSIM_BOUND_H
#define SNAPSIM_BOUND_H

#include "sim/bound/plan.h"

struct bound {
    uint64_t prompt_tokens;
    uint64_t ideal_tokens, dual_tokens;
};

/* Tries so many choices of prices, at least 1. plan: to be closed with plan_close, or NULL. */
void bound_find(struct bound *out, struct plan *plan, const struct bound_input *input,
                uint64_t steps);

/* The most that can be hit with snapshots where the input's grains allow them; false if it is not
 * known after so many trials. For a model with recurrent layers. */
bool bound_find_exact(uint64_t *tokens, const struct bound_input *input, uint64_t trials);

#endif
