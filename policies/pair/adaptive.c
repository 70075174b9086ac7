/* prototype */
#include "policies/pair/adaptive.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

#include "policies/pair/hazard.h"
#include "sim/cache/cache.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"

enum kind { PROMPT_END, REPLY_END, SYSTEM, FORK, BOUND, RUNG, NEAR_END, KINDS };
enum status { FRESH, PASSED, LEFT, STATUSES };

struct settings {
    bool clock_ns, tool, ghosts, refuse, myopic;
    uint64_t plan, inherit, sample, rung, near, bounds, turns, status, useful, learn, prior, ghost_factor, features, ladder, ladder_from;
    double strict, start, decay, guess, tail, known;
};

static const struct param params[] = {
    PARAM(struct settings, clock_ns, PARAM_BOOL, "1", 0, 1, ""),
    PARAM(struct settings, tool, PARAM_BOOL, "0", 0, 1, ""),
    PARAM(struct settings, ghosts, PARAM_BOOL, "1", 0, 1, ""),
    PARAM(struct settings, refuse, PARAM_BOOL, "1", 0, 1, ""),
    PARAM(struct settings, plan, PARAM_U64, "0", 0, 3, ""),
    PARAM(struct settings, myopic, PARAM_BOOL, "0", 0, 1, ""),
    PARAM(struct settings, inherit, PARAM_U64, "1", 0, 3, ""),
    PARAM(struct settings, sample, PARAM_U64, "48", 1, 100000, ""),
    PARAM(struct settings, rung, PARAM_U64, "32768", 0, 1 << 20, ""),
    PARAM(struct settings, near, PARAM_U64, "0", 0, 1 << 20, ""),
    PARAM(struct settings, bounds, PARAM_U64, "0", 0, 100, ""),
    PARAM(struct settings, turns, PARAM_U64, "1", 0, 1, ""),
    PARAM(struct settings, status, PARAM_U64, "1", 0, 2, ""),
    PARAM(struct settings, useful, PARAM_U64, "1", 0, 1, ""),
    PARAM(struct settings, learn, PARAM_U64, "512", 1, 100000, ""),
    PARAM(struct settings, prior, PARAM_U64, "30", 0, 100000, ""),
    PARAM(struct settings, ghost_factor, PARAM_U64, "4", 0, 100000, ""),
    PARAM(struct settings, features, PARAM_U64, "0", 0, 100000, ""),
    PARAM(struct settings, decay, PARAM_DOUBLE, "0.9", 0, 1, ""),
    PARAM(struct settings, guess, PARAM_DOUBLE, "0.1", 0, 100, ""),
    PARAM(struct settings, tail, PARAM_DOUBLE, "0", 0, 100, ""),
    PARAM(struct settings, known, PARAM_DOUBLE, "0", 0, 1e9, ""),
    PARAM(struct settings, start, PARAM_DOUBLE, "1", 0, 1e9, ""),
    PARAM(struct settings, ladder, PARAM_U64, "8", 2, 1e9, ""),
    PARAM(struct settings, ladder_from, PARAM_U64, "0", 0, 1e9, ""),
    PARAM(struct settings, strict, PARAM_DOUBLE, "1", 0, 1e9, ""),
    PARAM_END};

#define NONE UINT32_MAX

struct record {
    node_id node;
    uint32_t position;
    uint32_t next;              /* 1 + next record on the node */
    uint32_t snapshot;          /* its number, or NONE: a ghost */
    uint32_t up;                /* live: the next shallower live record, NONE */
    uint32_t first_child, sibling, previous;
    uint32_t slot;              /* live: in the array of live ones */
    uint32_t older, younger;    /* ghosts: a list in order of time */
    uint32_t stream;
    uint16_t class, heir_class;
    uint64_t since, counted, heir_since;
    uint32_t heirs;
    uint32_t floor, floor_version, version;
    bool used_slot;
    uint8_t kind, status, uses, sub;
};

