/* columns.h - what a key such as "placement" or "hit_ratio" means in a row of results.
 *
 *     trace, label, sweep, digest   by what a row is called
 *     placement, capacity, ...      settings of `config`; '-' and '_' are the same
 *     placement.interval            a parameter of the plug-in that a setting names
 *     hit_tokens, peak_bytes, ...   counters of `result`, and sizes of `model`
 *     hit_ratio, ...                derived from them; one table, columns_derived
 *
 * A key that names two things ("requests" is a setting and a counter) is taken as what the place
 * asks for; "config.requests" and "result.requests" are always clear. */
#ifndef SNAPSIM_COLUMNS_H
#define SNAPSIM_COLUMNS_H

#include "sim/core/param.h"
#include "tools/view/results.h"

enum column_source {
    COLUMN_TOP,       /* a text of the row itself: digest */
    COLUMN_TRACE,     /* the trace's name */
    COLUMN_SWEEP,     /* the cell's label, or the name of the sweep */
    COLUMN_SETTING,   /* of config */
    COLUMN_PARAMETER, /* of a plug-in of config */
    COLUMN_COUNTER,   /* of result */
    COLUMN_MODEL,     /* of model */
    COLUMN_DERIVED
};

enum column_unit { UNIT_TEXT, UNIT_COUNT, UNIT_RATIO, UNIT_BYTES };

struct column_derived; /* how a derived value is made */

struct column {
    enum column_source source;
    enum column_unit unit;
    bool less_is_better;
    const char *key;           /* as it stands in the files; of a table, or borrowed from results */
    char name[64];             /* as people call it */
    const char *parameter;     /* of COLUMN_PARAMETER; belongs to a plug-in's table */
    const struct param *entry; /* of a setting that this program knows, otherwise NULL */
    const struct column_derived *derived;
};

enum column_place { PLACE_SETTING, PLACE_VALUE };

/* err: there is no such key, with the nearest one. */
int column_find(struct column *out, const struct results *results, const char *key,
                enum column_place place, struct err *err) MUST_CHECK;

/* A counter of `result` that this program writes, whether some row has it or not. */
bool column_counter(struct column *out, const char *name);

/* Appends the value as people read it: plug-ins short, sizes exact; nothing if there is none. */
void column_text(const struct column *column, const struct results_row *row, struct text *out);

/* The same with plug-ins in their long form: what to tell settings apart by. */
void column_text_long(const struct column *column, const struct results_row *row, struct text *out);

/* The value as a number; false if there is none, as in a cell that failed. A derived one is made
 * of its counters; where they are not there, it is what the file says. */
bool column_number(const struct column *column, const struct results_row *row, double *out);

/* A number of result or model by one of the two ways alone. */
bool column_computed(const struct column *column, const struct results_row *row, double *out);
bool column_written(const struct column *column, const struct results_row *row, double *out);

/* Appends " or 'a' and 'b'", the counters of a derived value; nothing for others. */
void column_add_sources(const struct column *column, struct text *out);

/* Whether a row has this value. Both forms of a plug-in are the same, and 1024MiB is 1GiB. */
bool column_is(const struct column *column, const struct results_row *row, const char *value);

/* Appends a number of this column as people read it (0.8472, 64.0 GiB, 1,234), or, exact, as
 * programs read it: the shortest decimal that is the same number. */
void column_print(const struct column *column, double value, bool exact, struct text *out);

/* All keys in the order in which --keys lists them; false behind the last. help may be "". */
bool column_at(const struct results *results, size_t index, struct column *out, const char **help);

#endif
