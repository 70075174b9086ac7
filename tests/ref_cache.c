/* ref_cache.c - one request in the reference model: look up, store, count. */
#include "tests/ref_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

struct ref_cache *ref_open(const struct ref_settings *settings, const struct ref_request *requests,
                           uint32_t request_count)
{
    struct ref_cache *cache = mem_zalloc(sizeof *cache);
    cache->settings = *settings;
    cache->requests = requests;
    cache->request_count = request_count;
    cache->kv_is_holding = settings->keep_orphans || !settings->recurrent;
    cache->prefixes = mem_grow(NULL, &cache->prefix_capacity, 1, sizeof *cache->prefixes);
    cache->prefixes[0] = (struct ref_prefix){.resident = true, .ever_resident = true};
    cache->prefix_count = 1;
    uint32_t streams = 0;
    for (uint32_t i = 0; i < request_count; i++)
        if (requests[i].stream >= streams)
            streams = requests[i].stream + 1;
    cache->stream_newest = mem_array(streams + 1, sizeof *cache->stream_newest);
    bool parsed = ref_parse_placement(cache);
    assert(parsed);
    return cache;
}

void ref_close(struct ref_cache *cache)
{
    for (size_t i = 0; i < REF_PARTS_MAX; i++)
        free(cache->marks[i]);
    free(cache->prefixes);
    free(cache->snapshots);
    free(cache->stream_newest);
    free(cache->path);
    free(cache);
}

/* ---- what is known ---- */

/* request + 1 | phase | rank: larger is younger. */
uint64_t ref_age(const struct ref_cache *cache, enum ref_phase phase, uint32_t position)
{
    uint64_t rank = phase == REF_AGE_KV ? (1u << 24) - 1 - position : position;
    return ((uint64_t)cache->now + 1) << 32 | (uint64_t)phase << 24 | rank;
}

uint32_t ref_age_request(uint64_t age)
{
    return (uint32_t)(age >> 32);
}

/* The known prefix of that content, or 0. */
static uint32_t find_prefix(const struct ref_cache *cache, const uint32_t *tokens, uint32_t length)
{
    for (uint32_t i = 1; i < cache->prefix_count; i++)
        if (cache->prefixes[i].length == length &&
            memcmp(cache->prefixes[i].tokens, tokens, length * sizeof *tokens) == 0)
            return i;
    return 0;
}

/* Finds the prefixes of the current request, and adds those that are new. */
static void find_path(struct ref_cache *cache, const struct ref_request *request)
{
    cache->path =
        mem_grow(cache->path, &cache->path_capacity, request->end_tokens + 1, sizeof *cache->path);
    cache->path[0] = 0;
    cache->path_end = request->end_tokens;
    cache->seen = 0;
    for (uint32_t p = 1; p <= request->end_tokens; p++) {
        cache->path[p] = find_prefix(cache, request->tokens, p);
        if (cache->path[p] && p <= request->prompt_tokens)
            cache->seen = p;
        if (cache->path[p])
            continue;
        cache->prefixes = mem_grow(cache->prefixes, &cache->prefix_capacity,
                                   cache->prefix_count + 1, sizeof *cache->prefixes);
        cache->path[p] = (uint32_t)cache->prefix_count;
        cache->prefixes[cache->prefix_count++] = (struct ref_prefix){
            .tokens = request->tokens, .length = p, .before = cache->path[p - 1]};
    }
}

struct ref_snapshot *ref_snapshot_at(struct ref_cache *cache, uint32_t prefix)
{
    for (size_t i = 0; i < cache->snapshot_count; i++)
        if (cache->snapshots[i].prefix == prefix)
            return &cache->snapshots[i];
    return NULL;
}

/* Whether resident KV goes on behind a prefix. */
bool ref_continues(const struct ref_cache *cache, uint32_t prefix)
{
    for (uint32_t i = 1; i < cache->prefix_count; i++)
        if (cache->prefixes[i].before == prefix && cache->prefixes[i].resident)
            return true;
    return false;
}

