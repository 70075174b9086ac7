/* compare.h - two sets of results, cell by cell: what moved.
 *
 * Cells are the same if all settings are, and the digests of trace and model (where both sides say
 * that): whatever the program's version,
 * the number of threads, the order of lines or the form of a plug-in's text. A setting that one
 * side does not have yet is at its default. A cell that failed says less about itself (its "auto"
 * is not resolved, its trace may be unknown), so it is found by what it does say.
 *
 * Which numbers are compared is compare_keys.h's matter. Where nothing can be, or not what was
 * asked for, it is an error and never "equal". */
#ifndef SNAPSIM_COMPARE_H
#define SNAPSIM_COMPARE_H

#include "tools/view/axis.h"
#include "tools/view/where.h"

enum compare_state {
    COMPARE_EQUAL,
    COMPARE_MOVED,
    COMPARE_FAILS,   /* it failed in NEW only */
    COMPARE_WORKS,   /* it failed in BASE only */
    COMPARE_MISSING, /* there is none in NEW */
    COMPARE_EXTRA    /* there is none in BASE */
};

struct compare_moved {
    const char *key; /* "digest" if nothing else moved */
    const struct column *column;
    bool is_gone; /* NEW has no such number */
    double base, now;
    double relative; /* (now - base) / |base|; an infinity if base is 0 */
};

struct compare_cell {
    enum compare_state state;
    const struct results_row *base, *now; /* NULL if there is none */
    struct compare_moved *moved;          /* what moved most, first */
    size_t moved_count;
    size_t compared; /* numbers of `result`, and the digest */
    double hit_ratio_change;
    size_t order; /* in BASE, then in NEW */
};

/* A setting that names no cell, and the rows whose value the other side has nowhere. */
struct compare_stranger {
    struct column column;
    bool *is_strange;
};

struct compare {
    struct results base, now;
    struct compare_key *keys; /* what is compared: compare_keys.h */
    size_t key_count, key_capacity;
    struct column *named; /* what names a cell */
    size_t named_count;
    struct compare_stranger *strangers[2]; /* of base and now */
    size_t stranger_count[2];
    bool checks_digest;
    struct compare_cell *cells; /* worst first */
    size_t cell_count;
    size_t in_state[COMPARE_EXTRA + 1];
};

struct compare_request {
    const char *base, *now;
    const struct words *tolerances;
    const char *only; /* keys with commas: nothing else is compared; NULL for all */
};

/* err, USAGE_ERROR: a key that is asked for is not to be had. Close it in either case. */
int compare_open(struct compare *out, const struct compare_request *request,
                 struct err *err) MUST_CHECK;
void compare_close(struct compare *compare);

/* The settings that tell the cell from the others: "placement=turn capacity=64GiB". */
void compare_name(const struct compare *compare, const struct compare_cell *cell, struct text *out);

#endif
