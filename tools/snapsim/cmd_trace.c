/* snapsim trace - looks into traces, converts them, and makes new ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/core/json.h"
#include "sim/core/mem.h"
#include "sim/core/packed.h"
#include "sim/core/param.h"
#include "sim/core/text.h"
#include "sim/core/units.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/snapsim.h"
#include "traces/compiled.h"
#include "traces/open.h"
#include "traces/synth.h"
#include "traces/write_coded.h"

enum keep { CHOICE_KEEP, CHOICE_DROP };
static const char *const keep_or_drop[] = {"keep", "drop", NULL};
enum { IDS_CHAINED, IDS_OF_CONTENT };
static const char *const block_ids[] = {"chained", "content", NULL};
enum format { FORMAT_TABLE, FORMAT_JSON };
static const char *const formats[] = {"table", "json", NULL};
enum target { TO_NAMED, TO_COMPILED, TO_CONVERSATIONS };
static const char *const targets[] = {"auto", "compiled", "conversations", NULL};

struct trace_options {
    char *trace_format; /* NULL: by the content */
    unsigned format;
    unsigned partial_blocks, replies, block_ids;
    char *reply_back, *prompt_replaced;
    bool share_system;
    char *arrival;
    uint64_t seed;
    char *output;
    unsigned to;
};

#define OPTION(name, field, type, default_, choice, metavar, help)                                 \
    {                                                                                              \
        name, type, offsetof(struct trace_options, field), default_, 0, 0, choice, metavar, help   \
    }

static const struct param read_params[] = {
    OPTION("trace-format", trace_format, PARAM_TEXT, NULL, NULL, "NAME",
           "read as conversations, mooncake or compiled, whatever the content looks like"),
    OPTION("partial-blocks", partial_blocks, PARAM_CHOICE, "drop", keep_or_drop, "keep|drop",
           "a last, partial block that has a number of its own (Mooncake)"),
    OPTION("replies", replies, PARAM_CHOICE, "keep", keep_or_drop, "keep|drop",
           "whether replies are part of what later prompts can share"),
    OPTION("reply-back", reply_back, PARAM_TEXT, "auto", NULL, "auto|all|none|N",
           "leading tokens of a reply that the next prompt repeats, where the trace does not say"),
    OPTION("prompt-replaced", prompt_replaced, PARAM_TEXT, "auto", NULL, "auto|N",
           "last tokens of a prompt that the next one replaces, where the trace does not say"),
    OPTION("block-ids", block_ids, PARAM_CHOICE, "chained", block_ids, "chained|content",
           "whether a number names all of the prompt up to it, or the block's content"),
    OPTION("arrival", arrival, PARAM_TEXT, "auto", NULL, "HOW",
           "the order of requests for which the tree is made, as for snapsim run"),
    {"seed", PARAM_U64, offsetof(struct trace_options, seed), "1", 0, 9007199254740992.0, NULL, "N",
     "of the arrivals that are drawn"},
    OPTION("share-system", share_system, PARAM_BOOL, "0", NULL, "",
           "conversations with local block numbers share their system prompts"),
    PARAM_END};

static const struct param info_params[] = {
    OPTION("format", format, PARAM_CHOICE, "table", formats, "table|json", "how to print"),
    PARAM_END};

static const struct param output_params[] = {
    OPTION("output", output, PARAM_TEXT, NULL, NULL, "FILE", "the file to write; also -o FILE"),
    PARAM_END};

static const struct param convert_params[] = {
    OPTION("output", output, PARAM_TEXT, NULL, NULL, "FILE", "the file to write; also -o FILE"),
    OPTION("to", to, PARAM_CHOICE, "auto", targets, "auto|compiled|conversations",
           "snapsim's own form, for fast loading; or run-coded lines of JSON"),
    PARAM_END};

static const char usage_text[] =
    "usage: snapsim trace info FILE... [option...]\n"
    "       snapsim trace check FILE... [option...]\n"
    "       snapsim trace convert FILE -o FILE [option...]\n"
    "       snapsim trace generate -o FILE [option...]\n"
    "\n"
    "info      prints what is in each trace\n"
    "check     reads each trace and checks it, and prints a line for each that is good\n"
    "convert   writes a trace in another form\n"
    "generate  writes a seeded load of chats and coding sessions, as run-coded conversations\n";

