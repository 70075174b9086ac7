#include "tools/sweep/sweep_key.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/param_json.h"
#include "sim/core/units.h"
#include "tools/sweep/plugins.h"

#define VALUES_MAX 1000000u
#define NO_TRACE SIZE_MAX

/* Takes over the text. */
static void add_value(struct sweep_key *key, struct sweep_value value)
{
    key->values = mem_grow(key->values, &key->capacity, key->count + 1, sizeof *key->values);
    key->values[key->count++] = value;
}

/* ---- traces ---- */

static int read_synth(const struct sweep_source *source, const struct json *object,
                      struct synth_options *out)
{
    static const struct param_table tables[] = {{NULL, synth_params, 0}, {NULL, NULL, 0}};
    param_defaults(synth_params, out);
    return param_read_json(tables, out, "a generated load has no option", source->document, object,
                           source->err);
}

static int read_trace(const struct sweep_source *source, const struct json *value,
                      struct sweep_trace *out)
{
    struct text text = {0};
    *out = (struct sweep_trace){0};
    if (json_is_object(value)) {
        out->generated = true;
        out->seed_follows = json_get(value, "seed") == NULL;
        if (read_synth(source, value, &out->options) != 0)
            return -1;
        json_print(value, false, &text);
    } else if (json_string(value) && synth_is_name(json_string(value))) {
        struct err reason;
        out->generated = true;
        out->seed_follows = !synth_name_gives_seed(json_string(value));
        if (synth_parse_name(json_string(value), &out->options, &reason) != 0)
            return json_fail(source->document, value, source->err, "%s", reason.text);
        text_printf(&text, "%s", json_string(value));
    } else if (json_string(value) && *json_string(value)) {
        text_printf(&text, "%s", json_string(value));
    } else {
        return json_fail(source->document, value, source->err,
                         "trace: a path, or an object with options of a generated load, was "
                         "expected");
    }
    out->text = text.data;
    return 0;
}

void sweep_source_add_trace(struct sweep_source *source, struct sweep_trace *trace)
{
    struct sweep *sweep = source->sweep;
    sweep->traces = mem_grow(sweep->traces, &source->trace_capacity, sweep->trace_count + 1,
                             sizeof *sweep->traces);
    sweep->traces[sweep->trace_count++] = *trace;
    trace->text = NULL;
}

static int read_trace_value(struct sweep_key *key, struct sweep_source *source,
                            const struct json *item, bool adds_traces)
{
    const struct sweep *sweep = source->sweep;
    struct sweep_trace trace;
    size_t index = 0;
    if (read_trace(source, item, &trace) != 0)
        return -1;
    while (index < sweep->trace_count && strcmp(sweep->traces[index].text, trace.text) != 0)
        index++;
    bool is_new = index == sweep->trace_count;
    if (is_new && adds_traces)
        sweep_source_add_trace(source, &trace);
    free(trace.text);
    add_value(key, (struct sweep_value){.trace = is_new && !adds_traces ? NO_TRACE : index});
    return 0;
}

/* ---- settings ---- */

/* Whether a setting names something that exists. Numbers are not checked alone: a tp
 * may be right for the model that the file names, and wrong for the default one. */
static bool is_name(const struct param *entry)
{
    return entry->type == PARAM_TEXT;
}

/* One value of a setting: checked by the table that parses the command line. */
static int read_scalar(struct sweep_key *key, const struct sweep_source *source,
                       const struct json *item)
{
    struct text text = {0};
    struct config scratch;
    struct err reason;
    int result = 0;
    text_add(&text, "", 0);
    config_open(&scratch);
    if (json_scalar_text(item, &text) != 0)
        result = json_fail(source->document, item, source->err,
                           "%s: a value, a list or a range was expected", key->name);
    else if (config_set(&scratch, key->name, text.data, &reason) != 0 ||
             (is_name(key->entry) &&
              setup_check(&scratch, &snapsim_plugins, source->sweep->models, &reason) != 0))
        result = json_fail(source->document, item, source->err, "%s", reason.text);
    else
        add_value(key, (struct sweep_value){.text = mem_strdup(text.data)});
    config_close(&scratch);
    text_close(&text);
    return result;
}

