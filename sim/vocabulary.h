/* vocabulary.h - the words of a result file: names of settings and of counters, with their helps.
 *
 * The engine defines the tables, since they describe its structs. Whoever only reads result files
 * needs their names and not the engine, so they are declared here. */
#ifndef SNAPSIM_VOCABULARY_H
#define SNAPSIM_VOCABULARY_H

#include "sim/core/param.h"

#define RESULT_SCHEMA 1 /* of a result's layout; raised when a key changes its meaning */

/* The settings of a run; offsets are those in struct config. */
extern const struct param_table config_tables[];

/* A counter of `result`, for tables, CSV and comparisons. */
struct result_field {
    const char *name, *help;
    size_t offset; /* of a uint64_t in struct result */
};
extern const struct result_field result_fields[]; /* ends with a NULL name */

#endif