static const char example_text[] =
    "\n"
    "examples:\n"
    "  snapsim trace info shared/traces/kv-cache-tester/v8.jsonl.zst\n"
    "  snapsim trace info --format json a.jsonl b.jsonl.zst\n"
    "  snapsim trace convert v8.jsonl.zst -o v8.snapsim\n"
    "  snapsim trace convert conversation_trace.jsonl.zst -o mooncake.snapsim --partial-blocks "
    "keep\n"
    "  snapsim trace generate -o load.jsonl --conversations 200 --coding-share 0.5 --seed 7\n";

static int finish(struct text *out, int status)
{
    int printed = out->length > 0 ? print_result(out) : EXIT_GOOD;
    text_close(out);
    return printed == EXIT_GOOD ? status : printed;
}

/* ---- the command line ---- */

struct files {
    const char **path;
    size_t count;
};

static void help_table(const char *title, const struct param *table, struct text *out)
{
    text_printf(out, "\n%s:\n", title);
    for (const struct param *entry = table; entry->name; entry++) {
        char flag[64];
        const char *value = entry->metavar ? entry->metavar : entry->type == PARAM_BOOL ? "" : "N";
        snprintf(flag, sizeof flag, "--%s %s", entry->name, value);
        for (char *c = flag; *c; c++)
            *c = *c == '_' ? '-' : *c;
        text_printf(out, "  %-28s ", flag);
        text_printf(out, "%s", entry->help);
        if (entry->default_text && entry->type != PARAM_BOOL)
            text_printf(out, " (default %s)", entry->default_text);
        text_printf(out, "\n");
    }
}

static int help(void)
{
    struct text out = {0};
    text_printf(&out, "%s", usage_text);
    help_table("reading (info, check, convert)", read_params, &out);
    help_table("info", info_params, &out);
    help_table("convert", convert_params, &out);
    help_table("generate", synth_params, &out);
    text_printf(&out, "%s", example_text);
    return finish(&out, EXIT_GOOD);
}

/* What the options say to the builder; says what is wrong with them. */
static int check_options(const struct trace_options *options, struct build_options *out)
{
    struct err err;
    *out = (struct build_options){
        .drop_replies = options->replies == CHOICE_DROP,
        .keep_partial_blocks = options->partial_blocks == CHOICE_KEEP,
        .share_system = options->share_system,
        .chain_contents = options->block_ids == IDS_OF_CONTENT,
    };
    if (options->trace_format && trace_check_format(options->trace_format, &err) != 0) {
        say(EXIT_USAGE, "--trace-format: %s", err.text);
        return -1;
    }
    if (arrival_check(options->arrival, &err) != 0 ||
        declared_parse(&out->declared, options->reply_back, options->prompt_replaced, &err) != 0 ||
        build_check_options(out, &err) != 0) {
        say(EXIT_USAGE, "%s", err.text);
        return -1;
    }
    return 0;
}

/* A trace, with the tree that its requests make in the order asked for. */
static int open_load(struct load *out, const char *path, const struct trace_options *options,
                     const struct build_options *build, const char **format, struct err *err)
{
    struct record *record = NULL;
    *out = (struct load){0};
    if (trace_open_found(path, build, options->trace_format, &record, format, err) != 0)
        return -1;
    int result = record_load(out, record, true, options->arrival, options->seed, 0, err);
    out->own_record = record;
    return result;
}

/* ---- info ---- */