struct per_holding { /* nodes: 1 + first record; snapshots: 1 + record */
    uint32_t record;
};

struct candidate;
struct adaptive {
    struct hazard hazard;
    struct record *records;
    size_t capacity;
    uint32_t count, free, ghosts, oldest, youngest;
    uint32_t *live;
    size_t live_capacity;
    uint32_t live_count;
    uint64_t now;
    uint32_t arrival, since_learn;
    const struct request *request;
    struct rng rng;
    uint32_t *heads; /* by stream: 1 + record */
    uint32_t *turns;
    uint8_t sub;
    uint32_t match_tokens;
    bool forks;
    double price, least;
    struct candidate *cands;
    size_t cands_capacity, scratch_capacity;
    uint32_t cand_count;
    double *scratch;
    uint32_t used, hit;
    bool looking;
};

static struct adaptive *state_of(struct eviction *e) { return e->state; }
static uint32_t *at_node(struct eviction *e, node_id node)
{
    return &((struct per_holding *)e->holdings)[node].record;
}
static uint32_t *at_snapshot(struct eviction *e, uint32_t snapshot)
{
    return &((struct per_holding *)e->holdings)[snapshot_holding(e->cache, snapshot)].record;
}

#define SUBS 64
static uint16_t class_of(const struct settings *s, const struct record *r)
{
    uint32_t status = s->status ? r->status : 0, uses = s->useful ? r->uses : 0;
    return (uint16_t)(((r->kind * STATUSES + status) * 4 + uses) * SUBS + r->sub);
}

/* ---- ghosts ---- */
static void ghost_in(struct adaptive *a, uint32_t id)
{
    struct record *r = &a->records[id];
    r->older = a->youngest;
    r->younger = NONE;
    if (a->youngest != NONE)
        a->records[a->youngest].younger = id;
    else
        a->oldest = id;
    a->youngest = id;
    a->ghosts++;
}
static void ghost_out(struct adaptive *a, uint32_t id)
{
    struct record *r = &a->records[id];
    *(r->older != NONE ? &a->records[r->older].younger : &a->oldest) = r->younger;
    *(r->younger != NONE ? &a->records[r->younger].older : &a->youngest) = r->older;
    a->ghosts--;
}

static void spend(struct eviction *e, struct record *r)
{
    struct adaptive *a = state_of(e);
    if (a->now > r->counted)
        hazard_spend(&a->hazard, r->class, r->counted - r->since, a->now - r->since);
    r->counted = a->now;
}

static void forget(struct eviction *e, uint32_t id)
{
    struct adaptive *a = state_of(e);
    struct record *r = &a->records[id];
    spend(e, r);
    ghost_out(a, id);
    uint32_t *link = at_node(e, r->node);
    while (*link != id + 1)
        link = &a->records[*link - 1].next;
    *link = r->next;
    if (e->cache && a->heads[r->stream] == id + 1)
        a->heads[r->stream] = 0;
    r->next = a->free;
    r->used_slot = false;
    a->free = id + 1;
}

static uint32_t find(struct eviction *e, node_id node, uint32_t position)
{
    struct adaptive *a = state_of(e);
    uint32_t link = *at_node(e, node);
    while (link && a->records[link - 1].position > position)
        link = a->records[link - 1].next;
    return link && a->records[link - 1].position == position ? link - 1 : NONE;
}

