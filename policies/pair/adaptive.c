/* adaptive - places and evicts by one value: the work that a byte is expected to save per second.
 *
 * The value. A snapshot at p, whose path has the next shallower one at q, saves p - q tokens when
 * it is used. If it goes, its state is free, and if it ends its path, the KV down to q as well:
 *
 *     worth = index(class, age) x (p - q) / bytes that are free without it
 *
 * The index (hazard.h) is the rate at which things of its class and age pay, learned from what
 * requests used so far. What is worth least leaves first.
 *
 * Classes. What kind of place it is; whether the stream that made it has not come back yet (fresh),
 * has come back through it or deeper (passed), or has come back and left it (left); and a detail:
 *
 *     ends of prompts and replies   turn of the stream, length of the reply (calls of tools are
 *                                   short), whether the stream paused before it
 *     ends of messages              how many messages before the end
 *     rungs                         how far before the end of the prompt, by octaves
 *
 * Marks (marks.h). A place stays known for a while after its snapshot has gone, or was never
 * written. A request that would have started there counts as a use of its class, and so does that
 * of the snapshot where it did start. So what is not kept is still learned about.
 *
 * Inheritance. When a snapshot goes, those who would have come for it now come for the next
 * shallower one, which takes over its class and age if they promise more than its own.
 *
 * Placement. Of the places that a request offers (the ends of prompt, reply, messages and system
 * prompt, where it leaves what is stored, where one before it missed a snapshot, and a ladder of
 * rungs, dense towards the end of the prompt) those are taken that are worth their bytes at the
 * *price*: the worth of what left lately. What is not taken becomes a ghost. The deepest one is
 * taken always, where the memory lets it be dropped again at once: then it competes with all else.
 *
 * Order among what is worth the same: the longest unused first. Models without recurrent layers,
 * and KV that no snapshot needs, are a matter of last use only: see kv_key. */
#include <assert.h>
#include <stdlib.h>

#include "policies/eviction/rank.h"
#include "policies/pair/adaptive.h"
#include "policies/pair/hazard.h"
#include "policies/pair/marks.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"

enum kind { PROMPT_END, REPLY_END, SYSTEM_END, FORK, MESSAGE_END, RUNG };
#define KINDS 6
enum status { FRESH, PASSED, LEFT };
#define STATUSES 3
#define DETAILS 128

/* Ages are counted in ticks of 2^24 ns, about 1/60 s, and each request is one tick more: so loads
 * whose requests all come at once have ages, too. */
#define TICK_SHIFT 24

/* Indexes are made anew after so many requests, and at the start whenever their number has doubled.
 * More often is not better, and less often learns a change of the load later. */
#define LEARN_EVERY 2048
#define LEARN_FIRST 32

/* For each victim so many live marks are drawn at random, and the worst of them goes. With three
 * times as many it saves 0.1 % more. */
#define CANDIDATES 12

/* The price follows the worth of victims with this weight, and falls by a quarter of it with each
 * request: in memory that is not short everything is worth its bytes. */
#define PRICE_WEIGHT (1.0 / 16)
#define PRICE_DECAY (1.0 / 64)

/* Rungs: at the last multiples of 64, 256, 1024 ... tokens before the end of the prompt, and at all
 * multiples of the largest. Powers of 2 save the same to 0.2 % and are twice as many. */
#define RUNG_FIRST 256
#define RUNG_RATIO 4
#define RUNG_LAST 65536

/* Messages whose ends are offered, counted from the end of the prompt. Agents that cut old tool
 * output do so within the last ten or so. */
#define MESSAGES 16

/* Until it is seen, how often an interior place is used, in uses of an end. */
#define INTERIOR_START 0.05

struct settings {
    bool tool_calls;
    uint64_t snapshot_cost;
};

static const struct param params[] = {
    PARAM(struct settings, snapshot_cost, PARAM_U64, "0", 0, 1 << 30,
          "tokens that writing a snapshot costs; it is written if it is expected to save more"),
    PARAM(struct settings, tool_calls, PARAM_BOOL, "0", 0, 1,
          "the server tells whether a reply ended in a call of a tool; in a replay that is known "
          "from the request that follows, and a reply that none follows did not"),
    PARAM_END};