struct summary {
    uint64_t prompt_max, prompt_median, reply_median;
    uint64_t seen_tokens; /* of the prompts, in an earlier path */
    uint64_t span_ns;     /* first to last request, or TIME_UNKNOWN */
    uint64_t longest_ns;  /* of the conversations, from their starts, or TIME_UNKNOWN */
};

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The upper one of the two where the count is even. Sorts values. */
static uint64_t median(uint32_t *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void summarise_times(const struct workload *workload, struct summary *out)
{
    uint64_t first = TIME_UNKNOWN, last = 0;
    bool starts = workload_has_starts(workload), offsets = workload_has_offsets(workload);
    out->longest_ns = offsets ? 0 : TIME_UNKNOWN;
    for (uint32_t i = 0; offsets && i < workload->request_count; i++) {
        const struct request *request = &workload->requests[i];
        uint64_t start = workload->conversations[request->conversation].start_ns;
        uint64_t at = starts ? start + request->offset_ns : 0;
        first = at < first ? at : first;
        last = at > last ? at : last;
        out->longest_ns =
            request->offset_ns > out->longest_ns ? request->offset_ns : out->longest_ns;
    }
    out->span_ns = starts && offsets ? last - first : TIME_UNKNOWN;
}

static struct summary summarise(const struct load *load)
{
    const struct workload *workload = load->workload;
    struct summary summary = {0};
    for (uint32_t i = 0; i < load->schedule->count; i++)
        summary.seen_tokens += load->schedule->arrivals[i].seen_tokens;
    const uint32_t count = workload->request_count;
    uint32_t *prompts = mem_array(count, sizeof *prompts);
    uint32_t *replies = mem_array(count, sizeof *replies);
    for (uint32_t i = 0; i < count; i++) {
        prompts[i] = workload_prompt_tokens(workload, i);
        replies[i] = workload->requests[i].reply_tokens;
        summary.prompt_max = prompts[i] > summary.prompt_max ? prompts[i] : summary.prompt_max;
    }
    summary.prompt_median = median(prompts, count);
    summary.reply_median = median(replies, count);
    free(prompts);
    free(replies);
    summarise_times(workload, &summary);
    return summary;
}

static void print_duration(uint64_t ns, struct text *out)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"days", 86400e9}, {"hours", 3600e9}, {"minutes", 60e9}, {"seconds", 1e9}};
    size_t i = 0;
    while (i < 3 && (double)ns < 2 * units[i].ns)
        i++;
    text_printf(out, "%.1f %s", (double)ns / units[i].ns, units[i].name);
}

/* Who continues whom, and how far that hangs on what nobody declared. */
static void print_continuations(const struct workload *workload, struct text *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const struct continuation_counts *counts = &workload->continuation;
    text_printf(out, "  continuations  %s, of which %s are guessed\n",
                units_grouped(counts->all, a), units_grouped(counts->guessed, b));
    if (counts->guessed > 0)
        text_printf(out, "                 %s prompt tokens hang on the guess\n",
                    units_grouped(counts->guessed_tokens, a));
    if (counts->first > 0)
        text_printf(out,
                    "                 of %s first ones, %s leave the path: their next block was "
                    "there\n",
                    units_grouped(counts->first, a), units_grouped(counts->first_leaving, b));
    if (counts->short_prompts > 0)
        text_printf(out,
                    "  too short      %s prompts for the reply before them, of whose prompt they "
                    "have all\n"
                    "                 blocks: if replies do not come back, say --reply-back none\n",
                    units_grouped(counts->short_prompts, a));
}

static void print_time(const struct summary *summary, struct text *out)
{
    text_printf(out, "  time           ");
    if (summary->span_ns != TIME_UNKNOWN) {
        print_duration(summary->span_ns, out);
    } else if (summary->longest_ns != TIME_UNKNOWN) {
        text_printf(out, "within conversations, the longest of ");
        print_duration(summary->longest_ns, out);
    } else {
        text_printf(out, "not recorded");
    }
    text_printf(out, "\n");
}

static void info_table(const struct load *load, const char *path, const char *format,
                       struct text *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    const struct workload *workload = load->workload;
    const struct summary summary = summarise(load);
    text_printf(out, "%s", out->length > 0 ? "\n" : "");
    text_add_visible(out, workload->name, strlen(workload->name), "");
    text_printf(out, "\n  file           ");
    text_add_visible(out, path, strlen(path), "");
    text_printf(out, "\n");
    text_printf(out, "  format         %s, blocks of %s tokens\n", format,
                units_grouped(workload->block_tokens, a));
    text_printf(out, "  sha256         %s\n", workload->sha256);
    text_printf(out, "  conversations  %s, in %s streams\n",
                units_grouped(workload->conversation_count, a),
                units_grouped(workload->stream_count, b));
    if (workload->name_space_count > 1)
        text_printf(out, "  name spaces    %s, which share nothing\n",
                    units_grouped(workload->name_space_count, a));
    text_printf(out, "  requests       %s\n", units_grouped(workload->request_count, a));
    print_continuations(workload, out);
    text_printf(out, "  prompt tokens  %s, median %s, longest %s\n",
                units_grouped(workload->prompt_tokens, a), units_grouped(summary.prompt_median, b),
                units_grouped(summary.prompt_max, c));
    text_printf(out, "  reply tokens   %s, median %s\n", units_grouped(workload->reply_tokens, a),
                units_grouped(summary.reply_median, b));
    text_printf(out, "  seen before    %s, %.4f of the prompt tokens: no cache can hit more\n",
                units_grouped(summary.seen_tokens, a),
                (double)summary.seen_tokens / (double)workload->prompt_tokens);
    text_printf(out, "  tree           %s nodes, %s\n", units_grouped(workload->node_count, a),
                workload->order_digest ? workload->arrival : "the same for every order of arrival");
    print_time(&summary, out);
}

