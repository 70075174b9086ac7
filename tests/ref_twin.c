/* ref_twin.c - taking steps in both caches, and comparing what they hold. */
#include "tests/ref_twin.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/mem.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- opening ---- */

int twin_open(struct twin *out, const struct ref_case *cell, const struct ref_trace *trace,
              uint32_t slot_count, struct err *err)
{
    const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};
    uint32_t *order = NULL;
    *out = (struct twin){
        .settings = cell, .trace = trace, .request_count = trace->count, .slot_count = slot_count};
    out->requests = ref_case_requests(cell, trace, &order);
    free(order);
    out->paths = mem_array(trace->count, sizeof *out->paths);
    out->slots = mem_array(slot_count, sizeof *out->slots);
    if (ref_trace_build(trace, &out->record, err) != 0 ||
        ref_case_open(cell, out->record, &out->config, &out->load, err) != 0 ||
        setup_open(&out->setup, &out->config, &plugins, &out->models, err) != 0 ||
        cell_open(&out->cell, &out->setup, out->load.workload, out->load.schedule, 0, err) != 0)
        return -1;
    struct ref_settings settings = ref_case_settings(cell, trace);
    settings.live_bytes = out->setup.sizes.state_bytes;
    out->walkers = mem_array(out->load.workload->node_count, sizeof *out->walkers);
    out->model = ref_open(&settings, out->requests, trace->count);
    return 0;
}

void twin_close(struct twin *twin)
{
    for (uint32_t i = 0; i < twin->slot_count; i++)
        ref_running_close(&twin->slots[i].model);
    for (uint32_t i = 0; i < twin->request_count; i++)
        free(twin->paths[i]);
    if (twin->model)
        ref_close(twin->model);
    if (twin->cell.cache)
        cell_close(&twin->cell);
    setup_close(&twin->setup);
    models_close(&twin->models);
    load_close(&twin->load);
    config_close(&twin->config);
    record_close(twin->record);
    ref_requests_close(twin->requests, twin->request_count);
    free(twin->positions.items);
    free(twin->slots);
    free(twin->paths);
    free(twin->walkers);
    text_close(&twin->log);
}

void twin_fail(const struct twin *twin, const char *where, const char *what)
{
    struct text text = {0};
    ref_case_print(twin->settings, &text);
    ref_trace_print(twin->trace, &text);
    fprintf(stderr, "%s: %s\n%s%s", where, what, text.data, twin->log.data ? twin->log.data : "");
    text_close(&text);
    ck_abort_msg("%s: %s, see above", where, what);
}

/* ---- comparing ---- */

static const struct request *request_of(const struct twin *twin, uint32_t arrival)
{
    return &twin->load.workload->requests[twin->load.schedule->arrivals[arrival].request];
}

static uint32_t fast_resident(const struct twin *twin, uint32_t arrival)
{
    const struct workload *workload = twin->load.workload;
    node_id node = request_of(twin, arrival)->reply_node;
    while (node != NODE_ROOT && twin->cell.cache->nodes[node].resident == 0)
        node = workload->nodes[node].parent;
    if (node == NODE_ROOT)
        return 0;
    return workload_node_start(workload, node) + twin->cell.cache->nodes[node].resident;
}

uint32_t twin_resident(const struct twin *twin, uint32_t arrival)
{
    uint32_t p = 0;
    while (p < twin->requests[arrival].end_tokens &&
           twin->model->prefixes[twin->paths[arrival][p + 1]].resident)
        p++;
    return p;
}

static int compare_kv(const struct twin *twin, struct err *err)
{
    for (uint32_t i = 0; i < twin->request_count; i++) {
        if (twin->paths[i] == NULL)
            continue;
        uint32_t fast = fast_resident(twin, i), model = twin_resident(twin, i);
        if (fast != model)
            return err_set(err,
                           "of request %u, %u tokens are resident in the fast code, %u in the "
                           "model",
                           i, fast, model);
    }
    return 0;
}

