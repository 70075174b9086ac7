/* snapsim trace - looks into traces, converts them, and makes new ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/core/json.h"
#include "sim/core/mem.h"
#include "sim/core/packed.h"
#include "sim/core/text.h"
#include "sim/core/units.h"
#include "tools/snapsim/snapsim.h"
#include "traces/compiled.h"
#include "traces/open.h"
#include "traces/synth.h"
#include "traces/write_coded.h"

enum keep { CHOICE_KEEP, CHOICE_DROP };
static const char *const keep_or_drop[] = {"keep", "drop", NULL};
enum target { TO_NAMED, TO_COMPILED, TO_CONVERSATIONS };
static const char *const targets[] = {"auto", "compiled", "conversations", NULL};

struct trace_options {
    char *trace_format; /* NULL: by the content */
    unsigned format;
    unsigned partial_blocks, replies;
    bool share_system;
    char *output;
    unsigned to;
    struct synth_options synth;
};

#define OPTION(name, field, type, default_, choice, metavar, help)                                 \
    {                                                                                              \
        name, type, offsetof(struct trace_options, field), default_, 0, 0, choice, metavar, help   \
    }

static const struct param read_params[] = {
    OPTION_TRACE_FORMAT(struct trace_options),
    OPTION("partial-blocks", partial_blocks, PARAM_CHOICE, "drop", keep_or_drop, "keep|drop",
           "a last, partial block that has a number of its own (Mooncake)"),
    OPTION("replies", replies, PARAM_CHOICE, "keep", keep_or_drop, "keep|drop",
           "whether replies are part of what later prompts can share"),
    OPTION("share-system", share_system, PARAM_BOOL, "0", NULL, "",
           "conversations with local block numbers share their system prompts"),
    PARAM_END};

static const struct param info_params[] = {
    OPTION_FORMAT(struct trace_options, options_table_or_json), PARAM_END};

static const struct param output_params[] = {
    OPTION_OUTPUT(struct trace_options, "FILE", "the file to write"), PARAM_END};

static const struct param convert_params[] = {
    OPTION("to", to, PARAM_CHOICE, "auto", targets, NULL,
           "snapsim's own form, for fast loading; or run-coded lines of JSON"),
    PARAM_END};

static int finish(struct text *out, int status)
{
    int printed = out->length > 0 ? print_result(out) : EXIT_GOOD;
    text_close(out);
    return printed == EXIT_GOOD ? status : printed;
}

static struct build_options build_options(const struct trace_options *options)
{
    return (struct build_options){
        .drop_replies = options->replies == CHOICE_DROP,
        .keep_partial_blocks = options->partial_blocks == CHOICE_KEEP,
        .share_system = options->share_system,
    };
}

static int check_format_option(const struct trace_options *options)
{
    struct err err;
    if (options->trace_format == NULL || trace_check_format(options->trace_format, &err) == 0)
        return 0;
    say(EXIT_USAGE, "--trace-format: %s", err.text);
    return -1;
}

/* ---- info ---- */

