/* axis.h - the values that one or several keys take over rows of results, in order of first
 * appearance: the rows or the columns of a table, the lines of a figure. */
#ifndef SNAPSIM_AXIS_H
#define SNAPSIM_AXIS_H

#include "tools/view/columns.h"

struct axis {
    struct column *keys;
    size_t key_count;
    size_t count;    /* of values */
    size_t *of_row;  /* for each row of results, the index of its value */
    size_t *example; /* for each value, a row that has it */
};

/* keys are copied. No keys at all make one value that every row has. */
void axis_open(struct axis *out, const struct results *results, const struct column *keys,
               size_t key_count);
void axis_close(struct axis *axis);

/* The text of one key of one value, as it stands in the results. */
void axis_raw_text(const struct axis *axis, const struct results *results, size_t value, size_t key,
                   struct text *out);

/* The same in one line, without control characters: for people. */
void axis_text(const struct axis *axis, const struct results *results, size_t value, size_t key,
               struct text *out);

/* The text of a value with all its keys, separated by blanks. */
void axis_label(const struct axis *axis, const struct results *results, size_t value,
                struct text *out);

/* "placement,eviction" as columns. Adds to *keys, which the caller frees. USAGE_ERROR for a key
 * that there is not. */
int axis_parse(const struct results *results, const char *list, enum column_place place,
               const char *flag, struct column **keys, size_t *count, struct err *err) MUST_CHECK;

/* The settings whose values differ between rows that did not fail: the cells' labels first if all
 * have one, then the trace, then what config.h lists. Left out is what follows from the ones before
 * it, as a page size does from the memory strategy. Only rows with use[i]; use may be NULL. Returns
 * how many; the caller frees *out. */
size_t axis_varying(const struct results *results, const bool *use, struct column **out);

#endif