struct offer {
    uint32_t position; /* where the snapshot can be taken */
    uint32_t asked;    /* before flooring to the grain */
    uint32_t mark;     /* or MARK_NONE: there is none yet */
    node_id node;
    uint8_t kind, detail;
};

struct per_holding {
    struct rank_mark rank; /* KV only */
    uint32_t last;         /* KV: arrival of its last use */
    bool needed;           /* KV: by a snapshot, when it was ranked last */
};

struct adaptive {
    struct rank kv; /* first: rank.h */
    struct marks marks;
    struct hazard hazard;
    struct rng rng;
    uint64_t now; /* ticks */
    uint32_t arrival, learned_at;
    double prices[3]; /* by enum part: tokens per byte and tick */

    /* The request that is served. */
    const struct request *request;
    uint32_t wanted;  /* the mark where it would start, or MARK_NONE */
    bool is_looked_up;
    uint32_t match_tokens;
    struct offer *offers;
    size_t offer_capacity;
    uint32_t offer_count;

    /* Of each stream, until the context gives it: turns, 1 + the request before, its tick. */
    struct stream {
        uint32_t turns, before;
        uint64_t at;
    } *streams;
    struct stream turn; /* that of this request, before it came */
};

static uint32_t group_of(enum kind kind, enum status status)
{
    return (uint32_t)kind * STATUSES + (uint32_t)status;
}

static uint16_t class_of(enum kind kind, enum status status, uint32_t detail)
{
    return (uint16_t)(group_of(kind, status) * DETAILS + detail);
}

static void set_class(struct mark *mark)
{
    mark->class = class_of(mark->kind, mark->status, mark->detail);
}

/* ---- what happens to marks ---- */

static void own_class(struct mark *mark)
{
    mark->heir_class = mark->class;
    mark->heir_since = mark->since;
}

/* Books the time since it was last booked. */
static void spend(struct adaptive *adaptive, struct mark *mark)
{
    if (adaptive->now > mark->counted)
        hazard_spend(&adaptive->hazard, mark->class, mark->counted - mark->since,
                     adaptive->now - mark->since);
    mark->counted = adaptive->now;
}

static void set_status(struct adaptive *adaptive, struct mark *mark, enum status status)
{
    bool is_own = mark->heir_class == mark->class && mark->heir_since == mark->since;
    spend(adaptive, mark);
    mark->status = (uint8_t)status;
    set_class(mark);
    if (is_own)
        own_class(mark);
}

static void use(struct adaptive *adaptive, struct mark *mark)
{
    spend(adaptive, mark);
    hazard_use(&adaptive->hazard, mark->class, adaptive->now - mark->since);
    set_status(adaptive, mark, PASSED);
    mark->since = mark->counted = adaptive->now;
    own_class(mark);
}

static void forget_surplus(struct adaptive *adaptive)
{
    uint32_t ghost = marks_surplus(&adaptive->marks);
    for (; ghost != MARK_NONE; ghost = marks_surplus(&adaptive->marks)) {
        spend(adaptive, &adaptive->marks.items[ghost]);
        marks_forget(&adaptive->marks, ghost);
    }
}

static uint32_t add_mark(struct adaptive *adaptive, node_id node, const struct offer *offer)
{
    uint32_t id = marks_add(&adaptive->marks, node, offer->position);
    struct mark *mark = &adaptive->marks.items[id];
    mark->kind = offer->kind;
    mark->status = FRESH;
    mark->detail = offer->detail;
    mark->since = mark->counted = adaptive->now;
    set_class(mark);
    own_class(mark);
    return id;
}

/* ---- a request comes ---- */

static void learn(struct adaptive *adaptive)
{
    struct marks *marks = &adaptive->marks;
    for (uint32_t id = 1; id < marks->count; id++)
        if (marks->items[id].exists)
            spend(adaptive, &marks->items[id]);
    hazard_learn(&adaptive->hazard);
    adaptive->learned_at = adaptive->arrival;
}

/* The deepest mark where the request could start is used; those above it are passed. They are
 * passed already from the first one that is. */
