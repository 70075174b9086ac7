#include "tools/snapsim/cells.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/snapsim/settings.h"

#define AXIS_VALUES_MAX 1000000u

/* One key of the file and the values that it takes. */
struct axis {
    const char *name;          /* "trace", or a setting's */
    const struct param *entry; /* NULL for the trace */
    char **values; /* as config_set takes them; for the trace, indexes into sweep->traces */
    size_t count, capacity;
};

struct reader {
    const struct json_document *document;
    struct sweep *sweep;
    struct axis *axes;
    size_t axis_count, axis_capacity, cell_capacity, trace_capacity;
    const struct json *exclude, *cells;
    struct err *err;
};

static void add_value(struct axis *axis, const char *text)
{
    axis->values = mem_grow(axis->values, &axis->capacity, axis->count + 1, sizeof *axis->values);
    axis->values[axis->count++] = mem_strdup(text);
}

static int read_synth(struct reader *reader, const struct json *object, struct synth_options *out)
{
    struct text value = {0};
    int result = 0;
    param_defaults(synth_params, out);
    for (const struct json *item = json_first(object); item && result == 0;
         item = json_next(item)) {
        struct err reason;
        const struct param *entry = param_find(synth_params, json_key(item));
        text_clear(&value);
        if (!entry) {
            struct text hint = {0};
            text_add(&hint, "", 0);
            param_suggest(synth_params, json_key(item), &hint);
            result = json_fail(reader->document, item, reader->err,
                               "a generated load has no option '%s'%s", json_key(item), hint.data);
            text_close(&hint);
        } else if (json_scalar_text(item, &value) != 0 ||
                   param_set(entry, out, value.data ? value.data : "", &reason) != 0) {
            result = json_fail(reader->document, item, reader->err, "%s",
                               value.length ? reason.text : "a number or a word was expected");
        }
    }
    text_close(&value);
    return result;
}

static int read_trace(struct reader *reader, const struct json *value, struct sweep_trace *out)
{
    struct text text = {0};
    *out = (struct sweep_trace){0};
    if (json_is_object(value)) {
        out->generated = true;
        out->seed_follows = json_get(value, "seed") == NULL;
        if (read_synth(reader, value, &out->options) != 0)
            return -1;
        json_print(value, false, &text);
    } else if (json_string(value) && synth_is_name(json_string(value))) {
        struct err reason;
        out->generated = true;
        out->seed_follows = !synth_name_gives_seed(json_string(value));
        if (synth_parse_name(json_string(value), &out->options, &reason) != 0)
            return json_fail(reader->document, value, reader->err, "%s", reason.text);
        text_printf(&text, "%s", json_string(value));
    } else if (json_string(value) && *json_string(value)) {
        text_printf(&text, "%s", json_string(value));
    } else {
        return json_fail(reader->document, value, reader->err,
                         "trace: a path, or an object with options of a generated load, was "
                         "expected");
    }
    out->text = text.data;
    return 0;
}

/* Takes over the trace. */
static void add_trace(struct reader *reader, struct sweep_trace *trace)
{
    struct sweep *sweep = reader->sweep;
    sweep->traces = mem_grow(sweep->traces, &reader->trace_capacity, sweep->trace_count + 1,
                             sizeof *sweep->traces);
    sweep->traces[sweep->trace_count++] = *trace;
    trace->text = NULL;
}

/* The index of a trace as the axis's next value. One that is new is added, but not from `exclude`,
 * where it stands for no cell: its index is one that no cell has. */
static int read_trace_value(struct reader *reader, struct axis *axis, const struct json *value,
                            bool may_add)
{
    const struct sweep *sweep = reader->sweep;
    struct sweep_trace trace;
    char digits[24];
    size_t index = 0;
    if (read_trace(reader, value, &trace) != 0)
        return -1;
    while (index < sweep->trace_count && strcmp(sweep->traces[index].text, trace.text) != 0)
        index++;
    if (index == sweep->trace_count && may_add)
        add_trace(reader, &trace);
    free(trace.text);
    snprintf(digits, sizeof digits, "%zu", index);
    add_value(axis, digits);
    return 0;
}

/* Whether a setting names something that settings_check knows. Numbers are not checked alone: a tp
 * may be right for the model that the file names, and wrong for the default one. */
static bool is_name(const struct param *entry)
{
    return entry->type == PARAM_TEXT;
}

/* One value of a setting: checked by the table that parses the command line. */
static int read_scalar(struct reader *reader, struct axis *axis, const struct json *value)
{
    struct text text = {0};
    struct config scratch;
    struct err reason;
    int result = 0;
    config_open(&scratch);
    if (json_scalar_text(value, &text) != 0)
        result = json_fail(reader->document, value, reader->err,
                           "%s: a value, a list or a range was expected", axis->name);
    else if (config_set(&scratch, axis->name, text.data ? text.data : "", &reason) != 0 ||
             (is_name(axis->entry) && settings_check(&scratch, &reason) != 0))
        result = json_fail(reader->document, value, reader->err, "%s", reason.text);
    else
        add_value(axis, text.data ? text.data : "");
    config_close(&scratch);
    text_close(&text);
    return result;
}

