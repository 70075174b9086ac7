/* snapsim run - one trace, one setting, one result. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/snapsim/hints.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/settings.h"
#include "tools/snapsim/sheet.h"
#include "tools/snapsim/snapsim.h"
#include "tools/sweep/known_models.h"
#include "tools/sweep/load.h"
#include "tools/view/figure.h"
#include "traces/synth.h"

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };
static const char *const formats[] = {"table", "json", "csv", NULL};

struct run_flags {
    unsigned format;
    const char *config_path, *per_request, *timeline, *trace_format;
};

/* What is written as the run goes, as CSV; of what is not asked for, nothing. */
struct rows {
    const struct run_flags *flags;
    struct text requests, timeline;
};

static void help(const struct flag *flags)
{
    fputs("usage: snapsim run [TRACE] [options]\n\n"
          "Replays a trace through one setting and prints what it saved. Without TRACE, a load is\n"
          "generated from the seed (snapsim trace generate says how).\n\n",
          stdout);
    options_print_flags(flags, stdout);
    options_print_settings(stdout);
    fputs("\nexamples:\n"
          "  snapsim run v8.jsonl.zst --placement turn+fixed:4096 --capacity 512GiB\n"
          "  snapsim run v8.jsonl.zst --model qwen3.5-35b --eviction lru:refresh=path --format "
          "json\n"
          "  snapsim run v8.jsonl.zst --config result.json     the run that made a result, again\n",
          stdout);
}

/* What a result says of its trace, beside the config. */
struct origin {
    char sha256[65];
    char *generated;  /* the name of the load, if it was generated; owned */
    struct err fault; /* what is wrong with the settings of the file alone; "" if nothing is */
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
    if (result == 0 && settings_check(config, models, &origin->fault) == 0)
        origin->fault.text[0] = '\0';
    if (result == 0 && inner)
        result = check_model(config, json_get(top, "model"), path, models, err);
    json_close_document(&document);
    return result;
}

/* What is wrong with the file that --config names is no matter of the command line, unless that
 * has put something else in its place. */