static void meet_marks(struct adaptive *adaptive, const struct cache *cache)
{
    const struct node *nodes = cache->workload->nodes;
    struct marks *marks = &adaptive->marks;
    uint64_t prompt = nodes[adaptive->request->prompt_node].end;
    adaptive->wanted = MARK_NONE;
    for (node_id node = adaptive->request->prompt_node; node != NODE_ROOT;
         node = nodes[node].parent) {
        for (uint32_t link = marks->of_node[node]; link; link = marks->items[link - 1].next) {
            struct mark *mark = &marks->items[link - 1];
            if (mark->position + cache->settings.min_compute_tokens > prompt)
                continue;
            if (adaptive->wanted != MARK_NONE && mark->status == PASSED)
                return;
            if (adaptive->wanted != MARK_NONE) {
                set_status(adaptive, mark, PASSED);
                continue;
            }
            adaptive->wanted = link - 1;
            mark->missed = mark->snapshot == SNAPSHOT_NONE;
            use(adaptive, mark);
        }
    }
}

/* If the stream came back, but not through the end of its reply, that is left. */
static void leave_mark(struct adaptive *adaptive, const struct workload *workload)
{
    if (adaptive->turn.before == 0)
        return;
    node_id node = workload->requests[adaptive->turn.before - 1].reply_node;
    uint32_t id = marks_find(&adaptive->marks, node, workload->nodes[node].end);
    if (id == MARK_NONE || adaptive->marks.items[id].status != FRESH)
        return;
    set_status(adaptive, &adaptive->marks.items[id], LEFT);
}

static void begin(struct eviction *eviction, uint32_t arrival, const struct request *request)
{
    struct adaptive *adaptive = eviction->state;
    const struct workload *workload = eviction->cache->workload;
    adaptive->arrival = arrival;
    adaptive->now = (eviction->now_ns >> TICK_SHIFT) + arrival;
    adaptive->request = request;
    struct stream *stream = &adaptive->streams[request->stream];
    adaptive->turn = *stream;
    *stream = (struct stream){adaptive->turn.turns + 1, (uint32_t)(request - workload->requests) + 1,
                              adaptive->now};
    uint32_t unlearned = arrival - adaptive->learned_at;
    if (unlearned >= LEARN_EVERY || (unlearned >= LEARN_FIRST && unlearned > arrival / 2))
        learn(adaptive);
    adaptive->is_looked_up = false;
    adaptive->match_tokens = UINT32_MAX; /* until the plan tells */
    for (size_t part = 0; part < 3; part++)
        adaptive->prices[part] -= adaptive->prices[part] * PRICE_DECAY;
    meet_marks(adaptive, eviction->cache);
    leave_mark(adaptive, workload);
}

/* ---- worth ---- */

static double index_of(const struct adaptive *adaptive, const struct mark *mark)
{
    return hazard_index(&adaptive->hazard, mark->heir_class, adaptive->now - mark->heir_since);
}

/* Of a live mark, for each byte of a part that is free without it. */
static double worth(struct adaptive *adaptive, const struct cache *cache, uint32_t id,
                    enum part part)
{
    const struct mark *mark = &adaptive->marks.items[id];
    const struct mark *up = &adaptive->marks.items[marks_up(&adaptive->marks, id)];
    uint32_t saved = mark->position - up->position;
    uint64_t bytes = part == PART_KV ? 0 : cache->memory.snapshot_bytes;
    if (part != PART_SNAPSHOT && snapshot_ends_path(cache, mark->snapshot))
        bytes += saved * cache->memory.kv_bytes_per_token;
    return index_of(adaptive, mark) * saved / (double)(bytes + 1);
}

/* ---- placement ---- */

static uint32_t octaves(uint32_t number)
{
    uint32_t octaves = 0;
    for (; number > 0; number /= 2)
        octaves++;
    return octaves;
}

/* turn 1, 2-3, 4-10, later; reply up to 64 tokens, 128, ... 4096, more; paused over half a minute;
 * ended in a call of a tool, if that is told. */
static uint8_t detail_of_ends(const struct eviction *eviction, const struct placement_view *view)
{
    const struct adaptive *adaptive = eviction->state;
    const struct settings *settings = eviction->settings;
    uint32_t turn = adaptive->turn.turns;
    uint32_t reply = octaves((view->end_tokens - view->prompt_tokens) / 64);
    bool paused = turn > 0 && (adaptive->now - adaptive->turn.at) >> (35 - TICK_SHIFT);
    bool calls = settings->tool_calls && eviction->next_waits == WAITED_TOOL;
    return (uint8_t)((turn < 1    ? 0
                      : turn < 3  ? 1
                      : turn < 10 ? 2
                                  : 3) |
                     (reply < 7 ? reply : 7) << 2 | (uint32_t)paused << 5 | (uint32_t)calls << 6);
}