static uint32_t create(struct eviction *e, node_id node, uint32_t position, uint8_t kind, uint8_t sub)
{
    struct adaptive *a = state_of(e);
    uint32_t id;
    if (a->free) {
        id = a->free - 1;
        a->free = a->records[id].next;
    } else {
        id = a->count++;
        a->records = mem_grow(a->records, &a->capacity, a->count, sizeof *a->records);
        a->records[id].version = 0;
    }
    uint32_t *link = at_node(e, node);
    while (*link && a->records[*link - 1].position > position)
        link = &a->records[*link - 1].next;
    uint32_t version = a->records[id].version;
    a->records[id] = (struct record){.node = node, .position = position, .next = *link,
        .snapshot = NONE, .up = NONE, .first_child = NONE, .sibling = NONE, .previous = NONE,
        .stream = a->request->stream, .since = a->now, .counted = a->now, .kind = kind, .sub = sub,
        .version = version + 1, .used_slot = true};
    *link = id + 1;
    struct record *r = &a->records[id];
    r->class = class_of(e->settings, r);
    r->heir_class = r->class;
    r->heir_since = r->since;
    ghost_in(a, id);
    return id;
}

/* ---- the tree of live ones ---- */
static uint32_t live_above(struct eviction *e, node_id node, uint32_t position)
{
    struct adaptive *a = state_of(e);
    const struct cache *cache = e->cache;
    for (;; node = cache->workload->nodes[node].parent) {
        uint32_t link = position ? cache_snapshots_to(cache, node, position - 1) : 0;
        if (link)
            return *at_snapshot(e, link - 1) - 1;
        if (node == NODE_ROOT)
            return NONE;
    }
    (void)a;
}

static void attach(struct adaptive *a, uint32_t id, uint32_t up)
{
    struct record *r = &a->records[id];
    r->up = up;
    r->previous = NONE;
    r->sibling = NONE;
    r->floor_version = 0;
    if (up == NONE)
        return;
    struct record *u = &a->records[up];
    r->sibling = u->first_child;
    if (u->first_child != NONE)
        a->records[u->first_child].previous = id;
    u->first_child = id;
    u->version++;
}
static void detach(struct adaptive *a, uint32_t id)
{
    struct record *r = &a->records[id];
    if (r->up == NONE)
        return;
    if (r->previous != NONE)
        a->records[r->previous].sibling = r->sibling;
    else
        a->records[r->up].first_child = r->sibling;
    if (r->sibling != NONE)
        a->records[r->sibling].previous = r->previous;
    a->records[r->up].version++;
}

static bool below(const struct cache *cache, const struct record *deep, const struct record *r)
{
    node_id node = deep->node;
    while (cache->workload->nodes[node].end > r->position &&
           workload_node_start(cache->workload, node) >= r->position)
        node = cache->workload->nodes[node].parent;
    return node == r->node;
}

static void adopt(struct eviction *e, uint32_t id, uint32_t up)
{
    struct adaptive *a = state_of(e);
    const struct cache *cache = e->cache;
    struct record *r = &a->records[id];
    if (up == NONE) { /* roots of the forest are not listed: look at all live ones */
        for (uint32_t i = 0; i < a->live_count; i++) {
            uint32_t child = a->live[i];
            if (child != id && a->records[child].up == NONE && below(cache, &a->records[child], r) &&
                a->records[child].position > r->position)
                attach(a, child, id);
        }
        return;
    }
    for (uint32_t child = a->records[up].first_child; child != NONE;) {
        uint32_t next = a->records[child].sibling;
        if (child != id && a->records[child].position > r->position && below(cache, &a->records[child], r)) {
            detach(a, child);
            attach(a, child, id);
        }
        child = next;
    }
}

/* ---- worth ---- */
static uint32_t floor_of(struct eviction *e, struct record *r)
{
    struct adaptive *a = state_of(e);
    const struct cache *cache = e->cache;
    uint32_t up = r->up != NONE ? a->records[r->up].position : 0;
    uint32_t version = r->up != NONE ? a->records[r->up].version + 1 : 0;
    if (version && r->floor_version == version)
        return r->floor;
    node_id node = r->node;
    uint32_t floor = workload_node_start(cache->workload, node);
    while (floor > up) {
        node = cache->workload->nodes[node].parent;
        if (cache->nodes[node].children > 1)
            break;
        floor = workload_node_start(cache->workload, node);
    }
    if (floor < up)
        floor = up;
    r->floor = floor;
    r->floor_version = version;
    return floor;
}

