#include "sim/engine/cell.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/core/mem.h"

static int open_memory(const struct cell *cell, uint32_t variant, struct memory *memory,
                       struct err *err)
{
    const struct setup *setup = cell->setup;
    *memory = (struct memory){.ops = setup_memory(setup),
                              .settings = setup->memory.settings,
                              .workload = cell->workload,
                              .capacity_bytes = setup->config.capacity,
                              .kv_bytes_per_token = setup->sizes.kv_bytes_per_token,
                              .snapshot_bytes = setup->sizes.snapshot_bytes,
                              .state_bytes = setup->sizes.state_bytes,
                              .sizes = &setup->sizes,
                              .align_tokens = model_default_align(setup->model),
                              .live_slots = setup->config.slots_per_request,
                              .variant = variant,
                              .page_tokens = setup->page_tokens,
                              .pages_are_blocks = setup->pages_are_blocks};
    if (setup->pages_are_blocks)
        memory->page_tokens = cell->workload->block_tokens;
    memory->state = mem_zalloc(memory->ops->plugin.state_size);
    if (memory->ops->init(memory, err) == 0)
        return 0;
    free(memory->state);
    return -1;
}

static int add_live_states(struct cell *cell, struct err *err)
{
    uint64_t slots = cell->setup->config.slots_per_request;
    for (uint64_t i = 0; i < slots; i++)
        if (!cache_add_live_state(cell->cache, &cell->server))
            return err_set(err,
                           "slots-per-request: of %" PRIu64 " live states, only %" PRIu64
                           " fit into the capacity",
                           slots, i);
    return 0;
}

int cell_open(struct cell *out, const struct setup *setup, const struct workload *workload,
              const struct schedule *schedule, uint32_t variant, struct err *err)
{
    struct memory memory;
    *out = (struct cell){
        .setup = setup,
        .workload = workload,
        .schedule = schedule,
        .future = {workload, schedule, setup->config.min_compute_tokens, setup->plan}};
    out->positions.grains = setup->grains;
    if (open_memory(out, variant, &memory, err) != 0)
        return -1;
    out->cache = cache_open(workload, &setup->cache, &memory);
    if (cache_set_eviction(out->cache, setup_eviction(setup), setup->eviction.settings,
                           &setup->facts, &out->future, err) != 0 ||
        placement_set_open(&out->placements, &setup->placements, &setup->facts, &out->future,
                           &out->cache->eviction, err) != 0)
        return -1;
    return add_live_states(out, err);
}

void cell_close(struct cell *cell)
{
    placement_set_close(&cell->placements);
    cache_close(cell->cache);
    free(cell->positions.items);
}

struct context cell_context(const struct cell *cell, uint32_t arrival)
{
    const struct arrival *now = &cell->schedule->arrivals[arrival];
    struct context context = {.arrival = arrival,
                              .at_ns = now->at_ns,
                              .turn = now->turn,
                              .request = &cell->workload->requests[now->request]};
    if (now->turn > 0) {
        const struct arrival *before = &cell->schedule->arrivals[now->before];
        context.before = (struct context_before){
            .arrival = now->before,
            .at_ns = before->at_ns,
            .prompt_tokens = workload_prompt_tokens(cell->workload, before->request),
            .reply_tokens = cell->workload->requests[before->request].reply_tokens};
    }
    return context;
}

void cell_plan(struct cell *cell, const struct context *context, const struct lookup *found)
{
    const struct request *request = context->request;
    positions_clear(&cell->positions);
    if (!cell->cache->settings.recurrent)
        return;
    const struct placement_view view = {
        .context = context,
        .prompt_tokens = cell->workload->nodes[request->prompt_node].end,
        .end_tokens = cell->workload->nodes[request->reply_node].end,
        .hit_tokens = found->hit_tokens,
        .match_tokens = found->match_tokens,
        .forks = found->forks,
        .system_tokens = request->system_tokens,
        .bounds = workload_bounds(cell->workload, request),
        .bound_count = request->bounds_count,
        .workload = cell->workload,
        .prompt_node = request->prompt_node,
        .paths = cell->cache->paths};
    placement_set_plan(&cell->placements, &view, &cell->positions);
}