static int open_settings(struct setup *out, const struct config *config,
                         const struct run_flags *flags, const struct origin *origin,
                         struct models *models, struct err *err)
{
    int result = settings_open(out, config, models, err);
    if (result == 0 || strcmp(err->text, origin->fault.text) != 0)
        return result;
    return err_set(err, "%.300s: %.700s", flags->config_path, origin->fault.text);
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
    if (rows->flags->per_request)
        add_request_row(&rows->requests, one);
    if (rows->flags->timeline)
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

/* What the hits owe to a guess about replies (snapsim-trace(5), Continuation). */
static void print_guess(const struct workload *workload, struct text *out)
{
    const struct continuation_counts *counts = &workload->continuation;
    if (counts->guessed == 0 && counts->short_prompts == 0)
        return;
    text_printf(out, "\n");
    sheet_count("continuations that are guessed", counts->guessed, out);
    sheet_share("prompt tokens that hang on them", counts->guessed_tokens, workload->prompt_tokens,
                out);
    if (counts->short_prompts == 0)
        return;
    sheet_count("prompts too short for a reply", counts->short_prompts, out);
    text_printf(out, "  (do replies come back? --reply-back says it, --replies both shows both)\n");
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
    print_guess(workload, out);
}

static void print_csv_header(struct text *out)
{
    for (const struct result_field *field = result_fields; field->name; field++)
        text_printf(out, "%s,", field->name);
    text_printf(out, "hit_ratio,digest\n");
}

static void print_csv(const struct result *result, struct text *out)
{
    for (const struct result_field *field = result_fields; field->name; field++)
        text_printf(out, "%" PRIu64 ",", result_value(result, field));
    text_printf(out, "%.17g,0x%016" PRIx64 "\n", result_hit_ratio(result), result->digest);
}

static void print_json(const struct result *result, const struct workload *workload, bool pretty,
                       struct text *out)
{
    struct json *top = json_new_object();
    result_write(result, workload, snapsim_version, top);
    json_print(top, pretty, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static int write_rows(const char *path, const struct text *rows, struct err *err)
{
    return path ? text_write_file(path, rows->data, rows->length, err) : 0;
}

static int run_and_print(const struct setup *setup, const struct run_flags *flags,
                         const struct load *load)
{
    struct err err;
    struct result result;
    struct text out = {0};
    struct rows rows = {.flags = flags};
    text_printf(&rows.requests, "%s", per_request_header);
    text_printf(&rows.timeline, "%s\n", figure_timeline_columns);
    int status = EXIT_GOOD;
    if (replay_run(&result, setup, load->workload, load->schedule,
                   flags->per_request || flags->timeline ? observe : NULL, &rows, &err) != 0) {
        status = say(EXIT_FAILED, "%s", err.text);
        goto out;
    }
    if (flags->format == FORMAT_JSON)
        print_json(&result, load->workload, true, &out);
    else if (flags->format == FORMAT_CSV) {
        print_csv_header(&out);
        print_csv(&result, &out);
    } else
        print_table(&result, load->workload, &out);
    if (write_rows(flags->per_request, &rows.requests, &err) != 0 ||
        write_rows(flags->timeline, &rows.timeline, &err) != 0)
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

static void print_one_way(const struct result *result, const struct load *load, bool all,
                          unsigned format, struct text *out)
{
    if (format == FORMAT_JSON) {
        print_json(result, load->workload, false, out);
    } else if (format == FORMAT_CSV) {
        if (all)
            print_csv_header(out);
        print_csv(result, out);
    } else {
        if (all)
            sheet_head(result, load->workload, out);
        sheet_share(all ? "hit, if replies come back whole" : "hit, if nothing of them does",
                    result->sum.hit_tokens, result->prompt_tokens, out);
    }
}

/* One of the two runs of --replies both. */
static int run_one_way(const char *back, const struct config *config, struct models *models,
                       const char *trace, const struct run_flags *flags, struct text *out,
                       struct err *err)
{
    struct config mine;
    struct setup setup = {0};
    struct load load = {0};
    struct result result = {0};
    config_copy(&mine, config);
    int status = config_set(&mine, "reply-back", back, err);
    if (status == 0)
        status = setup_open(&setup, &mine, &snapsim_plugins, models, err);
    if (status == 0)
        status = load_open(&load, trace, flags->trace_format, &mine, err);
    if (status == 0)
        status = replay_run(&result, &setup, load.workload, load.schedule, NULL, NULL, err);
    if (status == 0)
        print_one_way(&result, &load, strcmp(back, "all") == 0, flags->format, out);
    result_close(&result);
    load_close(&load);
    setup_close(&setup);
    config_close(&mine);
    return status;
}

/* The bracket in which the truth lies where nobody said how much of a reply the next prompt
 * repeats; where the trace says it, both runs do the same. */
static int run_both_ways(const struct config *config, struct models *models, const char *trace,
                         const struct run_flags *flags)
{
    struct text out = {0};
    struct err err;
    int status = EXIT_GOOD;
    if (flags->per_request || flags->timeline)
        return say(EXIT_USAGE, "--replies both: without --per-request and --timeline, which are "
                               "about one run");
    if (run_one_way("all", config, models, trace, flags, &out, &err) != 0 ||
        run_one_way("none", config, models, trace, flags, &out, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else
        status = print_result(&out);
    text_close(&out);
    return status;
}

/* Two passes over the command line: what --config says comes first, options change it. */
static int parse(struct options *options, struct run_flags *flags, int argc, char **argv,
                 struct origin *origin, struct models *models, struct err *err)
{
    if (options_parse(options, argc, argv, err) != 0)
        return EXIT_USAGE;
    if (options->help || flags->config_path == NULL)
        return EXIT_GOOD;
    if (read_config(options->config, flags->config_path, origin, models, err) != 0)
        return EXIT_FAILED;
    options->count = 0;
    return options_parse(options, argc, argv, err) == 0 ? EXIT_GOOD : EXIT_USAGE;
}

int cmd_run(int argc, char **argv)
{
    struct run_flags flags = {.format = FORMAT_TABLE};
    const char *format = "table";
    const struct flag table[] = {
        {"--config", "FILE", "settings from a result's JSON, or from an object of settings",
         &flags.config_path, NULL},
        {"--format", "table|json|csv", "how to print the result", &format, NULL},
        {"--per-request", "FILE", "also write one CSV line per request", &flags.per_request, NULL},
        {"--timeline", "FILE", "also write where the bytes are after each request, as CSV",
         &flags.timeline, NULL},
        {"--trace-format", "F", "the trace's format; by its content if not given",
         &flags.trace_format, NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    struct config config;
    config_open(&config);
    const char *trace = NULL;
    struct options options = {.flags = table, .config = &config, .positional = &trace, .most = 1};
    struct err err;
    struct origin origin = {.sha256 = ""};
    struct load load = {0};
    struct models models = {0};
    struct setup setup = {0};
    int status = parse(&options, &flags, argc, argv, &origin, &models, &err), result = 0;
    const bool both = config.replies == REPLIES_BOTH;
    if (both)
        config.replies = REPLIES_KEEP;
    if (trace == NULL)
        trace = origin.generated;
    if (status != EXIT_GOOD)
        say((enum exit_status)status, "%s", err.text);
    else if (options.help)
        help(table);
    else if (flags.per_request && flags.timeline && strcmp(flags.per_request, flags.timeline) == 0)
        status =
            say(EXIT_USAGE, "--per-request and --timeline: two files were expected, found '%s'",
                flags.timeline);
    else if (options_parse_choice(format, "--format", formats, &flags.format, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if ((result = open_settings(&setup, &config, &flags, &origin, &models, &err)) != 0)
        status = say(failed_status(result), "%s", err.text);
    else if (both)
        status = run_both_ways(&config, &models, trace, &flags);
    else if (load_open(&load, trace, flags.trace_format, &config, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else if (origin.sha256[0] && strcmp(origin.sha256, load.workload->sha256) != 0)
        status = say(EXIT_FAILED, "%s was made from another trace: sha256 %s expected, found %s",
                     flags.config_path, origin.sha256, load.workload->sha256);
    else
        status = run_and_print(&setup, &flags, &load);
    load_close(&load);
    setup_close(&setup);
    models_close(&models);
    config_close(&config);
    free(origin.generated);
    return status;
}
