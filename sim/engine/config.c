#include "sim/engine/config.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/param_json.h"
#include "sim/core/units.h"

#define PAGE_TOKENS_MAX (1 << 20)

static const char *const engines[] = {"replay", NULL};
static const char *const orphan_rules[] = {"drop", "keep", "keep-for-fork", NULL};
static const char *const indexes[] = {"unified", "dual", NULL};
static const char *const reply_rules[] = {"keep", "drop", NULL};
static const char *const partial_rules[] = {"drop", "keep", NULL};

#define ENTRY(name_, field, type_, default_, low, high, metavar_, help_)                           \
    {                                                                                              \
        name_, type_, offsetof(struct config, field), default_, low, high, NULL, metavar_, help_   \
    }
#define CHOICE(name_, field, default_, choices_, help_)                                            \
    {                                                                                              \
        name_, PARAM_CHOICE, offsetof(struct config, field), default_, 0, 0, choices_, NULL, help_ \
    }

static const struct param cache_params[] = {
    ENTRY("model", model, PARAM_TEXT, "kimi-k3", 0, 0, "NAME|FILE", "a preset, or a JSON file"),
    ENTRY("placement", placement, PARAM_TEXT, "turn", 0, 0, "P[+P...]",
          "where snapshots are taken (snapsim list placements)"),
    ENTRY("eviction", eviction, PARAM_TEXT, "lru", 0, 0, "E",
          "what leaves when memory is short (snapsim list evictions)"),
    ENTRY("memory", memory, PARAM_TEXT, "ideal", 0, 0, "S",
          "how bytes are divided (snapsim list memories)"),
    ENTRY("capacity", capacity, PARAM_BYTES, "64GiB", 0, 0, "SIZE",
          "memory per GPU for KV and snapshots: 64GiB, 64G, 1.5TB, unlimited"),
    ENTRY("page-tokens", page_tokens, PARAM_TEXT, "auto", 0, 0, "N|trace|auto",
          "tokens of KV in a page; trace: a page is a block of the trace, a partial one included"),
    CHOICE("orphans", orphans, "drop", orphan_rules,
           "KV that no snapshot can use; keep-for-fork: keep it up to where a request left it"),
    CHOICE("index", index, "unified", indexes,
           "one for snapshots and their KV, or two that are intersected and can disagree"),
    CHOICE("engine", engine, "replay", engines, "replay: each request complete before the next"),
    ENTRY(
        "snapshot-grain", snapshot_grain, PARAM_U64, "0", 0, 1 << 20, "N",
        "tokens to which positions of snapshots are floored; 0: ends and fixed:N exact, others the "
        "model's chunk (64)"),
    ENTRY("match-unit", match_unit, PARAM_U64, "0", 0, 1 << 20, "N",
          "tokens to which hits are floored, apart from the page size, and with recurrent layers "
          "the positions of snapshots; 0: pages, or exact"),
    ENTRY("slots-per-request", slots_per_request, PARAM_U64, "0", 0, 1024, "N",
          "live states for which a running request takes room"),
    ENTRY("min-compute-tokens", min_compute_tokens, PARAM_U64, "1", 0, 1 << 20, "N",
          "prompt tokens that are computed in any case"),
    PARAM_END,
};

static const struct param load_params[] = {
    CHOICE("replies", replies, "keep", reply_rules, "whether replies are part of the paths"),
    CHOICE("partial-blocks", partial_blocks, "drop", partial_rules,
           "whether a last, partial block of a list of numbers is one of its own"),
    ENTRY("share-system", share_system, PARAM_BOOL, "0", 0, 1, "0|1",
          "share system prompts between conversations whose numbers are local"),
    ENTRY("arrival", arrival, PARAM_TEXT, "auto", 0, 0, "HOW",
          "sequential, recorded, poisson:RATE (conversations/s), open:N, or auto"),
    ENTRY("seed", seed, PARAM_U64, "1", 0, 9007199254740992.0, "N", "of everything that is drawn"),
    ENTRY("requests", requests, PARAM_U64, "0", 0, UINT32_MAX, "N",
          "only the first N requests; 0: all"),
    PARAM_END,
};

const struct param_table config_tables[] = {
    {"Cache", cache_params, 0},
    {"Sharding", sharding_params, offsetof(struct config, sharding)},
    {"Load", load_params, 0},
    {NULL, NULL, 0},
};

void config_open(struct config *config)
{
    *config = (struct config){0};
    param_open(config_tables, config);
}