/* Keeps offers in order; of equal positions the first offer stays. */
static void offer(struct adaptive *adaptive, const struct placement_view *view, uint64_t grain,
                  uint64_t asked, struct offer offer)
{
    uint64_t position = asked - asked % grain;
    if (position <= view->hit_tokens || position > view->end_tokens)
        return;
    adaptive->offers = mem_grow(adaptive->offers, &adaptive->offer_capacity,
                                adaptive->offer_count + 1, sizeof *adaptive->offers);
    struct offer *offers = adaptive->offers;
    uint32_t at = adaptive->offer_count;
    while (at > 0 && offers[at - 1].position > position)
        at--;
    if (at > 0 && offers[at - 1].position == position)
        return;
    for (uint32_t i = adaptive->offer_count++; i > at; i--)
        offers[i] = offers[i - 1];
    offer.position = (uint32_t)position;
    offer.asked = (uint32_t)asked;
    offers[at] = offer;
}

static void offer_end(struct adaptive *adaptive, const struct placement_view *view,
                      const struct positions *positions, uint64_t asked, enum kind kind,
                      uint8_t detail)
{
    offer(adaptive, view, positions->end_grain, asked,
          (struct offer){.kind = (uint8_t)kind, .detail = detail});
}

static void offer_interior(struct adaptive *adaptive, const struct placement_view *view,
                           const struct positions *positions, uint64_t asked, enum kind kind,
                           uint32_t detail)
{
    offer(adaptive, view, positions->interior_grain, asked,
          (struct offer){.kind = (uint8_t)kind, .detail = (uint8_t)detail});
}

static void offer_rungs(struct adaptive *adaptive, const struct placement_view *view,
                        const struct positions *positions)
{
    uint32_t prompt = view->prompt_tokens;
    for (uint64_t step = RUNG_FIRST; prompt > 0 && step < RUNG_LAST; step *= RUNG_RATIO) {
        uint32_t position = prompt - 1 - (prompt - 1) % (uint32_t)step;
        offer_interior(adaptive, view, positions, position, RUNG,
                       octaves((prompt - position) / 64));
    }
    uint64_t rung = view->hit_tokens - view->hit_tokens % RUNG_LAST + RUNG_LAST;
    for (; rung <= view->end_tokens; rung += RUNG_LAST)
        offer_interior(adaptive, view, positions, rung, RUNG,
                       rung < prompt ? octaves((prompt - (uint32_t)rung) / 64) : 0);
}

/* Where requests before this one would have started, and could not. */
static void offer_missed(struct adaptive *adaptive, const struct placement_view *view,
                         const struct positions *positions)
{
    const struct node *nodes = view->workload->nodes;
    for (node_id node = view->prompt_node; nodes[node].end > view->hit_tokens;
         node = nodes[node].parent)
        for (uint32_t link = adaptive->marks.of_node[node]; link;
             link = adaptive->marks.items[link - 1].next)
            if (adaptive->marks.items[link - 1].missed)
                offer_end(adaptive, view, positions, adaptive->marks.items[link - 1].position,
                          RUNG, 0);
}

static void collect_offers(struct eviction *eviction, const struct placement_view *view,
                           const struct positions *positions)
{
    struct adaptive *adaptive = eviction->state;
    uint8_t detail = detail_of_ends(eviction, view);
    adaptive->offer_count = 0;
    offer_end(adaptive, view, positions, view->prompt_tokens, PROMPT_END, detail);
    offer_end(adaptive, view, positions, view->end_tokens, REPLY_END, detail);
    offer_interior(adaptive, view, positions, view->system_tokens, SYSTEM_END, 0);
    if (view->forks)
        offer_interior(adaptive, view, positions, view->match_tokens, FORK, 0);
    for (uint32_t i = 0; i < MESSAGES && i < view->bound_count; i++)
        offer_interior(adaptive, view, positions, view->bounds[view->bound_count - 1 - i],
                       MESSAGE_END, i);
    offer_rungs(adaptive, view, positions);
    offer_missed(adaptive, view, positions);
}