static double worth(struct eviction *e, uint32_t id, enum part wanted)
{
    struct adaptive *a = state_of(e);
    struct record *r = &a->records[id];
    const struct cache *cache = e->cache;
    const struct settings *s = e->settings;
    double bytes = wanted == PART_KV ? 0 : (double)cache->memory.snapshot_bytes;
    if (wanted != PART_SNAPSHOT && snapshot_ends_path(cache, r->snapshot))
        bytes += (double)(r->position - floor_of(e, r)) * (double)cache->memory.kv_bytes_per_token;
    uint32_t up = r->up != NONE ? a->records[r->up].position : 0;
    double index = hazard_index(&a->hazard, r->heir_class, a->now - r->heir_since);
    if (s->inherit == 2 && (r->heir_class != r->class || r->heir_since != r->since))
        index += hazard_index(&a->hazard, r->class, a->now - r->since);
    return index * (double)(r->position - up) / bytes;
}

/* ---- hooks ---- */
static int init(struct eviction *e, struct err *err)
{
    (void)err;
    struct adaptive *a = state_of(e);
    const struct settings *s = e->settings;
    hazard_open(&a->hazard, KINDS * STATUSES * 4 * SUBS);
    a->hazard.prior = (double)s->prior;
    a->hazard.decay = s->decay;
    a->hazard.known = s->known;
    a->hazard.tail = s->tail;
    a->hazard.guess = s->guess;
    a->hazard.group = SUBS;
    a->hazard.myopic = s->myopic;
    for (uint32_t g = 0; g < KINDS * STATUSES * 4; g++) {
        uint32_t kind = g / STATUSES / 4;
        hazard_start(&a->hazard, g, kind >= BOUND ? s->start : 1);
    }
    a->oldest = a->youngest = NONE;
    a->rng = rng_open(1, "adaptive");
    a->heads = mem_array(e->cache->workload->stream_count, sizeof *a->heads);
    a->turns = mem_array(e->cache->workload->stream_count, sizeof *a->turns);
    return 0;
}

static void fini(struct eviction *e)
{
    struct adaptive *a = state_of(e);
    if (getenv("DUMP")) {
        static const char *kinds[] = {"prompt", "reply", "system", "fork", "bound", "rung", "near"}, *sts[] = {"fresh", "passed", "left"};
        for (uint32_t c = 0; c < a->hazard.count; c++) {
            struct hazard_class *h = &a->hazard.classes[c];
            double u = 0, t = 0;
            for (int b = 0; b < HAZARD_BUCKETS; b++) u += h->uses[b], t += h->time[b];
            uint32_t live = 0, gh = 0;
            for (uint32_t i = 0; i < a->count; i++)
                if (a->records[i].used_slot && a->records[i].class == c) { if (a->records[i].snapshot != NONE) live++; else gh++; }
            if (t > 0) {
                fprintf(stderr, "%s %s uses %u sub %u: uses %.1f time %.0f rate %.2g live %u ghosts %u index", kinds[c / SUBS / 4 / STATUSES], sts[c / SUBS / 4 % STATUSES], c / SUBS % 4, c % SUBS, u, t, u / t, live, gh);
                for (int b = 0; b < HAZARD_BUCKETS; b += 4) fprintf(stderr, " %.2g", (double)h->index[b]);
                fprintf(stderr, " DATA"); for (int b = 0; b < HAZARD_BUCKETS; b++) if (h->time[b] > 1) fprintf(stderr, " %d:%.1f/%.2g=%.1g>%.1g", b, h->uses[b], h->time[b], h->uses[b]/h->time[b], (double)h->index[b]); fprintf(stderr, "\n");
            }
        }
    }
    hazard_close(&a->hazard);
    free(a->records);
    free(a->live);
    free(a->heads);
    free(a->cands);
    free(a->scratch);
    free(a->turns);
}

