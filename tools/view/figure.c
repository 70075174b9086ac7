#include "tools/view/figure.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/view/gnuplot.h"

/* ---- words ---- */

/* What an axis is called: by people's words where there are some, otherwise the key. */
static char *label_of(const struct column *column)
{
    static const struct {
        const char *name, *label;
    } known[] = {{"capacity", "capacity per GPU"},
                 {"hit_ratio", "hit ratio (share of prompt tokens)"},
                 {"hit_request_ratio", "share of requests with a hit"},
                 {"peak_bytes", "peak memory per GPU"}};
    struct text label = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, column->name) == 0)
            return mem_strdup(known[i].label);
    if (column->source == COLUMN_PARAMETER)
        text_printf(&label, "%s", column->entry->help);
    else
        for (const char *c = column->name; *c; c++)
            text_add(&label, *c == '_' || *c == '-' ? " " : c, 1);
    return label.data;
}

static void set_label(struct text *settings, const char *name, const char *wish,
                      const struct column *column)
{
    char *label = wish ? mem_strdup(wish) : label_of(column);
    gnuplot_set(settings, name, label);
    free(label);
}

/* A value of an axis as a figure names it: as in tables, but "64 GiB". */
static void add_name(const struct axis *axis, const struct results *results, size_t value,
                     struct text *out)
{
    text_add(out, "", 0);
    for (size_t key = 0; key < axis->key_count; key++) {
        struct text text = {0};
        axis_text(axis, results, value, key, &text);
        size_t digits = strspn(text.data, "0123456789.");
        bool is_size = axis->keys[key].unit == UNIT_BYTES && digits > 0 && text.data[digits];
        text_printf(out, "%s%.*s%s%s", key ? " " : "", (int)digits, text.data, is_size ? " " : "",
                    text.data + digits);
        text_close(&text);
    }
}

/* A field of CSV in quotes, of which gnuplot has a reading of its own: it cuts a name at a comma,
 * knows no way to write a quote, takes a backslash for one before another character, and nothing
 * between two quotes for the rest of the line. */
static void add_quoted(const char *field, struct text *out)
{
    struct text visible = {0};
    text_add_visible(&visible, *field ? field : " ", *field ? strlen(field) : 1, "");
    text_add(out, "\"", 1);
    for (const char *c = visible.data; *c; c++) {
        if (*c == '\\')
            text_add(out, c, 1);
        text_add(out, *c == '"' ? "'" : *c == ',' ? ";" : c, 1);
    }
    text_add(out, "\"", 1);
    text_close(&visible);
}

static void add_quoted_name(const struct axis *axis, const struct results *results, size_t value,
                            struct text *out)
{
    struct text name = {0};
    add_name(axis, results, value, &name);
    add_quoted(name.data, out);
    text_close(&name);
}

static void add_cell(const struct pivot *pivot, size_t row, size_t column, size_t value,
                     struct text *out)
{
    const struct pivot_cell *cell = pivot_at(pivot, row, column, value);
    text_add(out, ",", 1);
    if (cell->state == PIVOT_VALUE)
        column_print(&pivot->values[value], cell->value, true, out);
}

/* ---- what is shown ---- */

/* All that varies, but one key: "placement,eviction"; empty if nothing else does. */
static void varying_but(const struct results *results, const char *but, bool with_seeds,
                        struct text *out)
{
    struct column *varying = NULL;
    size_t count = axis_varying(results, NULL, &varying);
    text_add(out, "", 0);
    for (size_t i = 0; i < count; i++)
        if (strcmp(varying[i].name, but) != 0 &&
            (with_seeds || strcmp(varying[i].name, "seed") != 0))
            text_printf(out, "%s%s", out->length > 0 ? "," : "", varying[i].name);
    free(varying);
}

static const char *x_key(const struct figure_request *request)
{
    return request->x ? request->x : "capacity";
}

