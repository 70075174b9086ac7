#include "tools/snapsim/advise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/eviction.h"
#include "tools/sweep/crew.h"
#include "tools/view/plugin_text.h"

/* What placements are made of. Intervals are starting points: rounds double and halve them. */
static const char *const atoms[] = {
    "prompt-end", "reply-end",   "last",          "branch",         "system-prompt",
    "fixed:4096", "fixed:32768", "turn:bounds=1", "ladder:ratio=2", "ladder:ratio=2,from=end",
    "balanced:8"};
#define ATOM_COUNT (sizeof atoms / sizeof *atoms)
#define PARTS_MAX 4 /* placements joined at most */
#define INTERVAL_MIN 64u
#define INTERVAL_MAX (1u << 20)

struct halves {
    struct advice *advice;
    uint32_t seen, half;
};

static void observe(void *user, const struct request_result *one)
{
    struct halves *halves = user;
    int which = halves->seen++ >= halves->half;
    halves->advice->half_hit_tokens[which] += one->outcome.hit_tokens;
    halves->advice->half_prompt_tokens[which] += one->prompt_tokens;
}

int advise_try(struct advice *out, const struct config *config, struct models *models,
               const struct load *load, struct err *err)
{
    struct setup setup;
    struct result result = {0};
    *out = (struct advice){0};
    struct halves halves = {.advice = out, .half = load->schedule->count / 2};
    int failed = setup_open(&setup, config, &snapsim_plugins, models, err);
    if (failed == 0)
        failed = replay_run(&result, &setup, load->workload, load->schedule, observe, &halves, err);
    setup_close(&setup);
    if (failed)
        goto out;
    config_copy(&out->config, config);
    out->hit_tokens = result.sum.hit_tokens;
    out->prompt_tokens = result.prompt_tokens;
out:
    result_close(&result);
    return failed;
}

/* A placement as its parts. */
struct parts {
    char **part;
    size_t count, capacity;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct parts split(const char *placement)
{
    struct parts parts = {0};
    char *copy = mem_strdup(placement), *rest = NULL;
    for (char *name = strtok_r(copy, "+", &rest); name; name = strtok_r(NULL, "+", &rest)) {
        parts.part = mem_grow(parts.part, &parts.capacity, parts.count + 1, sizeof *parts.part);
        parts.part[parts.count++] = mem_strdup(name);
    }
    free(copy);
    return parts;
}

static void free_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->part[i]);
    free(parts->part);
}

/* Joins parts, with one left out (`without`) or replaced, or one more (`without` = count); in the
 * order of their names, so that a + b and b + a are the same. */
static char *join(const struct parts *parts, size_t without, const char *instead)
{
    const char **chosen = mem_array(parts->count + 1, sizeof *chosen);
    size_t count = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (i != without)
            chosen[count++] = parts->part[i];
    if (instead)
        chosen[count++] = instead;
    qsort(chosen, count, sizeof *chosen, by_text);
    struct text text = {0};
    text_add(&text, "", 0);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(chosen[i], chosen[i - 1]) != 0)
            text_printf(&text, "%s%s", text.length ? "+" : "", chosen[i]);
    free(chosen);
    return text.data;
}

/* What tells settings apart, however they are written: plug-ins with every parameter. */
static char *key_of(const struct config *config)
{
    struct text placement = {0}, key = {0};
    plugin_text_long(snapsim_plugins.placements, config->placement, &placement);
    struct parts parts = split(placement.data);
    char *sorted = join(&parts, parts.count, NULL);
    text_printf(&key, "%u %s ", config->orphans, sorted);
    plugin_text_long(snapsim_plugins.evictions, config->eviction, &key);
    free(sorted);
    free_parts(&parts);
    text_close(&placement);
    return key.data;
}

/* Whether a setting is new, within the number of tries; it is not any more after this. */
static bool is_new(struct advise *advise, const struct config *config)
{
    if (advise->known_count >= advise->most)
        return false;
    char *key = key_of(config);
    for (size_t i = 0; i < advise->known_count; i++) {
        if (strcmp(advise->known[i], key) == 0) {
            free(key);
            return false;
        }
    }
    advise->known = mem_grow(advise->known, &advise->known_capacity, advise->known_count + 1,
                             sizeof *advise->known);
    advise->known[advise->known_count++] = key;
    return true;
}

/* The settings of one round. */
struct round {
    struct config *configs;
    struct advice *results;
    bool *good;
    size_t count, capacity;
    struct advise *advise;
};

/* Adds a neighbour unless it was tried, or is in this round already. */
static void propose(struct round *round, const struct config *base, const char *placement,
                    const char *eviction, unsigned orphans)
{
    struct config config;
    config_copy(&config, base);
    config.orphans = orphans;
    struct err ignored;
    if (config_set(&config, "placement", placement, &ignored) != 0 ||
        config_set(&config, "eviction", eviction, &ignored) != 0 ||
        !is_new(round->advise, &config)) {
        config_close(&config);
        return;
    }
    round->configs =
        mem_grow(round->configs, &round->capacity, round->count + 1, sizeof *round->configs);
    round->configs[round->count++] = config;
}