static void info_json(const struct load *load, const char *path, const char *format,
                      struct json *rows)
{
    const struct workload *workload = load->workload;
    const struct continuation_counts *counts = &workload->continuation;
    const struct summary summary = summarise(load);
    struct json *row = json_add_object(rows, NULL);
    json_add_string(row, "name", workload->name);
    json_add_string(row, "file", path);
    json_add_string(row, "format", format);
    json_add_string(row, "sha256", workload->sha256);
    json_add_u64(row, "block_tokens", workload->block_tokens);
    json_add_u64(row, "conversations", workload->conversation_count);
    json_add_u64(row, "streams", workload->stream_count);
    json_add_u64(row, "name_spaces", workload->name_space_count);
    json_add_u64(row, "requests", workload->request_count);
    json_add_u64(row, "continuations", counts->all);
    json_add_u64(row, "guessed_continuations", counts->guessed);
    json_add_u64(row, "guessed_tokens", counts->guessed_tokens);
    json_add_u64(row, "first_continuations", counts->first);
    json_add_u64(row, "first_continuations_leaving", counts->first_leaving);
    json_add_u64(row, "short_prompts", counts->short_prompts);
    json_add_u64(row, "prompt_tokens", workload->prompt_tokens);
    json_add_u64(row, "reply_tokens", workload->reply_tokens);
    json_add_u64(row, "median_prompt_tokens", summary.prompt_median);
    json_add_u64(row, "median_reply_tokens", summary.reply_median);
    json_add_u64(row, "max_prompt_tokens", summary.prompt_max);
    json_add_u64(row, "seen_tokens", summary.seen_tokens);
    json_add_u64(row, "nodes", workload->node_count);
    json_add_bool(row, "order_matters", workload->order_digest != 0);
    json_add_bool(row, "starts_recorded", workload_has_starts(workload));
    json_add_bool(row, "offsets_recorded", workload_has_offsets(workload));
    if (summary.span_ns != TIME_UNKNOWN)
        json_add_u64(row, "span_ns", summary.span_ns);
    if (summary.longest_ns != TIME_UNKNOWN)
        json_add_u64(row, "longest_conversation_ns", summary.longest_ns);
}

/* What to do with each file of info and check. */
struct report {
    struct text *out;
    struct json *rows; /* NULL: no JSON */
    bool check;
};

static int report_file(const char *path, const struct trace_options *options,
                       const struct build_options *build, const struct report *report,
                       struct err *err)
{
    const char *format = NULL;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct load load;
    struct err reason;
    int result = open_load(&load, path, options, build, &format, err);
    if (result == 0 && report->check && workload_check(load.workload, &reason) != 0)
        result = err_set(err, "%.500s: %.500s", path, reason.text);
    else if (result == 0 && report->check)
        text_printf(report->out, "%s: good: %s, %s requests in %s conversations\n", path, format,
                    units_grouped(load.workload->request_count, a),
                    units_grouped(load.workload->conversation_count, b));
    else if (result == 0 && report->rows)
        info_json(&load, path, format, report->rows);
    else if (result == 0)
        info_table(&load, path, format, report->out);
    load_close(&load);
    return result;
}

/* A file that cannot be read does not keep the others from being reported. */
static int report_files(const struct files *files, const struct trace_options *options, bool check)
{
    struct text out = {0};
    struct err err;
    int status = EXIT_GOOD;
    const bool json = !check && options->format == FORMAT_JSON;
    if (files->count == 0)
        return say(EXIT_USAGE, "at least one trace was expected (see snapsim trace --help)");
    struct build_options build;
    if (check_options(options, &build) != 0)
        return EXIT_USAGE;
    struct json *top = json_new_object();
    json_add_u64(top, "schema", 1);
    struct json *rows = json_add_array(top, "traces");
    const struct report report = {&out, json ? rows : NULL, check};
    for (size_t i = 0; i < files->count; i++)
        if (report_file(files->path[i], options, &build, &report, &err) != 0)
            status = say(EXIT_FAILED, "%s", err.text);
    if (json) {
        json_print(top, true, &out);
        text_printf(&out, "\n");
    }
    json_close(top);
    return finish(&out, status);
}

static int trace_info(const struct files *files, const struct trace_options *options)
{
    return report_files(files, options, false);
}

static int trace_check(const struct files *files, const struct trace_options *options)
{
    return report_files(files, options, true);
}

