/* ref_evict.c - room in the reference model: what is short, what leaves, and what leaves with it.
 *
 * A victim is found by giving everything that may leave a key and taking the smallest. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tests/ref_running.h"

/* ---- sizes ---- */

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t page_bytes(const struct ref_cache *cache)
{
    return cache->settings.page_tokens * cache->settings.kv_bytes;
}

static uint64_t bytes_of(const struct ref_cache *cache, uint64_t pages, uint64_t snapshots,
                         uint64_t live_states)
{
    const struct ref_settings *settings = &cache->settings;
    if (!settings->equal_pages)
        return pages * settings->kv_bytes + snapshots * settings->snapshot_bytes +
               live_states * settings->live_bytes;
    uint64_t per_snapshot = ceil_div(settings->snapshot_bytes, page_bytes(cache));
    uint64_t per_live_state = ceil_div(settings->live_bytes, page_bytes(cache));
    return (pages + snapshots * per_snapshot + live_states * per_live_state) * page_bytes(cache);
}

static uint64_t usable_bytes(const struct ref_cache *cache)
{
    uint64_t capacity = cache->settings.capacity_bytes;
    if (capacity == UNITS_UNLIMITED || !cache->settings.equal_pages)
        return capacity;
    return capacity / page_bytes(cache) * page_bytes(cache);
}

static bool on_path(const struct ref_running *r, uint32_t prefix, uint32_t length)
{
    return r != NULL && length <= r->request->end_tokens && r->path[length] == prefix;
}

/* Pages held by resident KV, if the path of a request were resident up to kv_end as well: one for
 * each prefix that ends at a page's end, and one for each end of a path elsewhere. */
static uint64_t count_pages(const struct ref_cache *cache, const struct ref_running *r,
                            uint32_t kv_end)
{
    uint64_t pages = 0, page = cache->settings.page_tokens;
    bool *here = mem_array(cache->prefix_count, sizeof *here);
    bool *goes_on = mem_array(cache->prefix_count, sizeof *goes_on);
    for (uint32_t i = 1; i < cache->prefix_count; i++) {
        uint32_t length = cache->prefixes[i].length;
        here[i] = cache->prefixes[i].resident || (length <= kv_end && on_path(r, i, length));
        if (here[i])
            goes_on[cache->prefixes[i].before] = true;
    }
    for (uint32_t i = 1; i < cache->prefix_count; i++)
        pages += here[i] && (cache->prefixes[i].length % page == 0 || !goes_on[i]);
    free(goes_on);
    free(here);
    return pages;
}

uint64_t ref_used_bytes(const struct ref_cache *cache)
{
    return bytes_of(cache, count_pages(cache, NULL, 0), cache->snapshot_count, cache->live_states);
}

bool ref_fits_empty(const struct ref_cache *cache, uint32_t kv_end, uint64_t snapshots)
{
    uint64_t pages = ceil_div(kv_end, cache->settings.page_tokens);
    return bytes_of(cache, pages, snapshots, 0) <= usable_bytes(cache);
}

uint64_t ref_missing_pages(const struct ref_cache *cache, const struct ref_need *need)
{
    return count_pages(cache, need->path, need->kv_end) - count_pages(cache, NULL, 0);
}

uint64_t ref_missing_snapshots(struct ref_cache *cache, const struct ref_need *need)
{
    uint64_t missing = 0;
    for (size_t i = 0; need->wanted && i < need->wanted->count; i++)
        missing += !ref_snapshot_at(cache, need->path->path[need->wanted->items[i].position]);
    return missing;
}

/* ---- what leaves next ---- */

struct key {
    uint64_t first, second; /* smaller leaves earlier */
};

struct candidate {
    struct key key;
    bool is_kv;
    uint32_t index; /* of the prefix, or of the snapshot */
};

static bool key_less(struct key a, struct key b)
{
    return a.first < b.first || (a.first == b.first && a.second < b.second);
}