static void find_offers(struct adaptive *adaptive, const struct workload *workload)
{
    const struct node *nodes = workload->nodes;
    node_id node = adaptive->request->reply_node;
    for (uint32_t i = adaptive->offer_count; i-- > 0;) {
        struct offer *offer = &adaptive->offers[i];
        while (nodes[nodes[node].parent].end >= offer->position)
            node = nodes[node].parent;
        offer->node = node;
        offer->mark = marks_find(&adaptive->marks, node, offer->position);
    }
}

/* Whether a snapshot at an offer, with the next shallower one at q, is worth its bytes. */
static bool is_worth(const struct eviction *eviction, const struct offer *offer, uint32_t q,
                     bool is_deepest)
{
    const struct adaptive *adaptive = eviction->state;
    const struct settings *settings = eviction->settings;
    const struct memory *memory = &eviction->cache->memory;
    uint32_t saved = offer->position - q, class = class_of(offer->kind, FRESH, offer->detail);
    uint64_t age = 0;
    if (offer->mark != MARK_NONE) {
        class = adaptive->marks.items[offer->mark].class;
        age = adaptive->now - adaptive->marks.items[offer->mark].since;
    }
    if (hazard_chance(&adaptive->hazard, class) * saved < (double)settings->snapshot_cost)
        return false;
    if (is_deepest && eviction->cache->refuses)
        return true;
    double cost = adaptive->prices[PART_SNAPSHOT] * (double)memory->snapshot_bytes;
    if (is_deepest && offer->position > adaptive->match_tokens)
        cost += adaptive->prices[PART_KV] * (double)(offer->position - adaptive->match_tokens) *
                (double)memory->kv_bytes_per_token;
    return hazard_index(&adaptive->hazard, class, age) * saved >= cost;
}

void adaptive_plan(struct eviction *eviction, const struct placement_view *view,
                   struct positions *positions)
{
    struct adaptive *adaptive = eviction->state;
    adaptive->is_looked_up = true;
    adaptive->match_tokens = view->match_tokens;
    collect_offers(eviction, view, positions);
    find_offers(adaptive, view->workload);
    uint32_t q = view->hit_tokens;
    for (uint32_t i = 0; i < adaptive->offer_count; i++) {
        const struct offer *offer = &adaptive->offers[i];
        bool is_taken = is_worth(eviction, offer, q, i + 1 == adaptive->offer_count);
        if (offer->mark == MARK_NONE)
            add_mark(adaptive, offer->node, offer);
        if (!is_taken)
            continue;
        q = offer->position;
        if (offer->kind == PROMPT_END || offer->kind == REPLY_END)
            positions_add_end(positions, offer->asked);
        else
            positions_add_interior(positions, offer->asked);
    }
}

/* ---- eviction ---- */

/* KV that no snapshot needs goes before all else, and among such the longest unused. A snapshot at
 * its end needs it. */
static bool is_needed(const struct cache *cache, node_id node)
{
    uint32_t link = cache->nodes[node].snapshots;
    return link && cache->snapshots[link - 1].position >= holding_position(cache, node);
}

static struct heap_key kv_key(struct eviction *eviction, holding_id holding)
{
    struct per_holding *here = &((struct per_holding *)eviction->holdings)[holding];
    here->needed = is_needed(eviction->cache, holding);
    return (struct heap_key){here->needed, here->last,
                             heap_within(eviction->cache, holding)};
}

static void use_kv(struct eviction *eviction, holding_id holding)
{
    const struct adaptive *adaptive = eviction->state;
    ((struct per_holding *)eviction->holdings)[holding].last = adaptive->arrival;
    rank_push(eviction, holding);
}

static int init(struct eviction *eviction, struct err *err)
{
    (void)err;
    struct adaptive *adaptive = eviction->state;
    adaptive->kv.key_of = kv_key;
    adaptive->rng = rng_open(1, "adaptive");
    adaptive->streams = mem_array(eviction->cache->workload->stream_count, sizeof(struct stream));
    marks_open(&adaptive->marks, eviction->cache);
    hazard_open(&adaptive->hazard, KINDS * STATUSES, DETAILS);
    for (uint32_t status = 0; status < STATUSES; status++) {
        hazard_set_start(&adaptive->hazard, group_of(MESSAGE_END, status), INTERIOR_START);
        hazard_set_start(&adaptive->hazard, group_of(RUNG, status), INTERIOR_START);
    }
    return 0;
}

