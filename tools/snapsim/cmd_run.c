/* snapsim run - one trace, one setting, one result. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/snapsim/hints.h"
#include "tools/snapsim/sheet.h"
#include "tools/snapsim/snapsim.h"
#include "tools/sweep/known_models.h"
#include "tools/sweep/load.h"
#include "tools/view/figure.h"
#include "traces/synth.h"

enum { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };
static const char *const formats[] = {"table", "json", "csv", NULL};

struct run_options {
    struct config config;
    unsigned format;
    char *config_path, *per_request, *timeline, *trace_format;
};

static const struct param run_params[] = {
    OPTION_TEXT(struct run_options, "config", config_path, "FILE",
                "settings from a result's JSON, or from an object of settings"),
    OPTION_FORMAT(struct run_options, formats),
    OPTION_TEXT(struct run_options, "per-request", per_request, "FILE",
                "also write one CSV line per request"),
    OPTION_TEXT(struct run_options, "timeline", timeline, "FILE",
                "also write where the bytes are after each request, as CSV"),
    OPTION_TRACE_FORMAT(struct run_options),
    PARAM_END,
};

/* What is written as the run goes, as CSV; of what is not asked for, nothing. */
struct rows {
    const struct run_options *options;
    struct text requests, timeline;
};

/* What a result says of its trace, beside the config. */
struct origin {
    char sha256[65];
    char *generated; /* the name of the load, if it was generated; owned */
};

/* A model's name may be that of a file, which may have changed since the result was made. Results
 * of older programs say its sizes only. */
static int check_model(const struct config *config, const struct json *recorded, const char *path,
                       struct models *models, struct err *err)
{
    const struct model_content *content = NULL;
    struct model_sizes sizes;
    uint64_t kv = 0, snapshot = 0;
    const char *was = recorded ? json_string(json_get(recorded, "sha256")) : NULL;
    if (!recorded || json_u64(json_get(recorded, "kv_bytes_per_token"), &kv) != 0 ||
        json_u64(json_get(recorded, "snapshot_bytes"), &snapshot) != 0)
        return 0;
    if (models_find(models, config->model, &content, err) != 0 ||
        model_sizes(&content->model, &config->sharding, &sizes, err) != 0)
        return -1;
    struct err reason;
    if (was && known_models_check(config->model, was, content->sha256, &reason) != 0)
        return err_set(err, "%.300s was made with another model: %.700s", path, reason.text);
    if (sizes.kv_bytes_per_token == kv && sizes.snapshot_bytes == snapshot)
        return 0;
    return err_set(
        err,
        "%s was made with another model '%s': snapshots of %" PRIu64 " bytes and KV of %" PRIu64
        " bytes a token expected, found %" PRIu64 " and %" PRIu64,
        path, config->model, snapshot, kv, sizes.snapshot_bytes, sizes.kv_bytes_per_token);
}

/* The `config` of a result, or an object of settings alone. A whole result also names the trace
 * that it is about, by its digest. */
static int read_config(struct config *config, const char *path, struct origin *origin,
                       struct models *models, struct err *err)
{
    struct json_document document;
    if (json_open_file(&document, path, err) != 0)
        return -1;
    const struct json *top = document.top;
    const struct json *inner = json_get(top, "config");
    const struct json *trace = json_get(top, "trace");
    const char *digest = trace ? json_string(json_get(trace, "sha256")) : NULL;
    const char *name = trace ? json_string(json_get(trace, "name")) : NULL;
    if (digest && strlen(digest) == 64)
        memcpy(origin->sha256, digest, 65);
    if (name && synth_is_name(name))
        origin->generated = mem_strdup(name);
    int result = config_read(config, &document, inner ? inner : top, err);
    if (result == 0 && inner)
        result = check_model(config, json_get(top, "model"), path, models, err);
    json_close_document(&document);
    return result;
}

static void add_timeline_row(struct text *out, const struct request_result *one)
{
    const struct cache_bytes *bytes = &one->bytes;
    text_printf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, one->at_ns, bytes->kv,
                bytes->snapshots, bytes->live);
    text_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", bytes->padding, bytes->external,
                bytes->free);
}

