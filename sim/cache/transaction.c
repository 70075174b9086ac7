/* The life of a running request: start, (reserve, commit) for each chunk, end or abort. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cache/admission.h"
#include "sim/cache/lookup.h"
#include "sim/cache/walk.h"
#include "sim/core/mem.h"

/* ---- moments ---- */

/* A moment passes when the cache turns to another request. */
static void turn_to(struct cache *cache, const struct running *running)
{
    if (cache->current == running)
        return;
    cache->current = running;
    cache->moments++;
    if (cache->memory.ops->begin)
        cache->memory.ops->begin(&cache->memory, cache_moment(cache), cache->oldest->started);
}

static void link_running(struct cache *cache, struct running *running)
{
    running->next = cache->running;
    running->previous = NULL;
    if (cache->running)
        cache->running->previous = running;
    else
        cache->oldest = running;
    cache->running = running;
}

static void unlink_running(struct cache *cache, struct running *running)
{
    if (running->previous)
        running->previous->next = running->next;
    else
        cache->running = running->next;
    if (running->next)
        running->next->previous = running->previous;
    else
        cache->oldest = running->previous;
}

/* ---- pins ---- */

uint32_t cache_pinned_to(const struct cache *cache, node_id node)
{
    uint32_t most = 0;
    for (const struct running *running = cache->running; running && cache->kv_pins[node] > 0;
         running = running->next) {
        if (running->stands_on.node == node && running->stands_on.position > most)
            most = running->stands_on.position;
        if (running->reserves_on.node == node && running->reserves_on.position > most)
            most = running->reserves_on.position;
    }
    return most;
}

static void pin_kv(struct cache *cache, struct kv_pin *pin, node_id node, uint32_t position)
{
    if (pin->node != NODE_ROOT)
        cache->kv_pins[pin->node]--;
    *pin = (struct kv_pin){position > 0 ? node : NODE_ROOT, position};
    if (pin->node != NODE_ROOT)
        cache->kv_pins[pin->node]++;
}

static void pin_snapshot(struct cache *cache, uint32_t snapshot)
{
    assert(cache->snapshots[snapshot].pins < UINT16_MAX);
    cache->snapshots[snapshot].pins++;
}

/* Whether KV goes on below a node, or ends with a snapshot: then none of it is an orphan. */
static inline bool ends_at_snapshot(const struct cache *cache, node_id node)
{
    const struct cache_node *here = &cache->nodes[node];
    return here->children > 0 || (here->snapshots != 0 &&
                                  cache->snapshots[here->snapshots - 1].position ==
                                      workload_node_start(cache->workload, node) + here->resident);
}

/* Lets go of KV; what nobody needs any more goes with it. */
static void unpin_kv(struct cache *cache, struct kv_pin *pin)
{
    const struct kv_pin was = *pin;
    pin_kv(cache, pin, NODE_ROOT, 0);
    if (was.node != NODE_ROOT && !ends_at_snapshot(cache, was.node))
        store_drop_orphans(cache, was.node);
}

/* ---- start ---- */

/* Drops what a hook of the policy names; it counts as evicted, though memory may not be short. */
static void drop_named(struct cache *cache, holding_id (*name)(struct eviction *eviction))
{
    struct eviction *eviction = &cache->eviction;
    uint64_t snapshots = cache->live_snapshots;
    holding_id holding = HOLDING_NONE;
    while (name && (holding = name(eviction)) != HOLDING_NONE) {
        assert(holding_droppable(cache, holding, PART_ANY));
        if (holding_is_kv(cache, holding))
            store_drop_kv(cache, holding, UINT64_MAX, 0);
        else
            store_drop_snapshot(cache, holding_snapshot_id(cache, holding));
        cache->counters.drops++;
    }
    cache->counters.snapshots_evicted += snapshots - cache->live_snapshots;
}

