/* The search for prices
 *
 *   1. one price for all gaps, by bisection: the value is convex in it, and falls while more would
 *      be held than fits
 *   2. from there each gap its own: up by the share by which more would be held than fits, down by
 *      the share that would be free (multiplicative weights), each step a little smaller than the
 *      one before. A gap's excess is smoothed over a few steps, because requests change their minds
 *      all at once.
 *
 * All is in double: the sums are of whole numbers below 2^53, or errors that who uses the value has
 * to round up by. */
#include "sim/bound/dual.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

void dual_open(struct dual *dual, const struct pieces *pieces, const struct bound_input *input)
{
    *dual = (struct dual){.pieces = pieces,
                          .kv_bytes = (double)input->kv_bytes,
                          .snapshot_bytes = (double)input->snapshot_bytes,
                          .capacity_bytes = (double)input->capacity_bytes,
                          .gaps = pieces->arrivals > 0 ? pieces->arrivals - 1 : 0};
    dual->prices = mem_array(dual->gaps, sizeof *dual->prices);
    dual->drift = mem_array(dual->gaps, sizeof *dual->drift);
    dual->paid = mem_array((size_t)dual->gaps + 1, sizeof *dual->paid);
    dual->held = mem_array((size_t)dual->gaps + 1, sizeof *dual->held);
    dual->means = mem_array(pieces->arrivals, sizeof *dual->means);
}

void dual_close(struct dual *dual)
{
    free(dual->prices);
    free(dual->drift);
    free(dual->paid);
    free(dual->held);
    free(dual->means);
}

/* ---- the value of prices ---- */

/* A depth of a request, and what it gains by it. */
struct choice {
    uint32_t depth; /* 0: none is worth it */
    double profit;  /* tokens: the depth, less what it has to pay */
};

/* Within a piece the profit is a straight line, so it is most at one of the outer places. */
static struct choice choose(const struct dual *dual, uint32_t arrival)
{
    const double *paid = dual->paid;
    size_t deepest = dual->pieces->usable[arrival], past = dual->pieces->first[arrival + 1];
    struct choice best = {0};
    double kv_cost = 0; /* of the pieces above */
    uint32_t start = 0;
    for (size_t i = past; i-- > deepest;) {
        const struct piece *piece = &dual->pieces->items[i];
        double byte_cost = paid[arrival] - paid[piece->since];
        double token_cost = dual->kv_bytes * byte_cost;
        uint32_t depth = token_cost < 1 ? piece->high : piece->low;
        double profit =
            depth - kv_cost - (depth - start) * token_cost - dual->snapshot_bytes * byte_cost;
        if (depth > 0 && profit > best.profit)
            best = (struct choice){depth, profit};
        kv_cost += (piece->end - start) * token_cost;
        start = piece->end;
    }
    return best;
}

double dual_profit(const struct dual *dual, uint32_t arrival, uint32_t depth)
{
    const struct pieces *pieces = dual->pieces;
    const double *paid = dual->paid;
    double profit = depth;
    uint32_t start = 0;
    for (size_t i = pieces->first[arrival + 1]; start < depth;) {
        const struct piece *piece = &pieces->items[--i];
        uint32_t end = piece->end < depth ? piece->end : depth;
        double byte_cost = paid[arrival] - paid[piece->since];
        profit -= (end - start) * dual->kv_bytes * byte_cost;
        if (end == depth)
            profit -= dual->snapshot_bytes * byte_cost;
        start = end;
    }
    return profit;
}

/* What a request gains by the depth that pays most; books what it then holds. */
static double serve(struct dual *dual, uint32_t arrival)
{
    struct choice best = choose(dual, arrival);
    uint32_t start = 0;
    for (size_t i = dual->pieces->first[arrival + 1]; start < best.depth;
         start = dual->pieces->items[i].end) {
        const struct piece *piece = &dual->pieces->items[--i];
        uint32_t end = piece->end < best.depth ? piece->end : best.depth;
        double bytes = (end - start) * dual->kv_bytes;
        if (end == best.depth)
            bytes += dual->snapshot_bytes;
        dual->held[piece->since] += bytes;
        dual->held[arrival] -= bytes;
    }
    dual->means[arrival] += dual->weight * best.depth;
    return best.profit;
}

static void add_up_prices(struct dual *dual)
{
    for (uint32_t gap = 0; gap < dual->gaps; gap++)
        dual->paid[gap + 1] = dual->paid[gap] + dual->prices[gap];
}