struct range {
    double from, to, step, factor;
};

/* Below 2^63 a double can be made a whole number again; "unlimited" is above. */
static int read_bound(const struct axis *axis, const struct json *object, const char *key,
                      double *out)
{
    const struct json *value = json_get(object, key);
    struct text text = {0};
    struct err ignored;
    uint64_t bytes = 0;
    int result = -1;
    if (value && json_scalar_text(value, &text) == 0 && text.length > 0) {
        if (axis->entry->type == PARAM_BYTES && strcmp(key, "factor") != 0) {
            result = units_parse_bytes(text.data, &bytes, &ignored);
            *out = (double)bytes;
        } else {
            result = units_parse_double(text.data, out, &ignored);
        }
        if (axis->entry->type != PARAM_DOUBLE && !(*out >= 0 && *out < 0x1p63))
            result = -1;
    }
    text_close(&text);
    return result;
}

static void add_number(struct axis *axis, double value)
{
    char bytes[UNITS_TEXT];
    struct text text = {0};
    if (axis->entry->type == PARAM_BYTES)
        text_printf(&text, "%s", units_bytes_exact((uint64_t)(value + 0.5), bytes));
    else if (axis->entry->type == PARAM_U64)
        text_printf(&text, "%" PRIu64, (uint64_t)(value + 0.5));
    else
        text_printf(&text, "%.12g", value);
    add_value(axis, text.data);
    text_close(&text);
}

static int read_range(struct reader *reader, struct axis *axis, const struct json *object)
{
    struct range range = {0};
    enum param_type type = axis->entry->type;
    bool numeric = type == PARAM_BYTES || type == PARAM_U64 || type == PARAM_DOUBLE;
    bool adds = json_get(object, "step") != NULL;
    size_t keys = 0;
    for (const struct json *item = json_first(object); item; item = json_next(item))
        keys++;
    if (!numeric || keys != 3 || read_bound(axis, object, "from", &range.from) != 0 ||
        read_bound(axis, object, "to", &range.to) != 0 || range.to < range.from ||
        (adds ? read_bound(axis, object, "step", &range.step) != 0 || !(range.step > 0)
              : read_bound(axis, object, "factor", &range.factor) != 0 ||
                    !(range.factor > 1 && range.from > 0)))
        return json_fail(reader->document, object, reader->err,
                         "%s: {\"from\": A, \"to\": B, \"step\": S} or, with A above 0, "
                         "{\"from\": A, \"to\": B, \"factor\": F above 1} was expected, in "
                         "numbers%s",
                         axis->name, type == PARAM_DOUBLE ? "" : " from 0 to below 2^63");
    double slack = range.to * 1e-9; /* so that 0.1, 0.2, 0.3 ends with 0.3 */
    for (double value = range.from; value <= range.to + slack;
         value = adds ? value + range.step : value * range.factor) {
        if (axis->count == AXIS_VALUES_MAX)
            return json_fail(reader->document, object, reader->err,
                             "%s: at most %u values were expected", axis->name, AXIS_VALUES_MAX);
        add_number(axis, value);
    }
    struct config scratch;
    config_open(&scratch);
    struct err reason;
    int result = config_set(&scratch, axis->name, axis->values[axis->count - 1], &reason);
    if (result == 0)
        result = config_set(&scratch, axis->name, axis->values[0], &reason);
    config_close(&scratch);
    return result == 0 ? 0 : json_fail(reader->document, object, reader->err, "%s", reason.text);
}

static int read_value(struct reader *reader, struct axis *axis, const struct json *value,
                      bool may_add_trace)
{
    if (axis->entry == NULL)
        return read_trace_value(reader, axis, value, may_add_trace);
    if (json_is_object(value))
        return read_range(reader, axis, value);
    return read_scalar(reader, axis, value);
}

static int read_axis(struct reader *reader, const struct json *item)
{
    const char *key = json_key(item);
    const struct param *entry = NULL;
    struct err reason;
    if (strcmp(key, "trace") != 0 && config_check_name(key, &entry, &reason) != 0)
        return json_fail(reader->document, item, reader->err, "%s", reason.text);
    for (size_t i = 0; i < reader->axis_count; i++)
        if (reader->axes[i].entry == entry)
            return json_fail(reader->document, item, reader->err, "setting '%s' appears twice",
                             entry ? entry->name : key);
    reader->axes = mem_grow_zeroed(reader->axes, &reader->axis_capacity, reader->axis_count + 1,
                                   sizeof *reader->axes);
    struct axis *axis = &reader->axes[reader->axis_count++];
    axis->name = entry ? entry->name : "trace";
    axis->entry = entry;
    if (!json_is_array(item))
        return read_value(reader, axis, item, true);
    for (const struct json *value = json_first(item); value; value = json_next(value))
        if (read_value(reader, axis, value, true) != 0)
            return -1;
    if (axis->count == 0)
        return json_fail(reader->document, item, reader->err, "%s: an empty list", key);
    return 0;
}

