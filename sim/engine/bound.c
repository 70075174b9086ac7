/* The dual bound
 *
 *   1. pieces   each prompt, as far as it was seen, in pieces that were last used by the same
 *               request: within one, depth costs and gains by the token, so only ends matter
 *   2. value    of some prices: one pass over the pieces; it also tells what would be held when
 *   3. search   first one price for all times, by bisection; then prices for each of PERIODS
 *               periods, up where more would be held than fits, down where less
 *
 * All is in double: the sums are of whole numbers below 2^53, or errors of which the last step
 * rounds up more than they can be. */
#include "sim/engine/bound.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"

#define PERIODS 1024
#define NEVER UINT32_MAX

/* Tokens up to `end`, from the end of the piece before, that request `since` was the last to use.
 */
struct piece {
    uint32_t end, since;
};

struct dual {
    struct piece *pieces; /* of each prompt the deepest first */
    size_t count, capacity;
    size_t *first; /* by arrival: its pieces are [first[i], first[i + 1]) */
    uint32_t arrivals;
    double kv_bytes, snapshot_bytes, capacity_bytes;

    uint32_t gaps, periods; /* gap g lies between the arrivals g and g + 1 */
    double *prices;         /* by period: tokens for a byte in each of its gaps */
    double *paid;           /* by arrival: the price of a byte in all gaps before it */
    double *held;           /* by gap: how many bytes more are held than in the gap before */
    double *excess;         /* by period: bytes held beyond the capacity, summed over its gaps */
};

/* ---- pieces ---- */

static void add_piece(struct dual *dual, uint32_t end, uint32_t since)
{
    if (dual->count > dual->first[dual->arrivals] && dual->pieces[dual->count - 1].since == since)
        return; /* the deeper one covers it */
    dual->pieces = mem_grow(dual->pieces, &dual->capacity, dual->count + 1, sizeof *dual->pieces);
    dual->pieces[dual->count++] = (struct piece){end, since};
}

static void cut_prompt(struct dual *dual, const struct workload *workload,
                       const struct request *request, uint32_t limit, const uint32_t *last)
{
    const struct node *nodes = workload->nodes;
    for (node_id node = request->prompt_node; node != NODE_ROOT; node = nodes[node].parent)
        if (last[node] != NEVER && workload_node_start(workload, node) < limit)
            add_piece(dual, nodes[node].end < limit ? nodes[node].end : limit, last[node]);
}

static void find_pieces(struct dual *dual, struct bound *out, const struct workload *workload,
                        const struct schedule *schedule, uint64_t min_compute_tokens)
{
    const struct node *nodes = workload->nodes;
    uint32_t *last = mem_array(workload->node_count, sizeof *last);
    memset(last, 0xff, workload->node_count * sizeof *last);
    dual->first = mem_array((size_t)schedule->count + 1, sizeof *dual->first);
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct request *request = &workload->requests[schedule->arrivals[i].request];
        uint32_t prompt = nodes[request->prompt_node].end;
        uint32_t limit = min_compute_tokens < prompt ? prompt - (uint32_t)min_compute_tokens : 0;
        cut_prompt(dual, workload, request, limit, last);
        out->prompt_tokens += prompt;
        if (dual->count > dual->first[i])
            out->ideal_tokens += dual->pieces[dual->first[i]].end;
        for (node_id node = request->reply_node; node != NODE_ROOT; node = nodes[node].parent)
            last[node] = i;
        dual->first[++dual->arrivals] = dual->count;
    }
    free(last);
}

/* ---- the value of prices ---- */

static uint32_t period_of(const struct dual *dual, uint32_t gap)
{
    return (uint32_t)((uint64_t)gap * dual->periods / dual->gaps);
}

/* What a request gains by the depth that pays most; books what it then holds. */
static double serve(struct dual *dual, uint32_t arrival)
{
    const double *paid = dual->paid;
    size_t deepest = dual->first[arrival], past = dual->first[arrival + 1], best = past;
    double kv_cost = 0, most = 0;
    uint32_t start = 0;
    for (size_t i = past; i-- > deepest;) {
        const struct piece *piece = &dual->pieces[i];
        double byte_cost = paid[arrival] - paid[piece->since];
        kv_cost += (piece->end - start) * dual->kv_bytes * byte_cost;
        double gain = piece->end - kv_cost - dual->snapshot_bytes * byte_cost;
        start = piece->end;
        if (gain > most) {
            most = gain;
            best = i;
        }
    }
    start = 0;
    for (size_t i = past; i-- > best;) {
        const struct piece *piece = &dual->pieces[i];
        double bytes = (piece->end - start) * dual->kv_bytes + (i == best) * dual->snapshot_bytes;
        start = piece->end;
        dual->held[piece->since] += bytes;
        dual->held[arrival] -= bytes;
    }
    return most;
}