/* ---- convert and generate ---- */

/* Without --to, the output's name decides: lines are conversations, all else is compiled. */
static bool writes_compiled(const struct trace_options *options)
{
    static const char *const lines[] = {".jsonl", ".jsonl.zst", ".json"};
    size_t length = strlen(options->output);
    for (size_t i = 0; options->to == TO_NAMED && i < sizeof lines / sizeof *lines; i++) {
        size_t ending = strlen(lines[i]);
        if (length > ending && strcmp(options->output + length - ending, lines[i]) == 0)
            return false;
    }
    return options->to != TO_CONVERSATIONS;
}

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static int trace_convert(const struct files *files, const struct trace_options *options)
{
    struct load load = {0};
    struct text text = {0};
    struct err err;
    struct build_options build;
    const char *format = NULL;
    if (files->count != 1 || options->output == NULL)
        return say(EXIT_USAGE, "convert: one trace and -o FILE were expected");
    if (check_options(options, &build) != 0)
        return EXIT_USAGE;
    if (same_file(files->path[0], options->output))
        return say(EXIT_USAGE, "convert: '%s' is the trace itself", options->output);
    int result = open_load(&load, files->path[0], options, &build, &format, &err);
    if (result == 0 && writes_compiled(options))
        compiled_print(load.workload, &text);
    else if (result == 0)
        result = write_coded(load.workload, &text, &err);
    if (result == 0)
        result = packed_write(options->output, text.data, text.length, &err);
    text_close(&text);
    load_close(&load);
    return result == 0 ? EXIT_GOOD : say(EXIT_FAILED, "%s", err.text);
}

static int trace_generate(const struct files *files, const struct trace_options *options,
                          const struct synth_options *synth)
{
    struct text text = {0};
    struct err err;
    if (files->count != 0 || options->output == NULL)
        return say(EXIT_USAGE, "generate: -o FILE was expected, and no trace");
    if (synth_check(synth, &err) != 0)
        return say(EXIT_USAGE, "%s", err.text);
    int result = synth_write(synth, &text, &err);
    if (result == 0)
        result = packed_write(options->output, text.data, text.length, &err);
    text_close(&text);
    return result == 0 ? EXIT_GOOD : say(EXIT_FAILED, "%s", err.text);
}

enum action { INFO, CHECK, CONVERT, GENERATE, ACTIONS };
static const char *const actions[ACTIONS + 1] = {"info", "check", "convert", "generate", NULL};

static const char *action_name(const void *table, size_t index)
{
    return ((const char *const *)table)[index];
}

static int run(enum action action, int argc, char **argv)
{
    struct trace_options options;
    struct synth_options synth;
    param_defaults(read_params, &options);
    param_defaults(info_params, &options);
    param_defaults(convert_params, &options);
    param_defaults(synth_params, &synth);
    const struct option_group none = {NULL, NULL}, read = {read_params, &options};
    const struct option_group groups[ACTIONS][3] = {
        [INFO] = {read, {info_params, &options}, none},
        [CHECK] = {read, none},
        [CONVERT] = {read, {convert_params, &options}, none},
        [GENERATE] = {{output_params, &options}, {synth_params, &synth}, none},
    };
    const char **paths = mem_array((size_t)argc, sizeof *paths);
    struct options line = {
        .groups = groups[action], .o_means = "output", .positional = paths, .most = (size_t)argc};
    struct err err;
    int parsed = options_parse(&line, argc, argv, &err), status = EXIT_USAGE;
    const struct files files = {paths, line.count};
    if (parsed != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (line.help)
        status = help();
    else if (action == INFO)
        status = trace_info(&files, &options);
    else if (action == CHECK)
        status = trace_check(&files, &options);
    else if (action == CONVERT)
        status = trace_convert(&files, &options);
    else
        status = trace_generate(&files, &options, &synth);
    param_free(read_params, &options);
    param_free(convert_params, &options);
    param_free(synth_params, &synth);
    free(paths);
    return status;
}

int cmd_trace(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
        return help();
    for (unsigned i = 0; word && i < ACTIONS; i++)
        if (strcmp(word, actions[i]) == 0)
            return run((enum action)i, argc - 1, argv + 1);
    const char *near = word ? text_nearest(word, action_name, actions) : NULL;
    if (word == NULL)
        return say(EXIT_USAGE, "trace: info, check, convert or generate was expected");
    return say(EXIT_USAGE, "trace: info, check, convert or generate was expected, found '%s'%s%s%s",
               word, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}