static int read_top(struct reader *reader)
{
    const struct json *top = reader->document->top;
    if (!json_is_object(top))
        return json_fail(reader->document, top, reader->err, "an object was expected");
    for (const struct json *item = json_first(top); item; item = json_next(item)) {
        const char *key = json_key(item);
        int result = 0;
        bool is_list = strcmp(key, "exclude") == 0 || strcmp(key, "cells") == 0;
        if (strcmp(key, "name") == 0) {
            if (!json_string(item))
                return json_fail(reader->document, item, reader->err, "name: text was expected");
            free(reader->sweep->name);
            reader->sweep->name = mem_strdup(json_string(item));
        } else if (is_list) {
            if (!json_is_array(item))
                return json_fail(reader->document, item, reader->err,
                                 "%s: a list of objects was expected", key);
            *(strcmp(key, "cells") == 0 ? &reader->cells : &reader->exclude) = item;
        } else {
            result = read_axis(reader, item);
        }
        if (result != 0)
            return -1;
    }
    return 0;
}

static struct cell *add_cell(struct reader *reader)
{
    struct sweep *sweep = reader->sweep;
    sweep->cells = mem_grow_zeroed(sweep->cells, &reader->cell_capacity, sweep->cell_count + 1,
                                   sizeof *sweep->cells);
    struct cell *cell = &sweep->cells[sweep->cell_count++];
    config_open(&cell->config);
    return cell;
}

static void apply(struct cell *cell, const struct axis *axis, const char *value)
{
    struct err err;
    if (axis->entry == NULL) {
        cell->trace = strtoull(value, NULL, 10);
        return;
    }
    int failed = config_set(&cell->config, axis->name, value, &err);
    assert(!failed && "values were checked when they were read");
    (void)failed;
}

/* Whether a cell has the value, or one of the list of values, that an exclusion gives for a key. */
static int key_matches(struct reader *reader, const struct cell *cell, const struct json *item,
                       bool *matches)
{
    struct axis axis = {.name = json_key(item)};
    struct err reason;
    int result = 0;
    *matches = false;
    if (strcmp(axis.name, "trace") != 0 && config_check_name(axis.name, &axis.entry, &reason) != 0)
        return json_fail(reader->document, item, reader->err, "%s", reason.text);
    const struct json *value = json_is_array(item) ? json_first(item) : item;
    for (; value && result == 0; value = json_is_array(item) ? json_next(value) : NULL)
        result = read_value(reader, &axis, value, false);
    for (size_t i = 0; i < axis.count && result == 0; i++) {
        struct cell other = *cell;
        config_copy(&other.config, &cell->config);
        apply(&other, &axis, axis.values[i]);
        struct json *a = json_new_object(), *b = json_new_object();
        struct text left = {0}, right = {0};
        config_write(&cell->config, a);
        config_write(&other.config, b);
        json_print(a, false, &left);
        json_print(b, false, &right);
        *matches |= other.trace == cell->trace && strcmp(left.data, right.data) == 0;
        text_close(&left);
        text_close(&right);
        json_close(a);
        json_close(b);
        config_close(&other.config);
    }
    for (size_t i = 0; i < axis.count; i++)
        free(axis.values[i]);
    free(axis.values);
    return result;
}

static int is_excluded(struct reader *reader, const struct cell *cell, bool *excluded)
{
    *excluded = false;
    for (const struct json *rule = json_first(reader->exclude); rule && !*excluded;
         rule = json_next(rule)) {
        if (!json_is_object(rule) || !json_first(rule))
            return json_fail(reader->document, reader->exclude, reader->err,
                             "exclude: a list of objects with settings was expected");
        bool all = true;
        for (const struct json *item = json_first(rule); item && all; item = json_next(item))
            if (key_matches(reader, cell, item, &all) != 0)
                return -1;
        *excluded = all;
    }
    return 0;
}

