/* ref_case.c - running and comparing one cell. */
#include "tests/ref_case.h"

#include <assert.h>
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policies/list.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

/* ---- models ---- */

const struct ref_model ref_models[REF_MODEL_COUNT] = {
    {"tiny-3", 1, 3},     {"tiny-4-and-half", 2, 9}, {"tiny-7", 3, 20},       {"tiny-20", 1, 20},
    {"tiny-equal", 2, 2}, {"tiny-small", 4, 3},      {"tiny-no-state", 1, 0},
};

static char directory[] = "/tmp/snapsim-test-XXXXXX";

void ref_model_path(const struct ref_model *model, char path[256])
{
    snprintf(path, 256, "%s/%s.json", directory, model->name);
}

static int write_model(const struct ref_model *model, const char *path, struct err *err)
{
    struct text text = {0};
    text_printf(&text,
                "{\"schema\":1,\"name\":\"%s\",\"summary\":\"for tests\",\"source\":\"made up\","
                "\"state_dtype\":\"fp32\",\"hidden_dim\":8,\"vocab\":8,\"tied_embedding\":false,"
                "\"layers\":[{\"kind\":\"gqa\",\"count\":1,\"heads\":1,\"kv_heads\":1,"
                "\"head_dim\":%u,\"output_gate\":false}",
                model->name, model->kv_units);
    if (model->snapshot_units)
        text_printf(&text,
                    ",{\"kind\":\"lightning\",\"count\":1,\"heads\":1,\"key_dim\":1,"
                    "\"value_dim\":%u}",
                    model->snapshot_units);
    text_printf(&text, "]}\n");
    int result = text_write_file(path, text.data, text.length, err);
    text_close(&text);
    return result;
}

void ref_models_open(void)
{
    struct err err = {""};
    char path[256];
    ck_assert_msg(mkdtemp(directory) != NULL, "no directory '%s'", directory);
    for (size_t i = 0; i < REF_MODEL_COUNT; i++) {
        ref_model_path(&ref_models[i], path);
        ck_assert_msg(write_model(&ref_models[i], path, &err) == 0, "%s", err.text);
    }
}

void ref_models_close(void)
{
    char path[256];
    for (size_t i = 0; i < REF_MODEL_COUNT; i++) {
        ref_model_path(&ref_models[i], path);
        unlink(path);
    }
    rmdir(directory);
}

/* ---- the fast code ---- */

static void add_result(void *user, const struct request_result *request)
{
    struct ref_results *results = user;
    results->items[results->count++] = *request;
}

static int set_config(struct config *config, const struct ref_case *cell, bool replies_kept,
                      const char *model_path, struct err *err)
{
    char capacity[UNITS_TEXT], grain[24], compute[24];
    snprintf(grain, sizeof grain, "%" PRIu64, cell->grain);
    snprintf(compute, sizeof compute, "%" PRIu64, cell->min_compute_tokens);
    const char *settings[][2] = {
        {"model", model_path},
        {"placement", cell->placement},
        {"eviction", cell->eviction},
        {"memory", cell->memory},
        {"page-tokens", cell->page_tokens},
        {"capacity", units_bytes_exact(cell->capacity_bytes, capacity)},
        {"orphans", cell->keep_orphans ? "keep" : "drop"},
        {"snapshot-grain", grain},
        {"min-compute-tokens", compute},
        {"replies", replies_kept ? "keep" : "drop"},
        {"arrival", cell->arrival},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (config_set(config, settings[i][0], settings[i][1], err) != 0)
            return -1;
    return 0;
}

int ref_case_open(const struct ref_case *cell, struct record *record, struct config *config,
                  struct load *load, struct err *err)
{
    char path[256];
    ref_model_path(cell->model, path);
    *load = (struct load){0};
    config_open(config);
    if (set_config(config, cell, record->calls->replies_kept, path, err) != 0)
        return -1;
    return record_load(load, record, false, cell->arrival, 1, 0, err);
}

int ref_case_run(const struct ref_case *cell, struct record *record, struct ref_results *out,
                 struct err *err)
{
    struct config config;
    struct load load;
    const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};
    *out = (struct ref_results){0};
    out->items = mem_array(record->calls->request_count, sizeof *out->items);
    int result = ref_case_open(cell, record, &config, &load, err);
    if (result == 0)
        result = replay_config(&out->total, &config, load.workload, load.schedule, &plugins,
                               add_result, out, err);
    load_close(&load);
    config_close(&config);
    if (result != 0) {
        free(out->items);
        *out = (struct ref_results){0};
    }
    return result;
}

void ref_results_close(struct ref_results *results)
{
    if (results->items)
        result_close(&results->total);
    free(results->items);
}

