/* ref_running.c - start, reserve, commit, abort and end in the reference model. */
#include "tests/ref_running.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

/* ---- moments and pins ---- */

/* Calls for one request that follow each other are of one moment. */
static void turn_to(struct ref_cache *cache, struct ref_running *r, bool starts)
{
    if (starts || cache->current != r)
        cache->moment++;
    cache->current = r;
    cache->now = r->arrival;
}

uint32_t ref_kv_pin_end(const struct ref_running *r)
{
    uint32_t end = r->hit > r->committed ? r->hit : r->committed;
    return r->reserved && r->kv_there > end ? r->kv_there : end;
}

static bool pins(const struct ref_running *r, uint32_t serial)
{
    if (serial == r->consumed)
        return true;
    for (size_t i = 0; r->reserved && i < r->wanted.count; i++)
        if (serial == r->wanted.items[i].pinned)
            return true;
    return false;
}

bool ref_snapshot_pinned(const struct ref_cache *cache, uint32_t serial)
{
    for (size_t i = 0; i < cache->running_count; i++)
        if (pins(cache->running[i], serial))
            return true;
    return false;
}

static struct ref_snapshot *snapshot_of(struct ref_cache *cache, uint32_t serial)
{
    for (size_t i = 0; i < cache->snapshot_count; i++)
        if (serial && cache->snapshots[i].serial == serial)
            return &cache->snapshots[i];
    return NULL;
}

static void note_peak(struct ref_cache *cache)
{
    uint64_t used = ref_used_bytes(cache);
    if (used > cache->counters.peak_bytes)
        cache->counters.peak_bytes = used;
}

/* ---- start ---- */

void ref_start(struct ref_cache *cache, struct ref_running *r, uint32_t arrival)
{
    assert(r->request == NULL);
    *r = (struct ref_running){.request = &cache->requests[arrival],
                              .arrival = arrival,
                              .path = r->path,
                              .path_capacity = r->path_capacity,
                              .wanted = {.items = r->wanted.items, .capacity = r->wanted.capacity}};
    turn_to(cache, r, true);
    ref_look_up(cache, r);
    cache->running = mem_grow(cache->running, &cache->running_capacity, cache->running_count + 1,
                              sizeof *cache->running);
    cache->running[cache->running_count++] = r;
}

/* ---- reserve ---- */

/* A need beside what the other running requests hold reserved. */
static struct ref_need need_beside_others(const struct ref_cache *cache,
                                          const struct ref_running *r)
{
    struct ref_need need = {0};
    for (size_t i = 0; i < cache->running_count; i++) {
        const struct ref_running *other = cache->running[i];
        if (other == r || !other->reserved)
            continue;
        need.pages += other->pages;
        need.snapshots += other->snapshots;
    }
    return need;
}

static struct ref_need need_of(const struct ref_cache *cache, const struct ref_running *r)
{
    struct ref_need need = need_beside_others(cache, r);
    need.path = r;
    need.kv_end = r->kv_end;
    need.wanted = &r->wanted;
    return need;
}

static void copy_wishes(struct ref_wishes *to, const struct ref_wishes *from)
{
    to->items = mem_grow(to->items, &to->capacity, from->count + 1, sizeof *to->items);
    to->count = from->count;
    to->newest = from->newest;
    if (from->count)
        memcpy(to->items, from->items, from->count * sizeof *to->items);
}

/* Gives the reservation back, with what it pins. */
static void release(struct ref_cache *cache, struct ref_running *r)
{
    r->reserved = false;
    ref_drop_orphans(cache);
}

bool ref_reserve(struct ref_cache *cache, struct ref_running *r, uint32_t kv_end,
                 const struct ref_wishes *wanted)
{
    assert(r->request != NULL && !r->reserved && kv_end >= r->committed);
    turn_to(cache, r, false);
    copy_wishes(&r->wanted, wanted);
    r->kv_end = kv_end;
    r->pages = r->snapshots = 0;
    r->reserved = true; /* so that what is found is pinned */
    r->kv_there = 0;
    for (size_t i = 0; i < r->wanted.count; i++) {
        struct ref_wanted *here = &r->wanted.items[i];
        const struct ref_snapshot *snapshot = ref_snapshot_at(cache, r->path[here->position]);
        here->pinned = snapshot ? snapshot->serial : 0;
        if (snapshot)
            r->kv_there = here->position;
    }
    struct ref_need need = need_of(cache, r);
    if (ref_refuses(cache))
        return true; /* room is made at the end */
    if (!ref_make_room(cache, &need)) {
        release(cache, r);
        return false;
    }
    r->pages = ref_missing_pages(cache, &need);
    r->snapshots = ref_missing_snapshots(cache, &need);
    r->kv_there = ref_resident_on_path(cache, r, kv_end);
    return true;
}

/* ---- commit ---- */

void ref_use_kv(struct ref_cache *cache, const struct ref_running *r, uint32_t to)
{
    for (uint32_t p = 1; p <= to; p++)
        cache->prefixes[r->path[p]].used = ref_age(cache, REF_AGE_KV, p);
}