/* "placement.interval" is part of what "placement" varies in: then the rest goes by other keys. */
static void keys_by(const struct results *results, const struct figure_request *request,
                    struct text *out)
{
    const char *dot = strchr(x_key(request), '.');
    char *setting = dot ? mem_strndup(x_key(request), (size_t)(dot - x_key(request)))
                        : mem_strdup(x_key(request));
    if (request->by)
        text_printf(out, "%s", request->by);
    else
        varying_but(results, setting, request->aggregate == PIVOT_ONE, out);
    free(setting);
}

struct place {
    size_t value; /* of an axis */
    double number;
};

static int order_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

/* The values of an axis in the order of their numbers, if all are numbers (or if numbers_only, the
 * others left out), otherwise in order of appearance. Returns how many. */
static size_t places_of(const struct axis *axis, const struct results *results, bool numbers_only,
                        struct place **out)
{
    struct place *places = mem_array(axis->count + 1, sizeof *places);
    size_t numbers = 0;
    for (size_t i = 0; i < axis->count && axis->key_count == 1; i++) {
        struct place place = {.value = i};
        if (column_number(&axis->keys[0], &results->rows[axis->example[i]], &place.number) &&
            !(numbers_only && axis->keys[0].unit == UNIT_BYTES && place.number <= 0))
            places[numbers++] = place; /* a capacity of 0 has no place on an axis of octaves */
    }
    qsort(places, numbers, sizeof *places, order_places);
    *out = places;
    if (numbers_only || numbers == axis->count)
        return numbers;
    for (size_t i = 0; i < axis->count; i++)
        places[i] = (struct place){.value = i, .number = (double)i};
    return axis->count;
}

/* ---- kinds ---- */

static void set_x_scale(struct figure *out, const struct column *x, const struct place *places,
                        size_t count)
{
    double low = places[0].number, high = places[count - 1].number;
    if (low <= 0 || high < 8 * low)
        gnuplot_set(&out->settings, "x_scale", x->unit == UNIT_BYTES ? "linear_bytes" : "linear");
    else
        gnuplot_set(&out->settings, "x_scale", x->unit == UNIT_BYTES ? "bytes" : "log");
}

/* What limits hit ratios, drawn as lines of their own where all results at an x have the same. */
static const struct limit {
    const char *key, *name;
} limits[] = {{"feasible_ratio", "knowing the future"}, {"dual_ratio", "none can pass"}};
enum { LIMITS = sizeof limits / sizeof *limits };

/* A limit by x: the least and the most of all results there. */
struct limit_line {
    struct pivot least, most;
    bool is_shown;
};

static bool is_one_line(const struct limit_line *line)
{
    for (size_t row = 0; row < line->least.rows.count; row++) {
        const struct pivot_cell *least = pivot_at(&line->least, row, 0, 0);
        const struct pivot_cell *most = pivot_at(&line->most, row, 0, 0);
        if (least->state != PIVOT_VALUE || least->value != most->value)
            return false;
    }
    return true;
}

static void limit_open(struct limit_line *out, const struct limit *limit, const char *x,
                       const struct results *results)
{
    struct err ignored; /* no result has it */
    struct pivot_request asked = {
        .rows = x, .columns = "none", .values = limit->key, .aggregate = PIVOT_MIN};
    *out = (struct limit_line){0};
    bool opened = pivot_open(&out->least, results, &asked, &ignored) == 0;
    asked.aggregate = PIVOT_MAX;
    opened = opened && pivot_open(&out->most, results, &asked, &ignored) == 0;
    out->is_shown = opened && is_one_line(out);
}

static void limit_close(struct limit_line *line)
{
    pivot_close(&line->least);
    pivot_close(&line->most);
}

