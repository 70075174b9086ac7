/* calib_tables.h - published timings as rows, from which built-in calibrations take their points.
 */
#ifndef SNAPSIM_CALIB_TABLES_H
#define SNAPSIM_CALIB_TABLES_H

#include "sim/cost/calib.h"

/* What the kernel does not use is 0. For host copies m is the bytes of a piece, of which there are
 * CALIB_TABLE_PIECES. us[1] is 0 in tables of one device. A time of 0 is none. */
struct calib_row {
    enum calib_kernel kernel;
    uint32_t heads, key_heads, sequences, tokens, context, m, n, k;
    double us[2];
};
#define CALIB_TABLE_PIECES 100000

struct calib_table {
    const struct calib_row *row;
    size_t count;
};

enum calib_table_id {
    CALIB_TABLE_HOPPER, /* us[0] on an H100, us[1] on an H200 */
    CALIB_TABLE_H800,
    CALIB_TABLE_H20,
    CALIB_TABLE_H100_BATCHED
};
#define CALIB_TABLES 4

const struct calib_table *calib_table_at(enum calib_table_id id);

/* Where the rows about a kernel stand; NULL if there are none. */
const char *calib_table_source(enum calib_kernel kernel);

#endif