void cache_start(struct cache *cache, struct running *running, const struct context *context)
{
    uint32_t live_states = running->live_states;
    *running = (struct running){.context = *context,
                                .started = cache->moments, /* the one that begins now */
                                .live_states = live_states};
    link_running(cache, running);
    walk_begin(cache);
    turn_to(cache, running);
    if (cache->eviction.ops->begin)
        cache->eviction.ops->begin(&cache->eviction, &running->context);
    drop_named(cache, cache->eviction.ops->expired);
    running->found = lookup_find(cache, context->request);
    running->used_at = cache->moments;
    running->match_node = running->found.match_node;
    if (running->found.snapshot != SNAPSHOT_NONE)
        pin_snapshot(cache, running->found.snapshot);
    pin_kv(cache, &running->stands_on, running->found.hit_node, running->found.hit_tokens);
}

/* ---- reserve ---- */

/* A wanted snapshot that is there already is kept until it is renewed, with KV that is under it. */
static void pin_present(struct cache *cache, struct admission *admission,
                        const struct wanted_position *wanted, node_id node)
{
    struct running *running = admission->running;
    if (cache->nodes[node].snapshots == 0)
        return;
    uint32_t snapshot = store_find_snapshot(cache, node, wanted->position);
    if (snapshot == SNAPSHOT_NONE)
        return;
    pin_snapshot(cache, snapshot);
    store_use_snapshot(cache, snapshot);
    running->renewed = mem_grow(running->renewed, &running->renewed_capacity,
                                running->renewed_count + 1, sizeof *running->renewed);
    running->renewed[running->renewed_count++] = snapshot;
    if (workload_node_start(cache->workload, node) + cache->nodes[node].resident < wanted->position)
        return; /* stranded: its KV is not there to be pinned */
    pin_kv(cache, &running->reserves_on, node, wanted->position);
}

static void unpin_renewed(struct cache *cache, struct running *running)
{
    for (size_t i = 0; i < running->renewed_count; i++)
        cache->snapshots[running->renewed[i]].pins--;
    running->renewed_count = 0;
}

/* Makes room for an admission, and pins what it will build on. */
static bool prepare(struct cache *cache, struct admission *admission)
{
    struct running *running = admission->running;
    admission_find_nodes(cache, admission);
    admission_for_each(cache, admission, pin_present);
    if (running->renewed_count > 0)
        store_use_path(cache, running->reserves_on.node);
    if ((cache->eviction.ops->flags & EVICTION_REFUSES) || room_make(cache, admission))
        return true;
    unpin_renewed(cache, running);
    unpin_kv(cache, &running->reserves_on);
    return false;
}

static void add_reserved(struct cache *cache, const struct memory_need *need)
{
    cache->reserved.kv_pages += need->kv_pages;
    cache->reserved.snapshots += need->snapshots;
}

/* The room is anybody's again; the pins stay. */
static void give_back_room(struct cache *cache, struct running *running)
{
    cache->reserved.kv_pages -= running->reserved.kv_pages;
    cache->reserved.snapshots -= running->reserved.snapshots;
    running->reserved = (struct memory_need){0};
    running->has_reservation = false;
}

bool cache_reserve(struct cache *cache, struct running *running, uint32_t kv_end,
                   const struct positions *wanted)
{
    assert(!running->has_reservation);
    turn_to(cache, running);
    running->wanted = mem_grow(running->wanted, &running->wanted_capacity, wanted->count + 1,
                               sizeof *running->wanted);
    if (wanted->count > 0)
        memcpy(running->wanted, wanted->items, wanted->count * sizeof *running->wanted);
    running->wanted_count = wanted->count;
    running->wants_newest = wanted->newest;
    running->kv_end = kv_end;
    struct admission admission = {
        .running = running, .wanted = running->wanted, .count = running->wanted_count};
    admission_set_kv_end(cache, &admission, kv_end);
    if (!prepare(cache, &admission))
        return false;
    if (!(cache->eviction.ops->flags & EVICTION_REFUSES))
        running->reserved = admission_need(cache, &admission);
    add_reserved(cache, &running->reserved);
    running->has_reservation = true;
    (void)admission_need(cache, &admission); /* for the deepest node of the path with KV */
    uint32_t resident = holding_position(cache, admission.resident_node);
    pin_kv(cache, &running->reserves_on, admission.resident_node,
           resident < kv_end ? resident : kv_end);
    return true;
}

/* ---- commit ---- */

/* Where KV of the path ends now; all of it is as young as this moment. */
static void note_match(struct cache *cache, struct running *running)
{
    uint64_t passed = 0;
    running->match_node = walk_to_resident(cache, running->context.request->reply_node, &passed);
    running->used_at = cache->moments;
}