static void store_kv(struct ref_cache *cache, const struct ref_running *r)
{
    for (uint32_t p = 1; p <= r->kv_end; p++) {
        struct ref_prefix *prefix = &cache->prefixes[r->path[p]];
        if (!prefix->resident) {
            prefix->stored = ref_age(cache, REF_AGE_KV, p);
            cache->counters.kv_tokens_stored++;
        }
        prefix->resident = prefix->ever_resident = true;
    }
    if (cache->kv_is_holding) /* whatever of its prompt and reply is resident is as young as it */
        ref_use_kv(cache, r, ref_resident_on_path(cache, r, r->request->end_tokens));
}

static void store_snapshot(struct ref_cache *cache, const struct ref_running *r,
                           const struct ref_wanted *wanted)
{
    struct ref_snapshot *snapshot = ref_snapshot_at(cache, r->path[wanted->position]);
    uint64_t age = ref_age(cache, REF_AGE_STORED, wanted->position);
    uint32_t stream = wanted->newest_only ? r->request->stream + 1 : 0;
    if (snapshot) {
        if (!wanted->newest_only || snapshot->stream != 0) /* taken to stay, it stays */
            snapshot->stream = stream;
        snapshot->used = age;
        snapshot->counted = age;
        snapshot->count++;
        return;
    }
    cache->snapshots = mem_grow(cache->snapshots, &cache->snapshot_capacity,
                                cache->snapshot_count + 1, sizeof *cache->snapshots);
    cache->snapshots[cache->snapshot_count++] = (struct ref_snapshot){
        .prefix = r->path[wanted->position],
        .asked = wanted->asked,
        .serial = ++cache->serial,
        .stream = stream,
        .used = age,
        .stored = age,
        .counted = age,
        .count = 1,
    };
    cache->counters.snapshots_taken++;
}

bool ref_store(struct ref_cache *cache, struct ref_running *r)
{
    assert(r->request != NULL && r->reserved);
    turn_to(cache, r, false);
    struct ref_need need = need_of(cache, r);
    if (!ref_refuses(cache) && !ref_make_room(cache, &need)) {
        release(cache, r);
        return false;
    }
    store_kv(cache, r);
    for (size_t i = 0; i < r->wanted.count; i++)
        store_snapshot(cache, r, &r->wanted.items[i]);
    r->committed = r->kv_end;
    if (r->wanted.newest)
        r->newest = r->wanted.newest;
    release(cache, r);
    return true;
}

bool ref_commit(struct ref_cache *cache, struct ref_running *r)
{
    if (!ref_store(cache, r))
        return false;
    if (!ref_refuses(cache))
        note_peak(cache);
    return true;
}

/* ---- end ---- */

/* A stream with `last` has one place, which moves to the end of each of its requests. Once there is
 * a snapshot at the new place, however it came there, the one at the old place has no purpose, and
 * goes, unless another placement has ever asked for it, another stream has its place there, or
 * another request runs on it. */
static void replace_newest(struct ref_cache *cache, const struct ref_running *r)
{
    uint32_t stream = r->request->stream;
    struct ref_snapshot *now = r->newest ? ref_snapshot_at(cache, r->path[r->newest]) : NULL;
    if (!now)
        return;
    if (now->serial == r->consumed && now->stream != 0)
        now->stream = stream + 1;
    uint32_t serial = cache->stream_newest[stream], newest_serial = now->serial;
    cache->stream_newest[stream] = newest_serial;
    const struct ref_snapshot *previous = snapshot_of(cache, serial);
    if (!previous || serial == newest_serial || previous->stream != stream + 1 ||
        ref_snapshot_pinned(cache, serial))
        return;
    ref_remove_snapshot(cache, (size_t)(previous - cache->snapshots));
    cache->counters.snapshots_replaced++;
}

static void finish(struct ref_cache *cache, struct ref_running *r)
{
    size_t i = 0;
    while (cache->running[i] != r)
        i++;
    cache->running[i] = cache->running[--cache->running_count];
    cache->live_states -= r->live_states;
    ref_drop_orphans(cache);
    replace_newest(cache, r);
    struct ref_need need = need_beside_others(cache, r);
    if (ref_refuses(cache)) {
        bool fits = ref_make_room(cache, &need);
        assert(fits || cache->running_count > 0);
    }
    note_peak(cache);
    r->request = NULL;
}

void ref_end(struct ref_cache *cache, struct ref_running *r)
{
    assert(r->request != NULL && !r->reserved);
    turn_to(cache, r, false);
    finish(cache, r);
}

void ref_abort(struct ref_cache *cache, struct ref_running *r)
{
    assert(r->request != NULL);
    turn_to(cache, r, false);
    r->reserved = false;
    finish(cache, r);
}

bool ref_add_live_state(struct ref_cache *cache, struct ref_running *r)
{
    struct ref_need need = need_beside_others(cache, NULL);
    need.live_states = 1;
    if (!ref_make_room(cache, &need))
        return false;
    cache->live_states++;
    r->live_states++;
    return true;
}

bool ref_keeps_promises(struct ref_cache *cache)
{
    struct ref_need need = need_beside_others(cache, NULL);
    return ref_fits(cache, &need);
}

void ref_running_close(struct ref_running *r)
{
    free(r->path);
    free(r->wanted.items);
}