/* x, then a column for each line, then the limits. */
static void write_lines(struct figure *out, const struct pivot *pivot, const struct place *places,
                        size_t count, const struct limit_line *lines)
{
    const struct results *results = pivot->results;
    bool is_bytes = pivot->rows.keys[0].unit == UNIT_BYTES;
    text_printf(&out->csv, "\"%s%s\"", pivot->rows.keys[0].name, is_bytes ? "_bytes" : "");
    for (size_t column = 0; column < pivot->columns.count; column++) {
        text_add(&out->csv, ",", 1);
        if (pivot->columns.key_count > 0)
            add_quoted_name(&pivot->columns, results, column, &out->csv);
        else
            add_quoted(pivot->values[0].name, &out->csv);
    }
    for (size_t i = 0; i < LIMITS; i++)
        if (lines[i].is_shown)
            text_printf(&out->csv, ",\"%s\"", limits[i].name);
    text_add(&out->csv, "\n", 1);
    for (size_t i = 0; i < count; i++) {
        column_print(&pivot->rows.keys[0], places[i].number, true, &out->csv);
        for (size_t column = 0; column < pivot->columns.count; column++)
            add_cell(pivot, places[i].value, column, 0, &out->csv);
        for (size_t j = 0; j < LIMITS; j++)
            if (lines[j].is_shown)
                add_cell(&lines[j].least, places[i].value, 0, 0, &out->csv);
        text_add(&out->csv, "\n", 1);
    }
}

static int make_hit_rate(struct figure *out, const struct results *results,
                         const struct figure_request *request, struct err *err)
{
    struct pivot pivot = {0};
    struct text by = {0};
    struct place *places = NULL;
    int result = 0;
    keys_by(results, request, &by);
    struct pivot_request asked = {.rows = x_key(request),
                                  .columns = by.length > 0 ? by.data : "none",
                                  .values = request->value,
                                  .aggregate = request->aggregate};
    result = pivot_open(&pivot, results, &asked, err);
    if (result != 0)
        goto out;
    size_t count = places_of(&pivot.rows, results, true, &places);
    if (count == 0) {
        result = usage_error(err_set(err, "--x %s: no result has a number there", x_key(request)));
        goto out;
    }
    out->left_out = pivot.rows.count - count;
    bool is_hit_ratio = strcmp(pivot.values[0].name, "hit_ratio") == 0;
    struct limit_line lines[LIMITS] = {0};
    double shown = 0;
    for (size_t i = 0; i < LIMITS && is_hit_ratio; i++) {
        limit_open(&lines[i], &limits[i], x_key(request), results);
        shown += lines[i].is_shown;
    }
    write_lines(out, &pivot, places, count, lines);
    gnuplot_set_number(&out->settings, "limits", shown);
    for (size_t i = 0; i < LIMITS; i++)
        limit_close(&lines[i]);
    set_x_scale(out, &pivot.rows.keys[0], places, count);
    set_label(&out->settings, "x_label", request->x_label, &pivot.rows.keys[0]);
    set_label(&out->settings, "y_label", request->y_label, &pivot.values[0]);
    gnuplot_set(&out->settings, "value_format",
                pivot.values[0].unit == UNIT_BYTES ? "bytes" : "number");
out:
    free(places);
    text_close(&by);
    pivot_close(&pivot);
    return result;
}

static const char shares[] = "hit_ratio,missed_no_snapshot_ratio,missed_evicted_ratio,"
                             "missed_rounding_ratio,missed_last_ratio,missed_new_ratio";

/* One bar a row; a group has a heading row without shares. Returns how many rows there are. */
static double write_bars(struct figure *out, const struct pivot *pivot)
{
    double at = 0;
    text_printf(&out->csv, "at,label,%s\n", shares);
    for (size_t group = 0; group < pivot->columns.count; group++) {
        if (pivot->columns.key_count > 0) {
            at += group > 0 ? 1.5 : 1;
            text_printf(&out->csv, "%g,", at);
            add_quoted_name(&pivot->columns, pivot->results, group, &out->csv);
            text_printf(&out->csv, ",,,,,,\n");
        }
        for (size_t row = 0; row < pivot->rows.count; row++) {
            if (pivot_at(pivot, row, group, 0)->state != PIVOT_VALUE)
                continue;
            at += 1;
            text_printf(&out->csv, "%g,", at);
            add_quoted_name(&pivot->rows, pivot->results, row, &out->csv);
            for (size_t value = 0; value < pivot->value_count; value++)
                add_cell(pivot, row, group, value, &out->csv);
            text_add(&out->csv, "\n", 1);
        }
    }
    return at;
}

