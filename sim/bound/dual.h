/* dual.h - prices for memory over time, and the bound that follows from them.
 *
 * A byte has a price in each gap between two arrivals. Each request by itself then takes the depth
 * whose tokens exceed most what it has to pay: the KV of each piece for the gaps since the piece
 * was used last, and the state at that depth for the same gaps as the piece that it lies in. What
 * they all gain, and the price of the capacity over all gaps, is at least what any cache can save,
 * whatever the prices (weak duality).
 *
 * A state may have to be there for longer, because the one before could not take it or hit deeper;
 * nobody pays for that, since more than one request may stand on it. */
#ifndef SNAPSIM_DUAL_H
#define SNAPSIM_DUAL_H

#include "sim/bound/pieces.h"

struct dual {
    const struct pieces *pieces;
    double kv_bytes, snapshot_bytes, capacity_bytes;
    uint32_t gaps;  /* gap g lies between the arrivals g and g + 1 */
    double *prices; /* by gap: tokens for a byte */
    double *paid;   /* by arrival: the price of a byte in all gaps before it */
    double *held;   /* by gap: how many bytes more are held than in the gap before */
    double *drift;  /* by gap: where its price is going */

    /* By arrival: the depth that pays most, averaged over the prices that were tried; later ones
     * weigh less, as they move less. The average tends to what is best if hits can be had in parts
     * (Shor 1985; Barahona and Anbil 2000, "The volume algorithm"). */
    double *means;
    double weight; /* of the prices that are tried now; afterwards of all */
};

void dual_open(struct dual *dual, const struct pieces *pieces, const struct bound_input *input);
void dual_close(struct dual *dual);

/* Tries so many choices of prices, at least 1, and keeps the best; returns its value. */
double dual_search(struct dual *dual, uint64_t steps);

/* What an arrival gains at these prices by a depth, up to the end of its deepest piece. */
double dual_profit(const struct dual *dual, uint32_t arrival, uint32_t depth);

#endif