static void learn(struct eviction *e)
{
    struct adaptive *a = state_of(e);
    for (uint32_t i = 0; i < a->count; i++)
        if (a->records[i].used_slot)
            spend(e, &a->records[i]);
    hazard_learn(&a->hazard);
    a->since_learn = 0;
}

static void change(struct eviction *e, struct record *r, uint8_t status, uint8_t uses, bool event)
{
    struct adaptive *a = state_of(e);
    spend(e, r);
    bool own = r->heir_class == r->class && r->heir_since == r->since;
    r->status = status;
    r->uses = uses;
    r->class = class_of(e->settings, r);
    if (event)
        r->since = r->counted = a->now;
    if (own || event) {
        r->heir_class = r->class;
        r->heir_since = r->since;
    }
}

static void begin(struct eviction *e, uint32_t arrival, const struct request *request)
{
    struct adaptive *a = state_of(e);
    const struct settings *s = e->settings;
    const struct cache *cache = e->cache;
    const struct node *nodes = cache->workload->nodes;
    a->arrival = arrival;
    a->now = s->clock_ns ? (e->now_ns >> 24) + arrival : arrival;
    a->request = request;
    if ((++a->since_learn >= s->learn || (s->features & 32 && a->since_learn >= 32 && a->since_learn * 2 > arrival)) && a->since_learn * 4 >= a->count)
        learn(e);
    uint32_t prompt = nodes[request->prompt_node].end;
    uint32_t limit = prompt - (uint32_t)cache->settings.min_compute_tokens;
    uint32_t turn = ++a->turns[request->stream];
    a->sub = (uint8_t)(!s->turns ? 0 : turn < 2 ? 0 : turn < 4 ? 1 : turn < 11 ? 2 : 3);
    bool first = true;
    a->used = a->hit = NONE;
    a->looking = true;
    for (node_id node = request->prompt_node; node != NODE_ROOT; node = nodes[node].parent)
        for (uint32_t link = *at_node(e, node); link; link = a->records[link - 1].next) {
            struct record *r = &a->records[link - 1];
            if (r->position > limit)
                continue;
            if (first) {
                spend(e, r);
                hazard_use(&a->hazard, r->class, a->now - r->since);
                change(e, r, PASSED, r->uses < 3 ? r->uses + 1 : 3, true);
                first = false;
                a->used = link - 1;
            } else if (r->status == PASSED)
                goto out;
            else
                change(e, r, PASSED, r->uses, s->status == 2);
        }
out:;
    uint32_t head = a->heads[request->stream];
    a->heads[request->stream] = 0;
    if (head && a->records[head - 1].status == FRESH)
        change(e, &a->records[head - 1], LEFT, a->records[head - 1].uses, s->status == 2);
}

static void added(struct eviction *e, holding_id holding, uint32_t from)
{
    (void)from;
    struct adaptive *a = state_of(e);
    const struct cache *cache = e->cache;
    const struct settings *s = e->settings;
    if (holding_is_kv(cache, holding))
        return;
    const struct snapshot *snapshot = holding_snapshot(cache, holding);
    uint32_t id = find(e, snapshot->node, snapshot->position);
    if (id == NONE) {
        uint8_t kind = RUNG, sub = 0;
        if (snapshot->position == cache->workload->nodes[a->request->prompt_node].end)
            kind = PROMPT_END, sub = a->sub;
        else if (snapshot->position == cache->workload->nodes[a->request->reply_node].end)
            kind = REPLY_END, sub = a->sub;
        else if (snapshot->position / 64 == a->request->system_tokens / 64)
            kind = SYSTEM;
        else if (a->forks && snapshot->position / 64 == a->match_tokens / 64)
            kind = FORK;
        if (s->tool && (kind == REPLY_END || kind == PROMPT_END))
            sub = (uint8_t)(sub * 4 + e->next_waits);
        id = create(e, snapshot->node, snapshot->position, kind, sub);
    }
    struct record *r = &a->records[id];
    ghost_out(a, id);
    r->snapshot = holding_snapshot_id(cache, holding);
    r->stream = a->request->stream;
    r->heir_class = r->class;
    r->heir_since = r->since;
    r->first_child = NONE;
    *at_snapshot(e, r->snapshot) = id + 1;
    r->slot = a->live_count;
    a->live = mem_grow(a->live, &a->live_capacity, ++a->live_count, sizeof *a->live);
    a->live[r->slot] = id;
    uint32_t up = live_above(e, r->node, r->position);
    attach(a, id, up);
    if (snapshot->deeper || cache->nodes[r->node].children > 0)
        adopt(e, id, up);
    if (r->kind == REPLY_END)
        a->heads[a->request->stream] = id + 1;
}