static void add_request_row(struct text *out, const struct request_result *one)
{
    const struct outcome *outcome = &one->outcome;
    text_printf(out, "%u,%" PRIu64 ",%u,%u,%" PRIu64 ",%u", one->request, one->at_ns,
                one->prompt_tokens, one->seen_tokens, outcome->hit_tokens, one->match_tokens);
    text_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
                outcome->missed_new_tokens, outcome->missed_evicted_tokens,
                outcome->missed_no_snapshot_tokens, outcome->missed_rounding_tokens,
                outcome->missed_last_tokens);
    text_printf(out, ",%" PRIu64 ",%" PRIu64 "\n", one->snapshots_taken, one->used_bytes);
}

static void observe(void *user, const struct request_result *one)
{
    struct rows *rows = user;
    if (rows->options->per_request)
        add_request_row(&rows->requests, one);
    if (rows->options->timeline)
        add_timeline_row(&rows->timeline, one);
}

static const char per_request_header[] =
    "request,at_ns,prompt_tokens,seen_tokens,hit_tokens,match_tokens,missed_new_tokens,"
    "missed_evicted_tokens,missed_no_snapshot_tokens,missed_rounding_tokens,missed_last_tokens,"
    "snapshots_taken,used_bytes\n";

/* Where the bytes were, and what the memory strategy cost. */
static void print_memory(const struct result *result, struct text *out)
{
    const struct cache_bytes *mean = &result->mean;
    uint64_t capacity = result->config.capacity;
    sheet_bytes("peak memory", result->cache.peak_bytes, out);
    if (capacity == UNITS_UNLIMITED)
        return;
    text_printf(out, "\n");
    sheet_bytes_share("memory, mean over time: KV", mean->kv, capacity, out);
    sheet_bytes_share("snapshots", mean->snapshots, capacity, out);
    if (mean->live > 0)
        sheet_bytes_share("live states", mean->live, capacity, out);
    sheet_bytes_share("padding", mean->padding, capacity, out);
    sheet_bytes_share("free, but of the wrong kind", mean->external, capacity, out);
    sheet_bytes_share("free", mean->free, capacity, out);
    if (result->quota_bytes > 0)
        sheet_bytes_share("share of states", result->quota_bytes, capacity, out);
    if (result->page_tokens > 1)
        sheet_count("tokens in a page of KV", result->page_tokens, out);
    if (result->place_bytes > 0)
        sheet_bytes("large page or slab", result->place_bytes, out);
    sheet_count("drops to make room", result->cache.drops, out);
    sheet_count("of them, only for the split", result->cache.split_evictions, out);
}

/* Where snapshots could lie, if not simply where they were asked for. */
static void print_grid(const struct result *result, struct text *out)
{
    const struct config *config = &result->config;
    if (result->snapshot_grid_tokens > 0)
        sheet_count("fixed: at multiples of, tokens", result->snapshot_grid_tokens, out);
    if (result->grains.end == 0 || (config->snapshot_grain == 0 && config->match_unit == 0))
        return;
    sheet_count("ends: at multiples of, tokens", result->grains.end, out);
    sheet_count("others: at multiples of, tokens", result->grains.interior, out);
}

static void print_table(const struct result *result, const struct workload *workload,
                        struct text *out)
{
    const struct outcome *sum = &result->sum;
    uint64_t prompt = result->prompt_tokens;
    sheet_head(result, workload, out);
    sheet_share("prompt tokens", prompt, prompt, out);
    sheet_share("hit", sum->hit_tokens, prompt, out);
    sheet_share("missed: never seen before", sum->missed_new_tokens, prompt, out);
    sheet_share("missed: seen, KV evicted", sum->missed_evicted_tokens, prompt, out);
    sheet_share("missed: seen, no usable snapshot", sum->missed_no_snapshot_tokens, prompt, out);
    sheet_share("missed: page or grain rounding", sum->missed_rounding_tokens, prompt, out);
    sheet_share("missed: last token", sum->missed_last_tokens, prompt, out);
    text_printf(out, "\n");
    sheet_count("requests with a hit", result->hit_requests, out);
    sheet_count("requests that could not be stored", result->cache.uncached_requests, out);
    sheet_count("snapshots taken", result->cache.snapshots_taken, out);
    sheet_count("snapshots evicted", result->cache.snapshots_evicted, out);
    print_grid(result, out);
    print_memory(result, out);
}

