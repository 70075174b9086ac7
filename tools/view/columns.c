#include "tools/view/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "sim/vocabulary.h"
#include "tools/view/plugin_text.h"

enum operation { QUOTIENT, PRODUCT };

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
    {"ideal_ratio", "ideal_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, false,
     "share that earlier requests have shown (bound)"},
    {"dual_ratio", "dual_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, false,
     "share that no cache of this capacity can pass (bound)"},
    {"feasible_ratio", "feasible_tokens", QUOTIENT, "prompt_tokens", UNIT_RATIO, false,
     "share that a schedule hits which knows the future (bound)"},
    {"reached_ratio", "hit_tokens", QUOTIENT, "dual_tokens", UNIT_RATIO, false,
     "hits as a share of the dual: the least share of what is possible (bound)"},
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
    for (const struct param_table *table = config_tables; table->params && !entry; table++)
        entry = param_find(table->params, name);
    return entry;
}

/* ---- the list of all keys ---- */

static void set_column(struct column *out, enum column_source source, enum column_unit unit,
                       const char *name)
{
    *out = (struct column){.source = source, .unit = unit, .key = name};
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

static const char *counter_help(const char *name)
{
    for (const struct result_field *field = result_fields; field->name; field++)
        if (strcmp(field->name, name) == 0)
            return field->help;
    return "";
}

static bool is_derived(const char *name)
{
    for (const struct column_derived *d = derived; d->name; d++)
        if (strcmp(d->name, name) == 0)
            return true;
    return false;
}

/* Settings, counters and sizes: first those of the tables, then what only the files know. */
static bool part_at(const struct results *results, enum results_part part, size_t *index,
                    struct column *out, const char **help)
{
    for (const struct param_table *table = config_tables; table->params; table++) {
        for (const struct param *entry = table->params; entry->name; entry++) {
            if (part != RESULTS_CONFIG || (*index)-- > 0)
                continue;
            set_setting(out, entry->name);
            *help = entry->help;
            return true;
        }
    }
    for (size_t i = 0; i < results->key_count; i++) {
        const struct results_key *key = &results->keys[i];
        bool is_other = key->part != part || (part == RESULTS_CONFIG && setting_entry(key->name)) ||
                        (part != RESULTS_CONFIG && (!key->is_number || is_derived(key->name)));
        if (is_other || (*index)-- > 0)
            continue;
        if (part == RESULTS_CONFIG)
            set_setting(out, key->name);
        else
            set_number(out, part == RESULTS_RESULT ? COLUMN_COUNTER : COLUMN_MODEL, key->name);
        *help = part == RESULTS_RESULT ? counter_help(key->name) : "";
        return true;
    }
    return false;
}

static const struct {
    const char *name, *key;
    enum column_source source;
    const char *help;
} row_names[] = {
    {"trace", "name", COLUMN_TRACE, "name of the trace"},
    {"label", "label", COLUMN_SWEEP, "name of the cell in the sweep"},
    {"sweep", "name", COLUMN_SWEEP, "name of the sweep"},
    {"digest", "digest", COLUMN_TOP, "of every request's outcome"},
};
enum { ROW_NAMES = sizeof row_names / sizeof *row_names };

bool column_at(const struct results *results, size_t index, struct column *out, const char **help)
{
    if (index < ROW_NAMES) {
        set_column(out, row_names[index].source, UNIT_TEXT, row_names[index].name);
        out->key = row_names[index].key;
        *help = row_names[index].help;
        return true;
    }
    index -= ROW_NAMES;
    if (part_at(results, RESULTS_CONFIG, &index, out, help))
        return true;
    for (const struct column_derived *d = derived; d->name; d++) {
        if (index-- > 0)
            continue;
        set_derived(out, d);
        *help = d->help;
        return true;
    }
    return part_at(results, RESULTS_RESULT, &index, out, help) ||
           part_at(results, RESULTS_MODEL, &index, out, help);
}

/* ---- finding one by its key ---- */

static const char *key_name(const void *table, size_t index)
{
    struct column column;
    const char *help = NULL;
    if (index < ROW_NAMES)
        return row_names[index].name;
    return column_at(table, index, &column, &help) ? column.key : NULL;
}

static int unknown(const struct results *results, const char *key, struct err *err)
{
    const char *near = text_nearest(key, key_name, results);
    if (near)
        return err_set(err, "there is no key '%s' (did you mean '%s'?)", key, near);
    return err_set(err, "there is no key '%s' (snapsim table %s --keys lists them)", key,
                   results->path);
}

static const char *parameter_name(const void *table, size_t index)
{
    const struct param *entry = plugin_text_parameter_at(table, index);
    return entry ? entry->name : NULL;
}

/* "placement.interval"; 0 if the key is not of that form. */
static int find_parameter(struct column *out, const char *key, struct err *err)
{
    const char *dot = strchr(key, '.');
    char *setting = dot ? mem_strndup(key, (size_t)(dot - key)) : NULL;
    const struct plugin *const *list = setting ? plugin_text_list(setting) : NULL;
    const struct param *entry = NULL;
    int result = list ? 1 : 0;
    for (size_t i = 0; list && (entry = plugin_text_parameter_at(list, i)) != NULL; i++)
        if (same_key(entry->name, dot + 1))
            break;
    if (list && entry) {
        set_setting(out, setting);
        out->source = COLUMN_PARAMETER;
        out->entry = entry;
        out->parameter = entry->name;
        out->unit = entry->type == PARAM_BYTES ? UNIT_BYTES : UNIT_TEXT;
        snprintf(out->name, sizeof out->name, "%s.%s", setting, entry->name);
    } else if (list) {
        const char *near = text_nearest(dot + 1, parameter_name, list);
        result = err_set(err, "no %s has a parameter '%s'%s%s%s", setting, dot + 1,
                         near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    }
    free(setting);
    return result;
}

static bool is_value(const struct column *column)
{
    return column->source == COLUMN_COUNTER || column->source == COLUMN_MODEL ||
           column->source == COLUMN_DERIVED;
}

/* "config.requests" and the like: which part is meant, and the rest of the key. */
static const char *strip_part(const char *key, enum column_source *part)
{
    static const struct {
        const char *prefix;
        enum column_source source;
    } parts[] = {
        {"config.", COLUMN_SETTING}, {"result.", COLUMN_COUNTER}, {"model.", COLUMN_MODEL}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strncmp(key, parts[i].prefix, strlen(parts[i].prefix)) == 0) {
            *part = parts[i].source;
            return key + strlen(parts[i].prefix);
        }
    }
    *part = COLUMN_TOP;
    return key;
}

int column_find(struct column *out, const struct results *results, const char *key,
                enum column_place place, struct err *err)
{
    int parameter = find_parameter(out, key, err);
    if (parameter != 0)
        return parameter < 0 ? -1 : 0;
    enum column_source part = COLUMN_TOP;
    const char *name = strip_part(key, &part), *help = NULL;
    struct column candidate;
    bool found = false;
    for (size_t i = 0; column_at(results, i, &candidate, &help); i++) {
        bool is_part = part == COLUMN_TOP || part == candidate.source ||
                       (part == COLUMN_COUNTER && candidate.source == COLUMN_DERIVED);
        if (!is_part || !same_key(candidate.name, name))
            continue;
        if (!found || is_value(&candidate) == (place == PLACE_VALUE))
            *out = candidate;
        found = true;
    }
    return found ? 0 : unknown(results, key, err);
}

/* ---- values ---- */

static const struct json *stored_value(const struct column *column, const struct results_row *row)
{
    static const enum results_part part_of[] = {
        [COLUMN_TRACE] = RESULTS_TRACE,    [COLUMN_SWEEP] = RESULTS_SWEEP,
        [COLUMN_SETTING] = RESULTS_CONFIG, [COLUMN_PARAMETER] = RESULTS_CONFIG,
        [COLUMN_COUNTER] = RESULTS_RESULT, [COLUMN_MODEL] = RESULTS_MODEL,
        [COLUMN_DERIVED] = RESULTS_RESULT,
    };
    if (column->source == COLUMN_TOP)
        return json_get(row->document.top, column->key);
    const struct json *part = row->part[part_of[column->source]];
    return part ? json_get(part, column->key) : NULL;
}

/* A size in its shortest exact form; whatever is no size, as it is. */
static void add_size(const char *text, struct text *out)
{
    uint64_t bytes = 0;
    struct err ignored;
    char exact[UNITS_TEXT];
    if (units_parse_bytes(text, &bytes, &ignored) == 0)
        text_printf(out, "%s", units_bytes_exact(bytes, exact));
    else
        text_printf(out, "%s", text);
}

/* A result of an older program lacks the settings that came later: they had their defaults. */
static void setting_text(const struct column *column, const struct results_row *row, bool is_long,
                         struct text *out)
{
    struct text raw = {0};
    const struct json *value = stored_value(column, row);
    const struct plugin *const *list = plugin_text_list(column->key);
    text_add(&raw, "", 0);
    text_add(out, "", 0);
    if (value && json_scalar_text(value, &raw) != 0)
        json_print(value, false, &raw);
    else if (!value && column->entry && column->source == COLUMN_SETTING)
        text_printf(&raw, "%s", column->entry->default_text ? column->entry->default_text : "");
    if (column->source == COLUMN_PARAMETER && list)
        plugin_text_parameter(list, raw.data, column->parameter, out);
    else if (list && is_long)
        plugin_text_long(list, raw.data, out);
    else if (list)
        plugin_text_short(list, raw.data, out);
    else if (column->unit == UNIT_BYTES)
        add_size(raw.data, out);
    else
        text_printf(out, "%s", raw.data);
    text_close(&raw);
}

static void print_text(const struct column *column, const struct results_row *row, bool is_long,
                       struct text *out)
{
    double number = 0;
    text_add(out, "", 0);
    if (!is_value(column))
        setting_text(column, row, is_long, out);
    else if (column_number(column, row, &number))
        column_print(column, number, true, out);
}

void column_text(const struct column *column, const struct results_row *row, struct text *out)
{
    print_text(column, row, false, out);
}

void column_text_long(const struct column *column, const struct results_row *row, struct text *out)
{
    print_text(column, row, true, out);
}

static bool number_of(const struct results_row *row, const char *name, double *out)
{
    for (enum results_part part = RESULTS_RESULT; part <= RESULTS_MODEL; part++) {
        const struct json *value = row->part[part] ? json_get(row->part[part], name) : NULL;
        if (value && json_is_number(value)) {
            *out = json_double(value);
            return true;
        }
    }
    return false;
}

static bool derive(const struct column_derived *from, const struct results_row *row, double *out)
{
    double a = 0, b = 0;
    if (row->error || !number_of(row, from->a, &a) || !number_of(row, from->b, &b))
        return false;
    switch (from->operation) {
    case QUOTIENT:
        *out = b != 0 ? a / b : 0;
        break;
    case PRODUCT:
        *out = a * b;
        break;
    }
    return true;
}

bool column_number(const struct column *column, const struct results_row *row, double *out)
{
    if (column->source == COLUMN_DERIVED)
        return derive(column->derived, row, out);
    if (is_value(column)) {
        const struct json *value = stored_value(column, row);
        *out = value ? json_double(value) : 0;
        return value && json_is_number(value) && !row->error;
    }
    struct text text = {0};
    struct err ignored;
    uint64_t bytes = 0;
    setting_text(column, row, false, &text);
    bool is_number = false;
    if (column->unit == UNIT_BYTES) {
        is_number = units_parse_bytes(text.data, &bytes, &ignored) == 0 && bytes != UNITS_UNLIMITED;
        *out = (double)bytes;
    } else {
        is_number = units_parse_double(text.data, out, &ignored) == 0;
    }
    text_close(&text);
    return is_number;
}

static bool same_number(const char *a, const char *b)
{
    double x = 0, y = 0;
    struct err ignored;
    return units_parse_double(a, &x, &ignored) == 0 && units_parse_double(b, &y, &ignored) == 0 &&
           x == y;
}

bool column_is(const struct column *column, const struct results_row *row, const char *value)
{
    const struct plugin *const *list =
        column->source == COLUMN_SETTING ? plugin_text_list(column->key) : NULL;
    struct text have = {0}, want = {0};
    column_text_long(column, row, &have);
    if (list)
        plugin_text_long(list, value, &want);
    else if (column->unit == UNIT_BYTES)
        add_size(value, &want);
    else if (column->entry && column->entry->type == PARAM_BOOL)
        text_printf(&want, "%d",
                    strcmp(value, "1") == 0 || strcmp(value, "yes") == 0 ||
                        strcmp(value, "true") == 0);
    else
        text_printf(&want, "%s", value);
    bool same = strcmp(have.data, want.data) == 0 || same_number(have.data, want.data);
    text_close(&have);
    text_close(&want);
    return same;
}

/* Whole numbers are printed from their digits, all else as the shortest decimal. */
static void print_exact(double value, struct text *out)
{
    if (value >= -0x1p63 && value < 0x1p63 && value == (double)(int64_t)value) {
        text_printf(out, "%" PRId64, (int64_t)value);
        return;
    }
    text_add_number(out, value, false);
}

void column_print(const struct column *column, double value, bool exact, struct text *out)
{
    char text[UNITS_TEXT];
    if (exact)
        print_exact(value, out);
    else if (column->unit == UNIT_RATIO)
        text_printf(out, "%.4f", value);
    else if (column->unit == UNIT_BYTES && value >= 0 && value < 0x1p63)
        text_printf(out, "%s", units_bytes((uint64_t)value, text));
    else if (value >= 0 && value < 0x1p63 && value == (double)(uint64_t)value)
        text_printf(out, "%s", units_grouped((uint64_t)value, text));
    else if (value >= 1000 && value < 0x1p63)
        text_printf(out, "%s", units_grouped((uint64_t)(value + 0.5), text));
    else
        text_printf(out, "%.1f", value);
}
