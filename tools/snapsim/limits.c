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

/* The setting with all that the limits do not depend on as the offline replay has it. */
static void open_offline(struct config *out, const struct config *setting, bool recurrent)
{
    config_copy(out, setting);
    set(&out->placement, recurrent ? "planned" : "none");
    set(&out->eviction, recurrent ? "planned" : "belady");
    set(&out->memory, "ideal");
    set(&out->page_tokens, "auto");
    out->orphans = ORPHANS_DROP;
    out->index = INDEX_UNIFIED;
    out->match_unit = 0;
}

/* What a replay hits that follows the plan; without recurrent layers, where a hit needs no
 * snapshot, belady is the optimum. */
static int find_feasible(uint64_t *hit, const struct config *offline, const struct plan *plan,
                         const struct load *load, bool recurrent, struct err *err)
{
    struct plugins plugins = snapsim_plugins;
    struct result result;
    if (recurrent)
        plugins = (struct plugins){planned_placement_list, planned_eviction_list,
                                   snapsim_plugins.memories, plan};
    int failed =
        replay_run(&result, offline, load->workload, load->schedule, &plugins, NULL, NULL, err);
    *hit = result.sum.hit_tokens;
    assert(failed || !recurrent || *hit == plan->hit_tokens);
    result_close(&result);
    return failed;
}

int limits_find(struct limits *out, const struct config *config, const struct load *load,
                uint64_t steps, struct err *err)
{
    struct config offline;
    struct bound_input input;
    struct bound bound;
    struct plan plan = {0};
    uint64_t feasible = 0;
    open_offline(&offline, config, true);
    int failed = replay_bound_input(&input, &offline, load->workload, load->schedule, err);
    bool recurrent = failed == 0 && input.snapshot_bytes > 0;
    if (failed == 0) {
        bound_find(&bound, recurrent ? &plan : NULL, &input, steps);
        if (!recurrent) {
            config_close(&offline);
            open_offline(&offline, config, false);
        }
        failed = find_feasible(&feasible, &offline, &plan, load, recurrent, err);
        *out = (struct limits){.ideal_tokens = bound.ideal_tokens,
                               .dual_tokens = bound.dual_tokens,
                               .feasible_tokens = feasible};
    }
    plan_close(&plan);
    config_close(&offline);
    return failed;
}

#define TRIALS_MOST 20000000 /* some seconds */

int limits_find_exact(struct limits *limits, const struct config *config, const struct load *load,
                      struct err *err)
{
    struct config offline;
    struct bound_input input;
    open_offline(&offline, config, true);
    int failed = replay_bound_input(&input, &offline, load->workload, load->schedule, err);
    config_close(&offline);
    if (failed)
        return -1;
    limits->exact_known = true;
    limits->exact_tokens = limits->feasible_tokens; /* without recurrent layers it is the best */
    if (input.snapshot_bytes == 0 || bound_find_exact(&limits->exact_tokens, &input, TRIALS_MOST))
        return 0;
    return err_set(err,
                   "exact: of %" PRIu32 " requests, more than %d choices would have to be tried; "
                   "--requests takes the first so many, and a coarser --snapshot-grain leaves "
                   "fewer places for snapshots",
                   load->schedule->count, TRIALS_MOST);
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
    open_offline(&offline, config, true);
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
                     const struct load *load, size_t load_id, struct err *err)
{
    char *key = key_of(config, load_id);
    pthread_mutex_lock(&memo->lock);
    size_t place = place_of(memo, key);
    if (place == memo->count) { /* this thread finds it, others meanwhile find other ones */
        struct limits_entry mine = {.key = mem_strdup(key)};
        memo->entries[memo->count++] = mine;
        pthread_mutex_unlock(&memo->lock);
        mine.failed = limits_find(&mine.limits, config, load, LIMITS_STEPS, &mine.err) != 0;
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