static void used(struct eviction *e, holding_id holding)
{
    struct adaptive *a = state_of(e);
    if (holding_is_kv(e->cache, holding))
        return;
    const struct settings *s = e->settings;
    uint32_t id = *at_snapshot(e, holding_snapshot_id(e->cache, holding)) - 1;
    struct record *r = &a->records[id];
    if (a->looking)
        a->hit = id;
    if (s->features & 1 && id != a->used && a->looking) {
        spend(e, r);
        hazard_use(&a->hazard, r->class, a->now - r->since);
        change(e, r, PASSED, r->uses < 3 ? r->uses + 1 : 3, true);
    }
    a->looking = false;
    r->heir_class = r->class;
    r->heir_since = r->since;
}

static void gone(struct eviction *e, holding_id holding)
{
    struct adaptive *a = state_of(e);
    const struct settings *s = e->settings;
    if (holding_is_kv(e->cache, holding))
        return;
    uint32_t id = *at_snapshot(e, holding_snapshot_id(e->cache, holding)) - 1;
    struct record *r = &a->records[id];
    uint32_t up = r->up;
    detach(a, id);
    for (uint32_t child = r->first_child; child != NONE;) {
        uint32_t next = a->records[child].sibling;
        attach(a, child, up);
        child = next;
    }
    r->first_child = NONE;
    r->snapshot = NONE;
    a->live[r->slot] = a->live[--a->live_count];
    a->records[a->live[r->slot]].slot = r->slot;
    if (up != NONE && s->inherit) {
        struct record *u = &a->records[up];
        double mine = hazard_index(&a->hazard, r->heir_class, a->now - r->heir_since);
        double theirs = hazard_index(&a->hazard, u->heir_class, a->now - u->heir_since);
        if (mine > theirs) {
            u->heir_class = r->heir_class;
            u->heir_since = r->heir_since;
        }
    }
    ghost_in(a, id);
    uint64_t most = s->ghosts ? s->ghost_factor * a->live_count + 64 : 0;
    while (a->ghosts > most)
        forget(e, a->oldest);
}

static struct victim choose(struct eviction *e, enum part wanted)
{
    struct adaptive *a = state_of(e);
    const struct settings *s = e->settings;
    const struct cache *cache = e->cache;
    uint32_t best = NONE;
    double least = 0;
    bool all = a->live_count <= s->sample;
    uint64_t tries = all ? a->live_count : s->sample;
    for (uint64_t i = 0; i < tries || (best == NONE && i < a->live_count); i++) {
        uint32_t id = a->live[all || i >= s->sample ? i : rng_below(&a->rng, a->live_count)];
        holding_id holding = snapshot_holding(cache, a->records[id].snapshot);
        if (!holding_droppable(cache, holding, wanted))
            continue;
        double value = worth(e, id, wanted);
        if (best == NONE || value < least || (value == least && a->records[id].since < a->records[best].since)) {
            best = id;
            least = value;
        }
    }
    if (best == NONE)
        return (struct victim){HOLDING_NONE, 0};
    a->price += (least - a->price) / 16;
    a->least = least;
    return (struct victim){snapshot_holding(cache, a->records[best].snapshot), 0};
}

