#include "sim/engine/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "sim/core/whole.h"

/* Amounts times nanoseconds; 128 bits, because a terabyte for a day does not fit in 64. */
__extension__ typedef unsigned __int128 time_sum;

/* From these all bytes by kind follow. */
struct time_sums {
    time_sum kv_tokens, snapshots, live_states, used_bytes, external_bytes;
    uint64_t duration;
};

struct replay {
    const struct config *config;
    const struct workload *workload;
    const struct schedule *schedule;
    struct future future; /* for offline plug-ins */
    struct cache *cache;
    uint8_t *waits;
    struct placement_set placements;
    struct positions positions;
    const struct plugin *eviction_plugin, *memory_plugin;
    void *eviction_settings, *memory_settings;
    struct result *result;
    uint32_t variant; /* of the memory strategy's settings */
    struct time_sums sums;
    uint64_t stranded_samples;
};

static int set_page_tokens(const struct config *config, const struct workload *workload,
                           struct memory *memory, struct err *err)
{
    if (config_parse_page_tokens(config->page_tokens, &memory->page_tokens,
                                 &memory->pages_are_blocks, err) != 0)
        return -1;
    if (memory->pages_are_blocks)
        memory->page_tokens = workload->block_tokens;
    return 0;
}

static int open_memory(struct replay *replay, const struct plugins *plugins,
                       const struct model *model, struct memory *memory, struct err *err)
{
    const struct config *config = replay->config;
    const struct model_sizes *sizes = &replay->result->sizes;
    *memory = (struct memory){.workload = replay->workload,
                              .capacity_bytes = config->capacity,
                              .kv_bytes_per_token = sizes->kv_bytes_per_token,
                              .snapshot_bytes = sizes->snapshot_bytes,
                              .state_bytes = sizes->state_bytes,
                              .sizes = sizes,
                              .align_tokens = model_default_align(model),
                              .live_slots = config->slots_per_request,
                              .variant = replay->variant};
    if (set_page_tokens(config, replay->workload, memory, err) != 0 ||
        plugin_parse(plugins->memories, "memory", config->memory, &replay->memory_plugin,
                     &replay->memory_settings, err) != 0)
        return -1;
    memory->ops = (const struct memory_ops *)(const void *)replay->memory_plugin;
    memory->settings = replay->memory_settings;
    memory->state = mem_zalloc(replay->memory_plugin->state_size);
    if (memory->ops->init(memory, err) == 0)
        return 0;
    free(memory->state);
    return -1;
}

static int open_eviction(struct replay *replay, const struct plugins *plugins, struct err *err)
{
    if (plugin_parse(plugins->evictions, "eviction", replay->config->eviction,
                     &replay->eviction_plugin, &replay->eviction_settings, err) != 0)
        return -1;
    const struct eviction_ops *ops =
        (const struct eviction_ops *)(const void *)replay->eviction_plugin;
    return cache_set_eviction(replay->cache, ops, replay->eviction_settings, &replay->future, err);
}

static int add_live_states(struct replay *replay, struct err *err)
{
    const struct config *config = replay->config;
    for (uint64_t i = 0; i < config->slots_per_request; i++)
        if (!cache_add_live_state(replay->cache))
            return err_set(err,
                           "slots-per-request: of %" PRIu64 " live states, only %" PRIu64
                           " fit into the capacity",
                           config->slots_per_request, i);
    return 0;
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    return a / whole_divisor(a, b) * b; /* both are at most 2^20 */
}

/* Snapshots can be used at multiples of the match unit only, so only there they are taken. */
static void set_grains(struct replay *replay, const struct model *model)
{
    const struct config *config = replay->config;
    uint64_t unit = config->match_unit ? config->match_unit : 1;
    uint64_t grain = config->snapshot_grain;
    uint64_t chunk = model->snapshot_grain ? model->snapshot_grain : MODEL_CHUNK_TOKENS;
    replay->positions.interior_grain = common_multiple(grain ? grain : chunk, unit);
    replay->positions.end_grain = common_multiple(grain ? grain : 1, unit);
}

