/* where.h - picks results: --where key=value.
 *
 * Several values of one key are alternatives, different keys must all hold; key!=value leaves out.
 */
#ifndef SNAPSIM_WHERE_H
#define SNAPSIM_WHERE_H

#include "sim/core/param.h"
#include "tools/view/results.h"

/* Drops the rows that do not fit. USAGE_ERROR: an unknown key, or nothing left, with the values
 * there are. */
int where_apply(struct results *results, const struct words *conditions,
                struct err *err) MUST_CHECK;

#endif
