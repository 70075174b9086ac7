#include "tools/view/replay_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/view/axis.h"

/* A setting, or the trace. */
struct part {
    struct column column;
    struct axis axis;
    bool is_kept; /* axis_varying has it: it does not follow from others */
};

struct parts {
    const struct results *results;
    struct part *items;
    size_t count, capacity;
};

/* Whole numbers as numbers, all else as words. */
static void add_value(const struct part *part, const struct results_row *row, const char *key,
                      struct json *parent)
{
    struct text text = {0};
    struct err ignored;
    uint64_t number = 0;
    column_text(&part->column, row, &text);
    if (part->column.unit != UNIT_BYTES && units_parse_u64(text.data, &number, &ignored) == 0)
        json_add_u64(parent, key, number);
    else
        json_add_string(parent, key, text.data);
    text_close(&text);
}

static bool is_default(const struct part *part, const struct results_row *row)
{
    const char *usual = part->column.entry ? part->column.entry->default_text : NULL;
    return usual && column_is(&part->column, row, usual);
}

/* Follows from the trace if it is not given. */
static bool resolves_itself(const struct part *part)
{
    return strcmp(part->column.name, "arrival") == 0;
}

static void collect(struct parts *parts, const struct results *results)
{
    *parts = (struct parts){.results = results};
    struct column *kept = NULL, column;
    const char *help = NULL;
    size_t kept_count = axis_varying(results, NULL, &kept);
    for (size_t i = 0; column_at(results, i, &column, &help); i++) {
        if (column.source != COLUMN_SETTING && column.source != COLUMN_TRACE)
            continue;
        parts->items =
            mem_grow(parts->items, &parts->capacity, parts->count + 1, sizeof *parts->items);
        struct part *part = &parts->items[parts->count++];
        *part = (struct part){.column = column};
        axis_open(&part->axis, results, &column, 1);
        for (size_t j = 0; j < kept_count; j++)
            part->is_kept = part->is_kept || strcmp(kept[j].name, column.name) == 0;
    }
    free(kept);
}

static void discard(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        axis_close(&parts->items[i].axis);
    free(parts->items);
}

/* Whether the results are all combinations of the kept parts, each once, and nothing else varies.
 */
static bool is_grid(const struct parts *parts)
{
    struct column *keys = mem_array(parts->count + 1, sizeof *keys);
    size_t count = 0, product = 1;
    bool is_simple = true;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        if (part->axis.count == 1 || (!part->is_kept && resolves_itself(part)))
            continue;
        is_simple = is_simple && part->is_kept && product <= parts->results->count;
        keys[count++] = part->column;
        product *= part->axis.count;
    }
    struct axis combined;
    axis_open(&combined, parts->results, keys, count);
    bool grid = is_simple && combined.count == product && parts->results->count == product;
    axis_close(&combined);
    free(keys);
    return grid;
}

static void add_shared(const struct part *part, const struct results *results, bool grid,
                       struct json *top)
{
    const struct results_row *rows = results->rows;
    if (part->axis.count == 1 && !is_default(part, &rows[0]))
        add_value(part, &rows[0], part->column.name, top);
    if (part->axis.count == 1 || !grid || !part->is_kept)
        return;
    struct json *list = json_add_array(top, part->column.name);
    for (size_t value = 0; value < part->axis.count; value++)
        add_value(part, &rows[part->axis.example[value]], NULL, list);
}

static void add_cell(const struct parts *parts, size_t row, struct json *cells)
{
    const struct results_row *from = &parts->results->rows[row];
    const struct json *sweep = from->part[RESULTS_SWEEP];
    const char *label = sweep ? json_string(json_get(sweep, "label")) : NULL;
    struct json *cell = json_add_object(cells, NULL);
    struct text name = {0};
    text_printf(&name, "cell %zu", row + 1);
    json_add_string(cell, "label", label ? label : name.data);
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].axis.count > 1 && !is_default(&parts->items[i], from))
            add_value(&parts->items[i], from, parts->items[i].column.name, cell);
    text_close(&name);
}

/* Whether the results were asked for with "bound". */
static bool has_limits(const struct results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct json *result = results->rows[i].part[RESULTS_RESULT];
        if (result && json_get(result, "dual_tokens"))
            return true;
    }
    return false;
}

void replay_file_write(const struct results *results, struct text *out)
{
    struct parts parts;
    struct json *top = json_new_object();
    const struct json *sweep = results->rows[0].part[RESULTS_SWEEP];
    const char *name = sweep ? json_string(json_get(sweep, "name")) : NULL;
    if (name)
        json_add_string(top, "name", name);
    if (has_limits(results))
        json_add_bool(top, "bound", true);
    collect(&parts, results);
    bool grid = is_grid(&parts);
    for (size_t i = 0; i < parts.count; i++)
        add_shared(&parts.items[i], results, grid, top);
    if (!grid) {
        struct json *cells = json_add_array(top, "cells");
        for (size_t row = 0; row < results->count; row++)
            add_cell(&parts, row, cells);
    }
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
    discard(&parts);
}