static void propose_joined(struct round *round, const struct config *best,
                           const struct parts *parts, size_t without, const char *instead)
{
    char *placement = join(parts, without, instead);
    if (*placement)
        propose(round, best, placement, best->eviction, best->orphans);
    free(placement);
}

static void propose_intervals(struct round *round, const struct config *best,
                              const struct parts *parts, size_t at)
{
    static const char name[] = "fixed";
    const char *part = parts->part[at];
    char changed[40];
    struct text value = {0};
    if (strcspn(part, ":") != strlen(name) || strncmp(part, name, strlen(name)) != 0 ||
        !plugin_text_parameter(snapsim_plugins.placements, part, "interval", &value))
        return;
    uint64_t interval = strtoull(value.data, NULL, 10);
    uint64_t others[] = {interval * 2, interval / 2};
    text_close(&value);
    for (int i = 0; i < 2; i++) {
        if (others[i] < INTERVAL_MIN || others[i] > INTERVAL_MAX)
            continue;
        snprintf(changed, sizeof changed, "fixed:%" PRIu64, others[i]);
        propose_joined(round, best, parts, at, changed);
    }
}

static void propose_evictions(struct round *round, const struct config *best)
{
    static const char *const variants[] = {"lru:refresh=path", "lru:refresh=both"};
    for (size_t i = 0; snapsim_plugins.evictions[i]; i++) {
        const struct plugin *plugin = snapsim_plugins.evictions[i];
        if (!plugin->offline) /* advice must be for a policy that can be built */
            propose(round, best, best->placement, plugin->name, best->orphans);
    }
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        propose(round, best, best->placement, variants[i], best->orphans);
}

static void propose_neighbours(struct round *round, const struct config *best)
{
    struct parts parts = split(best->placement);
    for (size_t i = 0; i < ATOM_COUNT; i++) {
        if (parts.count < PARTS_MAX)
            propose_joined(round, best, &parts, parts.count, atoms[i]);
        propose(round, best, atoms[i], best->eviction, best->orphans);
    }
    for (size_t i = 0; i < parts.count; i++) {
        if (parts.count > 1)
            propose_joined(round, best, &parts, i, NULL);
        propose_intervals(round, best, &parts, i);
    }
    propose_evictions(round, best);
    unsigned other = best->orphans == ORPHANS_DROP ? ORPHANS_KEEP : ORPHANS_DROP;
    propose(round, best, best->placement, best->eviction, other);
    free_parts(&parts);
}

static bool try_one(void *user, size_t at)
{
    struct round *round = user;
    struct err ignored; /* a neighbour that cannot be run is no neighbour */
    round->good[at] = advise_try(&round->results[at], &round->configs[at], round->advise->models,
                                 round->advise->load, &ignored) == 0;
    return true;
}

static void remember(struct advise *advise, const struct advice *one)
{
    advise->tried =
        mem_grow(advise->tried, &advise->capacity, advise->count + 1, sizeof *advise->tried);
    advise->tried[advise->count++] = *one;
}

/* One round; *best moves to the best that is known. Returns whether it moved. */
static bool improve(struct advise *advise, size_t *best)
{
    struct round round = {.advise = advise};
    size_t before = *best;
    propose_neighbours(&round, &advise->tried[*best].config);
    round.results = mem_array(round.count, sizeof *round.results);
    round.good = mem_array(round.count, sizeof *round.good);
    crew_run(advise->threads, round.count, try_one, &round);
    for (size_t i = 0; i < round.count; i++) {
        config_close(&round.configs[i]);
        if (!round.good[i])
            continue;
        remember(advise, &round.results[i]);
        if (round.results[i].hit_tokens > advise->tried[*best].hit_tokens)
            *best = advise->count - 1;
    }
    free(round.configs);
    free(round.results);
    free(round.good);
    return *best != before;
}

int advise_search(struct advise *advise, const struct config *start, struct err *err)
{
    struct advice first;
    if (!is_new(advise, start))
        return err_set(err, "no setting may be tried");
    if (advise_try(&first, start, advise->models, advise->load, err) != 0)
        return -1;
    remember(advise, &first);
    size_t best = 0;
    while (advise->known_count < advise->most && improve(advise, &best))
        ;
    return 0;
}

void advise_close(struct advise *advise)
{
    for (size_t i = 0; i < advise->count; i++)
        config_close(&advise->tried[i].config);
    for (size_t i = 0; i < advise->known_count; i++)
        free(advise->known[i]);
    free(advise->tried);
    free(advise->known);
    *advise = (struct advise){0};
}