static void print_csv(const struct result *result, struct text *out)
{
    for (const struct result_field *field = result_fields; field->name; field++)
        text_printf(out, "%s,", field->name);
    text_printf(out, "hit_ratio,digest\n");
    for (const struct result_field *field = result_fields; field->name; field++)
        text_printf(out, "%" PRIu64 ",", result_value(result, field));
    text_printf(out, "%.17g,0x%016" PRIx64 "\n", result_hit_ratio(result), result->digest);
}

static void print_json(const struct result *result, const struct workload *workload,
                       struct text *out)
{
    struct json *top = json_new_object();
    result_write(result, workload, snapsim_version, top);
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static int write_rows(const char *path, const struct text *rows, struct err *err)
{
    return path ? text_write_file(path, rows->data, rows->length, err) : 0;
}

static int run_and_print(const struct setup *setup, const struct run_options *options,
                         const struct load *load)
{
    struct err err;
    struct result result;
    struct text out = {0};
    struct rows rows = {.options = options};
    text_printf(&rows.requests, "%s", per_request_header);
    text_printf(&rows.timeline, "%s\n", figure_timeline_columns);
    int status = EXIT_GOOD;
    if (replay_run(&result, setup, load->workload, load->schedule,
                   options->per_request || options->timeline ? observe : NULL, &rows, &err) != 0) {
        status = say(EXIT_FAILED, "%s", err.text);
        goto out;
    }
    if (options->format == FORMAT_JSON)
        print_json(&result, load->workload, &out);
    else if (options->format == FORMAT_CSV)
        print_csv(&result, &out);
    else
        print_table(&result, load->workload, &out);
    if (write_rows(options->per_request, &rows.requests, &err) != 0 ||
        write_rows(options->timeline, &rows.timeline, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else
        status = print_result(&out);
    if (status == EXIT_GOOD)
        hints_say(&result, load);
out:
    result_close(&result);
    text_close(&rows.requests);
    text_close(&rows.timeline);
    text_close(&out);
    return status;
}

/* The options of a call, which --config fills before the command line is taken once more: what it
 * says comes first, options change it. */
static int read_settings(const struct call *call, struct config *config, struct origin *origin,
                         struct models *models, struct err *err)
{
    const struct run_options *options = call->settings;
    if (options->config_path == NULL)
        return EXIT_GOOD;
    if (read_config(config, options->config_path, origin, models, err) != 0)
        return EXIT_FAILED;
    return frame_parse_again(call, err) == 0 ? EXIT_GOOD : EXIT_USAGE;
}

static int run(const struct call *call)
{
    struct run_options *options = call->options->settings;
    struct config *config = &options->config;
    struct err err;
    struct origin origin = {"", NULL};
    struct load load = {0};
    struct models models = {0};
    struct setup setup = {0};
    int status = read_settings(call, config, &origin, &models, &err);
    const char *trace = call->word_count > 0 ? call->words[0] : origin.generated;
    if (status != EXIT_GOOD)
        say((enum exit_status)status, "%s", err.text);
    else if (options->per_request && options->timeline &&
             strcmp(options->per_request, options->timeline) == 0)
        status =
            say(EXIT_USAGE, "--per-request and --timeline: two files were expected, found '%s'",
                options->timeline);
    else if (setup_open(&setup, config, &snapsim_plugins, &models, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (load_open(&load, trace, options->trace_format, config, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else if (origin.sha256[0] && strcmp(origin.sha256, load.workload->sha256) != 0)
        status = say(EXIT_FAILED, "%s was made from another trace: sha256 %s expected, found %s",
                     options->config_path, origin.sha256, load.workload->sha256);
    else
        status = run_and_print(&setup, options, &load);
    load_close(&load);
    setup_close(&setup);
    models_close(&models);
    free(origin.generated);
    return status;
}

const struct command cmd_run = {
    .name = "run",
    .summary = "replay a trace through one setting",
    .text = "Replays a trace through one setting and prints what it saved. Without TRACE, a load "
            "is generated from the seed (snapsim trace generate says how).\n",
    .examples = "  snapsim run v8.jsonl.zst --placement turn+fixed:4096 --capacity 512GiB\n"
                "  snapsim run v8.jsonl.zst --model qwen3.5-35b --eviction lru:refresh=path\n"
                "  snapsim run v8.jsonl.zst --config result.json   the run of a result, again\n",
    .options_size = sizeof(struct run_options),
    .takes_config = true,
    .ways = {{.words = "[TRACE]", .most = 1, .tables = {{NULL, run_params, 0}}, .run = run}},
};
