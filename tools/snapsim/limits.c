#include "tools/snapsim/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/mem.h"
#include "sim/engine/replay.h"
#include "tools/snapsim/snapsim.h"

static void set(char **text, const char *value)
{
    free(*text);
    *text = mem_strdup(value);
}

/* The setting with all that the limits do not depend on as a replay of a plan has it. */
static void open_offline(struct config *out, const struct config *setting)
{
    config_copy(out, setting);
    set(&out->placement, "planned");
    set(&out->eviction, "planned");
    set(&out->memory, "ideal");
    set(&out->page_tokens, "auto");
    out->orphans = ORPHANS_DROP;
    out->index = INDEX_UNIFIED;
}

static int open_setup(struct setup *out, const struct config *offline, const struct plan *plan,
                      struct models *models, struct err *err)
{
    const struct plugins plugins = {planned_placement_list,
                                    plan ? planned_eviction_list : snapsim_plugins.evictions,
                                    snapsim_plugins.memories, plan};
    return setup_open(out, offline, &plugins, models, err);
}

static int replay_hit(uint64_t *hit, const struct setup *setup, const struct load *load,
                      struct err *err)
{
    struct result result;
    int failed = replay_run(&result, setup, load->workload, load->schedule, NULL, NULL, err);
    *hit = result.sum.hit_tokens;
    result_close(&result);
    return failed;
}

#define TRIALS_MOST 20000000 /* some seconds */

static int find_exact(struct limits *limits, const struct bound_input *input, struct err *err)
{
    limits->exact_known = true;
    limits->exact_tokens = limits->feasible_tokens; /* without recurrent layers it is the best */
    if (input->snapshot_bytes == 0 || bound_find_exact(&limits->exact_tokens, input, TRIALS_MOST))
        return 0;
    return err_set(err,
                   "exact: of %" PRIu32 " requests, more than %d choices would have to be tried; "
                   "--requests takes the first so many, and a coarser --snapshot-grain leaves "
                   "fewer places for snapshots",
                   input->schedule->count, TRIALS_MOST);
}

/* Where a hit needs no snapshot there is nothing to plan: what belady hits is the optimum. */
static int find_without_snapshots(struct limits *out, struct config *offline,
                                  const struct load *load, struct models *models, struct err *err)
{
    struct setup setup;
    set(&offline->eviction, "belady");
    offline->match_unit = 0;
    int failed = open_setup(&setup, offline, NULL, models, err);
    if (failed == 0)
        failed = replay_hit(&out->feasible_tokens, &setup, load, err);
    setup_close(&setup);
    return failed;
}

/* Of the set-up of a plan, which is yet to be made. */
static int find_all(struct limits *out, const struct setup *setup, struct plan *plan,
                    struct config *offline, const struct load *load, struct models *models,
                    const struct limits_wanted *wanted, struct err *err)
{
    struct bound bound;
    struct bound_input input = replay_bound_input(setup, load->workload, load->schedule);
    bool recurrent = input.snapshot_bytes > 0;
    if (recurrent && wanted->ends_only)
        input.interior_grain = input.grid_grain = NO_INTERIOR;
    bound_find(&bound, recurrent ? plan : NULL, &input, wanted->steps);
    out->ideal_tokens = bound.ideal_tokens;
    out->dual_tokens = bound.dual_tokens;
    int failed = recurrent ? replay_hit(&out->feasible_tokens, setup, load, err)
                           : find_without_snapshots(out, offline, load, models, err);
    assert(failed || !recurrent || out->feasible_tokens == plan->hit_tokens);
    if (failed == 0 && wanted->exact)
        failed = find_exact(out, &input, err);
    return failed;
}

int limits_find(struct limits *out, const struct config *config, const struct load *load,
                struct models *models, const struct limits_wanted *wanted, struct err *err)
{
    struct config offline;
    struct setup setup;
    struct plan plan = {0};
    *out = (struct limits){0};
    open_offline(&offline, config);
    int failed = open_setup(&setup, &offline, &plan, models, err);
    if (failed == 0)
        failed = find_all(out, &setup, &plan, &offline, load, models, wanted, err);
    plan_close(&plan);
    setup_close(&setup);
    config_close(&offline);
    return failed;
}

void limits_write(const struct limits *limits, struct json *result)
{
    json_add_u64(result, "ideal_tokens", limits->ideal_tokens);
    json_add_u64(result, "dual_tokens", limits->dual_tokens);
    json_add_u64(result, "feasible_tokens", limits->feasible_tokens);
    if (limits->exact_known)
        json_add_u64(result, "exact_tokens", limits->exact_tokens);
}

/* ---- the memo ---- */

struct limits_entry {
    char *key;
    bool found; /* else a thread is at it */
    struct limits limits;
    bool failed;
    struct err err;
};

void limits_memo_open(struct limits_memo *memo)
{
    *memo = (struct limits_memo){0};
    pthread_mutex_init(&memo->lock, NULL);
    pthread_cond_init(&memo->found, NULL);
}

void limits_memo_close(struct limits_memo *memo)
{
    for (size_t i = 0; i < memo->count; i++)
        free(memo->entries[i].key);
    free(memo->entries);
    pthread_mutex_destroy(&memo->lock);
    pthread_cond_destroy(&memo->found);
}

static char *key_of(const struct config *config, size_t load_id)
{
    struct config offline;
    struct text key = {0};
    struct json *object = json_new_object();
    open_offline(&offline, config);
    config_write(&offline, object);
    text_printf(&key, "%zu ", load_id);
    json_print(object, false, &key);
    json_close(object);
    config_close(&offline);
    return key.data;
}

/* The place of a key; a new one if it is not there. Under the lock. */
static size_t place_of(struct limits_memo *memo, const char *key)
{
    size_t i = 0;
    while (i < memo->count && strcmp(memo->entries[i].key, key) != 0)
        i++;
    if (i == memo->count)
        memo->entries =
            mem_grow(memo->entries, &memo->capacity, memo->count + 1, sizeof *memo->entries);
    return i;
}

int limits_memo_find(struct limits_memo *memo, struct limits *out, const struct config *config,
                     const struct load *load, size_t load_id, struct models *models,
                     struct err *err)
{
    const struct limits_wanted wanted = {.steps = LIMITS_STEPS};
    char *key = key_of(config, load_id);
    pthread_mutex_lock(&memo->lock);
    size_t place = place_of(memo, key);
    if (place == memo->count) { /* this thread finds it, others meanwhile find other ones */
        struct limits_entry mine = {.key = mem_strdup(key)};
        memo->entries[memo->count++] = mine;
        pthread_mutex_unlock(&memo->lock);
        mine.failed = limits_find(&mine.limits, config, load, models, &wanted, &mine.err) != 0;
        mine.found = true;
        pthread_mutex_lock(&memo->lock);
        memo->entries[place] = mine;
        pthread_cond_broadcast(&memo->found);
    }
    while (!memo->entries[place].found)
        pthread_cond_wait(&memo->found, &memo->lock);
    const struct limits_entry *entry = &memo->entries[place];
    *out = entry->limits;
    bool failed = entry->failed;
    if (failed)
        *err = entry->err;
    pthread_mutex_unlock(&memo->lock);
    free(key);
    return failed ? -1 : 0;
}