static void print_setting(const struct config *config, const struct param *entry, struct text *out)
{
    text_add(out, "", 0);
    for (const struct param_table *table = config_tables; table->params; table++)
        if (param_find(table->params, entry->name) == entry)
            param_print_value(entry, (const char *)config + table->offset, out);
}

static void set_checked(struct config *config, const char *name, const char *text)
{
    struct err err;
    int failed = config_set(config, name, text, &err);
    assert(!failed && "values were checked when they were read");
    (void)failed;
}

/* Makes the values those that a cell's settings are printed as, to be compared with them. */
static void normalise(struct sweep_key *key)
{
    struct config scratch;
    config_open(&scratch);
    for (size_t i = 0; key->entry && i < key->count; i++) {
        struct text text = {0};
        set_checked(&scratch, key->name, key->values[i].text);
        print_setting(&scratch, key->entry, &text);
        free(key->values[i].text);
        key->values[i].text = text.data;
    }
    config_close(&scratch);
}

/* ---- ranges ---- */

struct range {
    bool is_whole; /* the values are rounded: a number of something, or bytes */
    bool adds;     /* step, not factor */
    double from, to, step, factor;
};

/* Below 2^63 a double can be made a whole number again; "unlimited" is above. */
static int read_bound(const struct sweep_key *key, const struct json *object, const char *name,
                      double *out)
{
    const struct json *value = json_get(object, name);
    struct text text = {0};
    struct err ignored;
    uint64_t bytes = 0;
    int result = -1;
    if (value && json_scalar_text(value, &text) == 0 && text.length > 0) {
        if (key->entry->type == PARAM_BYTES && strcmp(name, "factor") != 0) {
            result = units_parse_bytes(text.data, &bytes, &ignored);
            *out = (double)bytes;
        } else {
            result = units_parse_double(text.data, out, &ignored);
        }
        if (key->entry->type != PARAM_DOUBLE && !(*out >= 0 && *out < 0x1p63))
            result = -1;
    }
    text_close(&text);
    return result;
}

static int parse_range(struct range *out, const struct sweep_key *key, const struct json *object)
{
    enum param_type type = key->entry->type;
    size_t keys = 0;
    for (const struct json *item = json_first(object); item; item = json_next(item))
        keys++;
    *out =
        (struct range){.is_whole = type != PARAM_DOUBLE, .adds = json_get(object, "step") != NULL};
    bool numeric = type == PARAM_BYTES || type == PARAM_U64 || type == PARAM_DOUBLE;
    if (!numeric || keys != 3 || read_bound(key, object, "from", &out->from) != 0 ||
        read_bound(key, object, "to", &out->to) != 0 || out->to < out->from)
        return -1;
    if (out->adds)
        return read_bound(key, object, "step", &out->step) == 0 && out->step > 0 ? 0 : -1;
    bool grows = read_bound(key, object, "factor", &out->factor) == 0 && out->factor > 1;
    return grows && out->from > 0 ? 0 : -1;
}

/* A sum or product of rounded numbers may be a little above the end that is meant: 0.1, 0.2, 0.3 is
 * to end with 0.3. What whole numbers are rounded to is never above it. Steps are counted from the
 * start, as the next value after 2^53 is 2^53 again. */
static bool is_past_end(const struct range *range, double value, size_t steps)
{
    if (range->is_whole && round(value) > range->to)
        return true;
    if (range->adds)
        return (double)steps * range->step > range->to - range->from + range->step * 1e-6;
    return !range->is_whole && value > range->to * (1 + 1e-9);
}

/* round, as value + 0.5 is not exact from 2^52 on. */
static void add_number(struct sweep_key *key, double value)
{
    char bytes[UNITS_TEXT];
    struct text text = {0};
    if (key->entry->type == PARAM_BYTES)
        text_printf(&text, "%s", units_bytes_exact((uint64_t)round(value), bytes));
    else if (key->entry->type == PARAM_U64)
        text_printf(&text, "%" PRIu64, (uint64_t)round(value));
    else
        text_printf(&text, "%.12g", value);
    add_value(key, (struct sweep_value){.text = text.data});
}