int ref_case_bound(const struct ref_case *cell, struct record *record, struct bound *out,
                   struct err *err)
{
    const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};
    struct config config;
    struct models models = {0};
    struct setup setup = {0};
    struct load load;
    int result = ref_case_open(cell, record, &config, &load, err);
    if (result == 0)
        result = setup_open(&setup, &config, &plugins, &models, err);
    if (result == 0) {
        const struct bound_input input = replay_bound_input(&setup, load.workload, load.schedule);
        bound_find(out, NULL, &input, 100);
    }
    setup_close(&setup);
    models_close(&models);
    load_close(&load);
    config_close(&config);
    return result;
}

#define EXACT_TRIALS 10000000

int ref_case_limits(const struct ref_case *drawn, struct record *record, struct ref_limits *out,
                    struct err *err)
{
    struct ref_case cell = *drawn;
    struct config config;
    struct models models = {0};
    struct setup setup = {0};
    struct load load;
    struct plan plan = {0};
    struct result result = {0};
    struct plugins plugins = {planned_placement_list, planned_eviction_list, memory_list, &plan};
    cell.placement = cell.eviction = "planned";
    int failed = ref_case_open(&cell, record, &config, &load, err);
    if (failed == 0)
        failed = setup_open(&setup, &config, &plugins, &models, err);
    if (failed == 0) {
        const struct bound_input input = replay_bound_input(&setup, load.workload, load.schedule);
        bound_find(&out->bound, &plan, &input, 100);
        failed = replay_run(&result, &setup, load.workload, load.schedule, NULL, NULL, err);
        out->plan_tokens = plan.hit_tokens;
        out->replayed_tokens = result.sum.hit_tokens;
        result_close(&result);
        if (failed == 0 && !bound_find_exact(&out->exact_tokens, &input, EXACT_TRIALS))
            failed = err_set(err, "the best schedule was not found");
    }
    plan_close(&plan);
    setup_close(&setup);
    models_close(&models);
    load_close(&load);
    config_close(&config);
    return failed;
}

/* ---- comparing ---- */

/* Indices into the trace, in order of arrival. */
static uint32_t *arrival_order(const struct ref_trace *trace, const char *arrival)
{
    uint32_t *order = mem_array(trace->count, sizeof *order);
    for (uint32_t i = 0; i < trace->count; i++) {
        uint32_t place = i;
        order[i] = i;
        while (strcmp(arrival, "recorded") == 0 && place > 0 &&
               trace->drawn[order[place - 1]].at > trace->drawn[i].at) {
            order[place] = order[place - 1];
            place--;
        }
        order[place] = i;
    }
    return order;
}

static enum ref_eviction eviction_of(const char *name)
{
    static const struct {
        const char *name;
        enum ref_eviction eviction;
    } table[] = {
        {"lru", REF_LRU_HIT},
        {"lru:refresh=hit", REF_LRU_HIT},
        {"lru:refresh=path", REF_LRU_PATH},
        {"lru:refresh=both", REF_LRU_BOTH},
        {"fifo", REF_FIFO},
        {"lfu", REF_LFU},
        {"belady", REF_BELADY},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].eviction;
    abort();
}

struct ref_settings ref_case_settings(const struct ref_case *cell, const struct ref_trace *trace)
{
    struct ref_settings settings = {
        .placement = cell->placement,
        .eviction = eviction_of(cell->eviction),
        .recurrent = cell->model->snapshot_units > 0,
        .keep_orphans = cell->keep_orphans,
        .equal_pages = strcmp(cell->memory, "equal") == 0,
        .page_tokens = 1,
        .capacity_bytes = cell->capacity_bytes,
        .kv_bytes = cell->model->kv_units * 4u,
        .snapshot_bytes = cell->model->snapshot_units * 4u,
        .grain = cell->grain,
        .min_compute_tokens = cell->min_compute_tokens,
    };
    if (settings.equal_pages) {
        settings.pages_are_blocks = strcmp(cell->page_tokens, "trace") == 0;
        settings.page_tokens =
            settings.pages_are_blocks ? trace->block_tokens : strtoull(cell->page_tokens, NULL, 10);
    }
    return settings;
}

struct ref_request *ref_case_requests(const struct ref_case *cell, const struct ref_trace *trace,
                                      uint32_t **order)
{
    *order = arrival_order(trace, cell->arrival);
    struct ref_request *resolved = ref_trace_resolve(trace, *order);
    struct ref_request *arriving = mem_array(trace->count, sizeof *arriving);
    for (uint32_t i = 0; i < trace->count; i++)
        arriving[i] = resolved[(*order)[i]];
    free(resolved);
    return arriving;
}

int ref_compare_numbers(const struct ref_number *numbers, size_t count, const char *where,
                        struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i].fast != numbers[i].model)
            return err_set(err, "%s: %s is %" PRIu64 " in the fast code, %" PRIu64 " in the model",
                           where, numbers[i].name, numbers[i].fast, numbers[i].model);
    return 0;
}