/* 1 + the stream whose newest a snapshot is, as the fast code numbers streams; or 0. */
static uint32_t fast_stream(const struct twin *twin, uint32_t model_stream)
{
    for (uint32_t i = 0; i < twin->request_count; i++)
        if (twin->requests[i].stream + 1 == model_stream)
            return request_of(twin, i)->stream + 1;
    return 0;
}

/* Both hold as many snapshots, and each of the fast one's has its like in the model. */
static int compare_snapshots(const struct twin *twin, struct err *err)
{
    const struct cache *cache = twin->cell.cache;
    for (uint32_t i = 0; i < cache->snapshot_count; i++) {
        const struct snapshot *snapshot = &cache->snapshots[i];
        if (!snapshot->live)
            continue;
        uint32_t walker = twin->walkers[snapshot->node], position = snapshot->position;
        if (walker == 0)
            return err_set(err, "a snapshot stands on node %u, where no request went",
                           snapshot->node);
        const struct ref_snapshot *model =
            ref_snapshot_at(twin->model, twin->paths[walker - 1][position]);
        if (model == NULL)
            return err_set(err, "the fast code has a snapshot at %u of request %u, the model none",
                           position, walker - 1);
        uint32_t stream = fast_stream(twin, model->stream);
        if (model->asked != snapshot->asked || stream != snapshot->stream)
            return err_set(err,
                           "the snapshot at %u of request %u was asked for at %u and is of stream "
                           "%u in the fast code, %u and %u in the model",
                           position, walker - 1, snapshot->asked, snapshot->stream, model->asked,
                           stream);
    }
    return 0;
}

static uint64_t model_kv_tokens(const struct ref_cache *model)
{
    uint64_t tokens = 0;
    for (size_t i = 1; i < model->prefix_count; i++)
        tokens += model->prefixes[i].resident;
    return tokens;
}

static int compare_state(const struct twin *twin, struct err *err)
{
    const struct cache *cache = twin->cell.cache;
    struct ref_cache *model = twin->model;
    const struct ref_number numbers[] = {
        {"used bytes", cache->memory.used_bytes, ref_used_bytes(model)},
        {"snapshots", cache->live_snapshots, model->snapshot_count},
        {"resident KV", cache->kv_tokens, model_kv_tokens(model)},
        {"live states", cache->live_states, model->live_states},
    };
    if (!ref_keeps_promises(model))
        return err_set(err, "the model has promised more than there is");
    if (ref_compare_numbers(numbers, COUNT(numbers), "state", err) != 0 ||
        ref_compare_counters(&cache->counters, &model->counters, "counters", err) != 0 ||
        compare_snapshots(twin, err) != 0 || compare_kv(twin, err) != 0)
        return -1;
    struct err reason;
    if (cache_audit(cache, &reason) != 0)
        return err_set(err, "audit: %.900s", reason.text);
    return 0;
}

/* Both have taken a step that can fail. */
static int after_attempt(struct twin *twin, bool fast, bool model, bool *done, struct err *err)
{
    *done = model;
    text_printf(&twin->log, ": %s\n", model ? "yes" : "no");
    if (fast != model)
        return err_set(err, "the fast code says %s, the model %s", fast ? "yes" : "no",
                       model ? "yes" : "no");
    return compare_state(twin, err);
}

/* ---- steps ---- */

static int compare_found(const struct twin_slot *slot, struct err *err)
{
    const struct lookup *fast = &slot->fast.found;
    const struct ref_running *model = &slot->model;
    const struct ref_number numbers[] = {
        {"hit", fast->hit_tokens, model->hit},
        {"match", fast->match_tokens, model->match},
        {"ever kept", fast->kept_tokens, model->kept},
        {"a fork", fast->forks, model->forks},
        {"a snapshot consumed", fast->snapshot != SNAPSHOT_NONE, model->consumed != 0},
        {"where it was asked for", model->consumed ? fast->asked : 0,
         model->consumed ? model->consumed_asked : 0},
    };
    return ref_compare_numbers(numbers, COUNT(numbers), "look-up", err);
}

