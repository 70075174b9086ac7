/* snapsim advise - which placement, eviction and treatment of orphans hit most on a load, what they
 * win over the setting that one has, and how sure that is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/snapsim/advise.h"
#include "tools/snapsim/options.h"

#define SEEDS 3 /* arrivals, or a generated load, drawn anew to see whether a gain is luck */
#define FINALISTS_MAX 20

struct advise_options {
    struct config config;
    uint64_t threads, tries, show;
    unsigned format;
    char *trace_format;
};

static const struct param advise_params[] = {
    OPTION_THREADS(struct advise_options),
    PARAM(struct advise_options, tries, PARAM_U64, "300", 1, 1000000, "settings to try at most"),
    PARAM(struct advise_options, show, PARAM_U64, "5", 1, FINALISTS_MAX,
          "how many of the best to print"),
    OPTION_FORMAT(struct advise_options, options_table_or_json),
    OPTION_TRACE_FORMAT(struct advise_options),
    PARAM_END,
};

/* A finalist: its gain over the user's setting with each seed and on each half, in points. */
struct finalist {
    size_t index; /* into advise->tried */
    double ratio, gain[SEEDS], half_gain[2];
};

/* What is advised about, and how it came to the command line. */
struct subject {
    const char *trace, *trace_format; /* NULL: a generated load; by the content */
    const struct config *config;
    struct models *models;
};

/* The subject with several seeds, or with one if a seed changes nothing, as with recorded starts.
 * The workload of a trace is shared, a generated load is made anew. */
struct seeds {
    struct load loads[SEEDS];
    double usual[SEEDS]; /* what the user's setting hits there, in percent */
    size_t count;
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

static int hit_percent(double *out, const struct config *config, struct models *models,
                       const struct load *load, struct err *err)
{
    struct advice there;
    if (advise_try(&there, config, models, load, err) != 0)
        return -1;
    *out = percent(there.hit_tokens, there.prompt_tokens);
    config_close(&there.config);
    return 0;
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
    for (size_t i = 1; i < seeds->count; i++) {
        double there = 0;
        if (hit_percent(&there, &mine->config, advise->models, &seeds->loads[i], err) != 0)
            return -1;
        one->gain[i] = there - seeds->usual[i];
    }
    return 0;
}

/* Options come apart at unit separators, which stand in none of them. */
static void print_command(const struct subject *subject, const struct config *config,
                          struct text *out)
{
    struct text settings = {0};
    char *rest = NULL;
    text_printf(out, "snapsim run");
    if (subject->trace)
        options_add_word(subject->trace, out);
    if (subject->trace && subject->trace_format) {
        options_add_word("--trace-format", out);
        options_add_word(subject->trace_format, out);
    }
    config_print_changed(config, "model capacity", "\x1f--", "\x1f", &settings);
    for (char *word = strtok_r(settings.data, "\x1f", &rest); word;
         word = strtok_r(NULL, "\x1f", &rest))
        options_add_word(word, out);
    text_close(&settings);
}

static void print_setting(const struct config *config, struct text *out)
{
    text_printf(out, "%s, %s, orphans %s", config->placement, config->eviction,
                config->orphans == ORPHANS_KEEP ? "kept" : "dropped");
}

static void print_verdict(const struct finalist *best, const struct seeds *seeds, struct text *out)
{
    bool sure = best->half_gain[0] > 0 && best->half_gain[1] > 0;
    for (size_t i = 0; i < seeds->count; i++)
        sure = sure && best->gain[i] > 0;
    const char *which = seeds->count > 1 ? "with every seed and in both halves" : "in both halves";
    text_printf(out, "\nThe first one %s %s%s\n\n  ", sure ? "gains" : "does not gain", which,
                sure ? " of the load." : ": within the noise of this load.");
}

static void print_table(const struct advise *advise, const struct finalist *finalists, size_t count,
                        const struct seeds *seeds, const struct subject *subject, struct text *out)
{
    char capacity[UNITS_TEXT];
    const struct advice *usual = &advise->tried[0];
    bool seeded = seeds->count > 1;
    text_printf(out, "%s at %s, %zu settings tried", usual->config.model,
                units_bytes(usual->config.capacity, capacity), advise->count);
    if (!seeded)
        text_printf(out, "; arrivals are %s: no seeds", seeds->loads[0].schedule->how);
    text_printf(out, "\n\n%8s %8s   %sby half          setting\n", "hit", "gain",
                seeded ? "gain by seed, points      " : "");
    text_printf(out, "%7.2f%% %8s %*s", percent(usual->hit_tokens, usual->prompt_tokens), "-",
                seeded ? 45 : 19, "");
    print_setting(&usual->config, out);
    text_printf(out, "  (yours)\n");
    for (size_t i = 0; i < count; i++) {
        const struct finalist *one = &finalists[i];
        text_printf(out, "%7.2f%% %+8.2f ", one->ratio, one->gain[0]);
        for (size_t j = 0; seeded && j < seeds->count; j++)
            text_printf(out, " %+8.2f", one->gain[j]);
        text_printf(out, " %+7.2f %+7.2f  ", one->half_gain[0], one->half_gain[1]);
        print_setting(&advise->tried[one->index].config, out);
        text_printf(out, "\n");
    }
    if (count == 0)
        return;
    print_verdict(&finalists[0], seeds, out);
    print_command(subject, &advise->tried[finalists[0].index].config, out);
    text_printf(out, "\n");
}

static void print_json(const struct advise *advise, const struct finalist *finalists, size_t count,
                       const struct seeds *seeds, const struct subject *subject, struct text *out)
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
        print_command(subject, &advise->tried[one->index].config, &command);
        config_write(&advise->tried[one->index].config, json_add_object(entry, "config"));
        json_add_double(entry, "hit_percent", one->ratio);
        json_add_double(entry, "gain_points", one->gain[0]);
        json_add_double(entry, "gain_points_first_half", one->half_gain[0]);
        json_add_double(entry, "gain_points_second_half", one->half_gain[1]);
        for (size_t j = 1; j < seeds->count; j++) {
            char key[64];
            snprintf(key, sizeof key, "gain_points_seed_plus_%zu", j);
            json_add_double(entry, key, one->gain[j]);
        }
        json_add_string(entry, "command", command.data);
        text_close(&command);
    }
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static int open_seed(struct load *out, const struct load *first, const struct subject *subject,
                     uint64_t step, struct err *err)
{
    struct config config;
    config_copy(&config, subject->config);
    config.seed += step;
    int result = 0;
    if (load_seed_follows(subject->trace)) {
        result = load_open(out, subject->trace, NULL, &config, err);
    } else {
        out->workload = first->workload;
        result = schedule_open(&out->schedule, out->workload, config.arrival, config.seed,
                               config.requests, err);
    }
    config_close(&config);
    return result;
}