/* Bars by what varies, grouped by the capacity if that varies too. */
static int make_misses(struct figure *out, const struct results *results,
                       const struct figure_request *request, struct err *err)
{
    struct pivot pivot = {0};
    struct text by = {0};
    struct figure_request grouped = *request;
    struct column *varying = NULL;
    size_t count = axis_varying(results, NULL, &varying);
    bool has_groups = request->x != NULL;
    for (size_t i = 0; i < count && !request->x && !request->by && count > 1; i++)
        has_groups = has_groups || strcmp(varying[i].name, "capacity") == 0;
    grouped.x = has_groups ? x_key(request) : "";
    keys_by(results, &grouped, &by);
    struct pivot_request asked = {.rows = by.length > 0 ? by.data : "trace",
                                  .columns = has_groups ? grouped.x : "none",
                                  .values = shares,
                                  .aggregate = request->aggregate};
    int result = pivot_open(&pivot, results, &asked, err);
    if (result == 0) {
        double rows = write_bars(out, &pivot);
        if (request->height <= 0)
            gnuplot_set_number(&out->settings, "height", 1.1 + 0.23 * rows);
        gnuplot_set(&out->settings, "x_label",
                    request->x_label ? request->x_label : "share of prompt tokens");
    }
    free(varying);
    text_close(&by);
    pivot_close(&pivot);
    return result;
}

static void write_map(struct figure *out, const struct pivot *pivot, const struct place *rows,
                      size_t row_count, const struct place *columns, size_t column_count)
{
    text_printf(&out->csv, "x,y,x_name,y_name,value\n");
    for (size_t y = 0; y < row_count; y++) {
        for (size_t x = 0; x < column_count; x++) {
            size_t row = rows[y].value, column = columns[x].value;
            if (pivot_at(pivot, row, column, 0)->state != PIVOT_VALUE)
                continue;
            text_printf(&out->csv, "%zu,%zu,", x + 1, y + 1);
            add_quoted_name(&pivot->columns, pivot->results, column, &out->csv);
            text_add(&out->csv, ",", 1);
            add_quoted_name(&pivot->rows, pivot->results, row, &out->csv);
            add_cell(pivot, row, column, 0, &out->csv);
            text_add(&out->csv, "\n", 1);
        }
    }
}

static int make_heatmap(struct figure *out, const struct results *results,
                        const struct figure_request *request, struct err *err)
{
    struct pivot pivot = {0};
    struct text by = {0};
    struct place *rows = NULL, *columns = NULL;
    keys_by(results, request, &by);
    struct pivot_request asked = {.rows = by.length > 0 ? by.data : "trace",
                                  .columns = x_key(request),
                                  .values = request->value,
                                  .aggregate = request->aggregate};
    int result = pivot_open(&pivot, results, &asked, err);
    if (result == 0) {
        size_t row_count = places_of(&pivot.rows, results, false, &rows);
        size_t column_count = places_of(&pivot.columns, results, false, &columns);
        write_map(out, &pivot, rows, row_count, columns, column_count);
        set_label(&out->settings, "x_label", request->x_label, &pivot.columns.keys[0]);
        set_label(&out->settings, "y_label", request->y_label, &pivot.rows.keys[0]);
        set_label(&out->settings, "value_label", NULL, &pivot.values[0]);
        gnuplot_set(&out->settings, "value_format",
                    pivot.values[0].unit == UNIT_RATIO   ? "ratio"
                    : pivot.values[0].unit == UNIT_BYTES ? "bytes"
                                                         : "number");
        if (request->height <= 0)
            gnuplot_set_number(&out->settings, "height", 1.0 + 0.32 * (double)row_count);
    }
    free(rows);
    free(columns);
    text_close(&by);
    pivot_close(&pivot);
    return result;
}