/* All combinations, the last axis turning fastest, like the digits of a counter. */
static int expand(struct reader *reader)
{
    size_t *at = mem_array(reader->axis_count + 1, sizeof *at);
    int result = 0;
    for (bool more = true; more && result == 0;) {
        struct cell *cell = add_cell(reader);
        for (size_t i = 0; i < reader->axis_count; i++)
            apply(cell, &reader->axes[i], reader->axes[i].values[at[i]]);
        bool excluded = false;
        if (reader->exclude)
            result = is_excluded(reader, cell, &excluded);
        if (excluded) {
            config_close(&cell->config);
            reader->sweep->cell_count--;
        }
        if (reader->sweep->cell_count > CELLS_MAX)
            result = err_set(reader->err, "%s: at most %u cells were expected",
                             reader->document->path, CELLS_MAX);
        more = false;
        for (size_t i = reader->axis_count; i-- > 0 && !more;) {
            more = ++at[i] < reader->axes[i].count;
            if (!more)
                at[i] = 0;
        }
    }
    free(at);
    return result;
}

static int read_named_cell(struct reader *reader, const struct json *object)
{
    if (!json_is_object(object) || !json_string(json_get(object, "label")))
        return json_fail(reader->document, reader->cells, reader->err,
                         "cells: objects with a \"label\" and settings were expected");
    struct cell *cell = add_cell(reader);
    cell->label = mem_strdup(json_string(json_get(object, "label")));
    for (size_t i = 0; i < reader->axis_count; i++)
        if (reader->axes[i].count == 1)
            apply(cell, &reader->axes[i], reader->axes[i].values[0]);
    for (const struct json *item = json_first(object); item; item = json_next(item)) {
        struct axis axis = {.name = json_key(item)};
        struct err reason;
        int result = 0;
        if (strcmp(axis.name, "label") == 0)
            continue;
        if (strcmp(axis.name, "trace") != 0 &&
            config_check_name(axis.name, &axis.entry, &reason) != 0)
            return json_fail(reader->document, item, reader->err, "%s", reason.text);
        result = axis.entry ? read_scalar(reader, &axis, item)
                            : read_trace_value(reader, &axis, item, true);
        if (result == 0)
            apply(cell, &axis, axis.values[0]);
        for (size_t i = 0; i < axis.count; i++)
            free(axis.values[i]);
        free(axis.values);
        if (result != 0)
            return -1;
    }
    return 0;
}

static int read_cells(struct reader *reader)
{
    bool varies = reader->cells == NULL;
    for (size_t i = 0; i < reader->axis_count; i++)
        varies |= reader->axes[i].count > 1;
    if (varies && expand(reader) != 0)
        return -1;
    for (const struct json *object = json_first(reader->cells); object; object = json_next(object))
        if (read_named_cell(reader, object) != 0)
            return -1;
    if (reader->sweep->cell_count == 0)
        return err_set(reader->err, "%s: no cell is left", reader->document->path);
    return 0;
}

/* Without a trace, a load is generated with all defaults. */
static void default_trace(struct reader *reader)
{
    if (reader->sweep->trace_count > 0)
        return;
    struct sweep_trace trace = {.text = mem_strdup("{}"), .generated = true, .seed_follows = true};
    param_defaults(synth_params, &trace.options);
    add_trace(reader, &trace);
}

int sweep_open(struct sweep *out, const char *path, struct err *err)
{
    *out = (struct sweep){.name = mem_strdup("sweep")};
    struct json_document document = {0};
    struct reader reader = {.document = &document, .sweep = out, .err = err};
    int result = json_open_file(&document, path, err);
    if (result == 0)
        result = read_top(&reader);
    if (result == 0) {
        struct text varied = {0};
        text_add(&varied, "", 0);
        for (size_t i = 0; i < reader.axis_count; i++)
            if (reader.axes[i].count > 1)
                text_printf(&varied, "%s%s", varied.length ? " " : "", reader.axes[i].name);
        out->varied = varied.data;
        default_trace(&reader);
        result = read_cells(&reader);
    }
    for (size_t i = 0; i < reader.axis_count; i++) {
        for (size_t j = 0; j < reader.axes[i].count; j++)
            free(reader.axes[i].values[j]);
        free(reader.axes[i].values);
    }
    free(reader.axes);
    json_close_document(&document);
    if (result != 0)
        sweep_close(out);
    return result;
}

void sweep_close(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->trace_count; i++)
        free(sweep->traces[i].text);
    for (size_t i = 0; i < sweep->cell_count; i++) {
        free(sweep->cells[i].label);
        config_close(&sweep->cells[i].config);
    }
    free(sweep->traces);
    free(sweep->cells);
    free(sweep->name);
    free(sweep->varied);
    *sweep = (struct sweep){0};
}

void sweep_describe_cell(const struct sweep *sweep, size_t cell, struct text *out)
{
    if (sweep->cells[cell].label)
        text_printf(out, " label=%s", sweep->cells[cell].label);
    if (sweep->trace_count > 1)
        text_printf(out, " trace=%s", sweep->traces[sweep->cells[cell].trace].text);
    config_print_changed(&sweep->cells[cell].config, sweep->varied, " ", "=", out);
}
