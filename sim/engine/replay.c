#include "sim/engine/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

struct replay {
    const struct config *config;
    const struct workload *workload;
    const struct schedule *schedule;
    struct cache *cache;
    struct placement_set placements;
    struct positions positions;
    const struct plugin *eviction_plugin, *memory_plugin;
    void *eviction_settings, *memory_settings;
    struct result *result;
};

static int parse_page_tokens(const struct config *config, const struct workload *workload,
                             struct memory *memory, struct err *err)
{
    struct err ignored;
    if (strcmp(config->page_tokens, "auto") == 0)
        return 0;
    if (strcmp(config->page_tokens, "trace") == 0) {
        memory->pages_are_blocks = true;
        memory->page_tokens = workload->block_tokens;
        return 0;
    }
    if (units_parse_u64(config->page_tokens, &memory->page_tokens, &ignored) != 0 ||
        memory->page_tokens == 0 || memory->page_tokens > 1 << 20)
        return err_set(err,
                       "page-tokens: auto, trace or a number from 1 to %d was expected, "
                       "found '%s'",
                       1 << 20, config->page_tokens);
    return 0;
}

static int open_memory(struct replay *replay, const struct plugins *plugins, struct memory *memory,
                       struct err *err)
{
    const struct config *config = replay->config;
    const struct model_sizes *sizes = &replay->result->sizes;
    *memory = (struct memory){.capacity_bytes = config->capacity,
                              .kv_bytes_per_token = sizes->kv_bytes_per_token,
                              .snapshot_bytes = sizes->snapshot_bytes};
    if (parse_page_tokens(config, replay->workload, memory, err) != 0 ||
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
    struct cache *cache = replay->cache;
    if (plugin_parse(plugins->evictions, "eviction", replay->config->eviction,
                     &replay->eviction_plugin, &replay->eviction_settings, err) != 0)
        return -1;
    struct eviction *eviction = &cache->eviction;
    eviction->ops = (const struct eviction_ops *)(const void *)replay->eviction_plugin;
    eviction->settings = replay->eviction_settings;
    eviction->state = mem_zalloc(replay->eviction_plugin->state_size);
    eviction->cache = cache;
    eviction->holdings = mem_grow_zeroed(NULL, &cache->holding_capacity,
                                         replay->workload->node_count, eviction->ops->holding_size);
    if (eviction->ops->flags & EVICTION_OFFLINE) {
        eviction->workload = replay->workload;
        eviction->schedule = replay->schedule;
    }
    return eviction->ops->init ? eviction->ops->init(eviction, err) : 0;
}

static int replay_open(struct replay *replay, const struct plugins *plugins, struct err *err)
{
    const struct config *config = replay->config;
    struct model model;
    if (model_load(&model, config->model, err) != 0 ||
        model_sizes(&model, &config->sharding, &replay->result->sizes, err) != 0)
        return -1;
    uint64_t grain = config->snapshot_grain;
    uint64_t chunk = model.snapshot_grain ? model.snapshot_grain : MODEL_CHUNK_TOKENS;
    replay->positions.interior_grain = grain ? grain : chunk;
    replay->positions.end_grain = grain ? grain : 1;
    if (placement_set_open(&replay->placements, plugins->placements, config->placement,
                           replay->workload->node_count, err) != 0)
        return -1;
    struct memory memory;
    if (open_memory(replay, plugins, &memory, err) != 0)
        return -1;
    struct cache_settings settings = {.recurrent = replay->result->sizes.snapshot_bytes > 0,
                                      .keep_orphans = config->orphans == ORPHANS_KEEP,
                                      .min_compute_tokens = config->min_compute_tokens};
    replay->cache = cache_open(replay->workload, &settings, &memory);
    return open_eviction(replay, plugins, err);
}

static void replay_close(struct replay *replay)
{
    cache_close(replay->cache);
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

static struct placement_view view_of(const struct workload *workload, const struct request *request,
                                     const struct lookup *found)
{
    return (struct placement_view){.prompt_tokens = workload->nodes[request->prompt_node].end,
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
    if (cache->eviction.ops->begin)
        cache->eviction.ops->begin(&cache->eviction, index, request);
    struct lookup found = cache_lookup(cache, request);
    replay->positions.count = 0;
    if (cache->settings.recurrent) {
        struct placement_view view = view_of(workload, request, &found);
        placement_set_plan(&replay->placements, &view, &replay->positions);
    }
    cache_admit(cache, request, &found, &replay->positions);
    replay->result->snapshots_hit += found.snapshot != SNAPSHOT_NONE;
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
    if (strcmp(config->page_tokens, "auto") == 0) {
        struct text pages = {0};
        text_printf(&pages, "%" PRIu64, replay->cache->memory.page_tokens);
        free(config->page_tokens);
        config->page_tokens = pages.data;
    }
    free(config->arrival);
    config->arrival = mem_strdup(replay->schedule->how);
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

int replay_run(struct result *out, const struct config *config, const struct workload *workload,
               const struct schedule *schedule, const struct plugins *plugins,
               replay_observer *observer, void *user, struct err *err)
{
    *out = (struct result){.digest = DIGEST_START};
    struct replay replay = {
        .config = config, .workload = workload, .schedule = schedule, .result = out};
    int result = replay_open(&replay, plugins, err);
    for (uint32_t i = 0; result == 0 && i < schedule->count; i++) {
        struct request_result one = replay_one(&replay, i);
        count(&replay, &one);
        if (observer)
            observer(user, &one);
#ifdef SIM_CHECK
        if (i % (1 + workload->node_count / AUDIT_NODES) == 0)
            result = audit(&replay, one.request, err);
#endif
    }
    if (result == 0) {
        resolve(&replay);
        out->cache = replay.cache->counters;
    }
    replay_close(&replay);
    return result;
}

void result_close(struct result *result)
{
    config_close(&result->config);
}
