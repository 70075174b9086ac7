/* snapsim advise - which placement, eviction and treatment of orphans hit most on a load, what they
 * win over the setting that one has, and how sure that is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/snapsim/advise.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/settings.h"

#define SEEDS 3 /* arrivals drawn anew, to see whether a gain is luck */
#define FINALISTS_MAX 20
#define TRIES_DEFAULT "300"

/* A finalist: its gain over the user's setting with each seed and on each half, in points. */
struct finalist {
    size_t index; /* into advise->tried */
    double ratio, gain[SEEDS], half_gain[2];
};

/* The same trace with arrivals of other seeds; the workload is the first one's. */
struct seeds {
    struct load loads[SEEDS];
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Whether a is the better advice: more hits, or as many with a shorter placement. */
static bool is_better(const struct advice *a, const struct advice *b)
{
    if (a->hit_tokens != b->hit_tokens)
        return a->hit_tokens > b->hit_tokens;
    return strlen(a->config.placement) < strlen(b->config.placement);
}

/* The best `count` of what was tried, without the user's own setting. Of settings that hit the very
 * same tokens only one is shown: the others carry something that does nothing. */
static size_t choose_finalists(const struct advise *advise, struct finalist *finalists,
                               size_t count)
{
    const struct advice *tried = advise->tried;
    uint64_t below = UINT64_MAX; /* hits of the finalist before */
    size_t found = 0;
    for (; found < count; found++) {
        size_t best = 0;
        for (size_t i = 1; i < advise->count; i++)
            if (tried[i].hit_tokens < below && (best == 0 || is_better(&tried[i], &tried[best])))
                best = i;
        if (best == 0)
            break;
        below = tried[best].hit_tokens;
        finalists[found] = (struct finalist){.index = best};
    }
    return found;
}

static int judge(struct finalist *one, const struct advise *advise, const struct seeds *seeds,
                 struct err *err)
{
    const struct advice *mine = &advise->tried[one->index], *usual = &advise->tried[0];
    one->ratio = percent(mine->hit_tokens, mine->prompt_tokens);
    one->gain[0] = one->ratio - percent(usual->hit_tokens, usual->prompt_tokens);
    for (int i = 0; i < 2; i++)
        one->half_gain[i] = percent(mine->half_hit_tokens[i], mine->half_prompt_tokens[i]) -
                            percent(usual->half_hit_tokens[i], usual->half_prompt_tokens[i]);
    for (int i = 1; i < SEEDS; i++) {
        struct advice there, base;
        if (advise_try(&there, &mine->config, &seeds->loads[i], err) != 0)
            return -1;
        config_close(&there.config);
        if (advise_try(&base, &usual->config, &seeds->loads[i], err) != 0)
            return -1;
        config_close(&base.config);
        one->gain[i] = percent(there.hit_tokens, there.prompt_tokens) -
                       percent(base.hit_tokens, base.prompt_tokens);
    }
    return 0;
}

static void print_command(const char *trace, const struct config *config, struct text *out)
{
    text_printf(out, "snapsim run%s%s", trace ? " " : "", trace ? trace : "");
    config_print_changed(config, "model capacity", " --", " ", out);
}

static void print_setting(const struct config *config, struct text *out)
{
    text_printf(out, "%s, %s, orphans %s", config->placement, config->eviction,
                config->orphans == ORPHANS_KEEP ? "kept" : "dropped");
}

static void print_table(const struct advise *advise, const struct finalist *finalists, size_t count,
                        const char *trace, struct text *out)
{
    char capacity[UNITS_TEXT];
    const struct advice *usual = &advise->tried[0];
    text_printf(out, "%s at %s, %zu settings tried\n\n", usual->config.model,
                units_bytes(usual->config.capacity, capacity), advise->count);
    text_printf(out, "%8s %8s   gain by seed, points      by half          setting\n", "hit",
                "gain");
    text_printf(out, "%7.2f%% %8s %43s", percent(usual->hit_tokens, usual->prompt_tokens), "-", "");
    print_setting(&usual->config, out);
    text_printf(out, "  (yours)\n");
    for (size_t i = 0; i < count; i++) {
        const struct finalist *one = &finalists[i];
        text_printf(out, "%7.2f%% %+8.2f ", one->ratio, one->gain[0]);
        for (int j = 0; j < SEEDS; j++)
            text_printf(out, " %+8.2f", one->gain[j]);
        text_printf(out, " %+7.2f %+7.2f  ", one->half_gain[0], one->half_gain[1]);
        print_setting(&advise->tried[one->index].config, out);
        text_printf(out, "\n");
    }
    if (count == 0)
        return;
    bool sure = true;
    const struct finalist *best = &finalists[0];
    for (int i = 0; i < SEEDS; i++)
        sure = sure && best->gain[i] > 0;
    sure = sure && best->half_gain[0] > 0 && best->half_gain[1] > 0;
    text_printf(out, "\n%s\n\n  ",
                sure ? "The first one gains with every seed and in both halves of the load."
                     : "The first one does not gain with every seed and in both halves: within the "
                       "noise of this load.");
    print_command(trace, &advise->tried[best->index].config, out);
    text_printf(out, "\n");
}

static void print_json(const struct advise *advise, const struct finalist *finalists, size_t count,
                       const char *trace, struct text *out)
{
    struct json *top = json_new_object();
    json_add_u64(top, "schema", RESULT_SCHEMA);
    json_add_u64(top, "tried", advise->count);
    config_write(&advise->tried[0].config, json_add_object(top, "yours"));
    json_add_double(top, "yours_hit_percent",
                    percent(advise->tried[0].hit_tokens, advise->tried[0].prompt_tokens));
    struct json *list = json_add_array(top, "advice");
    for (size_t i = 0; i < count; i++) {
        const struct finalist *one = &finalists[i];
        struct json *entry = json_add_object(list, NULL);
        struct text command = {0};
        print_command(trace, &advise->tried[one->index].config, &command);
        config_write(&advise->tried[one->index].config, json_add_object(entry, "config"));
        json_add_double(entry, "hit_percent", one->ratio);
        json_add_double(entry, "gain_points", one->gain[0]);
        json_add_double(entry, "gain_points_first_half", one->half_gain[0]);
        json_add_double(entry, "gain_points_second_half", one->half_gain[1]);
        for (int j = 1; j < SEEDS; j++) {
            char key[40];
            snprintf(key, sizeof key, "gain_points_seed_plus_%d", j);
            json_add_double(entry, key, one->gain[j]);
        }
        json_add_string(entry, "command", command.data);
        text_close(&command);
    }
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static int open_seeds(struct seeds *seeds, const char *trace, const char *format,
                      const struct config *config, struct err *err)
{
    if (load_open(&seeds->loads[0], trace, format, config, err) != 0)
        return -1;
    for (uint64_t i = 1; i < SEEDS; i++) {
        seeds->loads[i].workload = seeds->loads[0].workload;
        if (schedule_open(&seeds->loads[i].schedule, seeds->loads[0].workload, config->arrival,
                          config->seed + i, config->requests, err) != 0)
            return -1;
    }
    return 0;
}

static void close_seeds(struct seeds *seeds)
{
    for (int i = 1; i < SEEDS; i++)
        schedule_close(seeds->loads[i].schedule);
    load_close(&seeds->loads[0]);
}

static int advise_and_print(const struct config *config, const char *trace, const char *format,
                            const char *trace_format, size_t threads, size_t most, size_t finalists)
{
    struct err err;
    struct seeds seeds = {0};
    struct finalist best[FINALISTS_MAX];
    struct text out = {0};
    struct advise advise = {.load = &seeds.loads[0], .threads = threads, .most = most};
    int status = EXIT_FAILED;
    if (open_seeds(&seeds, trace, trace_format, config, &err) != 0 ||
        advise_search(&advise, config, &err) != 0)
        goto out;
    size_t count = choose_finalists(&advise, best, finalists);
    for (size_t i = 0; i < count; i++)
        if (judge(&best[i], &advise, &seeds, &err) != 0)
            goto out;
    if (strcmp(format, "json") == 0)
        print_json(&advise, best, count, trace, &out);
    else
        print_table(&advise, best, count, trace, &out);
    status = print_result(&out);
out:
    if (status != EXIT_GOOD)
        say(EXIT_FAILED, "%s", err.text);
    text_close(&out);
    advise_close(&advise);
    close_seeds(&seeds);
    return status;
}

static void help(const struct flag *flags)
{
    fputs(
        "usage: snapsim advise [TRACE] [options]\n\n"
        "Searches placements, evictions and the treatment of orphans for the most hits on a load,\n"
        "starting from the setting that you have (the options of snapsim run), and says what the\n"
        "best few win over it, with other seeds for the arrivals and in each half of the load.\n\n",
        stdout);
    options_print_flags(flags, stdout);
    options_print_settings(stdout);
    fputs(
        "\nexample:\n  snapsim advise v8.jsonl.zst --model kimi-k3 --tp 8 --capacity 64GiB -j 2\n",
        stdout);
}

int cmd_advise(int argc, char **argv)
{
    const char *trace = NULL, *format = "table", *trace_format = NULL;
    const char *threads = "1", *most = TRIES_DEFAULT, *show = "5";
    const struct flag table[] = {
        {"-j", "N", "threads [1]", &threads, NULL},
        {"--tries", "N", "settings to try at most [300]", &most, NULL},
        {"--show", "N", "how many of the best to print [5]", &show, NULL},
        {"--format", "table|json", "how to print the advice", &format, NULL},
        {"--trace-format", "F", "the trace's format; by its content if not given", &trace_format,
         NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    struct config config;
    config_open(&config);
    struct options options = {.flags = table, .config = &config, .positional = &trace, .most = 1};
    struct err err;
    uint64_t counts[3] = {0};
    int status = EXIT_GOOD;
    if (options_parse(&options, argc, argv, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (options.help)
        help(table);
    else if (options_parse_count(threads, "-j", 1024, &counts[0], &err) != 0 ||
             options_parse_count(most, "--tries", 1000000, &counts[1], &err) != 0 ||
             options_parse_count(show, "--show", FINALISTS_MAX, &counts[2], &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (strcmp(format, "table") != 0 && strcmp(format, "json") != 0)
        status = say(EXIT_USAGE, "--format: table or json was expected, found '%s'", format);
    else if (settings_check(&config, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else
        status = advise_and_print(&config, trace, format, trace_format, (size_t)counts[0],
                                  (size_t)counts[1], (size_t)counts[2]);
    config_close(&config);
    return status;
}
