#include "tools/sweep/limits.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/engine/bound.h"
#include "sim/engine/replay.h"
#include "tools/sweep/plugins.h"

static void set(char **text, const char *value)
{
    free(*text);
    *text = mem_strdup(value);
}

/* The setting with all that the limits do not depend on as the offline replay has it. */
static void open_offline(struct config *out, const struct config *setting)
{
    config_copy(out, setting);
    set(&out->placement, "oracle");
    set(&out->eviction, "lru");
    set(&out->memory, "ideal");
    set(&out->page_tokens, "auto");
    out->orphans = ORPHANS_DROP;
    out->index = INDEX_UNIFIED;
    out->match_unit = 0;
}

/* The most that the offline replay hits: with snapshots belady is a heuristic, and not always the
 * best of these. */
static int find_feasible(uint64_t *most, const struct config *config, const struct load *load,
                         struct err *err)
{
    static const char *const evictions[] = {"belady", "lru", "fifo"};
    struct config offline;
    int failed = 0;
    *most = 0;
    open_offline(&offline, config);
    for (size_t i = 0; i < sizeof evictions / sizeof *evictions && failed == 0; i++) {
        struct result result;
        set(&offline.eviction, evictions[i]);
        failed = replay_config(&result, &offline, load->workload, load->schedule, &snapsim_plugins,
                               NULL, NULL, err);
        if (failed == 0 && result.sum.hit_tokens > *most)
            *most = result.sum.hit_tokens;
        result_close(&result);
    }
    config_close(&offline);
    return failed;
}

int limits_find(struct limits *out, const struct config *config, const struct load *load,
                uint64_t steps, struct err *err)
{
    struct bound bound;
    uint64_t feasible = 0;
    if (find_feasible(&feasible, config, load, err) != 0 ||
        bound_find(&bound, config, load->workload, load->schedule, steps, err) != 0)
        return -1;
    *out = (struct limits){bound.ideal_tokens, bound.dual_tokens, feasible};
    return 0;
}

void limits_write(const struct limits *limits, struct json *result)
{
    json_add_u64(result, "ideal_tokens", limits->ideal_tokens);
    json_add_u64(result, "dual_tokens", limits->dual_tokens);
    json_add_u64(result, "feasible_tokens", limits->feasible_tokens);
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