static int replay_open(struct replay *replay, const struct plugins *plugins, struct err *err)
{
    const struct config *config = replay->config;
    struct model model;
    if (config->index == INDEX_DUAL && config->orphans != ORPHANS_KEEP)
        return err_set(err, "index: dual knows of no snapshots where it finds KV, so it goes with "
                            "orphans keep");
    if (model_load(&model, config->model, err) != 0 ||
        model_sizes(&model, &config->sharding, &replay->result->sizes, err) != 0)
        return -1;
    set_grains(replay, &model);
    replay->future =
        (struct future){replay->workload, replay->schedule, config->min_compute_tokens};
    if (placement_set_open(&replay->placements, plugins->placements, config->placement,
                           &replay->future, err) != 0)
        return -1;
    struct memory memory;
    if (open_memory(replay, plugins, &model, &memory, err) != 0)
        return -1;
    bool recurrent = replay->result->sizes.snapshot_bytes > 0;
    struct cache_settings settings = {.recurrent = recurrent,
                                      .keep_orphans = config->orphans != ORPHANS_DROP,
                                      .keep_only_for_fork =
                                          recurrent && config->orphans == ORPHANS_KEEP_FOR_FORK,
                                      .dual_index = recurrent && config->index == INDEX_DUAL,
                                      .match_unit = config->match_unit,
                                      .min_compute_tokens = config->min_compute_tokens};
    replay->cache = cache_open(replay->workload, &settings, &memory);
    if (open_eviction(replay, plugins, err) != 0)
        return -1;
    for (size_t i = 0; i < replay->placements.count; i++)
        if (strcmp(replay->placements.parts[i].ops->plugin.name, replay->eviction_plugin->name) == 0)
            replay->placements.parts[i].pair = &replay->cache->eviction;
    replay->waits = mem_array(replay->workload->request_count, 1);
    memset(replay->waits, WAITED_PERSON, replay->workload->request_count);
    for (uint32_t i = 0; i < replay->workload->request_count; i++) {
        const struct request *request = &replay->workload->requests[i];
        if (request->continues != REQUEST_NONE)
            replay->waits[request->continues] = (uint8_t)request->waited_for;
    }
    return add_live_states(replay, err);
}

static void replay_close(struct replay *replay)
{
    cache_close(replay->cache);
    free(replay->waits);
    placement_set_close(&replay->placements);
    free(replay->positions.items);
    if (replay->eviction_plugin)
        plugin_free_settings(replay->eviction_plugin, replay->eviction_settings);
    if (replay->memory_plugin)
        plugin_free_settings(replay->memory_plugin, replay->memory_settings);
}

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

static void add_outcome(struct outcome *sum, const struct outcome *one)
{
    sum->hit_tokens += one->hit_tokens;
    sum->missed_new_tokens += one->missed_new_tokens;
    sum->missed_evicted_tokens += one->missed_evicted_tokens;
    sum->missed_no_snapshot_tokens += one->missed_no_snapshot_tokens;
    sum->missed_rounding_tokens += one->missed_rounding_tokens;
    sum->missed_last_tokens += one->missed_last_tokens;
}

static void count(struct replay *replay, const struct request_result *one)
{
    struct result *result = replay->result;
    uint32_t round_up = (uint32_t)replay->cache->memory.page_tokens - 1;
    result->requests++;
    result->prompt_tokens += one->prompt_tokens;
    result->computed_tokens += one->prompt_tokens - one->outcome.hit_tokens;
    result->reply_tokens += replay->workload->requests[one->request].reply_tokens;
    result->hit_requests += one->outcome.hit_tokens > 0;
    result->hit_pages +=
        cache_whole_pages(replay->cache, (uint32_t)one->outcome.hit_tokens + round_up);
    add_outcome(&result->sum, &one->outcome);
    uint64_t digest = digest_u64(result->digest, one->request);
    digest = digest_u64(digest, one->outcome.hit_tokens);
    digest = digest_u64(digest, one->match_tokens);
    digest = digest_u64(digest, one->snapshots_taken);
    result->digest = digest_u64(digest, one->used_bytes);
}

/* Adds what is where until the next request comes. */
static void add_bytes(struct replay *replay, uint64_t duration)
{
    const struct cache *cache = replay->cache;
    struct time_sums *sums = &replay->sums;
    sums->kv_tokens += (time_sum)cache->kv_tokens * duration;
    sums->snapshots += (time_sum)cache->live_snapshots * duration;
    sums->used_bytes += (time_sum)cache->memory.used_bytes * duration;
    if (cache->live_states > 0)
        sums->live_states += (time_sum)cache->live_states * duration;
    if (cache->memory.ops->unusable_bytes)
        sums->external_bytes += (time_sum)cache_external_bytes(cache) * duration;
    sums->duration += duration;
}