uint32_t ref_resident_on_path(const struct ref_cache *cache, uint32_t end)
{
    uint32_t p = 0;
    while (p < end && cache->prefixes[cache->path[p + 1]].resident)
        p++;
    return p;
}

void ref_note_peak(struct ref_cache *cache)
{
    uint64_t used = ref_used_bytes(cache);
    if (used > cache->counters.peak_bytes)
        cache->counters.peak_bytes = used;
}

/* ---- look-up ---- */

static void count_snapshot(struct ref_cache *cache, struct ref_snapshot *snapshot, uint64_t age)
{
    if (ref_age_request(snapshot->counted) != cache->now + 1)
        snapshot->count++;
    snapshot->counted = age;
}

static void use_kv(struct ref_cache *cache, uint32_t from, uint32_t to)
{
    for (uint32_t p = from + 1; p <= to; p++) {
        struct ref_prefix *prefix = &cache->prefixes[cache->path[p]];
        prefix->used = ref_age(cache, REF_AGE_KV, p);
    }
}

/* lfu: a request counts for every token of its prompt and its reply, resident or not. */
static void count_kv(struct ref_cache *cache, uint32_t end)
{
    for (uint32_t p = 1; p <= end; p++) {
        struct ref_prefix *prefix = &cache->prefixes[cache->path[p]];
        prefix->count++;
        prefix->counted = ref_age(cache, REF_AGE_KV, p);
    }
}

static uint32_t find_hit(struct ref_cache *cache)
{
    uint32_t reach = cache->match < cache->limit ? cache->match : cache->limit;
    cache->consumed = 0;
    if (!cache->settings.recurrent) {
        cache->consumed_asked = reach;
        if (cache->settings.pages_are_blocks && cache->match <= cache->limit)
            return cache->match;
        return reach - reach % (uint32_t)cache->settings.page_tokens;
    }
    cache->consumed_asked = 0;
    for (uint32_t p = reach; p > 0; p--) {
        const struct ref_snapshot *snapshot = ref_snapshot_at(cache, cache->path[p]);
        if (!snapshot)
            continue;
        cache->consumed = snapshot->serial;
        cache->consumed_asked = snapshot->asked;
        return p;
    }
    return 0;
}

static void look_up(struct ref_cache *cache, const struct ref_request *request)
{
    uint32_t n = request->prompt_tokens;
    cache->match = ref_resident_on_path(cache, n);
    cache->limit = n > cache->settings.min_compute_tokens
                       ? n - (uint32_t)cache->settings.min_compute_tokens
                       : 0;
    cache->hit = find_hit(cache);
    cache->kept = 0;
    while (cache->kept < n && cache->prefixes[cache->path[cache->kept + 1]].ever_resident)
        cache->kept++;
    cache->forks = cache->match < n && ref_continues(cache, cache->path[cache->match]);

    if (cache->kv_is_holding)
        use_kv(cache, 0, cache->match);
    bool whole_path = cache->settings.eviction == REF_LRU_PATH ||
                      cache->settings.eviction == REF_LRU_BOTH ||
                      cache->settings.eviction == REF_BELADY;
    for (uint32_t p = 1; p <= cache->match; p++) {
        struct ref_snapshot *snapshot = ref_snapshot_at(cache, cache->path[p]);
        if (!snapshot)
            continue;
        bool consumed = snapshot->serial == cache->consumed;
        bool last = consumed && cache->settings.eviction == REF_LRU_BOTH;
        uint64_t age = ref_age(cache, last ? REF_AGE_CONSUMED : REF_AGE_LOOKED_UP, p);
        if (whole_path || consumed)
            snapshot->used = age;
        if (consumed)
            count_snapshot(cache, snapshot, age);
    }
}

/* ---- storing ---- */