static void fini(struct eviction *eviction)
{
    struct adaptive *adaptive = eviction->state;
    marks_close(&adaptive->marks);
    hazard_close(&adaptive->hazard);
    rank_fini(eviction);
    free(adaptive->offers);
    free(adaptive->streams);
}

/* A snapshot that another placement asked for has no mark yet. */
static uint32_t mark_of_new(struct eviction *eviction, const struct snapshot *snapshot)
{
    struct adaptive *adaptive = eviction->state;
    const struct node *nodes = eviction->cache->workload->nodes;
    uint32_t id = marks_find(&adaptive->marks, snapshot->node, snapshot->position);
    if (id != MARK_NONE)
        return id;
    struct offer offer = {.position = snapshot->position, .kind = RUNG};
    if (snapshot->asked == nodes[adaptive->request->reply_node].end)
        offer.kind = REPLY_END;
    else if (snapshot->asked == nodes[adaptive->request->prompt_node].end)
        offer.kind = PROMPT_END;
    return add_mark(adaptive, snapshot->node, &offer);
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    (void)from;
    struct adaptive *adaptive = eviction->state;
    const struct cache *cache = eviction->cache;
    if (holding_is_kv(cache, holding)) {
        use_kv(eviction, holding);
        return;
    }
    const struct snapshot *snapshot = holding_snapshot(cache, holding);
    uint32_t id = mark_of_new(eviction, snapshot);
    bool is_between = snapshot->position <= adaptive->match_tokens || cache->settings.dual_index;
    adaptive->marks.items[id].missed = false;
    own_class(&adaptive->marks.items[id]);
    marks_revive(&adaptive->marks, id, holding_snapshot_id(cache, holding), is_between);
}

/* The snapshot where a request starts is used; it counts once, if the request wanted no other. */
static void used(struct eviction *eviction, holding_id holding)
{
    struct adaptive *adaptive = eviction->state;
    const struct cache *cache = eviction->cache;
    if (holding_is_kv(cache, holding)) {
        use_kv(eviction, holding);
        return;
    }
    uint32_t id = adaptive->marks.of_snapshot[holding_snapshot_id(cache, holding)];
    struct mark *mark = &adaptive->marks.items[id];
    if (!adaptive->is_looked_up && id != adaptive->wanted)
        use(adaptive, mark);
    own_class(mark);
    adaptive->is_looked_up = true;
}

static void bequeath(struct adaptive *adaptive, const struct mark *from, struct mark *to)
{
    if (index_of(adaptive, from) <= index_of(adaptive, to))
        return;
    to->heir_class = from->heir_class;
    to->heir_since = from->heir_since;
}

static void gone(struct eviction *eviction, holding_id holding)
{
    struct adaptive *adaptive = eviction->state;
    const struct cache *cache = eviction->cache;
    if (holding_is_kv(cache, holding)) {
        rank_gone(eviction, holding);
        return;
    }
    uint32_t id = adaptive->marks.of_snapshot[holding_snapshot_id(cache, holding)];
    struct mark *mark = &adaptive->marks.items[id];
    marks_bury(&adaptive->marks, id);
    if (mark->up != MARK_ROOT)
        bequeath(adaptive, mark, &adaptive->marks.items[mark->up]);
    if (cache->kv_is_holding && cache->nodes[mark->node].resident > 0 &&
        cache->nodes[mark->node].children == 0)
        rank_push(eviction, mark->node); /* its KV may be needed no more */
    forget_surplus(adaptive);
}

static uint32_t draw(struct rng *rng, uint32_t limit)
{
    return (uint32_t)((rng_u64(rng) >> 32) * limit >> 32);
}

/* What is dropped if a live mark is the victim. Where KV is short and is a holding of its own, that
 * is the KV at the end of its path. */