static void set_means(struct replay *replay)
{
    const struct time_sums *sums = &replay->sums;
    const struct memory *memory = &replay->cache->memory;
    struct cache_bytes *mean = &replay->result->mean;
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
    struct cache_stranded *stranded = &replay->result->stranded;
    uint64_t samples = replay->stranded_samples ? replay->stranded_samples : 1;
    stranded->kv_bytes /= samples;
    stranded->snapshot_bytes /= samples;
}

#define STRANDED_SAMPLES 16

/* Counting what is stranded takes a walk over everything, so it is done a few times only, evenly
 * spread over the requests. Where orphans leave at once, nothing ever is. */
static void sample_stranded(struct replay *replay, uint32_t index)
{
    const struct cache *cache = replay->cache;
    if (!cache->settings.recurrent || !cache->kv_is_holding)
        return;
    uint64_t count = replay->schedule->count;
    if ((index + 1ull) * STRANDED_SAMPLES / count == index * 1ull * STRANDED_SAMPLES / count)
        return;
    struct cache_stranded now = cache_count_stranded(cache);
    replay->result->stranded.kv_bytes += now.kv_bytes;
    replay->result->stranded.snapshot_bytes += now.snapshot_bytes;
    replay->stranded_samples++;
}

/* How long the state after a request lasts; where all come at once, each counts the same. */
static uint64_t duration_after(const struct schedule *schedule, uint32_t index)
{
    const struct arrival *arrivals = schedule->arrivals;
    if (arrivals[0].at_ns == arrivals[schedule->count - 1].at_ns)
        return 1;
    return index + 1 < schedule->count ? arrivals[index + 1].at_ns - arrivals[index].at_ns : 0;
}

static struct placement_view view_of(const struct workload *workload, uint32_t arrival,
                                     const struct request *request, const struct lookup *found)
{
    return (struct placement_view){.arrival = arrival,
                                   .prompt_tokens = workload->nodes[request->prompt_node].end,
                                   .end_tokens = workload->nodes[request->reply_node].end,
                                   .hit_tokens = found->hit_tokens,
                                   .match_tokens = found->match_tokens,
                                   .forks = found->forks,
                                   .system_tokens = request->system_tokens,
                                   .bounds = workload_bounds(workload, request),
                                   .bound_count = request->bounds_count,
                                   .workload = workload,
                                   .prompt_node = request->prompt_node};
}

static struct request_result replay_one(struct replay *replay, uint32_t index)
{
    const struct arrival *arrival = &replay->schedule->arrivals[index];
    const struct workload *workload = replay->workload;
    const struct request *request = &workload->requests[arrival->request];
    struct cache *cache = replay->cache;
    uint64_t taken = cache->counters.snapshots_taken;
    cache->eviction.now_ns = arrival->at_ns;
    cache->eviction.next_waits = replay->waits[arrival->request];
    cache_begin(cache, index, request);
    struct lookup found = cache_lookup(cache, request);
    replay->positions.count = 0;
    if (cache->settings.recurrent) {
        struct placement_view view = view_of(workload, index, request, &found);
        placement_set_plan(&replay->placements, &view, &replay->positions);
    }
    cache_admit(cache, request, &found, &replay->positions);
    replay->result->snapshots_hit += found.snapshot != SNAPSHOT_NONE;
    add_bytes(replay, duration_after(replay->schedule, index));
    sample_stranded(replay, index);
    uint32_t prompt = workload->nodes[request->prompt_node].end;
    return (struct request_result){
        .request = arrival->request,
        .at_ns = arrival->at_ns,
        .prompt_tokens = prompt,
        .match_tokens = found.match_tokens,
        .seen_tokens = arrival->seen_tokens,
        .outcome =
            attribute(&found, prompt, arrival->seen_tokens, replay->config->min_compute_tokens),
        .snapshots_taken = cache->counters.snapshots_taken - taken,
        .used_bytes = cache->memory.used_bytes,
    };
}

static char *printed(const struct plugin *plugin, const void *settings)
{
    struct text text = {0};
    param_print_list(plugin->name, plugin->params, settings, &text);
    return text.data;
}

