#include "sim/engine/account.h"

#include <inttypes.h>

#include "sim/core/digest.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Attributes what was missed, from the end of the prompt down to the hit:
 *
 *     0 ....... hit ...... asked ...... kept ...... seen' ...... seen ......... n
 *     | hit      | rounding | no/evicted | no snapshot | last      | new         |
 *
 * seen' stops where at least min_compute tokens remain. Above the place where the consumed snapshot
 * was asked for, tokens whose KV is resident, or never was kept, lack a snapshot; tokens whose KV
 * was resident once and is no more were evicted. */
static struct outcome attribute(const struct lookup *found, uint64_t prompt, uint64_t seen,
                                uint64_t min_compute)
{
    struct outcome outcome = {.hit_tokens = found->hit_tokens};
    uint64_t limit = min_compute < prompt ? prompt - min_compute : 0;
    uint64_t usable = smaller(seen, limit);
    uint64_t at = found->hit_tokens;
    outcome.missed_new_tokens = prompt - seen;
    outcome.missed_last_tokens = seen - usable;
    uint64_t asked = smaller(found->asked, usable);
    if (asked > at) {
        outcome.missed_rounding_tokens = asked - at;
        at = asked;
    }
    uint64_t from = found->match_tokens > at ? found->match_tokens : at;
    uint64_t to = smaller(found->kept_tokens, usable);
    if (to > from)
        outcome.missed_evicted_tokens = to - from;
    outcome.missed_no_snapshot_tokens = usable - at - outcome.missed_evicted_tokens;
    return outcome;
}

struct request_result account_request(const struct cell *cell, uint32_t arrival,
                                      const struct lookup *found, uint64_t taken_before)
{
    const struct arrival *now = &cell->schedule->arrivals[arrival];
    const struct cache *cache = cell->cache;
    uint32_t prompt = workload_prompt_tokens(cell->workload, now->request);
    return (struct request_result){
        .request = now->request,
        .at_ns = now->at_ns,
        .prompt_tokens = prompt,
        .match_tokens = found->match_tokens,
        .seen_tokens = now->seen_tokens,
        .outcome =
            attribute(found, prompt, now->seen_tokens, cell->setup->config.min_compute_tokens),
        .from_snapshot = found->snapshot != SNAPSHOT_NONE,
        .snapshots_taken = cache->counters.snapshots_taken - taken_before,
        .used_bytes = cache->memory.used_bytes,
    };
}

static void add_outcome(struct outcome *sum, const struct outcome *one)
{
    sum->hit_tokens += one->hit_tokens;
    sum->missed_new_tokens += one->missed_new_tokens;
    sum->missed_evicted_tokens += one->missed_evicted_tokens;
    sum->missed_no_snapshot_tokens += one->missed_no_snapshot_tokens;
    sum->missed_rounding_tokens += one->missed_rounding_tokens;
    sum->missed_last_tokens += one->missed_last_tokens;
}

void account_add(struct result *result, const struct cell *cell, const struct request_result *one)
{
    uint32_t round_up = (uint32_t)cell->cache->memory.page_tokens - 1;
    result->requests++;
    result->prompt_tokens += one->prompt_tokens;
    result->computed_tokens += one->prompt_tokens - one->outcome.hit_tokens;
    result->reply_tokens += cell->workload->requests[one->request].reply_tokens;
    result->snapshots_hit += one->from_snapshot;
    result->hit_requests += one->outcome.hit_tokens > 0;
    result->hit_pages +=
        cache_whole_pages(cell->cache, (uint32_t)one->outcome.hit_tokens + round_up);
    add_outcome(&result->sum, &one->outcome);
    uint64_t digest = digest_u64(result->digest, one->request);
    digest = digest_u64(digest, one->outcome.hit_tokens);
    digest = digest_u64(digest, one->match_tokens);
    digest = digest_u64(digest, one->snapshots_taken);
    result->digest = digest_u64(digest, one->used_bytes);
}

int account_check_request(const struct cell *cell, const struct request_result *request,
                          struct err *err)
{
    const struct memory *memory = &cell->cache->memory;
    if (memory->used_bytes <= memory->capacity_bytes)
        return 0;
    return err_set(err,
                   "request %u: %" PRIu64 " bytes are in use of %" PRIu64
                   ": the books of memory '%s' are wrong",
                   request->request, memory->used_bytes, memory->capacity_bytes,
                   memory->ops->plugin.name);
}

static int check_sum(const char *what, uint64_t left, uint64_t right, struct err *err)
{
    return left == right ? 0
                         : err_set(err, "at the end of the run: %s: %" PRIu64 " against %" PRIu64,
                                   what, left, right);
}

int account_check_end(const struct result *result, const struct cell *cell, struct err *err)
{
    const struct outcome *sum = &result->sum;
    const struct cache *cache = cell->cache;
    const struct cache_counters *counters = &cache->counters;
    uint64_t tokens = sum->hit_tokens + sum->missed_new_tokens + sum->missed_evicted_tokens +
                      sum->missed_no_snapshot_tokens + sum->missed_rounding_tokens +
                      sum->missed_last_tokens;
    if (check_sum("prompt tokens against hits and misses", result->prompt_tokens, tokens, err) ||
        check_sum("snapshots taken against those that left or are there", counters->snapshots_taken,
                  counters->snapshots_evicted + counters->snapshots_replaced +
                      cache->live_snapshots,
                  err) ||
        check_sum("KV tokens stored against those that left or are there",
                  counters->kv_tokens_stored, counters->kv_tokens_evicted + cache->kv_tokens, err))
        return -1;
    return 0;
}

void result_close(struct result *result)
{
    config_close(&result->config);
}