static holding_id victim_of(const struct cache *cache, const struct mark *mark, enum part wanted)
{
    if (wanted == PART_KV && cache->kv_is_holding)
        return snapshot_ends_path(cache, mark->snapshot) ? mark->node : HOLDING_NONE;
    return snapshot_holding(cache, mark->snapshot);
}

struct worst {
    holding_id holding;
    double worth;
    uint64_t since;
};

static void consider(struct adaptive *adaptive, const struct cache *cache, uint32_t id,
                     enum part wanted, struct worst *worst)
{
    const struct mark *mark = &adaptive->marks.items[id];
    double here = worth(adaptive, cache, id, wanted);
    if (worst->holding != HOLDING_NONE &&
        (here > worst->worth || (here == worst->worth && mark->heir_since >= worst->since)))
        return;
    holding_id holding = victim_of(cache, mark, wanted);
    if (holding != HOLDING_NONE && holding_droppable(cache, holding, wanted))
        *worst = (struct worst){holding, here, mark->heir_since};
}

/* The worst of some live marks, drawn at random; of all, if there are few, or none of those can go.
 */
static holding_id worst_snapshot(struct eviction *eviction, enum part wanted)
{
    struct adaptive *adaptive = eviction->state;
    const struct marks *marks = &adaptive->marks;
    struct worst worst = {.holding = HOLDING_NONE};
    for (uint32_t i = 0; i < CANDIDATES && marks->live_count > CANDIDATES; i++)
        consider(adaptive, eviction->cache,
                 marks->live[draw(&adaptive->rng, marks->live_count)], wanted, &worst);
    bool is_found = worst.holding != HOLDING_NONE;
    for (uint32_t i = 0; !is_found && i < marks->live_count; i++)
        consider(adaptive, eviction->cache, marks->live[i], wanted, &worst);
    for (unsigned part = PART_KV; worst.holding != HOLDING_NONE && part <= PART_SNAPSHOT; part++)
        if (wanted == PART_ANY || wanted == part)
            adaptive->prices[part] += (worst.worth - adaptive->prices[part]) * PRICE_WEIGHT;
    return worst.holding;
}

/* KV that no snapshot needs. An entry that says so may be out of date: then it is ranked again. */
static holding_id unneeded_kv(struct eviction *eviction)
{
    for (;;) {
        holding_id kv = rank_choose(eviction, PART_KV);
        if (kv == HOLDING_NONE || !is_needed(eviction->cache, kv))
            return kv;
        if (((const struct per_holding *)eviction->holdings)[kv].needed)
            return HOLDING_NONE; /* those that are needed come last */
        rank_push(eviction, kv);
    }
}

static struct victim choose(struct eviction *eviction, enum part wanted)
{
    const struct cache *cache = eviction->cache;
    holding_id victim = HOLDING_NONE;
    if (cache->kv_is_holding && wanted != PART_SNAPSHOT)
        victim = unneeded_kv(eviction);
    if (victim == HOLDING_NONE)
        victim = worst_snapshot(eviction, wanted);
    else if (cache->nodes[victim].snapshots)
        return (struct victim){victim, cache->snapshots[cache->nodes[victim].snapshots - 1].position};
    return (struct victim){victim, 0};
}

static int check(const struct eviction *eviction, struct err *err)
{
    const struct adaptive *adaptive = eviction->state;
    if (!heap_is_ordered(&adaptive->kv.kv))
        return err_set(err, "adaptive: an entry is out of order");
    return marks_check(&adaptive->marks, err);
}

const struct eviction_ops eviction_adaptive = {
    .plugin = {.name = "adaptive",
               .summary = "what is expected to save least work per byte leaves first",
               .params = params,
               .settings_size = sizeof(struct settings),
               .state_size = sizeof(struct adaptive)},
    .flags = EVICTION_MAY_REFUSE,
    .holding_size = sizeof(struct per_holding),
    .init = init,
    .fini = fini,
    .begin = begin,
    .added = added,
    .used = used,
    .gone = gone,
    .choose = choose,
    .check = check,
};

/* ---- the adapter: a placement that is one with the eviction of its name ---- */

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    if (placement->pair)
        adaptive_plan(placement->pair, view, positions);
}

const struct placement_ops placement_adaptive = {
    .plugin = {.name = "adaptive",
               .summary = "where it is worth its bytes; goes with the eviction of that name"},
    .plan = plan,
};