/* From now on a path is known to the model, and its nodes may hold something. */
static void note_path(struct twin *twin, uint32_t slot, uint32_t arrival)
{
    const struct workload *workload = twin->load.workload;
    const struct ref_running *r = &twin->slots[slot].model;
    const struct request *request = request_of(twin, arrival);
    if (twin->paths[arrival] != NULL)
        return;
    twin->paths[arrival] = mem_array(r->request->end_tokens + 1, sizeof **twin->paths);
    memcpy(twin->paths[arrival], r->path, (r->request->end_tokens + 1) * sizeof **twin->paths);
    for (node_id node = request->reply_node; node != NODE_ROOT; node = workload->nodes[node].parent)
        twin->walkers[node] = arrival + 1;
}

int twin_start(struct twin *twin, uint32_t slot, uint32_t arrival, struct err *err)
{
    struct twin_slot *here = &twin->slots[slot];
    const struct context context = cell_context(&twin->cell, arrival);
    text_printf(&twin->log, "start %u %u", slot, arrival);
    cache_start(twin->cell.cache, &here->fast, &context);
    ref_start(twin->model, &here->model, arrival);
    note_path(twin, slot, arrival);
    text_printf(&twin->log, " hit %u\n", here->model.hit);
    if (compare_found(here, err) != 0)
        return -1;
    return compare_state(twin, err);
}

static void log_reserve(struct twin *twin, uint32_t slot, uint32_t kv_end,
                        const struct ref_wishes *wanted)
{
    text_printf(&twin->log, "reserve %u kv %u", slot, kv_end);
    for (size_t i = 0; i < wanted->count; i++)
        text_printf(&twin->log, " %s %u", wanted->items[i].newest_only ? "last" : "at",
                    wanted->items[i].position);
    if (wanted->newest)
        text_printf(&twin->log, " newest %u", wanted->newest);
}

int twin_reserve(struct twin *twin, uint32_t slot, uint32_t kv_end, const struct ref_wishes *wanted,
                 bool *done, struct err *err)
{
    struct twin_slot *here = &twin->slots[slot];
    struct positions *positions = &twin->positions;
    positions->items = mem_grow(positions->items, &positions->capacity, wanted->count + 1,
                                sizeof *positions->items);
    positions->count = wanted->count;
    positions->newest = wanted->newest;
    for (size_t i = 0; i < wanted->count; i++)
        positions->items[i] = (struct wanted_position){.position = wanted->items[i].position,
                                                       .asked = wanted->items[i].asked,
                                                       .newest_only = wanted->items[i].newest_only};
    log_reserve(twin, slot, kv_end, wanted);
    bool fast = cache_reserve(twin->cell.cache, &here->fast, kv_end, positions);
    bool model = ref_reserve(twin->model, &here->model, kv_end, wanted);
    return after_attempt(twin, fast, model, done, err);
}

int twin_commit(struct twin *twin, uint32_t slot, bool *done, struct err *err)
{
    struct twin_slot *here = &twin->slots[slot];
    text_printf(&twin->log, "commit %u", slot);
    bool fast = cache_commit(twin->cell.cache, &here->fast);
    bool model = ref_commit(twin->model, &here->model);
    return after_attempt(twin, fast, model, done, err);
}

int twin_add_live_state(struct twin *twin, uint32_t slot, bool *done, struct err *err)
{
    struct twin_slot *here = &twin->slots[slot];
    text_printf(&twin->log, "live %u", slot);
    bool fast = cache_add_live_state(twin->cell.cache, &here->fast);
    bool model = ref_add_live_state(twin->model, &here->model);
    return after_attempt(twin, fast, model, done, err);
}

int twin_abort(struct twin *twin, uint32_t slot, struct err *err)
{
    text_printf(&twin->log, "abort %u\n", slot);
    cache_abort(twin->cell.cache, &twin->slots[slot].fast);
    ref_abort(twin->model, &twin->slots[slot].model);
    return compare_state(twin, err);
}

int twin_end(struct twin *twin, uint32_t slot, struct err *err)
{
    text_printf(&twin->log, "end %u\n", slot);
    cache_end(twin->cell.cache, &twin->slots[slot].fast);
    ref_end(twin->model, &twin->slots[slot].model);
    return compare_state(twin, err);
}