void config_close(struct config *config)
{
    param_close(config_tables, config);
}

static const void *base_of(const struct config *config, const struct param_table *table)
{
    return (const char *)config + table->offset;
}

void config_copy(struct config *to, const struct config *from)
{
    *to = *from;
    for (const struct param_table *table = config_tables; table->params; table++) {
        for (const struct param *entry = table->params; entry->name; entry++) {
            if (entry->type != PARAM_TEXT)
                continue;
            char **text = (char **)(void *)((char *)to + table->offset + entry->offset);
            *text = *text ? mem_strdup(*text) : NULL;
        }
    }
}

static int unknown(const char *name, struct err *err)
{
    return param_unknown(config_tables, "there is no setting", name,
                         " (snapsim run --help lists them)", err);
}

int config_check_name(const char *name, const struct param **found, struct err *err)
{
    *found = param_find_in(config_tables, NULL, name, NULL);
    return *found ? 0 : unknown(name, err);
}

int config_set(struct config *config, const char *name, const char *value, struct err *err)
{
    void *base = NULL;
    const struct param *entry = param_find_in(config_tables, config, name, &base);
    return entry ? param_set(entry, base, value, err) : unknown(name, err);
}

int config_parse_page_tokens(const char *text, uint64_t *tokens, bool *pages_are_blocks,
                             struct err *err)
{
    struct err ignored;
    *tokens = 0;
    *pages_are_blocks = strcmp(text, "trace") == 0;
    if (*pages_are_blocks || strcmp(text, "auto") == 0)
        return 0;
    if (units_parse_u64(text, tokens, &ignored) != 0 || *tokens == 0 || *tokens > PAGE_TOKENS_MAX)
        return err_set(err,
                       "page-tokens: auto, trace or a number from 1 to %d was expected, "
                       "found '%s'",
                       PAGE_TOKENS_MAX, text);
    return 0;
}

int config_read(struct config *config, const struct json_document *document,
                const struct json *object, struct err *err)
{
    if (!json_is_object(object))
        return json_fail(document, object, err, "an object of settings was expected");
    return param_read_json(config_tables, config, "there is no setting", document, object, err);
}

static void write_setting(const struct param *entry, const void *base, struct json *parent)
{
    const void *field = (const char *)base + entry->offset;
    struct text value = {0};
    if (entry->type == PARAM_U64) {
        json_add_u64(parent, entry->name, *(const uint64_t *)field);
    } else if (entry->type == PARAM_BOOL) {
        json_add_bool(parent, entry->name, *(const bool *)field);
    } else {
        param_print_value(entry, base, &value);
        json_add_string(parent, entry->name, value.data ? value.data : "");
    }
    text_close(&value);
}

static bool is_listed(const char *name, const char *list)
{
    size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

void config_print_changed(const struct config *config, const char *always, const char *before,
                          const char *between, struct text *out)
{
    struct config defaults;
    config_open(&defaults);
    for (const struct param_table *table = config_tables; table->params; table++) {
        for (const struct param *entry = table->params; entry->name; entry++) {
            struct text mine = {0}, usual = {0};
            param_print_value(entry, base_of(config, table), &mine);
            param_print_value(entry, base_of(&defaults, table), &usual);
            if (is_listed(entry->name, always) || strcmp(mine.data, usual.data) != 0)
                text_printf(out, "%s%s%s%s", before, entry->name, between, mine.data);
            text_close(&mine);
            text_close(&usual);
        }
    }
    config_close(&defaults);
}

void config_write_table(const struct param *table, const void *settings, struct json *parent)
{
    for (const struct param *entry = table; entry->name; entry++)
        write_setting(entry, settings, parent);
}

void config_write(const struct config *config, struct json *parent)
{
    for (const struct param_table *table = config_tables; table->params; table++)
        config_write_table(table->params, base_of(config, table), parent);
}

struct build_options config_build_options(const struct config *config)
{
    return (struct build_options){.drop_replies = config->replies == REPLIES_DROP,
                                  .keep_partial_blocks = config->partial_blocks == PARTIAL_KEEP,
                                  .share_system = config->share_system};
}

bool config_same_workload(const struct config *a, const struct config *b)
{
    return a->replies == b->replies && a->partial_blocks == b->partial_blocks &&
           a->share_system == b->share_system;
}

bool config_same_schedule(const struct config *a, const struct config *b)
{
    return config_same_workload(a, b) && a->seed == b->seed && a->requests == b->requests &&
           strcmp(a->arrival, b->arrival) == 0;
}
