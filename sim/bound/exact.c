#include "sim/bound/exact.h"

#include <stdlib.h>

#include "sim/core/mem.h"

/* A request that can hit something. */
struct level {
    uint32_t arrival;
    size_t first, past; /* its depths, the deepest first; the last is 0 */
    size_t next;        /* the one to try next */
    size_t change_count;
    double most;        /* what all can gain at the prices, before this one chooses */
    uint64_t open;      /* what this one and later ones can hit at most */
    double most_profit; /* of its depths */
};

struct depth {
    uint32_t tokens;
    double profit; /* at the prices */
};

struct trial {
    struct draft draft;
    const struct dual *dual;
    struct level *levels;
    size_t level_count;
    struct depth *depths;
    size_t depth_count, depth_capacity;
    double rounding; /* more than the sums of prices can be wrong by */
};

/* ---- which depths there are ---- */

static void add_depth(struct trial *trial, const struct level *level, uint32_t tokens)
{
    if (trial->depth_count > level->first && trial->depths[trial->depth_count - 1].tokens == tokens)
        return;
    trial->depths = mem_grow(trial->depths, &trial->depth_capacity, trial->depth_count + 1,
                             sizeof *trial->depths);
    trial->depths[trial->depth_count++] =
        (struct depth){tokens, dual_profit(trial->dual, level->arrival, tokens)};
}

/* Snapshots lie at the places of the grains, or at the ends of prompts and replies, which
 * are ends of nodes. Both go up from the deepest. */
static void add_depths(struct trial *trial, struct level *level)
{
    const struct bound_input *input = trial->draft.input;
    const struct workload *workload = input->workload;
    uint32_t limit = pieces_limit(trial->draft.pieces, level->arrival);
    uint32_t inner = bound_place(input, limit);
    uint32_t request = input->schedule->arrivals[level->arrival].request;
    node_id node = workload->requests[request].prompt_node;
    level->first = trial->depth_count;
    while (node != NODE_ROOT || inner > 0) {
        uint32_t end = workload->nodes[node].end;
        end -= (uint32_t)(end % input->end_grain);
        if (inner > 0 && (node == NODE_ROOT || inner > end)) {
            add_depth(trial, level, inner);
            inner = bound_place(input, inner - 1);
            continue;
        }
        if (end <= limit)
            add_depth(trial, level, end);
        node = workload->nodes[node].parent;
    }
    add_depth(trial, level, 0);
    level->past = trial->depth_count;
    for (size_t i = level->first; i < level->past; i++)
        if (trial->depths[i].profit > level->most_profit)
            level->most_profit = trial->depths[i].profit;
}

/* false if there are more than can ever be tried. */
static bool list_depths(struct trial *trial, uint64_t trials)
{
    const struct pieces *pieces = trial->draft.pieces;
    trial->levels = mem_array((size_t)pieces->arrivals + 1, sizeof *trial->levels);
    for (uint32_t i = 0; i < pieces->arrivals; i++) {
        if (!pieces_can_hit(pieces, i))
            continue;
        struct level *level = &trial->levels[trial->level_count++];
        level->arrival = i;
        add_depths(trial, level);
        if (trial->depth_count > trials)
            return false;
    }
    uint64_t open = 0;
    for (size_t i = trial->level_count; i-- > 0;) {
        struct level *level = &trial->levels[i];
        open += trial->depths[level->first].tokens;
        level->open = open;
    }
    return true;
}

/* ---- trying them ---- */

/* Whether a depth can be part of a better schedule; most: what all can gain then. */
static bool is_worth_it(const struct trial *trial, const struct level *level,
                        const struct depth *depth, uint64_t best, double *most)
{
    uint64_t later = (level + 1)->open;
    *most = level->most - level->most_profit + depth->profit;
    return *most + trial->rounding >= (double)best + 1 &&
           trial->draft.hit_tokens + depth->tokens + later > best;
}

/* Goes through all depths of all requests that may be better than *best. */
static bool try_all(struct trial *trial, uint64_t *best, uint64_t trials)
{
    struct draft *draft = &trial->draft;
    size_t at = 0;
    for (uint64_t tried = 0;; tried++) {
        struct level *level = &trial->levels[at];
        if (at == trial->level_count && draft->hit_tokens > *best)
            *best = draft->hit_tokens;
        if (at == trial->level_count || level->next == level->past) {
            if (at == 0)
                return true;
            draft_take_back(draft, trial->levels[--at].change_count);
            continue;
        }
        if (tried == trials)
            return false;
        const struct depth *depth = &trial->depths[level->next++];
        double most = 0;
        int64_t over = 0;
        level->change_count = draft->change_count;
        if (!is_worth_it(trial, level, depth, *best, &most) ||
            (depth->tokens > 0 && !draft_raise(draft, level->arrival, depth->tokens, &over)))
            continue;
        struct level *below = &trial->levels[++at];
        below->next = below->first;
        below->most = most;
    }
}

bool exact_find(uint64_t *tokens, const struct bound_input *input, const struct dual *dual,
                uint64_t trials)
{
    struct trial trial = {.dual = dual};
    draft_open(&trial.draft, input, dual->pieces);
    bool found = list_depths(&trial, trials);
    if (found && trial.level_count > 0) {
        struct level *top = &trial.levels[0];
        top->next = top->first;
        top->most = dual->paid[dual->gaps] * dual->capacity_bytes;
        for (size_t i = 0; i < trial.level_count; i++)
            top->most += trial.levels[i].most_profit;
        trial.rounding = 1e-9 * top->most + 1e-6;
        found = try_all(&trial, tokens, trials);
    }
    draft_close(&trial.draft);
    free(trial.levels);
    free(trial.depths);
    return found;
}