struct summary {
    uint64_t continuations, prompt_max, prompt_median, reply_median;
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

/* The tokens of the prompts that were on the path of an earlier request, prompt or reply: what a
 * cache would hit that forgets nothing and has a snapshot everywhere. */
static uint64_t count_seen_tokens(const struct workload *workload)
{
    uint64_t total = 0;
    bool *seen = mem_array(workload->node_count, sizeof *seen);
    seen[NODE_ROOT] = true;
    for (uint32_t i = 0; i < workload->request_count; i++) {
        const struct request *request = &workload->requests[i];
        node_id node = request->prompt_node;
        while (!seen[node])
            node = workload->nodes[node].parent;
        total += workload->nodes[node].end;
        for (node = request->reply_node; !seen[node]; node = workload->nodes[node].parent)
            seen[node] = true;
    }
    free(seen);
    return total;
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

static struct summary summarise(const struct workload *workload)
{
    struct summary summary = {.seen_tokens = count_seen_tokens(workload)};
    const uint32_t count = workload->request_count;
    uint32_t *prompts = mem_array(count, sizeof *prompts);
    uint32_t *replies = mem_array(count, sizeof *replies);
    for (uint32_t i = 0; i < count; i++) {
        prompts[i] = workload_prompt_tokens(workload, i);
        replies[i] = workload->requests[i].reply_tokens;
        summary.continuations += workload->requests[i].continues != REQUEST_NONE;
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

static void info_table(const struct workload *workload, const char *path, const char *format,
                       struct text *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    const struct summary summary = summarise(workload);
    text_printf(out, "%s%s\n", out->length > 0 ? "\n" : "", workload->name);
    text_printf(out, "  file           %s\n", path);
    text_printf(out, "  format         %s, blocks of %s tokens\n", format,
                units_grouped(workload->block_tokens, a));
    text_printf(out, "  sha256         %s\n", workload->sha256);
    text_printf(out, "  conversations  %s, in %s streams\n",
                units_grouped(workload->conversation_count, a),
                units_grouped(workload->stream_count, b));
    text_printf(out, "  requests       %s, of which %s continue an earlier one\n",
                units_grouped(workload->request_count, a), units_grouped(summary.continuations, b));
    text_printf(out, "  prompt tokens  %s, median %s, longest %s\n",
                units_grouped(workload->prompt_tokens, a), units_grouped(summary.prompt_median, b),
                units_grouped(summary.prompt_max, c));
    text_printf(out, "  reply tokens   %s, median %s\n", units_grouped(workload->reply_tokens, a),
                units_grouped(summary.reply_median, b));
    text_printf(out, "  seen before    %s, %.4f of the prompt tokens: no cache can hit more\n",
                units_grouped(summary.seen_tokens, a),
                (double)summary.seen_tokens / (double)workload->prompt_tokens);
    text_printf(out, "  tree           %s nodes\n", units_grouped(workload->node_count, a));
    text_printf(out, "  time           ");
    if (summary.span_ns != TIME_UNKNOWN) {
        print_duration(summary.span_ns, out);
    } else if (summary.longest_ns != TIME_UNKNOWN) {
        text_printf(out, "within conversations, the longest of ");
        print_duration(summary.longest_ns, out);
    } else {
        text_printf(out, "not recorded");
    }
    text_printf(out, "\n");
}

static void info_json(const struct workload *workload, const char *path, const char *format,
                      struct json *rows)
{
    const struct summary summary = summarise(workload);
    struct json *row = json_add_object(rows, NULL);
    json_add_string(row, "name", workload->name);
    json_add_string(row, "file", path);
    json_add_string(row, "format", format);
    json_add_string(row, "sha256", workload->sha256);
    json_add_u64(row, "block_tokens", workload->block_tokens);
    json_add_u64(row, "conversations", workload->conversation_count);
    json_add_u64(row, "streams", workload->stream_count);
    json_add_u64(row, "requests", workload->request_count);
    json_add_u64(row, "continuations", summary.continuations);
    json_add_u64(row, "prompt_tokens", workload->prompt_tokens);
    json_add_u64(row, "reply_tokens", workload->reply_tokens);
    json_add_u64(row, "median_prompt_tokens", summary.prompt_median);
    json_add_u64(row, "median_reply_tokens", summary.reply_median);
    json_add_u64(row, "max_prompt_tokens", summary.prompt_max);
    json_add_u64(row, "seen_tokens", summary.seen_tokens);
    json_add_u64(row, "nodes", workload->node_count);
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
                       const struct report *report, struct err *err)
{
    struct workload *workload = NULL;
    const struct build_options build = build_options(options);
    const char *format = NULL;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (trace_open_found(path, &build, options->trace_format, &workload, &format, err) != 0)
        return -1;
    int result = 0;
    struct err reason;
    if (report->check && workload_check(workload, &reason) != 0)
        result = err_set(err, "%.500s: %.500s", path, reason.text);
    else if (report->check)
        text_printf(report->out, "%s: good: %s, %s requests in %s conversations\n", path, format,
                    units_grouped(workload->request_count, a),
                    units_grouped(workload->conversation_count, b));
    else if (report->rows)
        info_json(workload, path, format, report->rows);
    else
        info_table(workload, path, format, report->out);
    workload_close(workload);
    return result;
}

/* A file that cannot be read does not keep the others from being reported. */
static int report_files(const struct call *call, bool check)
{
    const struct trace_options *options = call->settings;
    struct text out = {0};
    struct err err;
    int status = EXIT_GOOD;
    const bool json = !check && options->format == PRINT_JSON;
    if (check_format_option(options) != 0)
        return EXIT_USAGE;
    struct json *top = json_new_object();
    json_add_u64(top, "schema", 1);
    struct json *rows = json_add_array(top, "traces");
    const struct report report = {&out, json ? rows : NULL, check};
    for (size_t i = 0; i < call->word_count; i++)
        if (report_file(call->words[i], options, &report, &err) != 0)
            status = say(EXIT_FAILED, "%s", err.text);
    if (json) {
        json_print(top, true, &out);
        text_printf(&out, "\n");
    }
    json_close(top);
    return finish(&out, status);
}

static int trace_info(const struct call *call)
{
    return report_files(call, false);
}

static int trace_check(const struct call *call)
{
    return report_files(call, true);
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

static int trace_convert(const struct call *call)
{
    const struct trace_options *options = call->settings;
    const char *path = call->words[0];
    struct workload *workload = NULL;
    struct text text = {0};
    struct err err;
    const struct build_options build = build_options(options);
    if (options->output == NULL)
        return frame_say_missing(call);
    if (check_format_option(options) != 0)
        return EXIT_USAGE;
    if (same_file(path, options->output))
        return say(EXIT_USAGE, "convert: '%s' is the trace itself", options->output);
    int result = trace_open(path, &build, options->trace_format, &workload, &err);
    if (result == 0 && writes_compiled(options))
        compiled_print(workload, &text);
    else if (result == 0)
        result = write_coded(workload, &text, &err);
    if (result == 0)
        result = packed_write(options->output, text.data, text.length, &err);
    text_close(&text);
    workload_close(workload);
    return result == 0 ? EXIT_GOOD : say(EXIT_FAILED, "%s", err.text);
}

static int trace_generate(const struct call *call)
{
    const struct trace_options *options = call->settings;
    const struct synth_options *synth = &options->synth;
    struct text text = {0};
    struct err err;
    if (options->output == NULL)
        return frame_say_missing(call);
    if (synth_check(synth, &err) != 0)
        return say(EXIT_USAGE, "%s", err.text);
    int result = synth_write(synth, &text, &err);
    if (result == 0)
        result = packed_write(options->output, text.data, text.length, &err);
    text_close(&text);
    return result == 0 ? EXIT_GOOD : say(EXIT_FAILED, "%s", err.text);
}

#define READ                                                                                       \
    {                                                                                              \
        "Reading", read_params, 0                                                                  \
    }
const struct command cmd_trace = {
    .name = "trace",
    .summary = "look at, check, convert and generate traces",
    .text = "Looks into traces, converts them, and makes new ones.\n",
    .examples = "  snapsim trace info shared/traces/kv-cache-tester/v8.jsonl.zst\n"
                "  snapsim trace info --format json a.jsonl b.jsonl.zst\n"
                "  snapsim trace convert v8.jsonl.zst -o v8.snapsim\n"
                "  snapsim trace convert mooncake.jsonl -o m.snapsim --partial-blocks keep\n"
                "  snapsim trace generate -o load.jsonl --coding-share 0.5 --seed 7\n",
    .options_size = sizeof(struct trace_options),
    .ways = {{.name = "info",
              .summary = "prints what is in each trace",
              .words = "FILE...",
              .missing = "at least one trace was",
              .least = 1,
              .most = ANY_NUMBER,
              .tables = {READ, {NULL, info_params, 0}},
              .run = trace_info},
             {.name = "check",
              .summary = "reads each trace and checks it, and prints a line for each that is good",
              .words = "FILE...",
              .missing = "at least one trace was",
              .least = 1,
              .most = ANY_NUMBER,
              .tables = {READ},
              .run = trace_check},
             {.name = "convert",
              .summary = "writes a trace in another form",
              .words = "FILE -o FILE",
              .missing = "one trace and -o FILE were",
              .least = 1,
              .most = 1,
              .tables = {READ, {NULL, output_params, 0}, {NULL, convert_params, 0}},
              .run = trace_convert},
             {.name = "generate",
              .summary = "writes a seeded load of chats and coding sessions, as run-coded "
                         "conversations",
              .words = "-o FILE",
              .missing = "-o FILE was",
              .tables = {{NULL, output_params, 0},
                         {"Load", synth_params, offsetof(struct trace_options, synth)}},
              .run = trace_generate}},
};
