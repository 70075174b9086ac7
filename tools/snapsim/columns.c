#include "tools/snapsim/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "sim/engine/result.h"
#include "tools/snapsim/plugin_text.h"

enum operation { QUOTIENT, PRODUCT, DIFFERENCE };

/* Derived values: a and b are counters of `result` or sizes of `model`. */
struct column_derived {
    const char *name, *a;
    enum operation operation;
    const char *b;
    enum column_unit unit;
    bool less_is_better;
    const char *help;
};

static const struct column_derived derived[] = {
    {"hit_ratio", "hit_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, false,
     "share of prompt tokens that need not be computed"},
    {"missed_new_ratio", "missed_new_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, true,
     "share never seen before"},
    {"missed_evicted_ratio", "missed_evicted_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, true,
     "share seen, but its KV was evicted"},
    {"missed_no_snapshot_ratio", "missed_no_snapshot_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO,
     true, "share seen, but without a usable snapshot"},
    {"missed_rounding_ratio", "missed_rounding_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, true,
     "share cut by page or grain rounding"},
    {"missed_last_ratio", "missed_last_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, true,
     "share of last tokens, which are always computed"},
    {"computed_tokens", "prompt_tokens", DIFFERENCE, "hit_tokens", UNIT_COUNT, true,
     "prompt tokens that are computed"},
    {"hit_request_ratio", "hit_requests", QUOTIENT, "requests", UNIT_RATIO, false,
     "share of requests with a hit"},
    {"snapshot_use_ratio", "snapshots_hit", QUOTIENT, "snapshots_taken", UNIT_RATIO, false,
     "hits per snapshot taken"},
    {"snapshot_taken_bytes", "snapshots_taken", PRODUCT, "snapshot_bytes", UNIT_BYTES, true,
     "bytes of all snapshots that were stored"},
    {"snapshot_evicted_bytes", "snapshots_evicted", PRODUCT, "snapshot_bytes", UNIT_BYTES, true,
     "bytes of snapshots that were dropped to make room"},
    {"kv_stored_bytes", "kv_tokens_stored", PRODUCT, "kv_bytes_per_token", UNIT_BYTES, true,
     "bytes of all KV that was stored"},
    {"kv_evicted_bytes", "kv_tokens_evicted", PRODUCT, "kv_bytes_per_token", UNIT_BYTES, true,
     "bytes of KV that was dropped"},
    {"visits_per_lookup", "node_visits", QUOTIENT, "lookups", UNIT_RATIO, true,
     "tree nodes visited by a look-up"},
    {NULL, NULL, QUOTIENT, NULL, UNIT_TEXT, false, NULL},
};

static bool same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

static const struct param *setting_entry(const char *name)
{
    const struct param *entry = NULL;
    for (const struct config_table *table = config_tables; table->params && !entry; table++)
        entry = param_find(table->params, name);
    return entry;
}

/* ---- the list of all keys ---- */

static void set_column(struct column *out, enum column_source source, enum column_unit unit,
                       const char *name)
{
    *out = (struct column){.source = source, .unit = unit};
    snprintf(out->name, sizeof out->name, "%s", name);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* A number of result or model. What is called a hit is good, and all else is a cost. */
static void set_number(struct column *out, enum column_source source, const char *name)
{
    enum column_unit unit = ends_with(name, "_ratio")   ? UNIT_RATIO
                            : ends_with(name, "_bytes") ? UNIT_BYTES
                                                        : UNIT_COUNT;
    set_column(out, source, unit, name);
    out->less_is_better = strncmp(name, "hit_", 4) != 0 && strcmp(name, "snapshots_hit") != 0;
}

static void set_setting(struct column *out, const char *name)
{
    const struct param *entry = setting_entry(name);
    set_column(out, COLUMN_SETTING, UNIT_TEXT, entry ? entry->name : name);
    out->entry = entry;
    if (entry && entry->type == PARAM_BYTES)
        out->unit = UNIT_BYTES;
}

static void set_derived(struct column *out, const struct column_derived *from)
{
    set_column(out, COLUMN_DERIVED, from->unit, from->name);
    out->less_is_better = from->less_is_better;
    out->derived = from;
}

/* The keys of one part of all rows that are not known from tables. What every row of a sweep has
 * stands in its first row; a row may still have more, as with another engine. */
static const char *part_key(const struct results *results, enum column_source source, size_t index)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct results_row *row = &results->rows[i];
        const struct json *part = source == COLUMN_SETTING   ? row->config
                                  : source == COLUMN_COUNTER ? row->result
                                                             : row->model;
        for (const struct json *item = json_first(part); item; item = json_next(item)) {
            const char *name = json_key(item);
            bool known = source == COLUMN_SETTING ? setting_entry(name) != NULL
                                                  : !json_is_number(item);
            for (const struct column_derived *d = derived; d->name; d++)
                known = known || (source == COLUMN_COUNTER && strcmp(d->name, name) == 0);
            for (size_t j = 0; j < i && !known; j++) {
                const struct results_row *other = &results->rows[j];
                const struct json *before = source == COLUMN_SETTING   ? other->config
                                            : source == COLUMN_COUNTER ? other->result
                                                                       : other->model;
                known = before && json_get(before, name);
            }
            if (!known && index-- == 0)
                return name;
        }
    }
    return NULL;
}

static const char *counter_help(const char *name)
{
    for (const struct result_field *field = result_fields; field->name; field++)
        if (strcmp(field->name, name) == 0)
            return field->help;
    return "";
}
