#include "sim/bound/plan.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

/* An arrival and its place in an order: larger first, then in the order of arrival. */
struct ranked {
    double key;
    uint32_t arrival;
};

static int by_key(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->arrival < y->arrival ? -1 : x->arrival > y->arrival;
}

/* ---- the depths ---- */

/* Raises an arrival as deep into a piece as there is room. */
static bool raise_into(struct draft *draft, uint32_t arrival, size_t piece)
{
    const struct pieces *pieces = draft->pieces;
    uint32_t least = piece_start(pieces, arrival, piece);
    if (least < draft->depths[arrival])
        least = draft->depths[arrival];
    uint32_t depth = draft_floor(draft, arrival, pieces->items[piece].end);
    int64_t over = 0;
    if (depth <= least)
        return false;
    if (draft_raise(draft, arrival, depth, &over))
        return true;
    if (over <= 0 || draft->kv_bytes == 0)
        return false;
    int64_t tokens = (over - 1) / draft->kv_bytes + 1;
    if (tokens >= depth - least)
        return false;
    depth = draft_floor(draft, arrival, depth - (uint32_t)tokens);
    return depth > least && draft_raise(draft, arrival, depth, &over);
}

static void raise(struct draft *draft, uint32_t arrival)
{
    const struct pieces *pieces = draft->pieces;
    size_t past = pieces->first[arrival + 1];
    for (size_t i = pieces->usable[arrival]; i < past; i++)
        if (pieces->items[i].end <= draft->depths[arrival] || raise_into(draft, arrival, i))
            break;
    draft->change_count = 0; /* for good */
}

/* Twice: what was cut to fit may grow where later ones needed less than they might have. */
static void fill(struct draft *draft, struct ranked *order, size_t count)
{
    qsort(order, count, sizeof *order, by_key);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < count; i++)
            raise(draft, order[i].arrival);
}

/* ---- the plan ---- */

static void keep(struct plan *plan, const struct draft *draft)
{
    plan->hit_tokens = draft->hit_tokens;
    memcpy(plan->depths, draft->depths, plan->arrivals * sizeof *plan->depths);
    memset(plan->first, 0, ((size_t)plan->arrivals + 1) * sizeof *plan->first);
    size_t count = 0;
    for (uint32_t i = 0; i < plan->arrivals; i++)
        if (draft->depths[i] > 0)
            plan->first[draft->sources[i] + 1]++;
    for (uint32_t i = 0; i < plan->arrivals; i++) {
        count += plan->first[i + 1];
        plan->first[i + 1] = count;
    }
    size_t *next = mem_array(plan->arrivals, sizeof *next);
    memcpy(next, plan->first, plan->arrivals * sizeof *next);
    for (uint32_t i = 0; i < plan->arrivals; i++)
        if (draft->depths[i] > 0)
            plan->snapshots[next[draft->sources[i]]++] =
                (struct plan_snapshot){draft->depths[i], i};
    free(next);
}

/* Two orders, because neither is best everywhere: who hits the larger part of what it can, where
 * the dual sells hits in parts; or the order of arrival, which is the best there is where snapshots
 * cost nothing: then every token is a run of gaps of its own, all are worth the same, and as many
 * runs as fit are found by letting in those first that end first. */
void plan_open(struct plan *plan, const struct bound_input *input, const struct dual *dual)
{
    const struct pieces *pieces = dual->pieces;
    struct draft draft;
    *plan = (struct plan){.arrivals = pieces->arrivals};
    plan->depths = mem_array(plan->arrivals, sizeof *plan->depths);
    plan->first = mem_array((size_t)plan->arrivals + 1, sizeof *plan->first);
    plan->snapshots = mem_array(plan->arrivals, sizeof *plan->snapshots);
    struct ranked *order = mem_array(plan->arrivals, sizeof *order);
    draft_open(&draft, input, pieces);
    for (int by_arrival = 0; by_arrival < 2; by_arrival++) {
        size_t count = 0;
        for (uint32_t i = 0; i < plan->arrivals; i++) {
            if (!pieces_can_hit(pieces, i))
                continue;
            double part = dual->means[i] / pieces_limit(pieces, i);
            order[count++] = (struct ranked){by_arrival ? 0 : part, i};
        }
        draft_clear(&draft);
        fill(&draft, order, count);
        if (by_arrival == 0 || draft.hit_tokens > plan->hit_tokens)
            keep(plan, &draft);
    }
    draft_close(&draft);
    free(order);
}

void plan_close(struct plan *plan)
{
    free(plan->depths);
    free(plan->first);
    free(plan->snapshots);
}

const struct plan_snapshot *plan_find(const struct plan *plan, uint32_t arrival, uint32_t position)
{
    for (size_t i = plan->first[arrival]; i < plan->first[arrival + 1]; i++)
        if (plan->snapshots[i].position == position)
            return &plan->snapshots[i];
    return NULL;
}