/* The bound that the prices give. Afterwards, held[gap] is what would be held. */
static double value_of(struct dual *dual)
{
    double value = 0, held = 0;
    add_up_prices(dual);
    memset(dual->held, 0, ((size_t)dual->gaps + 1) * sizeof *dual->held);
    for (uint32_t i = 0; i < dual->pieces->arrivals; i++)
        value += serve(dual, i);
    for (uint32_t gap = 0; gap < dual->gaps; gap++) {
        held += dual->held[gap];
        dual->held[gap] = held;
    }
    return value + dual->paid[dual->gaps] * dual->capacity_bytes;
}

/* ---- the search ---- */

/* At this price nothing pays, not even over one gap. */
static double dearest(const struct dual *dual)
{
    if (dual->kv_bytes > 0)
        return 1 / dual->kv_bytes;
    return WORKLOAD_TOKENS_MAX / (dual->snapshot_bytes > 0 ? dual->snapshot_bytes : 1);
}

static double value_at(struct dual *dual, double price, double *excess)
{
    for (uint32_t gap = 0; gap < dual->gaps; gap++)
        dual->prices[gap] = price;
    double value = value_of(dual);
    *excess = 0;
    for (uint32_t gap = 0; gap < dual->gaps; gap++)
        *excess += dual->held[gap] - dual->capacity_bytes;
    return value;
}

/* One price for all gaps; *over: whether, with memory for nothing, more would be held than fits in
 * any gap. */
static double search_constant(struct dual *dual, uint64_t *steps, bool *over)
{
    double low = 0, high = dearest(dual), excess = 0;
    double best_price = 0, best = value_at(dual, 0, &excess);
    *over = false;
    for (uint32_t gap = 0; gap < dual->gaps; gap++)
        *over = *over || dual->held[gap] > dual->capacity_bytes;
    bool is_short = excess > 0;
    for (double price = high; is_short && *steps > 0; --*steps) {
        double value = value_at(dual, price, &excess);
        if (value < best) {
            best = value;
            best_price = price;
        }
        *(excess > 0 ? &low : &high) = price;
        if (high - low < low / 16)
            break;
        price = low > 0 ? (low + high) / 2 : high / 16;
    }
    value_at(dual, best_price, &excess);
    return best;
}

/* No price falls below this share of the constant one: from 0 it could not rise again. */
#define PRICE_LEAST 1e-6

static void move_prices(struct dual *dual, double least, double rate)
{
    double room = dual->capacity_bytes > 1 ? dual->capacity_bytes : 1;
    for (uint32_t gap = 0; gap < dual->gaps; gap++) {
        double drift = (dual->drift[gap] + (dual->held[gap] - dual->capacity_bytes) / room) / 2;
        dual->drift[gap] = drift;
        double step = drift > 1 ? 1 : drift < -1 ? -1 : drift;
        double price = dual->prices[gap] * (1 + rate * step);
        dual->prices[gap] = price > least ? price : least;
    }
}

/* Each gap its own price, from one for all; returns the least value, `best` or less. The means are
 * taken from where the prices have found their places. */
static double search_gaps(struct dual *dual, double best, uint64_t steps)
{
    size_t bytes = dual->gaps * sizeof *dual->prices;
    double *best_prices = mem_alloc(bytes);
    double price = dual->prices[0], weight = 0, excess = 0;
    memcpy(best_prices, dual->prices, bytes);
    if (price <= 0) { /* a token that is kept all the time costs itself */
        price = dearest(dual) / dual->gaps;
        value_at(dual, price, &excess);
    }
    for (uint64_t step = 0; step < steps; step++) {
        double left = (double)(steps - step) / (double)steps;
        move_prices(dual, price * PRICE_LEAST, 0.9 * left);
        dual->weight = step >= steps / 4 ? left : 0;
        weight += dual->weight;
        double value = value_of(dual);
        if (value < best) {
            best = value;
            memcpy(best_prices, dual->prices, bytes);
        }
    }
    dual->weight = weight;
    memcpy(dual->prices, best_prices, bytes);
    free(best_prices);
    add_up_prices(dual);
    return best;
}

double dual_search(struct dual *dual, uint64_t steps)
{
    bool over = false;
    double best = search_constant(dual, &steps, &over);
    if (over && steps > 0)
        best = search_gaps(dual, best, steps);
    for (uint32_t i = 0; i < dual->pieces->arrivals; i++)
        dual->means[i] = dual->weight > 0 ? dual->means[i] / dual->weight : choose(dual, i).depth;
    return best;
}