/* Writes the settings into the result as they were understood. */
static void resolve(struct replay *replay)
{
    struct config *config = &replay->result->config;
    config_copy(config, replay->config);
    struct text placement = {0};
    placement_set_print(&replay->placements, &placement);
    free(config->placement);
    config->placement = placement.data;
    free(config->eviction);
    config->eviction = printed(replay->eviction_plugin, replay->eviction_settings);
    free(config->memory);
    config->memory = printed(replay->memory_plugin, replay->memory_settings);
    free(config->arrival);
    config->arrival = mem_strdup(replay->schedule->how);
}

static void finish(struct replay *replay)
{
    struct result *result = replay->result;
    while (replay->cache->live_states > 0)
        cache_drop_live_state(replay->cache);
    const struct memory *memory = &replay->cache->memory;
    resolve(replay);
    set_means(replay);
    result->cache = replay->cache->counters;
    result->moved_bytes = memory->moved_bytes;
    result->moved_places = memory->moved_places;
    result->quota_bytes = memory->quota_bytes;
    result->page_tokens = memory->page_tokens;
    result->place_bytes = memory->place_bytes;
}

#ifdef SIM_CHECK
/* An audit looks at every node: after each request of a small load, less often in a large one, so
 * that it costs about as much as looking at so many nodes after each. */
#define AUDIT_NODES 256

static int audit(const struct replay *replay, uint32_t request, struct err *err)
{
    struct err reason;
    if (cache_audit(replay->cache, &reason) == 0)
        return 0;
    return err_set(err, "audit after request %u: %.900s", request, reason.text);
}
#endif

static int run_variant(struct result *out, const struct replay *run, const struct plugins *plugins,
                       replay_observer *observer, void *user, struct err *err)
{
    *out = (struct result){.digest = DIGEST_START};
    struct replay replay = *run;
    replay.result = out;
    int result = replay_open(&replay, plugins, err);
    for (uint32_t i = 0; result == 0 && i < replay.schedule->count; i++) {
        struct request_result one = replay_one(&replay, i);
        count(&replay, &one);
        if (observer) {
            one.bytes = cache_count_bytes(replay.cache);
            observer(user, &one);
        }
#ifdef SIM_CHECK
        if (i % (1 + replay.workload->node_count / AUDIT_NODES) == 0)
            result = audit(&replay, one.request, err);
#endif
    }
    if (result == 0)
        finish(&replay);
    replay_close(&replay);
    return result;
}

/* How many settings the memory strategy wants tried. */
static int count_variants(const struct config *config, const struct plugins *plugins,
                          uint32_t *variants, struct err *err)
{
    const struct plugin *plugin = NULL;
    struct memory memory = {.capacity_bytes = config->capacity};
    if (plugin_parse(plugins->memories, "memory", config->memory, &plugin, &memory.settings, err) !=
        0)
        return -1;
    memory.ops = (const struct memory_ops *)(const void *)plugin;
    *variants = memory.ops->variants ? memory.ops->variants(&memory) : 1;
    plugin_free_settings(plugin, memory.settings);
    return 0;
}

/* Finds the first of those variants whose hits save most. */
static int find_best(struct replay *run, const struct plugins *plugins, uint32_t variants,
                     struct err *err)
{
    uint64_t most = 0;
    uint32_t best = 0;
    for (uint32_t i = 0; i < variants; i++) {
        struct result result;
        run->variant = i;
        int failed = run_variant(&result, run, plugins, NULL, NULL, err);
        if (result.sum.hit_tokens > most) {
            most = result.sum.hit_tokens;
            best = i;
        }
        result_close(&result);
        if (failed)
            return -1;
    }
    run->variant = best;
    return 0;
}

int replay_run(struct result *out, const struct config *config, const struct workload *workload,
               const struct schedule *schedule, const struct plugins *plugins,
               replay_observer *observer, void *user, struct err *err)
{
    struct replay run = {.config = config, .workload = workload, .schedule = schedule};
    uint32_t variants = 1;
    *out = (struct result){.digest = DIGEST_START};
    if (count_variants(config, plugins, &variants, err) != 0 ||
        (variants > 1 && find_best(&run, plugins, variants, err) != 0))
        return -1;
    return run_variant(out, &run, plugins, observer, user, err);
}

void result_close(struct result *result)
{
    config_close(&result->config);
}
