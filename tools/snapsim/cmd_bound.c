/* snapsim bound - between which limits the best possible lies, and where a setting stands.
 *
 * From above: the dual of sim/engine/bound.h. From below: what a schedule reaches that sees the
 * whole load but obeys every rule, the best of a few replays with offline plug-ins in a memory
 * without pages, and the setting itself. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/engine/bound.h"
#include "tools/snapsim/load.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/settings.h"
#include "tools/snapsim/sheet.h"
#include "tools/snapsim/snapsim.h"

#define STEPS_MOST 1000000

/* What was found. `feasible` is the best of the replays; it may be that of the setting. */
struct bracket {
    struct bound bound;
    struct result setting, feasible;
};

static void help(const struct flag *flags)
{
    fputs(
        "usage: snapsim bound [TRACE] [options]\n\n"
        "Between which limits the best possible hit lies, for any placement, eviction and memory\n"
        "strategy at this capacity, and what share of it the setting reaches:\n\n"
        "  ideal     all that earlier requests have shown: memory without end\n"
        "  dual      proven: no cache of this capacity can pass it\n"
        "  feasible  reached by a schedule that knows the future and obeys every rule\n\n",
        stdout);
    options_print_flags(flags, stdout);
    options_print_settings(stdout);
    fputs("\nexamples:\n"
          "  snapsim bound v8.jsonl.zst --tp 8 --capacity 32GiB\n"
          "  snapsim bound v8.jsonl.zst --placement branch+reply-end --format json\n",
          stdout);
}

static void set(char **text, const char *value)
{
    free(*text);
    *text = mem_strdup(value);
}

/* Replays the setting with offline eviction, and keeps the result if it is the best so far. */
static int try_offline(struct bracket *bracket, const struct config *setting, const char *placement,
                       const struct load *load, struct err *err)
{
    struct config config;
    struct result result;
    config_copy(&config, setting);
    set(&config.placement, placement);
    set(&config.eviction, "belady");
    set(&config.memory, "ideal");
    set(&config.page_tokens, "auto");
    config.orphans = ORPHANS_DROP;
    config.index = INDEX_UNIFIED;
    config.match_unit = 0;
    int failed = replay_run(&result, &config, load->workload, load->schedule, &snapsim_plugins,
                            NULL, NULL, err);
    config_close(&config);
    if (failed == 0 && result.sum.hit_tokens > bracket->feasible.sum.hit_tokens) {
        result_close(&bracket->feasible);
        bracket->feasible = result;
    } else {
        result_close(&result);
    }
    return failed;
}

static int find(struct bracket *bracket, const struct config *config, const struct load *load,
                uint64_t steps, struct err *err)
{
    *bracket = (struct bracket){0};
    if (replay_run(&bracket->setting, config, load->workload, load->schedule, &snapsim_plugins,
                   NULL, NULL, err) != 0)
        return -1;
    bracket->feasible = bracket->setting;
    config_copy(&bracket->feasible.config, &bracket->setting.config);
    if (try_offline(bracket, config, "oracle", load, err) != 0 ||
        try_offline(bracket, config, config->placement, load, err) != 0)
        return -1;
    return bound_find(&bracket->bound, config, load->workload, load->schedule, steps, err);
}

static double percent(uint64_t tokens, uint64_t of)
{
    return of ? 100.0 * (double)tokens / (double)of : 100;
}

static void print_table(const struct bracket *bracket, const struct workload *workload,
                        struct text *out)
{
    const struct config *best = &bracket->feasible.config;
    const struct bound *bound = &bracket->bound;
    uint64_t prompt = bound->prompt_tokens, hit = bracket->setting.sum.hit_tokens;
    sheet_head(&bracket->setting, workload, out);
    sheet_share("prompt tokens", prompt, prompt, out);
    sheet_share("ideal: seen before", bound->ideal_tokens, prompt, out);
    sheet_share("dual: none can pass", bound->dual_tokens, prompt, out);
    sheet_share("feasible: knowing the future", bracket->feasible.sum.hit_tokens, prompt, out);
    sheet_share("hit by the setting", hit, prompt, out);
    text_printf(out, "\nThe setting reaches %.1f to %.1f %% of what is possible.\n",
                percent(hit, bound->dual_tokens), percent(hit, bracket->feasible.sum.hit_tokens));
    text_printf(out, "feasible by %s, %s, %s\n", best->placement, best->eviction, best->memory);
}

static void print_json(const struct bracket *bracket, const struct workload *workload,
                       struct text *out)
{
    struct json *top = json_new_object();
    result_write(&bracket->setting, workload, snapsim_version, top);
    struct json *bound = json_add_object(top, "bound");
    json_add_u64(bound, "ideal_tokens", bracket->bound.ideal_tokens);
    json_add_u64(bound, "dual_tokens", bracket->bound.dual_tokens);
    json_add_u64(bound, "feasible_tokens", bracket->feasible.sum.hit_tokens);
    config_write(&bracket->feasible.config, json_add_object(bound, "feasible_config"));
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static int find_and_print(const struct config *config, const struct load *load, uint64_t steps,
                          bool as_json)
{
    struct err err;
    struct text out = {0};
    struct bracket bracket;
    int status = EXIT_GOOD;
    if (find(&bracket, config, load, steps, &err) != 0) {
        status = say(EXIT_FAILED, "%s", err.text);
    } else {
        (as_json ? print_json : print_table)(&bracket, load->workload, &out);
        status = print_result(&out);
    }
    result_close(&bracket.setting);
    result_close(&bracket.feasible);
    text_close(&out);
    return status;
}

int cmd_bound(int argc, char **argv)
{
    const char *trace = NULL, *trace_format = NULL, *format = "table", *steps_text = "400";
    const struct flag table[] = {
        {"--format", "table|json", "how to print the result", &format, NULL},
        {"--steps", "N", "prices that the dual tries: more come closer, if slowly [400]",
         &steps_text, NULL},
        {"--trace-format", "F", "the trace's format; by its content if not given", &trace_format,
         NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    struct config config;
    config_open(&config);
    struct options options = {.flags = table, .config = &config, .positional = &trace, .most = 1};
    struct err err;
    struct load load = {0};
    uint64_t steps = 0;
    bool as_json = false;
    int status = EXIT_GOOD;
    if (options_parse(&options, argc, argv, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (options.help)
        help(table);
    else if (options_parse_json(format, &as_json, &err) != 0 ||
             options_parse_count(steps_text, "--steps", STEPS_MOST, &steps, &err) != 0 ||
             settings_check(&config, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (load_open(&load, trace, trace_format, &config, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else
        status = find_and_print(&config, &load, steps, as_json);
    load_close(&load);
    config_close(&config);
    return status;
}