/* Between two values that a setting may have, it may have all. */
static int check_ends(const struct sweep_key *key, size_t first, struct err *reason)
{
    struct config scratch;
    config_open(&scratch);
    int result = config_set(&scratch, key->name, key->values[key->count - 1].text, reason);
    if (result == 0)
        result = config_set(&scratch, key->name, key->values[first].text, reason);
    config_close(&scratch);
    return result;
}

static int read_range(struct sweep_key *key, const struct sweep_source *source,
                      const struct json *object)
{
    struct range range;
    struct err reason;
    size_t first = key->count;
    if (parse_range(&range, key, object) != 0)
        return json_fail(source->document, object, source->err,
                         "%s: {\"from\": A, \"to\": B, \"step\": S} or, with A above 0, "
                         "{\"from\": A, \"to\": B, \"factor\": F above 1} was expected, in "
                         "numbers%s",
                         key->name, range.is_whole ? " from 0 to below 2^63" : "");
    double value = range.from;
    for (size_t steps = 0; !is_past_end(&range, value, steps);) {
        if (key->count == VALUES_MAX)
            return json_fail(source->document, object, source->err,
                             "%s: at most %u values were expected", key->name, VALUES_MAX);
        add_number(key, value);
        steps++;
        /* from the start each time: in repeated sums the errors of rounding add up */
        value = range.adds ? range.from + (double)steps * range.step : value * range.factor;
    }
    if (check_ends(key, first, &reason) != 0)
        return json_fail(source->document, object, source->err, "%s", reason.text);
    return 0;
}

/* ---- keys ---- */

int sweep_key_open(struct sweep_key *out, const struct sweep_source *source,
                   const struct json *item)
{
    struct err reason;
    *out = (struct sweep_key){.name = "trace"};
    if (strcmp(json_key(item), "trace") == 0)
        return 0;
    if (config_check_name(json_key(item), &out->entry, &reason) != 0)
        return json_fail(source->document, item, source->err, "%s", reason.text);
    out->name = out->entry->name;
    return 0;
}

void sweep_key_close(struct sweep_key *key)
{
    for (size_t i = 0; i < key->count; i++)
        free(key->values[i].text);
    free(key->values);
    *key = (struct sweep_key){0};
}

int sweep_key_read_one(struct sweep_key *key, struct sweep_source *source, const struct json *item)
{
    return key->entry ? read_scalar(key, source, item) : read_trace_value(key, source, item, true);
}

static int read_value(struct sweep_key *key, struct sweep_source *source, const struct json *item,
                      bool adds_traces)
{
    if (key->entry == NULL)
        return read_trace_value(key, source, item, adds_traces);
    return json_is_object(item) ? read_range(key, source, item) : read_scalar(key, source, item);
}

int sweep_key_read(struct sweep_key *key, struct sweep_source *source, const struct json *item,
                   bool adds_traces)
{
    bool is_list = json_is_array(item);
    const struct json *value = is_list ? json_first(item) : item;
    if (value == NULL)
        return json_fail(source->document, item, source->err, "%s: an empty list", json_key(item));
    for (; value; value = is_list ? json_next(value) : NULL)
        if (read_value(key, source, value, adds_traces) != 0)
            return -1;
    normalise(key);
    return 0;
}

void sweep_key_apply(const struct sweep_key *key, size_t value, struct sweep_cell *cell)
{
    if (key->entry == NULL)
        cell->trace = key->values[value].trace;
    else
        set_checked(&cell->config, key->name, key->values[value].text);
}

bool sweep_key_matches(const struct sweep_key *key, const struct sweep_cell *cell)
{
    struct text text = {0};
    bool matches = false;
    if (key->entry)
        print_setting(&cell->config, key->entry, &text);
    for (size_t i = 0; i < key->count && !matches; i++)
        matches = key->entry ? strcmp(key->values[i].text, text.data) == 0
                             : key->values[i].trace == cell->trace;
    text_close(&text);
    return matches;
}
