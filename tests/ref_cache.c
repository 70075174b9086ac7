/* ref_cache.c - look-up in the reference model, and requests one by one. */
#include "tests/ref_running.h"

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
    free(cache->running);
    free(cache);
}

/* ---- what is known ---- */

/* moment | phase | rank: larger is younger. */
uint64_t ref_age(const struct ref_cache *cache, enum ref_phase phase, uint32_t position)
{
    uint64_t rank = phase == REF_AGE_KV ? (1u << 24) - 1 - position : position;
    return cache->moment << 32 | (uint64_t)phase << 24 | rank;
}

uint32_t ref_age_moment(uint64_t age)
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

/* Finds the prefixes of a request, and adds those that are new. */
static void find_path(struct ref_cache *cache, struct ref_running *r)
{
    const struct ref_request *request = r->request;
    r->path = mem_grow(r->path, &r->path_capacity, request->end_tokens + 1, sizeof *r->path);
    r->path[0] = 0;
    r->seen = 0;
    for (uint32_t p = 1; p <= request->end_tokens; p++) {
        r->path[p] = find_prefix(cache, request->tokens, p);
        if (r->path[p] && p <= request->prompt_tokens)
            r->seen = p;
        if (r->path[p])
            continue;
        cache->prefixes = mem_grow(cache->prefixes, &cache->prefix_capacity,
                                   cache->prefix_count + 1, sizeof *cache->prefixes);
        r->path[p] = (uint32_t)cache->prefix_count;
        cache->prefixes[cache->prefix_count++] =
            (struct ref_prefix){.tokens = request->tokens, .length = p, .before = r->path[p - 1]};
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

uint32_t ref_resident_on_path(const struct ref_cache *cache, const struct ref_running *r,
                              uint32_t end)
{
    uint32_t p = 0;
    while (p < end && cache->prefixes[r->path[p + 1]].resident)
        p++;
    return p;
}

bool ref_refuses(const struct ref_cache *cache)
{
    return cache->settings.eviction == REF_BELADY;
}

/* ---- look-up ---- */

/* lfu: a request counts for every token of its prompt and its reply, resident or not. */
static void count_kv(struct ref_cache *cache, const struct ref_running *r)
{
    for (uint32_t p = 1; p <= r->request->end_tokens; p++) {
        struct ref_prefix *prefix = &cache->prefixes[r->path[p]];
        prefix->count++;
        prefix->counted = ref_age(cache, REF_AGE_KV, p);
    }
}

static uint32_t find_hit(struct ref_cache *cache, struct ref_running *r)
{
    uint32_t reach = r->match < r->limit ? r->match : r->limit;
    r->consumed = 0;
    if (!cache->settings.recurrent) {
        r->consumed_asked = reach;
        if (cache->settings.pages_are_blocks && r->match <= r->limit)
            return r->match;
        return reach - reach % (uint32_t)cache->settings.page_tokens;
    }
    r->consumed_asked = 0;
    for (uint32_t p = reach; p > 0; p--) {
        const struct ref_snapshot *snapshot = ref_snapshot_at(cache, r->path[p]);
        if (!snapshot)
            continue;
        r->consumed = snapshot->serial;
        r->consumed_asked = snapshot->asked;
        return p;
    }
    return 0;
}

static void use_snapshots(struct ref_cache *cache, const struct ref_running *r)
{
    bool whole_path = cache->settings.eviction == REF_LRU_PATH ||
                      cache->settings.eviction == REF_LRU_BOTH ||
                      cache->settings.eviction == REF_BELADY;
    for (uint32_t p = 1; p <= r->match; p++) {
        struct ref_snapshot *snapshot = ref_snapshot_at(cache, r->path[p]);
        if (!snapshot)
            continue;
        bool consumed = snapshot->serial == r->consumed;
        bool last = consumed && cache->settings.eviction == REF_LRU_BOTH;
        uint64_t age = ref_age(cache, last ? REF_AGE_CONSUMED : REF_AGE_LOOKED_UP, p);
        if (whole_path || consumed)
            snapshot->used = age;
        if (consumed) {
            snapshot->count++;
            snapshot->counted = age;
        }
    }
}

void ref_look_up(struct ref_cache *cache, struct ref_running *r)
{
    uint32_t n = r->request->prompt_tokens, compute = (uint32_t)cache->settings.min_compute_tokens;
    find_path(cache, r);
    count_kv(cache, r);
    r->match = ref_resident_on_path(cache, r, n);
    r->limit = n > compute ? n - compute : 0;
    r->hit = find_hit(cache, r);
    r->kept = 0;
    while (r->kept < n && cache->prefixes[r->path[r->kept + 1]].ever_resident)
        r->kept++;
    r->forks = r->match < n && ref_continues(cache, r->path[r->match]);
    if (cache->kv_is_holding)
        ref_use_kv(cache, r, r->match);
    use_snapshots(cache, r);
}

/* ---- requests one by one ---- */

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
static bool cut_wishes(struct ref_cache *cache, const struct ref_running *r,
                       struct ref_wishes *wishes)
{
    size_t least = cache->kv_is_holding ? 0 : 1;
    while (!ref_fits_empty(cache, kv_wanted(cache, wishes, r->request->end_tokens),
                           wishes->count + (r->consumed != 0))) {
        if (wishes->count <= least)
            return false;
        wishes->count--;
        memmove(wishes->items, wishes->items + 1, wishes->count * sizeof *wishes->items);
        cache->counters.snapshots_refused++;
    }
    return true;
}

static void admit(struct ref_cache *cache, struct ref_running *r, struct ref_wishes *wishes)
{
    uint32_t kv_end = kv_wanted(cache, wishes, r->request->end_tokens);
    if (kv_end > 0 && !ref_refuses(cache) && !cut_wishes(cache, r, wishes)) {
        cache->counters.uncached_requests++;
    } else if (kv_end > 0) {
        kv_end = kv_wanted(cache, wishes, r->request->end_tokens);
        bool stored = ref_reserve(cache, r, kv_end, wishes) && ref_store(cache, r);
        assert(stored); /* it fits into an empty memory, and nobody else holds anything */
    }
    r->newest = wishes->newest; /* even if nothing was stored */
    ref_end(cache, r);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

static struct outcome count_misses(const struct ref_running *r)
{
    uint32_t usable = least(r->seen, r->limit);
    uint32_t asked = least(r->consumed_asked, usable);
    uint32_t a = r->hit > asked ? r->hit : asked;
    uint32_t reached = r->match > a ? r->match : a;
    uint32_t evicted = above(least(r->kept, usable), reached);
    return (struct outcome){
        .hit_tokens = r->hit,
        .missed_new_tokens = r->request->prompt_tokens - r->seen,
        .missed_evicted_tokens = evicted,
        .missed_no_snapshot_tokens = usable - a - evicted,
        .missed_rounding_tokens = above(asked, r->hit),
        .missed_last_tokens = r->seen - usable,
    };
}

void ref_next(struct ref_cache *cache, struct request_result *out)
{
    struct ref_running r = {0};
    struct ref_wishes wishes = {0};
    uint64_t taken = cache->counters.snapshots_taken;
    ref_start(cache, &r, cache->next++);
    if (cache->settings.recurrent)
        ref_plan(cache, &wishes);
    *out = (struct request_result){
        .prompt_tokens = r.request->prompt_tokens,
        .match_tokens = r.match,
        .seen_tokens = r.seen,
        .outcome = count_misses(&r),
    };
    admit(cache, &r, &wishes);
    out->snapshots_taken = cache->counters.snapshots_taken - taken;
    out->used_bytes = ref_used_bytes(cache);
    free(wishes.items);
    ref_running_close(&r);
}