const char figure_timeline_columns[] =
    "at_ns,kv_bytes,snapshot_bytes,live_bytes,padding_bytes,external_bytes,free_bytes";
#define CSV_MIB 1024 /* a row of a timeline has some 60 bytes */
const char figure_reuse_columns[] = "of,waited_for,from,to,requests,tokens";

const struct figure_kind figure_kinds[] = {
    {"hit-rate", "hit ratio over capacity, a line for each placement", NULL, "hit-rate.gp",
     make_hit_rate},
    {"misses", "where the prompts' tokens went, a bar for each placement", NULL, "misses.gp",
     make_misses},
    {"heatmap", "hit ratio over two settings, as shades and numbers", NULL, "heatmap.gp",
     make_heatmap},
    {"timeline", "memory over time, from the CSV of run --timeline", figure_timeline_columns,
     "timeline.gp", NULL},
    {"reuse", "how long ago prompts were used before, from the CSV of reuse", figure_reuse_columns,
     "reuse.gp", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- opening ---- */

static int set_range(struct figure *out, const char *range, struct err *err)
{
    const char *colon = strchr(range, ':');
    size_t low = colon ? (size_t)(colon - range) : 0;
    static const char allowed[] = "0123456789.-+e*";
    if (!colon || low == 0 || colon[1] == '\0' || strspn(range, allowed) != low ||
        strspn(colon + 1, allowed) != strlen(colon + 1))
        return usage_error(
            err_set(err, "--range: LOW:HIGH was expected, as in 0.5:1 or 0:*, found '%s'", range));
    char *start = mem_strndup(range, low);
    gnuplot_set(&out->settings, "low", start);
    gnuplot_set(&out->settings, "high", colon + 1);
    free(start);
    return 0;
}

static int start(struct figure *out, const struct figure_kind *kind,
                 const struct figure_request *request, struct err *err)
{
    *out = (struct figure){.script = kind->script};
    struct text *settings = &out->settings;
    text_add(settings, "", 0);
    if (request->title)
        gnuplot_set(settings, "heading", request->title);
    if (request->font)
        gnuplot_set(settings, "font", request->font);
    if (request->width > 0)
        gnuplot_set_number(settings, "width", request->width);
    if (request->height > 0)
        gnuplot_set_number(settings, "height", request->height);
    if (request->font_size > 0)
        gnuplot_set_number(settings, "font_size", request->font_size);
    return request->range ? set_range(out, request->range, err) : 0;
}

int figure_open(struct figure *out, const struct figure_kind *kind, const struct results *results,
                const struct figure_request *request, struct err *err)
{
    int result = start(out, kind, request, err);
    return result == 0 ? kind->make(out, results, request, err) : result;
}

/* Whether a CSV has these columns and at least two rows, without which an axis has no length. */
static int check_csv(const struct text *csv, const char *path, const char *columns, struct err *err)
{
    size_t width = strcspn(csv->data, "\r\n"), rows = 0;
    if (width != strlen(columns) || strncmp(csv->data, columns, width) != 0)
        return err_set(err, "%s:1: the columns '%s' were expected, found '%.*s'", path, columns,
                       width < 80 ? (int)width : 80, csv->data);
    for (size_t i = width; i + 1 < csv->length; i++)
        rows += csv->data[i] == '\n';
    if (rows < 2)
        return err_set(err, "%s: at least two rows were expected, found %zu", path, rows);
    return 0;
}

int figure_open_file(struct figure *out, const struct figure_kind *kind, const char *path,
                     const struct figure_request *request, struct err *err)
{
    int result = start(out, kind, request, err);
    if (result != 0)
        return result;
    if (request->x_label)
        gnuplot_set(&out->settings, "x_label", request->x_label);
    if (request->y_label)
        gnuplot_set(&out->settings, "y_label", request->y_label);
    if (text_read_input(&out->csv, path, CSV_MIB, err) != 0)
        return -1;
    return check_csv(&out->csv, path, kind->columns, err);
}

void figure_close(struct figure *figure)
{
    text_close(&figure->csv);
    text_close(&figure->settings);
}
