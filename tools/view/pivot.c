#include "tools/view/pivot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

const char *const pivot_aggregates[] = {
    [PIVOT_ONE] = "none", [PIVOT_MEAN] = "mean", [PIVOT_MIN] = "min", [PIVOT_MAX] = "max", NULL};

struct keys {
    struct column *items;
    size_t count, capacity;
};

static void add_key(struct keys *keys, const struct column *column)
{
    keys->items = mem_grow(keys->items, &keys->capacity, keys->count + 1, sizeof *keys->items);
    keys->items[keys->count++] = *column;
}

static bool has_key(const struct keys *keys, const struct column *column)
{
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i].name, column->name) == 0)
            return true;
    return false;
}

static int parse_keys(struct keys *keys, const struct results *results, const char *list,
                      enum column_place place, const char *flag, struct err *err)
{
    if (list == NULL || strcmp(list, "none") == 0)
        return 0;
    return axis_parse(results, list, place, flag, &keys->items, &keys->count, err);
}

/* Of what varies and is not asked for: columns are by capacity, or by the last setting; rows by
 * all the rest. One setting alone makes rows. Aggregates are over seeds, unless one is asked for.
 */
static void choose_keys(const struct results *results, const struct pivot_request *request,
                        struct keys *rows, struct keys *columns)
{
    struct column *varying = NULL;
    struct keys left = {0};
    size_t count = axis_varying(results, NULL, &varying);
    for (size_t i = 0; i < count; i++) {
        bool is_summed = request->aggregate != PIVOT_ONE && strcmp(varying[i].name, "seed") == 0;
        if (!is_summed && !has_key(rows, &varying[i]) && !has_key(columns, &varying[i]))
            add_key(&left, &varying[i]);
    }
    size_t across = left.count;
    for (size_t i = 0; i < left.count && !request->columns; i++)
        if (strcmp(left.items[i].name, "capacity") == 0)
            across = i;
    bool needs_columns = !request->columns && left.count > (request->rows ? 0u : 1u);
    if (needs_columns && across == left.count)
        across = left.count - 1;
    if (needs_columns)
        add_key(columns, &left.items[across]);
    for (size_t i = 0; i < left.count && !request->rows; i++)
        if (!needs_columns || i != across)
            add_key(rows, &left.items[i]);
    free(left.items);
    free(varying);
}

/* A single result has nothing that varies: its trace names the row. */
static int ensure_row_key(struct keys *rows, const struct results *results, struct err *err)
{
    struct column column;
    if (rows->count > 0)
        return 0;
    if (column_find(&column, results, "trace", PLACE_SETTING, err) != 0)
        return -1;
    add_key(rows, &column);
    return 0;
}

/* ---- filling ---- */

static struct pivot_cell *cell_at(struct pivot *pivot, size_t row, size_t column, size_t value)
{
    return &pivot->cells[(row * pivot->columns.count + column) * pivot->value_count + value];
}

const struct pivot_cell *pivot_at(const struct pivot *pivot, size_t row, size_t column,
                                  size_t value)
{
    return &pivot->cells[(row * pivot->columns.count + column) * pivot->value_count + value];
}

/* Names what tells apart the results that fell into the cell of a row. */
static int ambiguous(const struct pivot *pivot, size_t row, size_t value, struct err *err)
{
    const struct results *results = pivot->results;
    bool *use = mem_array(results->count, sizeof *use);
    for (size_t i = 0; i < results->count; i++)
        use[i] = pivot->rows.of_row[i] == pivot->rows.of_row[row] &&
                 pivot->columns.of_row[i] == pivot->columns.of_row[row];
    struct column *varying = NULL;
    struct text place = {0}, names = {0};
    axis_label(&pivot->rows, results, pivot->rows.of_row[row], &place);
    if (pivot->columns.key_count > 0) {
        text_add(&place, ", ", 2);
        axis_label(&pivot->columns, results, pivot->columns.of_row[row], &place);
    }
    size_t count = axis_varying(results, use, &varying);
    for (size_t i = 0; i < count; i++)
        text_printf(&names, "%s%s", i ? ", " : "", varying[i].name);
    if (count > 0)
        err_set(err,
                "%.200s: several results differ in %s, and in %.300s: name that with --rows or "
                "--columns, pick with --where, or use --aggregate mean, min or max",
                place.data, pivot->values[value].name, names.data);
    else
        err_set(err,
                "%.200s: several results of the same settings differ in %s; they may come from "
                "different programs (see --aggregate)",
                place.data, pivot->values[value].name);
    free(varying);
    free(use);
    text_close(&place);
    text_close(&names);
    return -1;
}

