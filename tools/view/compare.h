/* compare.h - two sets of results, cell by cell: what moved.
 *
 * Cells are the same if all settings are, and the digests of trace and model (where both sides say
 * that): whatever the program's version,
 * the number of threads, the order of lines or the form of a plug-in's text. A setting that one
 * side does not have yet is at its default. A cell that failed says less about itself (its "auto"
 * is not resolved, its trace may be unknown), so it is found by what it does say.
 *
 * Every number of `result` and `model` is compared, exactly unless there is a tolerance; ratios are
 * not, because they follow from the counters, unless they are asked for. A counter that only
 * NEW has is no difference: newer programs count more. */
#ifndef SNAPSIM_COMPARE_H
#define SNAPSIM_COMPARE_H

#include "tools/view/axis.h"
#include "tools/view/where.h"

/* "hit_ratio=0.001" or "peak_bytes=2%"; "all" stands for every key that is not named itself. */
struct tolerance {
    char key[64];
    double amount; /* in the key's unit, or in percent of that of BASE */
    bool is_relative;
};

int tolerance_parse(struct tolerance *out, const char *word, struct err *err) MUST_CHECK;

/* Whether a change is within it. NULL: only none at all. */
bool tolerance_allows(const struct tolerance *tolerance, double base, double now);

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
    struct tolerance *tolerances;
    size_t tolerance_count;
    struct column *keys, *named; /* what is compared, and what names a cell */
    size_t key_count, named_count;
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

/* Close it in either case. */
int compare_open(struct compare *out, const struct compare_request *request,
                 struct err *err) MUST_CHECK;
void compare_close(struct compare *compare);

/* The settings that tell the cell from the others: "placement=turn capacity=64GiB". */
void compare_name(const struct compare *compare, const struct compare_cell *cell, struct text *out);

#endif