static int check(const struct eviction *e, struct err *err)
{
    (void)err;
    (void)e;
    return 0;
}

struct candidate {
    uint32_t position, record;
    uint8_t kind, sub;
};

static void offer(struct adaptive *a, const struct placement_view *view, uint64_t position, uint8_t kind, uint8_t sub)
{
    if (kind != PROMPT_END && kind != REPLY_END)
        position -= position % 64;
    if (position <= view->hit_tokens || position > view->end_tokens)
        return;
    a->cands = mem_grow(a->cands, &a->cands_capacity, a->cand_count + 1, sizeof *a->cands);
    uint32_t at = a->cand_count;
    while (at > 0 && a->cands[at - 1].position > position)
        at--;
    if (at > 0 && a->cands[at - 1].position == position)
        return;
    memmove(a->cands + at + 1, a->cands + at, (a->cand_count - at) * sizeof *a->cands);
    a->cands[at] = (struct candidate){(uint32_t)position, NONE, kind, sub};
    a->cand_count++;
}

static uint8_t back(uint32_t prompt, uint32_t position)
{
    if (position >= prompt)
        return 40;
    uint32_t b = 0;
    for (uint32_t d = (prompt - position) / 64; d > 0; d /= 2)
        b++;
    return (uint8_t)b;
}

static void select_candidates(struct eviction *e, const struct placement_view *view, struct positions *p)
{
    struct adaptive *a = state_of(e);
    const struct settings *s = e->settings;
    const struct memory *memory = &e->cache->memory;
    uint32_t n = a->cand_count;
    const struct node *nodes = e->cache->workload->nodes;
    node_id node = a->request->reply_node;
    for (uint32_t i = n; i-- > 0;) {
        struct candidate *c = &a->cands[i];
        while (node != NODE_ROOT && nodes[nodes[node].parent].end >= c->position)
            node = nodes[node].parent;
        c->record = find(e, node, c->position);
        if (c->record == NONE)
            c->record = create(e, node, c->position, c->kind,
                s->features & 8 && (c->kind == RUNG || c->kind == NEAR_END) ? back(view->prompt_tokens, c->position) : c->sub);
    }
    if (s->plan)
        choose(e, PART_ANY);
    double price = s->features & 4 ? a->least : a->price;
    uint64_t need = n * memory->snapshot_bytes + (uint64_t)(view->end_tokens - view->hit_tokens) * memory->kv_bytes_per_token;
    if (memory->used_bytes + need <= memory->capacity_bytes)
        price = 0;
    if (s->plan == 2) {
        double q = view->hit_tokens;
        for (uint32_t i = 0; i < n; i++) {
            struct record *r = &a->records[a->cands[i].record];
            double w = hazard_index(&a->hazard, r->class, a->now - r->since) * (a->cands[i].position - q) / (double)memory->snapshot_bytes;
            if (i + 1 < n && w < price * s->strict)
                continue;
            q = a->cands[i].position;
            positions_add_end(p, a->cands[i].position);
        }
        return;
    }
    /* 0 is the hit, which may go as well. */
    bool swap = s->features & 64 && a->hit != NONE && view->hit_tokens > 0;
    uint32_t m = n + 1;
    a->scratch = mem_grow(a->scratch, &a->scratch_capacity, 3 * m + 2, sizeof *a->scratch);
    double *sum = a->scratch, *best = sum + m + 1, *at = best + m;
    uint32_t from[n + 2];
    double S = price * (double)memory->snapshot_bytes, K = price * (double)memory->kv_bytes_per_token;
    double kv_from = view->match_tokens > view->hit_tokens ? view->match_tokens : view->hit_tokens;
    double base = view->hit_tokens;
    sum[0] = 0;
    sum[1] = 0;
    at[0] = view->hit_tokens;
    if (swap) {
        struct record *r = &a->records[a->hit];
        base = r->up != NONE ? a->records[r->up].position : 0;
        sum[1] = hazard_index(&a->hazard, r->class, a->now - r->since);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct record *r = &a->records[a->cands[i].record];
        sum[i + 2] = sum[i + 1] + hazard_index(&a->hazard, r->class, a->now - r->since);
        at[i + 1] = a->cands[i].position;
    }
    double top = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < m; i++) {
        best[i] = 0;
        from[i] = NONE;
        for (uint32_t j = 0; j < i; j++) {
            double value = best[j] + (sum[i] - sum[j]) * (at[j] - base);
            if (value > best[i]) {
                best[i] = value;
                from[i] = j;
            }
        }
        best[i] -= i > 0 || swap ? S : 0;
        double kv = at[i] > kv_from ? at[i] - kv_from : 0;
        double value = best[i] + (sum[m] - sum[i]) * (at[i] - base) - K * kv;
        if (i == 0 || value >= top || !s->plan) {
            top = value;
            last = i;
        }
    }
    if (!s->plan) {
        for (uint32_t i = 1; i <= n; i++)
            from[i] = i - 1;
    }
    for (uint32_t i = last; i != NONE && i > 0; i = from[i])
        positions_add_end(p, a->cands[i - 1].position);
}