/* The next request whose prompt starts with a prefix; request_count if none does. */
static uint32_t next_use(const struct ref_cache *cache, uint32_t prefix)
{
    const struct ref_prefix *p = &cache->prefixes[prefix];
    uint32_t j = cache->now + 1;
    for (; j < cache->request_count; j++) {
        const struct ref_request *request = &cache->requests[j];
        if (request->prompt_tokens >= p->length &&
            memcmp(request->tokens, p->tokens, p->length * sizeof *p->tokens) == 0)
            break;
    }
    return j;
}

/* The furthest next use leaves first. Of equals KV before snapshots, then what was used longest
 * ago, then KV deepest first and snapshots shallowest first. */
static struct key belady_key(const struct ref_cache *cache, uint32_t prefix, bool is_kv,
                             uint64_t used)
{
    uint32_t length = cache->prefixes[prefix].length;
    uint32_t rank = is_kv ? (1u << 24) - 1 - length : length;
    return (struct key){UINT32_MAX - next_use(cache, prefix),
                        (uint64_t)!is_kv << 62 | (uint64_t)ref_age_moment(used) << 24 | rank};
}

static struct key kv_key(const struct ref_cache *cache, uint32_t prefix)
{
    const struct ref_prefix *p = &cache->prefixes[prefix];
    switch (cache->settings.eviction) {
    case REF_FIFO:
        return (struct key){0, p->stored};
    case REF_LFU:
        return (struct key){p->count, p->counted};
    case REF_BELADY:
        return belady_key(cache, prefix, true, p->used);
    case REF_LRU_HIT:
    case REF_LRU_PATH:
    case REF_LRU_BOTH:
        break;
    }
    return (struct key){0, p->used};
}

static struct key snapshot_key(const struct ref_cache *cache, const struct ref_snapshot *s)
{
    switch (cache->settings.eviction) {
    case REF_FIFO:
        return (struct key){0, s->stored};
    case REF_LFU:
        return (struct key){s->count, s->counted};
    case REF_BELADY:
        return belady_key(cache, s->prefix, false, s->used);
    case REF_LRU_HIT:
    case REF_LRU_PATH:
    case REF_LRU_BOTH:
        break;
    }
    return (struct key){0, s->used};
}

static bool kv_pinned(const struct ref_cache *cache, uint32_t prefix)
{
    uint32_t length = cache->prefixes[prefix].length;
    for (size_t i = 0; i < cache->running_count; i++)
        if (on_path(cache->running[i], prefix, length) &&
            length <= ref_kv_pin_end(cache->running[i]))
            return true;
    return false;
}

/* The one that leaves next; its index is UINT32_MAX if nothing may leave. */
static struct candidate choose(const struct ref_cache *cache)
{
    struct candidate best = {{UINT64_MAX, UINT64_MAX}, false, UINT32_MAX};
    for (size_t i = 0; i < cache->snapshot_count; i++) {
        const struct ref_snapshot *s = &cache->snapshots[i];
        struct key key = snapshot_key(cache, s);
        if (key_less(key, best.key) && !ref_snapshot_pinned(cache, s->serial))
            best = (struct candidate){key, false, (uint32_t)i};
    }
    for (uint32_t i = 1; cache->kv_is_holding && i < cache->prefix_count; i++) {
        if (!cache->prefixes[i].resident || ref_continues(cache, i) || kv_pinned(cache, i))
            continue;
        struct key key = kv_key(cache, i);
        if (key_less(key, best.key))
            best = (struct candidate){key, true, i};
    }
    return best;
}

/* ---- what leaves with it ---- */

static void drop_token(struct ref_cache *cache, uint32_t prefix)
{
    cache->prefixes[prefix].resident = false;
    cache->counters.kv_tokens_evicted++;
}

/* orphans drop: KV that no snapshot needs, and no running request, is not kept. */
void ref_drop_orphans(struct ref_cache *cache)
{
    if (cache->kv_is_holding)
        return;
    bool *needed = mem_array(cache->prefix_count, sizeof *needed);
    for (size_t k = 0; k < cache->snapshot_count; k++)
        for (uint32_t i = cache->snapshots[k].prefix; i != 0; i = cache->prefixes[i].before)
            needed[i] = true;
    for (uint32_t i = 1; i < cache->prefix_count; i++)
        if (cache->prefixes[i].resident && !needed[i] && !kv_pinned(cache, i))
            drop_token(cache, i);
    free(needed);
}