static struct ref_snapshot *snapshot_of(struct ref_cache *cache, uint32_t serial)
{
    for (size_t i = 0; i < cache->snapshot_count; i++)
        if (serial && cache->snapshots[i].serial == serial)
            return &cache->snapshots[i];
    return NULL;
}

static uint32_t kv_wanted(const struct ref_cache *cache, const struct ref_wishes *wishes,
                          uint32_t end)
{
    uint32_t deepest = wishes->count ? wishes->items[wishes->count - 1].position : 0;
    if (!cache->kv_is_holding)
        return deepest;
    if (!cache->settings.pages_are_blocks)
        end -= end % (uint32_t)cache->settings.page_tokens;
    return deepest > end ? deepest : end;
}

/* Gives up what would not fit into an empty memory. Returns whether the rest fits. */
static bool cut_wishes(struct ref_cache *cache, struct ref_wishes *wishes, uint32_t end)
{
    size_t least = cache->kv_is_holding ? 0 : 1;
    while (!ref_fits_empty(cache, kv_wanted(cache, wishes, end),
                           wishes->count + (cache->consumed != 0))) {
        if (wishes->count <= least)
            return false;
        wishes->count--;
        memmove(wishes->items, wishes->items + 1, wishes->count * sizeof *wishes->items);
        cache->counters.snapshots_refused++;
    }
    return true;
}

/* Pins what has to stay while room is made; returns how many snapshots are new. */
static uint64_t pin(struct ref_cache *cache, const struct ref_wishes *wishes)
{
    uint64_t fresh = 0;
    cache->pinned_end = cache->hit;
    struct ref_snapshot *consumed = snapshot_of(cache, cache->consumed);
    if (consumed)
        consumed->pinned = true;
    for (size_t i = 0; i < wishes->count; i++) {
        uint32_t position = wishes->items[i].position;
        struct ref_snapshot *snapshot = ref_snapshot_at(cache, cache->path[position]);
        if (snapshot) {
            snapshot->pinned = true;
            cache->pinned_end = position;
        } else {
            fresh++;
        }
    }
    return fresh;
}

static void unpin(struct ref_cache *cache)
{
    cache->pinned_end = 0;
    for (size_t i = 0; i < cache->snapshot_count; i++)
        cache->snapshots[i].pinned = false;
}

static void store_snapshot(struct ref_cache *cache, const struct ref_wanted *wanted,
                           uint32_t stream)
{
    struct ref_snapshot *snapshot = ref_snapshot_at(cache, cache->path[wanted->position]);
    uint64_t age = ref_age(cache, REF_AGE_STORED, wanted->position);
    if (snapshot) {
        if (!wanted->newest_only || snapshot->stream != 0) /* taken to stay, it stays */
            snapshot->stream = wanted->newest_only ? stream + 1 : 0;
        snapshot->used = age;
        count_snapshot(cache, snapshot, age);
        return;
    }
    cache->snapshots = mem_grow(cache->snapshots, &cache->snapshot_capacity,
                                cache->snapshot_count + 1, sizeof *cache->snapshots);
    cache->snapshots[cache->snapshot_count++] = (struct ref_snapshot){
        .prefix = cache->path[wanted->position],
        .asked = wanted->asked,
        .serial = ++cache->serial,
        .stream = wanted->newest_only ? stream + 1 : 0,
        .used = age,
        .stored = age,
        .counted = age,
        .count = 1,
    };
    cache->counters.snapshots_taken++;
}

static void store(struct ref_cache *cache, const struct ref_wishes *wishes, uint32_t kv_end,
                  uint32_t end_tokens, uint32_t stream)
{
    for (uint32_t p = 1; p <= kv_end; p++) {
        struct ref_prefix *prefix = &cache->prefixes[cache->path[p]];
        if (!prefix->resident) {
            prefix->stored = ref_age(cache, REF_AGE_KV, p);
            cache->counters.kv_tokens_stored++;
        }
        prefix->resident = prefix->ever_resident = true;
    }
    if (cache->kv_is_holding) /* whatever of its prompt and reply is resident is as young as it */
        use_kv(cache, 0, ref_resident_on_path(cache, end_tokens));
    for (size_t i = 0; i < wishes->count; i++)
        store_snapshot(cache, &wishes->items[i], stream);
}

