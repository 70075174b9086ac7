/* exact.h - the best schedule of a tiny load, by trying all.
 *
 * Every schedule is a choice of depths, one for each request (draft.h). They are chosen in the
 * order of arrival, so that who takes a state is known when it is asked for; a branch is left when
 * it holds too much, or when the dual's prices, or all that could still be hit, say that it cannot
 * be better than the best one found. */
#ifndef SNAPSIM_EXACT_H
#define SNAPSIM_EXACT_H

#include "sim/bound/draft.h"
#include "sim/bound/dual.h"

/* The most that a schedule hits whose snapshots lie where the input's grains allow. *tokens: comes
 * as what some schedule is known to hit. false if that is not known after so many trials. */
bool exact_find(uint64_t *tokens, const struct bound_input *input, const struct dual *dual,
                uint64_t trials);

#endif