static void close_seed(struct load *one, const struct load *first)
{
    if (one->workload == first->workload)
        one->workload = NULL; /* the first one's */
    load_close(one);
    *one = (struct load){0};
}

static bool same_arrivals(const struct load *a, const struct load *b)
{
    const struct schedule *left = a->schedule, *right = b->schedule;
    bool same = a->workload == b->workload && left->count == right->count;
    for (uint32_t i = 0; same && i < left->count; i++)
        same = left->arrivals[i].request == right->arrivals[i].request &&
               left->arrivals[i].at_ns == right->arrivals[i].at_ns;
    return same;
}

static int open_seeds(struct seeds *seeds, const struct subject *subject, struct err *err)
{
    struct load *first = &seeds->loads[0];
    if (load_open(first, subject->trace, subject->trace_format, subject->config, err) != 0)
        return -1;
    for (seeds->count = 1; seeds->count < SEEDS; seeds->count++) {
        struct load *one = &seeds->loads[seeds->count];
        if (open_seed(one, first, subject, seeds->count, err) != 0)
            return -1;
        if (same_arrivals(one, first)) {
            close_seed(one, first);
            return 0;
        }
    }
    return 0;
}

static void close_seeds(struct seeds *seeds)
{
    for (size_t i = 1; i < SEEDS; i++)
        close_seed(&seeds->loads[i], &seeds->loads[0]);
    load_close(&seeds->loads[0]);
}

static int judge_all(struct finalist *finalists, size_t count, const struct advise *advise,
                     struct seeds *seeds, struct err *err)
{
    for (size_t i = 1; i < seeds->count && count > 0; i++)
        if (hit_percent(&seeds->usual[i], &advise->tried[0].config, advise->models,
                        &seeds->loads[i], err) != 0)
            return -1;
    for (size_t i = 0; i < count; i++)
        if (judge(&finalists[i], advise, seeds, err) != 0)
            return -1;
    return 0;
}

static int advise_and_print(const struct subject *subject, const struct advise_options *options)
{
    struct err err;
    struct seeds seeds = {0};
    struct finalist best[FINALISTS_MAX];
    struct text out = {0};
    struct advise advise = {.load = &seeds.loads[0],
                            .models = subject->models,
                            .threads = options->threads,
                            .most = options->tries};
    int status = EXIT_FAILED;
    bool failed = true; /* and err says why */
    if (open_seeds(&seeds, subject, &err) != 0 ||
        advise_search(&advise, subject->config, &err) != 0)
        goto out;
    size_t count = choose_finalists(&advise, best, options->show);
    if (judge_all(best, count, &advise, &seeds, &err) != 0)
        goto out;
    if (options->format == PRINT_JSON)
        print_json(&advise, best, count, &seeds, subject, &out);
    else
        print_table(&advise, best, count, &seeds, subject, &out);
    status = print_result(&out);
    failed = false;
out:
    if (failed)
        say(EXIT_FAILED, "%s", err.text);
    text_close(&out);
    advise_close(&advise);
    close_seeds(&seeds);
    return status;
}

static int advise(const struct call *call)
{
    const struct advise_options *options = call->settings;
    struct models models = {0};
    struct err err;
    const struct subject subject = {call->words[0], options->trace_format, &options->config,
                                    &models};
    int status = setup_check(&options->config, &snapsim_plugins, &models, &err) == 0
                     ? advise_and_print(&subject, options)
                     : say(EXIT_USAGE, "%s", err.text);
    models_close(&models);
    return status;
}

const struct command cmd_advise = {
    .name = "advise",
    .summary = "search for the settings that hit most on a load",
    .text = "Searches placements, evictions and the treatment of orphans for the most hits on a "
            "load, starting from the setting that you have (the options of snapsim run), and says "
            "what the best few win over it, with other seeds for the arrivals and in each half of "
            "the load.\n",
    .examples = "  snapsim advise v8.jsonl.zst --model kimi-k3 --tp 8 --capacity 64GiB -j 2\n",
    .options_size = sizeof(struct advise_options),
    .takes_config = true,
    .ways = {{.words = "[TRACE]", .most = 1, .tables = {{NULL, advise_params, 0}}, .run = advise}},
};
