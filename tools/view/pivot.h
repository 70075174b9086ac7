/* pivot.h - results as a table: rows by some keys, columns by others, one or several values.
 *
 * What is not asked for is chosen from what varies. If results that differ fall into one cell, that
 * is an error which names the settings that tell them apart, unless they are to be aggregated. */
#ifndef SNAPSIM_PIVOT_H
#define SNAPSIM_PIVOT_H

#include "tools/view/axis.h"

enum pivot_aggregate { PIVOT_ONE, PIVOT_MEAN, PIVOT_MIN, PIVOT_MAX };

extern const char *const pivot_aggregates[]; /* their words: "none", "mean", ...; ends with NULL */

/* Lists of keys with commas; NULL: chosen. "none" for no columns. */
struct pivot_request {
    const char *rows, *columns, *values;
    enum pivot_aggregate aggregate;
};

enum pivot_state { PIVOT_EMPTY, PIVOT_FAILED, PIVOT_VALUE };

struct pivot_cell {
    enum pivot_state state;
    double value;
    size_t count; /* of results in it */
};

struct pivot {
    const struct results *results;
    struct axis rows, columns;
    struct column *values;
    size_t value_count;
    struct pivot_cell *cells;
};

/* Column keys may be none: then columns.count is 1. results must outlive the pivot. Close it in
 * either case. */
int pivot_open(struct pivot *out, const struct results *results,
               const struct pivot_request *request, struct err *err) MUST_CHECK;
void pivot_close(struct pivot *pivot);

const struct pivot_cell *pivot_at(const struct pivot *pivot, size_t row, size_t column,
                                  size_t value);

/* Whether no row is better in this column; ties are all best. */
bool pivot_is_best(const struct pivot *pivot, size_t row, size_t column, size_t value);

/* What stands above a column: its value's text, and the name of what is shown if needed. */
void pivot_column_label(const struct pivot *pivot, size_t column, size_t value, struct text *out);

#endif
