/* snapsim table - results as a table, so that nobody needs a script to look at a sweep. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/snapsim/snapsim.h"
#include "tools/view/pivot.h"
#include "tools/view/where.h"

#define TABLE_SCHEMA 1

/* ---- a grid of texts, for eyes ---- */

struct grid {
    char **texts; /* row by row */
    int *widths;  /* of the columns */
    size_t rows, columns, left_columns;
};

static char *cell_text(const struct pivot *pivot, size_t row, size_t column, size_t value,
                       bool mark, bool markdown)
{
    const struct pivot_cell *cell = pivot_at(pivot, row, column, value);
    struct text text = {0};
    text_add(&text, "", 0);
    bool best = mark && pivot_is_best(pivot, row, column, value);
    if (best && markdown)
        text_add(&text, "**", 2);
    if (cell->state == PIVOT_VALUE)
        column_print(&pivot->values[value], cell->value, false, &text);
    else
        text_printf(&text, "%s", cell->state == PIVOT_FAILED ? "failed" : "-");
    if (markdown)
        text_add(&text, "**", best ? 2 : 0);
    else if (mark)
        text_add(&text, best ? "*" : " ", 1);
    return text.data;
}

static void grid_open(struct grid *out, const struct pivot *pivot, bool mark, bool markdown)
{
    size_t keys = pivot->rows.key_count;
    *out = (struct grid){.rows = pivot->rows.count + 1,
                         .columns = keys + pivot->columns.count * pivot->value_count,
                         .left_columns = keys};
    out->texts = mem_array(out->rows * out->columns, sizeof *out->texts);
    char **text = out->texts;
    for (size_t key = 0; key < keys; key++)
        *text++ = mem_strdup(pivot->rows.keys[key].name);
    for (size_t column = 0; column < pivot->columns.count; column++) {
        for (size_t value = 0; value < pivot->value_count; value++) {
            struct text label = {0};
            pivot_column_label(pivot, column, value, &label);
            if (mark && !markdown)
                text_add(&label, " ", 1);
            *text++ = label.data;
        }
    }
    for (size_t row = 0; row < pivot->rows.count; row++) {
        for (size_t key = 0; key < keys; key++) {
            struct text label = {0};
            axis_text(&pivot->rows, pivot->results, row, key, &label);
            *text++ = label.data;
        }
        for (size_t column = 0; column < pivot->columns.count; column++)
            for (size_t value = 0; value < pivot->value_count; value++)
                *text++ = cell_text(pivot, row, column, value, mark, markdown);
    }
    out->widths = mem_array(out->columns, sizeof *out->widths);
    for (size_t i = 0; i < out->rows * out->columns; i++) {
        int length = (int)strlen(out->texts[i]), *widest = &out->widths[i % out->columns];
        *widest = length > *widest ? length : *widest;
    }
}

static void grid_close(struct grid *grid)
{
    for (size_t i = 0; i < grid->rows * grid->columns; i++)
        free(grid->texts[i]);
    free(grid->texts);
    free(grid->widths);
}

static void print_line(const struct grid *grid, size_t row, const char *before, const char *between,
                       const char *after, struct text *out)
{
    text_printf(out, "%s", before);
    for (size_t column = 0; column < grid->columns; column++) {
        int width = grid->widths[column];
        text_printf(out, "%s%*s", column ? between : "",
                    column < grid->left_columns ? -width : width,
                    grid->texts[row * grid->columns + column]);
    }
    if (after[0] == '\0') /* nothing behind the last word of a line */
        while (out->length > 0 && out->data[out->length - 1] == ' ')
            out->data[--out->length] = '\0';
    text_printf(out, "%s\n", after);
}

static void print_table(const struct pivot *pivot, bool mark, struct text *out)
{
    struct grid grid;
    grid_open(&grid, pivot, mark, false);
    if (pivot->columns.key_count > 0) {
        text_printf(out, "%s by", pivot->value_count == 1 ? pivot->values[0].name : "values");
        for (size_t key = 0; key < pivot->columns.key_count; key++)
            text_printf(out, " %s", pivot->columns.keys[key].name);
        text_printf(out, "%s\n", mark ? ", * is the best" : "");
    }
    for (size_t row = 0; row < grid.rows; row++)
        print_line(&grid, row, "", "  ", "", out);
    grid_close(&grid);
}

static void print_markdown(const struct pivot *pivot, bool mark, struct text *out)
{
    struct grid grid;
    grid_open(&grid, pivot, mark, true);
    print_line(&grid, 0, "| ", " | ", " |", out);
    for (size_t column = 0; column < grid.columns; column++)
        text_printf(out, "%s%s", column ? "|" : "|", column < grid.left_columns ? "---" : "---:");
    text_add(out, "|\n", 2);
    for (size_t row = 1; row < grid.rows; row++)
        print_line(&grid, row, "| ", " | ", " |", out);
    grid_close(&grid);
}