static bool combine(struct pivot_cell *cell, double number, enum pivot_aggregate aggregate)
{
    cell->count++;
    if (cell->state != PIVOT_VALUE) {
        cell->state = PIVOT_VALUE;
        cell->value = number;
        cell->count = 1;
        return true;
    }
    switch (aggregate) {
    case PIVOT_ONE:
        return number == cell->value;
    case PIVOT_MEAN:
        cell->value += number; /* divided by the count when all are in */
        break;
    case PIVOT_MIN:
        cell->value = number < cell->value ? number : cell->value;
        break;
    case PIVOT_MAX:
        cell->value = number > cell->value ? number : cell->value;
        break;
    }
    return true;
}

static int fill(struct pivot *pivot, enum pivot_aggregate aggregate, struct err *err)
{
    const struct results *results = pivot->results;
    for (size_t i = 0; i < results->count; i++) {
        for (size_t v = 0; v < pivot->value_count; v++) {
            struct pivot_cell *cell =
                cell_at(pivot, pivot->rows.of_row[i], pivot->columns.of_row[i], v);
            double number = 0;
            if (!column_number(&pivot->values[v], &results->rows[i], &number)) {
                if (results->rows[i].error && cell->state == PIVOT_EMPTY)
                    cell->state = PIVOT_FAILED;
                continue;
            }
            if (!combine(cell, number, aggregate))
                return ambiguous(pivot, i, v, err);
        }
    }
    size_t cells = pivot->rows.count * pivot->columns.count * pivot->value_count;
    for (size_t i = 0; i < cells && aggregate == PIVOT_MEAN; i++)
        if (pivot->cells[i].count > 1)
            pivot->cells[i].value /= (double)pivot->cells[i].count;
    return 0;
}

int pivot_open(struct pivot *out, const struct results *results,
               const struct pivot_request *request, struct err *err)
{
    *out = (struct pivot){.results = results};
    struct keys rows = {0}, columns = {0}, values = {0};
    const char *shown = request->values ? request->values : "hit_ratio";
    int result = parse_keys(&rows, results, request->rows, PLACE_SETTING, "--rows", err);
    if (result == 0)
        result = parse_keys(&columns, results, request->columns, PLACE_SETTING, "--columns", err);
    if (result == 0)
        result = parse_keys(&values, results, shown, PLACE_VALUE, "--value", err);
    if (result != 0)
        goto out;
    choose_keys(results, request, &rows, &columns);
    result = ensure_row_key(&rows, results, err);
    if (result != 0)
        goto out;
    axis_open(&out->rows, results, rows.items, rows.count);
    axis_open(&out->columns, results, columns.items, columns.count);
    out->values = values.items;
    out->value_count = values.count;
    values.items = NULL;
    out->cells =
        mem_array(out->rows.count * out->columns.count * out->value_count + 1, sizeof *out->cells);
    result = fill(out, request->aggregate, err);
out:
    free(rows.items);
    free(columns.items);
    free(values.items);
    return result;
}

void pivot_close(struct pivot *pivot)
{
    axis_close(&pivot->rows);
    axis_close(&pivot->columns);
    free(pivot->values);
    free(pivot->cells);
    *pivot = (struct pivot){0};
}

bool pivot_is_best(const struct pivot *pivot, size_t row, size_t column, size_t value)
{
    const struct pivot_cell *mine = pivot_at(pivot, row, column, value);
    if (mine->state != PIVOT_VALUE)
        return false;
    bool less = pivot->values[value].less_is_better;
    for (size_t i = 0; i < pivot->rows.count; i++) {
        const struct pivot_cell *other = pivot_at(pivot, i, column, value);
        if (other->state == PIVOT_VALUE &&
            (less ? other->value < mine->value : other->value > mine->value))
            return false;
    }
    return true;
}

void pivot_column_label(const struct pivot *pivot, size_t column, size_t value, struct text *out)
{
    axis_label(&pivot->columns, pivot->results, column, out);
    bool is_named = pivot->columns.key_count == 0 || pivot->value_count > 1;
    if (is_named)
        text_printf(out, "%s%s", out->length > 0 ? " " : "", pivot->values[value].name);
}