/* Makes all KV on the path as young as what is stored now. */
static void renew_path(struct cache *cache, struct running *running)
{
    if (running->used_at == cache->moments)
        return;
    note_match(cache, running);
    if (cache->kv_is_holding)
        lookup_use_kv(cache, running->match_node);
}

static void note_peak(struct cache *cache)
{
    if (cache->memory.used_bytes > cache->counters.peak_bytes)
        cache->counters.peak_bytes = cache->memory.used_bytes;
}

/* Stores, and stands on it from now on. */
static void store_admission(struct cache *cache, struct admission *admission)
{
    struct running *running = admission->running;
    admission->match_node = running->match_node;
    commit_admission(cache, admission);
    unpin_renewed(cache, running);
    if (admission->kv_end > running->stands_on.position)
        pin_kv(cache, &running->stands_on, admission->kv_node, admission->kv_end);
    pin_kv(cache, &running->reserves_on, NODE_ROOT, 0);
}

bool cache_commit(struct cache *cache, struct running *running)
{
    assert(running->has_reservation);
    bool refuses = cache->eviction.ops->flags & EVICTION_REFUSES;
    turn_to(cache, running);
    give_back_room(cache, running);
    struct admission admission = {.running = running,
                                  .wanted = running->wanted,
                                  .count = running->wanted_count,
                                  .counts_anew = true};
    admission_set_kv_end(cache, &admission, running->kv_end);
    admission_find_nodes(cache, &admission);
    if (!refuses && !room_make(cache, &admission)) {
        unpin_renewed(cache, running);
        unpin_kv(cache, &running->reserves_on);
        return false;
    }
    renew_path(cache, running);
    store_admission(cache, &admission);
    note_match(cache, running);
    if (running->wants_newest > 0)
        running->newest = running->wants_newest;
    if (!refuses)
        note_peak(cache);
    return true;
}

/* ---- end ---- */

static void finish(struct cache *cache, struct running *running)
{
    if (running->found.snapshot != SNAPSHOT_NONE)
        cache->snapshots[running->found.snapshot].pins--;
    unpin_kv(cache, &running->stands_on);
    commit_newest(cache, running);
    cache_drop_live_states(cache, running);
    unlink_running(cache, running);
    drop_named(cache, cache->eviction.ops->over);
    if (cache->eviction.ops->flags & EVICTION_REFUSES)
        room_trim(cache);
    note_peak(cache);
    free(running->renewed);
    free(running->wanted);
    cache->current = NULL;
}

void cache_end(struct cache *cache, struct running *running)
{
    assert(!running->has_reservation);
    turn_to(cache, running);
    finish(cache, running);
}

void cache_abort(struct cache *cache, struct running *running)
{
    turn_to(cache, running);
    give_back_room(cache, running);
    unpin_renewed(cache, running);
    unpin_kv(cache, &running->reserves_on);
    finish(cache, running);
}

void cache_admit(struct cache *cache, struct running *running, const struct positions *wanted)
{
    bool refuses = cache->eviction.ops->flags & EVICTION_REFUSES;
    struct admission admission = {
        .running = running, .wanted = wanted->items, .count = wanted->count};
    admission_set_kv_end(cache, &admission, admission_kv_end(cache, &admission));
    if (admission.kv_end > 0 && (refuses || room_reduce(cache, &admission))) {
        if (prepare(cache, &admission))
            store_admission(cache, &admission);
        else
            count_uncached(cache, admission.bytes_fit);
    }
    running->newest = wanted->newest;
    finish(cache, running);
}

/* ---- live states ---- */

bool cache_add_live_state(struct cache *cache, struct running *owner)
{
    struct admission admission = {.running = owner, .live_states = 1, .counts_anew = true};
    if (!room_make(cache, &admission))
        return false;
    cache->memory.ops->live_add(&cache->memory);
    cache->live_states++;
    owner->live_states++;
    return true;
}

void cache_drop_live_states(struct cache *cache, struct running *owner)
{
    for (; owner->live_states > 0; owner->live_states--) {
        cache->memory.ops->live_drop(&cache->memory);
        cache->live_states--;
    }
}