/* A stream with `last` has one place, which moves to the end of each of its requests. Once there is
 * a snapshot at the new place, however it came there, the one at the old place has no purpose, and
 * goes, unless another placement has ever asked for it or another stream has its place there. */
static void replace_newest(struct ref_cache *cache, uint32_t newest, uint32_t stream)
{
    struct ref_snapshot *now = newest ? ref_snapshot_at(cache, cache->path[newest]) : NULL;
    if (!now)
        return;
    if (now->serial == cache->consumed && now->stream != 0)
        now->stream = stream + 1;
    uint32_t serial = cache->stream_newest[stream], newest_serial = now->serial;
    cache->stream_newest[stream] = newest_serial;
    const struct ref_snapshot *previous = snapshot_of(cache, serial);
    if (!previous || serial == newest_serial || previous->stream != stream + 1)
        return;
    ref_remove_snapshot(cache, (size_t)(previous - cache->snapshots));
    cache->counters.snapshots_replaced++;
}

static void store_all(struct ref_cache *cache, struct ref_wishes *wishes,
                      const struct ref_request *r, bool refuses)
{
    if (!refuses && !cut_wishes(cache, wishes, r->end_tokens)) {
        cache->counters.uncached_requests++;
        return;
    }
    uint32_t kv_end = kv_wanted(cache, wishes, r->end_tokens);
    if (!refuses) {
        uint64_t fresh = pin(cache, wishes);
        ref_make_room(cache, kv_end, fresh);
        unpin(cache);
    }
    store(cache, wishes, kv_end, r->end_tokens, r->stream);
}

static void admit(struct ref_cache *cache, struct ref_wishes *wishes, const struct ref_request *r)
{
    bool refuses = cache->settings.eviction == REF_BELADY;
    if (kv_wanted(cache, wishes, r->end_tokens) > 0)
        store_all(cache, wishes, r, refuses);
    replace_newest(cache, wishes->newest, r->stream);
    if (refuses)
        ref_make_room(cache, 0, 0);
    ref_note_peak(cache);
}

/* ---- one request ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

static struct outcome count_misses(const struct ref_cache *cache, uint32_t n)
{
    uint32_t usable = least(cache->seen, cache->limit);
    uint32_t asked = least(cache->consumed_asked, usable);
    uint32_t a = cache->hit > asked ? cache->hit : asked;
    uint32_t reached = cache->match > a ? cache->match : a;
    uint32_t evicted = above(least(cache->kept, usable), reached);
    return (struct outcome){
        .hit_tokens = cache->hit,
        .missed_new_tokens = n - cache->seen,
        .missed_evicted_tokens = evicted,
        .missed_no_snapshot_tokens = usable - a - evicted,
        .missed_rounding_tokens = above(asked, cache->hit),
        .missed_last_tokens = cache->seen - usable,
    };
}

void ref_next(struct ref_cache *cache, struct request_result *out)
{
    const struct ref_request *request = &cache->requests[cache->now];
    struct ref_wishes wishes = {0};
    uint64_t taken = cache->counters.snapshots_taken;
    find_path(cache, request);
    count_kv(cache, request->end_tokens);
    look_up(cache, request);
    if (cache->settings.recurrent)
        ref_plan(cache, &wishes);
    struct outcome outcome = count_misses(cache, request->prompt_tokens);
    admit(cache, &wishes, request);
    free(wishes.items);
    *out = (struct request_result){
        .prompt_tokens = request->prompt_tokens,
        .match_tokens = cache->match,
        .seen_tokens = cache->seen,
        .outcome = outcome,
        .snapshots_taken = cache->counters.snapshots_taken - taken,
        .used_bytes = ref_used_bytes(cache),
    };
    cache->now++;
}