static int compare_request(const struct request_result *fast, const struct request_result *model,
                           const char *where, struct err *err)
{
    const struct outcome *a = &fast->outcome, *b = &model->outcome;
    const struct ref_number numbers[] = {
        {"the request", fast->request, model->request},
        {"prompt", fast->prompt_tokens, model->prompt_tokens},
        {"seen", fast->seen_tokens, model->seen_tokens},
        {"match", fast->match_tokens, model->match_tokens},
        {"hit", a->hit_tokens, b->hit_tokens},
        {"missed new", a->missed_new_tokens, b->missed_new_tokens},
        {"missed last", a->missed_last_tokens, b->missed_last_tokens},
        {"missed evicted", a->missed_evicted_tokens, b->missed_evicted_tokens},
        {"missed no snapshot", a->missed_no_snapshot_tokens, b->missed_no_snapshot_tokens},
        {"missed rounding", a->missed_rounding_tokens, b->missed_rounding_tokens},
        {"snapshots taken", fast->snapshots_taken, model->snapshots_taken},
        {"used bytes", fast->used_bytes, model->used_bytes},
    };
    return ref_compare_numbers(numbers, sizeof numbers / sizeof *numbers, where, err);
}

int ref_compare_counters(const struct cache_counters *a, const struct cache_counters *b,
                         const char *where, struct err *err)
{
    const struct ref_number numbers[] = {
        {"snapshots_taken", a->snapshots_taken, b->snapshots_taken},
        {"snapshots_evicted", a->snapshots_evicted, b->snapshots_evicted},
        {"snapshots_refused", a->snapshots_refused, b->snapshots_refused},
        {"snapshots_replaced", a->snapshots_replaced, b->snapshots_replaced},
        {"uncached_requests", a->uncached_requests, b->uncached_requests},
        {"kv_tokens_stored", a->kv_tokens_stored, b->kv_tokens_stored},
        {"kv_tokens_evicted", a->kv_tokens_evicted, b->kv_tokens_evicted},
        {"peak_bytes", a->peak_bytes, b->peak_bytes},
    };
    return ref_compare_numbers(numbers, sizeof numbers / sizeof *numbers, where, err);
}

int ref_case_compare(const struct ref_case *cell, const struct ref_trace *trace, struct err *err)
{
    struct record *record = NULL;
    struct ref_results fast = {0};
    struct ref_cache *model = NULL;
    uint32_t *order = NULL;
    struct ref_request *requests = ref_case_requests(cell, trace, &order);
    int result = ref_trace_build(trace, &record, err);
    if (result == 0)
        result = ref_case_run(cell, record, &fast, err);
    if (result != 0)
        goto out;
    struct ref_settings settings = ref_case_settings(cell, trace);
    model = ref_open(&settings, requests, trace->count);
    for (uint32_t i = 0; i < trace->count && result == 0; i++) {
        char where[64];
        struct request_result expected;
        ref_next(model, &expected);
        expected.request = order[i];
        snprintf(where, sizeof where, "arrival %u, request %u", i, order[i]);
        result = compare_request(&fast.items[i], &expected, where, err);
    }
    if (result == 0)
        result = ref_compare_counters(&fast.total.cache, &model->counters, "at the end", err);
out:
    if (model)
        ref_close(model);
    ref_results_close(&fast);
    record_close(record);
    ref_requests_close(requests, trace->count);
    free(order);
    return result;
}

void ref_case_print(const struct ref_case *cell, struct text *out)
{
    char capacity[UNITS_TEXT];
    text_printf(
        out,
        "model kv %u B/token, snapshot %u B; --placement %s --eviction %s --memory %s "
        "--page-tokens %s --capacity %s --orphans %s --snapshot-grain %" PRIu64
        " --min-compute-tokens %" PRIu64 " --arrival %s\n",
        cell->model->kv_units * 4, cell->model->snapshot_units * 4, cell->placement, cell->eviction,
        cell->memory, cell->page_tokens, units_bytes_exact(cell->capacity_bytes, capacity),
        cell->keep_orphans ? "keep" : "drop", cell->grain, cell->min_compute_tokens, cell->arrival);
}

static const struct plugin *plugin_of(const struct plugin *const *list, const char *text)
{
    struct err err;
    const struct plugin *plugin = NULL;
    void *settings = NULL;
    int result = plugin_parse(list, "plug-in", text, &plugin, &settings, &err);
    assert(result == 0);
    (void)result;
    plugin_free_settings(plugin, settings);
    return plugin;
}

unsigned ref_case_eviction_flags(const char *text)
{
    const struct plugin *plugin = plugin_of(eviction_list, text);
    return ((const struct eviction_ops *)(const void *)plugin)->flags;
}

bool ref_case_go_together(const char *eviction, const char *memory)
{
    const struct plugin *plugin = plugin_of(memory_list, memory);
    unsigned flags = ((const struct memory_ops *)(const void *)plugin)->flags;
    return !(flags & MEMORY_PLACED) || !(ref_case_eviction_flags(eviction) & EVICTION_REFUSES);
}
