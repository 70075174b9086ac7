#include "sim/engine/replay.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "sim/engine/means.h"

static struct request_result replay_one(struct cell *cell, uint32_t arrival)
{
    const struct context context = cell_context(cell, arrival);
    struct cache *cache = cell->cache;
    uint64_t taken = cache->counters.snapshots_taken;
    struct running running;
    running.live_states = 0; /* the rest is set when it starts */
    cache_start(cache, &running, &context);
    cell_plan(cell, &context, &running.found);
    cache_admit(cache, &running, &cell->positions);
    return account_request(cell, arrival, &running.found, taken);
}

/* What the run says of itself, beside its sums. */
static void finish(struct result *result, struct cell *cell, const struct means *means)
{
    cache_drop_live_states(cell->cache, &cell->server);
    const struct memory *memory = &cell->cache->memory;
    config_copy(&result->config, &cell->setup->config);
    free(result->config.arrival);
    result->config.arrival = mem_strdup(cell->schedule->how);
    result->sizes = cell->setup->sizes;
    memcpy(result->model_sha256, cell->setup->model_sha256, SHA256_TEXT);
    if (result->sizes.snapshot_bytes > 0) {
        result->grains = cell->setup->grains;
        result->snapshot_grid_tokens = cell->setup->snapshot_grid_tokens;
    }
    means_set(means, memory, result);
    result->cache = cell->cache->counters;
    result->steps = cache_steps(cell->cache);
    for (size_t i = 0; i < cell->placements.count; i++)
        result->steps += cell->placements.parts[i].steps;
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

static int audit(const struct cell *cell, uint32_t arrival, uint32_t request, struct err *err)
{
    struct err reason;
    if (arrival % (1 + cell->workload->node_count / AUDIT_NODES) != 0 ||
        cache_audit(cell->cache, &reason) == 0)
        return 0;
    return err_set(err, "audit after request %u: %.900s", request, reason.text);
}
#else
static int audit(const struct cell *cell, uint32_t arrival, uint32_t request, struct err *err)
{
    (void)cell;
    (void)arrival;
    (void)request;
    (void)err;
    return 0;
}
#endif

static int replay_all(struct result *result, struct cell *cell, replay_observer *observer,
                      void *user, struct err *err)
{
    struct means means = {0};
    for (uint32_t i = 0; i < cell->schedule->count; i++) {
        struct request_result one = replay_one(cell, i);
        account_add(result, cell, &one);
        means_add(&means, cell, i);
        if (observer) {
            one.bytes = cache_count_bytes(cell->cache);
            observer(user, &one);
        }
        if (account_check_request(cell, &one, err) != 0 || audit(cell, i, one.request, err) != 0)
            return -1;
    }
    finish(result, cell, &means);
    return account_check_end(result, cell, err);
}

static int run_variant(struct result *out, const struct setup *setup,
                       const struct workload *workload, const struct schedule *schedule,
                       uint32_t variant, replay_observer *observer, void *user, struct err *err)
{
    struct cell cell;
    *out = (struct result){.digest = DIGEST_START};
    int result = cell_open(&cell, setup, workload, schedule, variant, err);
    if (result == 0)
        result = replay_all(out, &cell, observer, user, err);
    cell_close(&cell);
    return result;
}

/* Of the settings that the memory strategy wants tried, the first whose hits save most. */
static int find_best(uint32_t *best, const struct setup *setup, const struct workload *workload,
                     const struct schedule *schedule, struct err *err)
{
    const struct memory asked = {.capacity_bytes = setup->config.capacity,
                                 .settings = setup->memory.settings};
    const struct memory_ops *ops = setup_memory(setup);
    uint32_t variants = ops->variants ? ops->variants(&asked) : 1;
    uint64_t most = 0;
    *best = 0;
    for (uint32_t i = 0; i < variants && variants > 1; i++) {
        struct result result;
        int failed = run_variant(&result, setup, workload, schedule, i, NULL, NULL, err);
        if (result.sum.hit_tokens > most) {
            most = result.sum.hit_tokens;
            *best = i;
        }
        result_close(&result);
        if (failed)
            return -1;
    }
    return 0;
}

int replay_run(struct result *out, const struct setup *setup, const struct workload *workload,
               const struct schedule *schedule, replay_observer *observer, void *user,
               struct err *err)
{
    uint32_t best = 0;
    *out = (struct result){.digest = DIGEST_START};
    if (find_best(&best, setup, workload, schedule, err) != 0)
        return -1;
    return run_variant(out, setup, workload, schedule, best, observer, user, err);
}

int replay_config(struct result *out, const struct config *config, const struct workload *workload,
                  const struct schedule *schedule, const struct plugins *plugins,
                  replay_observer *observer, void *user, struct err *err)
{
    struct models models = {0};
    struct setup setup;
    *out = (struct result){.digest = DIGEST_START};
    int result = setup_open(&setup, config, plugins, &models, err);
    if (result == 0)
        result = replay_run(out, &setup, workload, schedule, observer, user, err);
    setup_close(&setup);
    models_close(&models);
    return result;
}

struct bound_input replay_bound_input(const struct setup *setup, const struct workload *workload,
                                      const struct schedule *schedule)
{
    const struct config *config = &setup->config;
    const struct model_sizes *sizes = &setup->sizes;
    uint64_t live_bytes = config->slots_per_request * sizes->state_bytes,
             capacity = config->capacity;
    if (capacity != UNITS_UNLIMITED)
        capacity = capacity > live_bytes ? capacity - live_bytes : 0;
    struct bound_input input = {.workload = workload,
                                .schedule = schedule,
                                .min_compute_tokens = config->min_compute_tokens,
                                .kv_bytes = sizes->kv_bytes_per_token,
                                .snapshot_bytes = sizes->snapshot_bytes,
                                .capacity_bytes = capacity,
                                .interior_grain = setup->grains.interior,
                                .grid_grain = setup->grains.grid,
                                .grid_from = setup->grains.chunk,
                                .end_grain = setup->grains.end};
    if (sizes->snapshot_bytes == 0) /* hits need no snapshot */
        input.interior_grain = input.grid_grain = input.end_grain = 1;
    return input;
}
