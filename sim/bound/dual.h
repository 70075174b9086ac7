/* dual.h - prices for memory over time, and the bound that follows from them.
 *
 * A byte has a price in each gap between two arrivals. Each request by itself then takes the depth
 * whose tokens exceed most what it has to pay: the KV of each piece for the gaps since the piece
 * was used last, and the state at that depth, for the same gaps as the piece that it lies in. What
 * they all gain, and the price of the capacity over all gaps, is at least what any cache can save,
 * whatever the prices (weak duality). */
#ifndef SNAPSIM_DUAL_H
#define SNAPSIM_DUAL_H

#include "sim/bound/pieces.h"

struct bound_sizes {
    uint64_t kv_bytes; /* of a token */
    uint64_t snapshot_bytes, capacity_bytes;
};

struct dual {
    const struct pieces *pieces;
    double kv_bytes, snapshot_bytes, capacity_bytes;
    uint32_t gaps;  /* gap g lies between the arrivals g and g + 1 */
    double *prices; /* by gap: tokens for a byte */
    double *paid;   /* by arrival: the price of a byte in all gaps before it */
    double *held;   /* by gap: how many bytes more are held than in the gap before */
    double *drift;  /* by gap: where its price is going */
};

/* A depth of a request, and what it gains by it. */
struct dual_choice {
    size_t piece; /* the depth is the end of this piece; first[arrival + 1]: none is worth it */
    double profit, cost; /* tokens; profit is what the depth saves, less its cost */
};

void dual_open(struct dual *dual, const struct pieces *pieces, const struct bound_sizes *sizes);
void dual_close(struct dual *dual);

/* Tries so many choices of prices, at least 1, and keeps the best; returns its value. */
double dual_search(struct dual *dual, uint64_t steps);

/* The depth, of the ends of its pieces, that pays most at the prices found; if none pays, the one
 * that loses least. The arrival must have pieces. */
struct dual_choice dual_choose(const struct dual *dual, uint32_t arrival);

/* What an arrival gains at these prices by a depth, up to the end of its deepest piece. */
double dual_profit(const struct dual *dual, uint32_t arrival, uint32_t depth);

#endif