/* ---- for programs ---- */

static void add_csv(const char *field, struct text *out)
{
    if (strpbrk(field, ",\"\r\n") == NULL) {
        text_printf(out, "%s", field);
        return;
    }
    text_add(out, "\"", 1);
    for (const char *c = field; *c; c++)
        text_printf(out, "%s%c", *c == '"' ? "\"" : "", *c);
    text_add(out, "\"", 1);
}

static void add_axis_csv(const struct pivot *pivot, const struct axis *axis, size_t value,
                         struct text *out)
{
    struct text field = {0};
    for (size_t key = 0; key < axis->key_count; key++) {
        text_clear(&field);
        axis_text(axis, pivot->results, value, key, &field);
        text_printf(out, "%s", key ? "," : "");
        add_csv(field.data, out);
    }
    text_close(&field);
}

static void add_value(const struct pivot *pivot, const struct pivot_cell *cell, size_t value,
                      struct text *out)
{
    if (cell->state == PIVOT_VALUE)
        column_print(&pivot->values[value], cell->value, true, out);
}

static void print_csv(const struct pivot *pivot, struct text *out)
{
    struct text label = {0};
    for (size_t key = 0; key < pivot->rows.key_count; key++)
        text_printf(out, "%s%s", key ? "," : "", pivot->rows.keys[key].name);
    for (size_t column = 0; column < pivot->columns.count; column++) {
        for (size_t value = 0; value < pivot->value_count; value++) {
            text_clear(&label);
            pivot_column_label(pivot, column, value, &label);
            text_add(out, ",", 1);
            add_csv(label.data, out);
        }
    }
    text_add(out, "\n", 1);
    for (size_t row = 0; row < pivot->rows.count; row++) {
        add_axis_csv(pivot, &pivot->rows, row, out);
        for (size_t column = 0; column < pivot->columns.count; column++) {
            for (size_t value = 0; value < pivot->value_count; value++) {
                text_add(out, ",", 1);
                add_value(pivot, pivot_at(pivot, row, column, value), value, out);
            }
        }
        text_add(out, "\n", 1);
    }
    text_close(&label);
}

/* --best: the winners alone, a line for each column and value. */
static void print_best_csv(const struct pivot *pivot, struct text *out)
{
    for (size_t key = 0; key < pivot->columns.key_count; key++)
        text_printf(out, "%s,", pivot->columns.keys[key].name);
    for (size_t key = 0; key < pivot->rows.key_count; key++)
        text_printf(out, "%s,", pivot->rows.keys[key].name);
    text_printf(out, "key,value\n");
    for (size_t column = 0; column < pivot->columns.count; column++) {
        for (size_t value = 0; value < pivot->value_count; value++) {
            for (size_t row = 0; row < pivot->rows.count; row++) {
                if (!pivot_is_best(pivot, row, column, value))
                    continue;
                add_axis_csv(pivot, &pivot->columns, column, out);
                text_printf(out, "%s", pivot->columns.key_count ? "," : "");
                add_axis_csv(pivot, &pivot->rows, row, out);
                text_printf(out, ",%s,", pivot->values[value].name);
                add_value(pivot, pivot_at(pivot, row, column, value), value, out);
                text_add(out, "\n", 1);
            }
        }
    }
}

static void add_json_axis(const struct pivot *pivot, const struct axis *axis, size_t value,
                          struct json *parent)
{
    for (size_t key = 0; key < axis->key_count; key++) {
        struct text text = {0};
        axis_text(axis, pivot->results, value, key, &text);
        json_add_string(parent, axis->keys[key].name, text.data);
        text_close(&text);
    }
}

