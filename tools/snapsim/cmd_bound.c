/* snapsim bound - between which limits the best possible lies, and where a setting stands. */
#include <stdlib.h>
#include <string.h>

#include "tools/snapsim/sheet.h"
#include "tools/snapsim/snapsim.h"
#include "tools/sweep/limits.h"

#define AS_TEXT(number) #number
#define AS_DEFAULT(number) AS_TEXT(number)

struct bound_options {
    struct config config;
    unsigned format;
    uint64_t steps;
    char *trace_format;
};

static const struct param bound_params[] = {
    OPTION_FORMAT(struct bound_options, options_table_or_json),
    {"steps", PARAM_U64, offsetof(struct bound_options, steps), AS_DEFAULT(LIMITS_STEPS), 1,
     1000000, NULL, "N", "prices that the dual tries at most; it stops when none comes closer"},
    OPTION_TRACE_FORMAT(struct bound_options),
    PARAM_END,
};

static double percent(uint64_t tokens, uint64_t of)
{
    return of ? 100.0 * (double)tokens / (double)of : 100;
}

static void print_table(const struct result *setting, const struct limits *limits,
                        const struct workload *workload, struct text *out)
{
    uint64_t prompt = setting->prompt_tokens, hit = setting->sum.hit_tokens;
    sheet_head(setting, workload, out);
    sheet_share("prompt tokens", prompt, prompt, out);
    sheet_share("ideal: seen before", limits->ideal_tokens, prompt, out);
    sheet_share("dual: none can pass", limits->dual_tokens, prompt, out);
    sheet_share("feasible: knowing the future", limits->feasible_tokens, prompt, out);
    sheet_share("hit by the setting", hit, prompt, out);
    if (limits->dual_tokens == 0)
        text_printf(out, "\nNothing can be hit.\n");
    else
        text_printf(out, "\nThe setting reaches %.1f to %.1f %% of what is possible.\n",
                    percent(hit, limits->dual_tokens), percent(hit, limits->feasible_tokens));
}

static void print_json(const struct result *setting, const struct limits *limits,
                       const struct workload *workload, struct text *out)
{
    struct json *top = json_new_object();
    limits_write(limits, result_write(setting, workload, snapsim_version, top));
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static int find_and_print(const struct setup *setup, const struct load *load, uint64_t steps,
                          bool as_json)
{
    struct err err;
    struct text out = {0};
    struct result setting;
    struct limits limits;
    int status = EXIT_GOOD;
    if (replay_run(&setting, setup, load->workload, load->schedule, NULL, NULL, &err) != 0 ||
        limits_find(&limits, &setup->config, load, steps, &err) != 0) {
        status = say(EXIT_FAILED, "%s", err.text);
    } else {
        if (limits.feasible_tokens < setting.sum.hit_tokens) /* then the setting shows more */
            limits.feasible_tokens = setting.sum.hit_tokens;
        (as_json ? print_json : print_table)(&setting, &limits, load->workload, &out);
        status = print_result(&out);
    }
    result_close(&setting);
    text_close(&out);
    return status;
}

static int bound(const struct call *call)
{
    const struct bound_options *options = call->settings;
    struct models models = {0};
    struct setup setup = {0};
    struct err err;
    struct load load = {0};
    int status = EXIT_GOOD;
    if (setup_open(&setup, &options->config, &snapsim_plugins, &models, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (load_open(&load, call->words[0], options->trace_format, &options->config, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else
        status = find_and_print(&setup, &load, options->steps, options->format == PRINT_JSON);
    load_close(&load);
    setup_close(&setup);
    models_close(&models);
    return status;
}

const struct command cmd_bound = {
    .name = "bound",
    .summary = "how far a setting is from the best possible",
    .text = "Between which limits the best possible hit lies, for any placement, eviction and "
            "memory strategy at this capacity, and what share of it the setting reaches:\n\n"
            "  ideal     all that earlier requests have shown: memory without end\n"
            "  dual      proven: no cache of this capacity can pass it\n"
            "  feasible  reached by a schedule that knows the future and obeys every rule\n",
    .examples = "  snapsim bound v8.jsonl.zst --tp 8 --capacity 32GiB\n"
                "  snapsim bound v8.jsonl.zst --placement branch+reply-end --format json\n",
    .options_size = sizeof(struct bound_options),
    .takes_config = true,
    .ways = {{.words = "[TRACE]", .most = 1, .tables = {{NULL, bound_params, 0}}, .run = bound}},
};
