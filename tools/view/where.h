/* where.h - flags that may be given several times, and the one that picks results:
 * --where key=value.
 *
 * Several values of one key are alternatives, different keys must all hold; key!=value leaves out.
 */
#ifndef SNAPSIM_WHERE_H
#define SNAPSIM_WHERE_H

#include "tools/view/results.h"

/* The values of a flag that was given several times; they are argv's. */
struct words {
    const char **items;
    size_t count, capacity;
};

/* options_parse keeps the last value of a flag. This takes every "NAME VALUE" and "NAME=VALUE" out
 * of argv before it, and moves the rest up. The flag stays in the table, for --help. */
int words_take(struct words *out, const char *name, int *argc, char **argv,
               struct err *err) MUST_CHECK;
void words_close(struct words *words);

/* Drops the rows that do not fit. USAGE_ERROR: an unknown key, or nothing left, with the values
 * there are. */
int where_apply(struct results *results, const struct words *conditions,
                struct err *err) MUST_CHECK;

#endif