void adaptive_plan(struct eviction *e, const struct placement_view *view, struct positions *p)
{
    struct adaptive *a = state_of(e);
    const struct settings *s = e->settings;
    const struct workload *w = e->cache->workload;
    a->looking = false;
    a->cand_count = 0;
    uint8_t sub = (uint8_t)(s->tool ? a->sub * 4 + e->next_waits : a->sub);
    offer(a, view, view->prompt_tokens, PROMPT_END, sub);
    if (view->end_tokens > view->prompt_tokens)
        offer(a, view, view->end_tokens, REPLY_END, sub);
    if (view->system_tokens)
        offer(a, view, view->system_tokens, SYSTEM, 0);
    if (view->forks)
        offer(a, view, view->match_tokens, FORK, 0);
    if (s->rung)
        for (uint64_t at = (view->hit_tokens / s->rung + 1) * s->rung; at <= view->end_tokens; at += s->rung)
            offer(a, view, at, RUNG, 0);
    for (uint64_t g = s->ladder_from; g && g < s->rung; g *= s->ladder)
        offer(a, view, (view->prompt_tokens - 1) / g * g, RUNG, 0);
    if (s->near && view->prompt_tokens > s->near)
        offer(a, view, view->prompt_tokens - s->near, NEAR_END, 0);
    for (uint32_t i = 0; i < view->bound_count && i < s->bounds; i++)
        offer(a, view, view->bounds[view->bound_count - 1 - i], BOUND, (uint8_t)i);
    if (s->features & 2)
        for (node_id node = a->request->reply_node; node != NODE_ROOT && w->nodes[node].end > view->hit_tokens; node = w->nodes[node].parent)
            for (uint32_t link = *at_node(e, node); link; link = a->records[link - 1].next) {
                struct record *r = &a->records[link - 1];
                if (r->position > view->hit_tokens && r->position <= view->end_tokens && r->uses > 0)
                    offer(a, view, r->position, RUNG, 0);
            }
    select_candidates(e, view, p);
}

const struct eviction_ops eviction_adaptive = {
    .plugin = {.name = "adaptive",
               .summary = "what is worth least per byte leaves first",
               .params = params,
               .settings_size = sizeof(struct settings),
               .state_size = sizeof(struct adaptive)},
    .flags = EVICTION_REFUSES,
    .holding_size = sizeof(struct per_holding),
    .init = init, .fini = fini, .begin = begin, .added = added, .used = used, .gone = gone,
    .choose = choose, .check = check,
};

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    if (placement->pair)
        adaptive_plan(placement->pair, view, positions);
}

const struct placement_ops placement_adaptive = {
    .plugin = {.name = "adaptive", .summary = "generous; the eviction of that name decides"},
    .plan = plan,
};
