/* snapsim bound - between which limits the best possible lies, and where a setting stands. */
#include <stdlib.h>
#include <string.h>

#include "tools/snapsim/limits.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/settings.h"
#include "tools/snapsim/sheet.h"
#include "tools/snapsim/snapsim.h"

#define STEPS_MOST 1000000

static void help(const struct flag *flags)
{
    fputs(
        "usage: snapsim bound [TRACE] [options]\n\n"
        "Between which limits the best possible hit lies, for any placement, eviction and memory\n"
        "strategy at this capacity, and what share of it the setting reaches:\n\n"
        "  ideal     all that earlier requests have shown: memory without end\n"
        "  dual      proven: no cache of this capacity can pass it\n"
        "  exact     with --exact, for some ten requests: the best there is\n"
        "  feasible  reached by a schedule that knows the future and obeys every rule\n\n",
        stdout);
    options_print_flags(flags, stdout);
    options_print_settings(stdout);
    fputs("\nexamples:\n"
          "  snapsim bound v8.jsonl.zst --tp 8 --capacity 32GiB\n"
          "  snapsim bound v8.jsonl.zst --placement branch+reply-end --format json\n",
          stdout);
}

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
    if (limits->exact_known)
        sheet_share("exact: the best there is", limits->exact_tokens, prompt, out);
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

static int find_and_print(const struct setup *setup, const struct load *load, struct models *models,
                          const struct limits_wanted *wanted, bool as_json)
{
    struct err err;
    struct text out = {0};
    struct result setting;
    struct limits limits;
    int status = EXIT_GOOD;
    if (replay_run(&setting, setup, load->workload, load->schedule, NULL, NULL, &err) != 0 ||
        limits_find(&limits, &setup->config, load, models, wanted, &err) != 0) {
        status = say(EXIT_FAILED, "%s", err.text);
    } else {
        bool counts = !wanted->ends_only;                              /* else it may take others */
        if (counts && limits.feasible_tokens < setting.sum.hit_tokens) /* it shows more */
            limits.feasible_tokens = setting.sum.hit_tokens;
        (as_json ? print_json : print_table)(&setting, &limits, load->workload, &out);
        status = print_result(&out);
    }
    result_close(&setting);
    text_close(&out);
    return status;
}

int cmd_bound(int argc, char **argv)
{
    const char *trace = NULL, *trace_format = NULL, *format = "table", *steps_text = NULL;
    struct limits_wanted wanted = {.steps = LIMITS_STEPS};
    const struct flag table[] = {
        {"--exact", NULL, "find the best there is, too, by trying all: for some ten requests", NULL,
         &wanted.exact},
        {"--only-ends", NULL, "the limits if snapshots lie at ends of prompts and replies only",
         NULL, &wanted.ends_only},
        {"--format", "table|json", "how to print the result", &format, NULL},
        {"--steps", "N", "how many choices of prices the dual tries [400]", &steps_text, NULL},
        {"--trace-format", "F", "the trace's format; by its content if not given", &trace_format,
         NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    struct config config;
    struct models models = {0};
    struct setup setup = {0};
    config_open(&config);
    struct options options = {.flags = table, .config = &config, .positional = &trace, .most = 1};
    struct err err;
    struct load load = {0};
    bool as_json = false;
    int status = EXIT_GOOD, result = 0;
    if (options_parse(&options, argc, argv, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (options.help)
        help(table);
    else if (options_parse_json(format, &as_json, &err) != 0 ||
             (steps_text &&
              options_parse_count(steps_text, "--steps", STEPS_MOST, &wanted.steps, &err) != 0))
        status = say(EXIT_USAGE, "%s", err.text);
    else if ((result = settings_open(&setup, &config, &models, &err)) != 0)
        status = say(failed_status(result), "%s", err.text);
    else if (load_open(&load, trace, trace_format, &config, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else
        status = find_and_print(&setup, &load, &models, &wanted, as_json);
    load_close(&load);
    setup_close(&setup);
    models_close(&models);
    config_close(&config);
    return status;
}