void ref_remove_snapshot(struct ref_cache *cache, size_t index)
{
    cache->snapshot_count--;
    memmove(&cache->snapshots[index], &cache->snapshots[index + 1],
            (cache->snapshot_count - index) * sizeof *cache->snapshots);
    ref_drop_orphans(cache);
}

/* Whether the KV of two neighbouring tokens is, to the policy, of one piece. */
static bool same_piece(const struct ref_cache *cache, uint32_t shorter, uint32_t longer)
{
    const struct ref_prefix *a = &cache->prefixes[shorter], *b = &cache->prefixes[longer];
    switch (cache->settings.eviction) {
    case REF_FIFO:
        return ref_age_moment(a->stored) == ref_age_moment(b->stored);
    case REF_LFU:
        return a->count == b->count && ref_age_moment(a->counted) == ref_age_moment(b->counted);
    case REF_BELADY:
        return next_use(cache, shorter) == next_use(cache, longer) &&
               ref_age_moment(a->used) == ref_age_moment(b->used);
    case REF_LRU_HIT:
    case REF_LRU_PATH:
    case REF_LRU_BOTH:
        break;
    }
    return ref_age_moment(a->used) == ref_age_moment(b->used);
}

/* Whether the path for which there must be room leaves between two neighbouring tokens: from there
 * on a drop changes what is missing, so the need is looked at again. */
static bool path_leaves(const struct ref_cache *cache, const struct ref_running *r,
                        uint32_t shorter, uint32_t longer)
{
    uint32_t length = cache->prefixes[shorter].length;
    return on_path(r, shorter, length) && !on_path(r, longer, length + 1);
}

static void drop_kv(struct ref_cache *cache, const struct ref_running *r, uint32_t end,
                    uint64_t pages)
{
    uint64_t page = cache->settings.page_tokens;
    uint64_t held = ceil_div(cache->prefixes[end].length, page);
    uint64_t down_to = held > pages ? (held - pages) * page : 0;
    struct ref_snapshot *s = ref_snapshot_at(cache, end);
    if (s) { /* it leaves alone first: that may be room enough */
        assert(!ref_snapshot_pinned(cache, s->serial));
        ref_remove_snapshot(cache, (size_t)(s - cache->snapshots));
        cache->counters.snapshots_evicted++;
        return;
    }
    for (;;) {
        uint32_t before = cache->prefixes[end].before;
        drop_token(cache, end);
        if (before == 0 || cache->prefixes[before].length <= down_to || kv_pinned(cache, before) ||
            ref_continues(cache, before) || !same_piece(cache, before, end) ||
            ref_snapshot_at(cache, before) || path_leaves(cache, r, before, end))
            return;
        end = before;
    }
}

static void drop(struct ref_cache *cache, const struct ref_running *r, struct candidate victim,
                 uint64_t pages)
{
    if (victim.is_kv) {
        drop_kv(cache, r, victim.index, pages);
        return;
    }
    ref_remove_snapshot(cache, victim.index);
    cache->counters.snapshots_evicted++;
}

/* How many bytes more than there are a need takes. */
static uint64_t bytes_short(struct ref_cache *cache, const struct ref_need *need)
{
    uint64_t pages = count_pages(cache, need->path, need->kv_end) + need->pages;
    uint64_t snapshots =
        cache->snapshot_count + ref_missing_snapshots(cache, need) + need->snapshots;
    uint64_t bytes = bytes_of(cache, pages, snapshots, cache->live_states + need->live_states);
    return bytes > usable_bytes(cache) ? bytes - usable_bytes(cache) : 0;
}

bool ref_fits(struct ref_cache *cache, const struct ref_need *need)
{
    return bytes_short(cache, need) == 0;
}

bool ref_make_room(struct ref_cache *cache, const struct ref_need *need)
{
    uint64_t unit = cache->settings.equal_pages ? page_bytes(cache) : cache->settings.kv_bytes;
    for (uint64_t missing; (missing = bytes_short(cache, need)) > 0;) {
        struct candidate victim = choose(cache);
        if (victim.index == UINT32_MAX)
            return false;
        drop(cache, need->path, victim, ceil_div(missing, unit));
    }
    return true;
}