static void print_json(const struct pivot *pivot, bool best_only, struct text *out)
{
    struct json *top = json_new_object();
    json_add_u64(top, "schema", TABLE_SCHEMA);
    struct json *cells = json_add_array(top, "cells");
    for (size_t row = 0; row < pivot->rows.count; row++) {
        for (size_t column = 0; column < pivot->columns.count; column++) {
            struct json *cell = NULL;
            for (size_t value = 0; value < pivot->value_count; value++) {
                const struct pivot_cell *from = pivot_at(pivot, row, column, value);
                if (from->state == PIVOT_EMPTY ||
                    (best_only && !pivot_is_best(pivot, row, column, value)))
                    continue;
                if (!cell) {
                    cell = json_add_object(cells, NULL);
                    add_json_axis(pivot, &pivot->rows, row, cell);
                    add_json_axis(pivot, &pivot->columns, column, cell);
                }
                if (from->state == PIVOT_VALUE)
                    json_add_double(cell, pivot->values[value].name, from->value);
                else
                    json_add_bool(cell, "failed", true);
            }
        }
    }
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static void print_keys(const struct results *results, struct text *out)
{
    struct column column;
    const char *key_help = NULL;
    for (size_t i = 0; column_at(results, i, &column, &key_help); i++) {
        struct axis axis;
        axis_open(&axis, results, &column, 1);
        struct text example = {0};
        column_text(&column, &results->rows[0], &example);
        text_printf(out, "%-26s %6zu %-5s %-22.40s %s\n", column.name, axis.count,
                    axis.count == 1 ? "value" : "", axis.count == 1 ? example.data : "values",
                    key_help);
        text_close(&example);
        axis_close(&axis);
    }
}

/* ---- the command ---- */

enum table_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_MARKDOWN };
static const char *const formats[] = {"table", "csv", "json", "markdown", NULL};

struct table_options {
    char *rows, *columns, *values;
    struct words where;
    bool best, keys;
    unsigned aggregate, format;
};

static const struct param table_params[] = {
    OPTION_TEXT(struct table_options, "rows", rows, "KEY,...", "what makes the rows"),
    OPTION_TEXT(struct table_options, "columns", columns, "KEY,...|none", "what makes the columns"),
    OPTION_TEXT(struct table_options, "value", values, "KEY,...", "what is shown [hit_ratio]"),
    OPTION_WHERE(struct table_options),
    OPTION_SWITCH(struct table_options, "best", best,
                  "mark the best of each column; csv and json: only those"),
    OPTION_AGGREGATE(struct table_options),
    OPTION_FORMAT(struct table_options, formats),
    OPTION_SWITCH(struct table_options, "keys", keys,
                  "list the keys, and how many values each has"),
    PARAM_END,
};

static void print_pivot(const struct pivot *pivot, enum table_format format, bool best,
                        struct text *out)
{
    switch (format) {
    case FORMAT_TABLE:
        print_table(pivot, best, out);
        break;
    case FORMAT_MARKDOWN:
        print_markdown(pivot, best, out);
        break;
    case FORMAT_JSON:
        print_json(pivot, best, out);
        break;
    case FORMAT_CSV:
        if (best)
            print_best_csv(pivot, out);
        else
            print_csv(pivot, out);
        break;
    }
}

static void mention_failed(const struct results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        if (!results->rows[i].error)
            continue;
        fprintf(stderr, "snapsim: %zu of %zu cells failed; the first: %s: %s\n", results->failed,
                results->count, results->rows[i].document.path, results->rows[i].error);
        return;
    }
}

static int table(const struct call *call)
{
    const struct table_options *options = call->settings;
    const struct pivot_request request = {options->rows, options->columns, options->values,
                                          (enum pivot_aggregate)options->aggregate};
    struct results results;
    struct pivot pivot = {0};
    struct text out = {0};
    struct err err;
    int status = EXIT_GOOD, result = 0;
    if (results_open(&results, call->words[0], &err) != 0) {
        status = say(EXIT_FAILED, "%s", err.text);
    } else if (options->keys) {
        print_keys(&results, &out);
        status = print_result(&out);
    } else if ((result = where_apply(&results, &options->where, &err)) != 0 ||
               (result = pivot_open(&pivot, &results, &request, &err)) != 0) {
        status = say(failed_status(result), "%s", err.text);
    } else {
        print_pivot(&pivot, (enum table_format)options->format, options->best, &out);
        mention_failed(&results);
        status = print_result(&out);
    }
    pivot_close(&pivot);
    results_close(&results);
    text_close(&out);
    return status;
}

const struct command cmd_table = {
    .name = "table",
    .summary = "results as a table of any two settings",
    .text = "Prints results of `snapsim sweep` (a file or its directory), or of `run --format "
            "json`, as a table. What is not said is chosen from the settings that vary.\n",
    .examples = "  snapsim table out --rows placement --columns capacity --value hit_ratio\n"
                "  snapsim table out --where capacity=64GiB --where eviction=lru --best\n"
                "  snapsim table out --rows placement.interval --value hit_ratio,peak_bytes\n"
                "  snapsim table out --rows placement --aggregate mean           over seeds\n"
                "  snapsim table out --keys                          what can be asked for\n",
    .options_size = sizeof(struct table_options),
    .ways = {{.words = "RESULTS",
              .missing = "RESULTS was",
              .least = 1,
              .most = 1,
              .tables = {{NULL, table_params, 0}},
              .run = table}},
};
