/* thrifty - a pair: snapshots at the ends of prompts and of replies; after eight of a kind without
 * a single use, no more of that kind is taken, and those that are there leave first. */
#include "policies/eviction/rank.h"
#include "sim/placement.h"
#include "tests/examples/examples.h"

enum kind { AT_PROMPT_END, AT_REPLY_END, KINDS, PROBATION = 8 };

struct thrifty {      /* what both halves know */
    struct rank rank; /* first: rank.h keeps the order */
    uint32_t arrival, prompt_tokens;
    uint64_t taken[KINDS], used[KINDS];
};

struct per_holding {
    struct rank_mark mark; /* first, as rank.h asks */
    uint32_t last, kind;
};

static bool is_worth_it(const struct thrifty *thrifty, enum kind kind)
{
    return thrifty->used[kind] > 0 || thrifty->taken[kind] < PROBATION;
}

static struct per_holding *of(const struct eviction *eviction, holding_id holding)
{
    return (struct per_holding *)eviction->holdings + holding;
}

static struct heap_key key_of(struct eviction *eviction, holding_id holding)
{
    const struct per_holding *here = of(eviction, holding);
    return (struct heap_key){is_worth_it(eviction->state, here->kind), here->last,
                             heap_within(eviction->cache, holding)};
}

static int init(struct eviction *eviction, struct err *err)
{
    (void)err;
    ((struct thrifty *)eviction->state)->rank.key_of = key_of;
    return 0;
}

static void begin(struct eviction *eviction, const struct context *context)
{
    struct thrifty *thrifty = eviction->state;
    thrifty->arrival = context->arrival;
    thrifty->prompt_tokens = eviction->cache->workload->nodes[context->request->prompt_node].end;
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    (void)from;
    struct thrifty *thrifty = eviction->state;
    if (!holding_is_kv(eviction->cache, holding)) {
        bool beyond = holding_position(eviction->cache, holding) > thrifty->prompt_tokens;
        of(eviction, holding)->kind = beyond ? AT_REPLY_END : AT_PROMPT_END;
        thrifty->taken[of(eviction, holding)->kind]++;
    }
    of(eviction, holding)->last = thrifty->arrival;
    rank_push(eviction, holding);
}

static void used(struct eviction *eviction, holding_id holding)
{
    struct thrifty *thrifty = eviction->state;
    if (!holding_is_kv(eviction->cache, holding))
        thrifty->used[of(eviction, holding)->kind]++;
    of(eviction, holding)->last = thrifty->arrival;
    rank_push(eviction, holding);
}

const struct eviction_ops example_thrifty = {
    .plugin = {.name = "thrifty", .summary = "pays or goes", .state_size = sizeof(struct thrifty)},
    .holding_size = sizeof(struct per_holding),
    .init = init,
    .fini = rank_fini,
    .begin = begin,
    .added = added,
    .used = used,
    .gone = rank_gone,
    .choose = rank_victim,
    .check = rank_check,
};

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    const struct thrifty *thrifty = placement->partner->state;
    if (is_worth_it(thrifty, AT_PROMPT_END))
        positions_add_end(positions, view->prompt_tokens);
    if (view->end_tokens > view->prompt_tokens && is_worth_it(thrifty, AT_REPLY_END))
        positions_add_end(positions, view->end_tokens);
}

const struct placement_ops example_thrifty_placement = {
    .plugin = {.name = "thrifty", .summary = "ends, while they pay"},
    .partner = &example_thrifty,
    .plan = plan,
};