/* The bound that the prices give; *total: the excess over all gaps. */
static double value_of(struct dual *dual, double *total)
{
    double value = 0, held = 0;
    dual->paid[0] = 0;
    for (uint32_t gap = 0; gap < dual->gaps; gap++) {
        dual->paid[gap + 1] = dual->paid[gap] + dual->prices[period_of(dual, gap)];
        dual->held[gap] = 0;
    }
    dual->held[dual->gaps] = 0;
    memset(dual->excess, 0, dual->periods * sizeof *dual->excess);
    for (uint32_t i = 0; i < dual->arrivals; i++)
        value += serve(dual, i);
    *total = 0;
    for (uint32_t gap = 0; gap < dual->gaps; gap++) {
        held += dual->held[gap];
        dual->excess[period_of(dual, gap)] += held - dual->capacity_bytes;
        *total += held - dual->capacity_bytes;
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

static double value_at(struct dual *dual, double price, double *total)
{
    for (uint32_t i = 0; i < dual->periods; i++)
        dual->prices[i] = price;
    return value_of(dual, total);
}

/* One price for all times: the value is convex in it, and falls while there is excess. */
static double search_constant(struct dual *dual, uint64_t *steps)
{
    double low = 0, high = dearest(dual), total = 0;
    double best_price = 0, best = value_at(dual, 0, &total);
    bool is_short = total > 0;
    for (double price = high; is_short && *steps > 0; --*steps) {
        double value = value_at(dual, price, &total);
        if (value < best) {
            best = value;
            best_price = price;
        }
        *(total > 0 ? &low : &high) = price;
        if (high - low < low / 1024)
            break;
        price = low > 0 ? (low + high) / 2 : high / 16;
    }
    value_at(dual, best_price, &total);
    return best;
}

/* Moves each price along its period's excess, so far that the value would fall by `by` if it were
 * linear; false if nothing can move. */
static bool move_prices(struct dual *dual, double by)
{
    double square = 0;
    for (uint32_t i = 0; i < dual->periods; i++) {
        if (dual->prices[i] <= 0 && dual->excess[i] < 0)
            dual->excess[i] = 0; /* free already */
        square += dual->excess[i] * dual->excess[i];
    }
    for (uint32_t i = 0; square > 0 && i < dual->periods; i++) {
        dual->prices[i] += by / square * dual->excess[i];
        if (dual->prices[i] < 0)
            dual->prices[i] = 0;
    }
    return square > 0;
}

/* Steps towards a level below the best value (Polyak 1969); where that is not reached in a while,
 * back to the best prices and towards a level half as far below. */
static double search_periods(struct dual *dual, double best, uint64_t steps)
{
    enum { PATIENCE = 16 };
    size_t bytes = dual->periods * sizeof *dual->prices;
    double *best_prices = mem_alloc(bytes);
    double below = best / 16, value = best, total = 0;
    uint64_t waited = 0;
    memcpy(best_prices, dual->prices, bytes);
    while (steps-- > 0 && below > best / 65536 && move_prices(dual, value - (best - below))) {
        value = value_of(dual, &total);
        if (value < best - below / 4)
            waited = 0;
        if (value < best) {
            best = value;
            memcpy(best_prices, dual->prices, bytes);
        }
        if (++waited > PATIENCE) {
            below /= 2;
            waited = 0;
            memcpy(dual->prices, best_prices, bytes);
            value = value_of(dual, &total);
        }
    }
    free(best_prices);
    return best;
}

static uint64_t search(struct dual *dual, uint64_t ideal_tokens, uint64_t steps)
{
    dual->gaps = dual->arrivals > 0 ? dual->arrivals - 1 : 0;
    if (dual->gaps == 0)
        return ideal_tokens;
    dual->periods = dual->gaps < PERIODS ? dual->gaps : PERIODS;
    dual->prices = mem_array(dual->periods, sizeof *dual->prices);
    dual->excess = mem_array(dual->periods, sizeof *dual->excess);
    dual->paid = mem_array(dual->arrivals, sizeof *dual->paid);
    dual->held = mem_array(dual->arrivals, sizeof *dual->held);
    double best = search_constant(dual, &steps);
    best = search_periods(dual, best, steps);
    uint64_t tokens = (uint64_t)(best + best * 1e-9); /* more than the sums can be wrong by */
    return tokens < ideal_tokens ? tokens : ideal_tokens;
}

int bound_find(struct bound *out, const struct config *config, const struct workload *workload,
               const struct schedule *schedule, uint64_t steps, struct err *err)
{
    struct model model;
    struct model_sizes sizes;
    *out = (struct bound){0};
    if (model_load(&model, config->model, err) != 0 ||
        model_sizes(&model, &config->sharding, &sizes, err) != 0)
        return -1;
    struct dual dual = {.kv_bytes = (double)sizes.kv_bytes_per_token,
                        .snapshot_bytes = (double)sizes.snapshot_bytes,
                        .capacity_bytes = (double)config->capacity};
    find_pieces(&dual, out, workload, schedule, config->min_compute_tokens);
    out->dual_tokens = out->ideal_tokens;
    if (config->capacity != UNITS_UNLIMITED)
        out->dual_tokens = search(&dual, out->ideal_tokens, steps);
    free(dual.pieces);
    free(dual.first);
    free(dual.prices);
    free(dual.excess);
    free(dual.paid);
    free(dual.held);
    return 0;
}
