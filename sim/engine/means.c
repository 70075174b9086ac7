#include "sim/engine/means.h"

#include "sim/core/units.h"

/* Adds what is where until the next request comes. */
static void add_bytes(struct means *sums, const struct cache *cache, uint64_t duration)
{
    sums->kv_tokens += (time_sum)cache->kv_tokens * duration;
    sums->snapshots += (time_sum)cache->live_snapshots * duration;
    sums->used_bytes += (time_sum)cache->memory.used_bytes * duration;
    if (cache->live_states > 0)
        sums->live_states += (time_sum)cache->live_states * duration;
    if (cache->memory.ops->unusable_bytes)
        sums->external_bytes += (time_sum)cache_external_bytes(cache) * duration;
    sums->duration += duration;
}

void means_set(const struct means *sums, const struct memory *memory, struct result *result)
{
    struct cache_bytes *mean = &result->mean;
    uint64_t duration = sums->duration ? sums->duration : 1;
    time_sum kv = sums->kv_tokens * memory->kv_bytes_per_token;
    time_sum snapshots = sums->snapshots * memory->snapshot_bytes;
    time_sum live = sums->live_states * memory->state_bytes;
    mean->kv = (uint64_t)(kv / duration);
    mean->snapshots = (uint64_t)(snapshots / duration);
    mean->live = (uint64_t)(live / duration);
    mean->padding = (uint64_t)((sums->used_bytes - kv - snapshots - live) / duration);
    mean->external = (uint64_t)(sums->external_bytes / duration);
    if (memory->capacity_bytes != UNITS_UNLIMITED) /* with what the divisions have cut off */
        mean->free = memory->capacity_bytes - mean->kv - mean->snapshots - mean->live -
                     mean->padding - mean->external;
    uint64_t samples = sums->stranded_samples ? sums->stranded_samples : 1;
    result->stranded = sums->stranded;
    result->stranded.kv_bytes /= samples;
    result->stranded.snapshot_bytes /= samples;
}

#define STRANDED_SAMPLES 16

/* Counting what is stranded takes a walk over everything, so it is done a few times only, evenly
 * spread over the requests. Where orphans leave at once, nothing ever is. */
static void sample_stranded(struct means *sums, const struct cache *cache, uint64_t count,
                            uint32_t index)
{
    if (!cache->settings.recurrent || !cache->kv_is_holding)
        return;
    if ((index + 1ull) * STRANDED_SAMPLES / count == index * 1ull * STRANDED_SAMPLES / count)
        return;
    struct cache_stranded now = cache_count_stranded(cache);
    sums->stranded.kv_bytes += now.kv_bytes;
    sums->stranded.snapshot_bytes += now.snapshot_bytes;
    sums->stranded_samples++;
}

/* How long the state after a request lasts; where all come at once, each counts the same. */
static uint64_t duration_after(const struct schedule *schedule, uint32_t index)
{
    const struct arrival *arrivals = schedule->arrivals;
    if (arrivals[0].at_ns == arrivals[schedule->count - 1].at_ns)
        return 1;
    return index + 1 < schedule->count ? arrivals[index + 1].at_ns - arrivals[index].at_ns : 0;
}

void means_add(struct means *means, const struct cell *cell, uint32_t arrival)
{
    add_bytes(means, cell->cache, duration_after(cell->schedule, arrival));
    sample_stranded(means, cell->cache, cell->schedule->count, arrival);
}
