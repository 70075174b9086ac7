/* compare_keys.h - which numbers `snapsim compare` compares, and how far each may move.
 *
 * Without --only these are every number of `result` and `model`, and each derived value (a ratio)
 * that is written there without the counters from which it follows, or that moved without them. A
 * number that only NEW has is no difference: newer programs count more. With --only they are the
 * named ones, and each cell must have them on both sides.
 *
 * A tolerance that changes nothing is a slip as well: --tolerance names a key that some cell has,
 * and that --only does not leave out. */
#ifndef SNAPSIM_COMPARE_KEYS_H
#define SNAPSIM_COMPARE_KEYS_H

#include "tools/view/compare.h"

/* "hit_ratio=0.001" or "peak_bytes=2%"; "all" stands for every key that is not named itself. */
struct tolerance {
    char key[64];
    double amount; /* in the key's unit, or in percent of that of BASE */
    bool is_relative;
};

int tolerance_parse(struct tolerance *out, const char *word, struct err *err) MUST_CHECK;

/* Whether a change is within it. NULL: only none at all. */
bool tolerance_allows(const struct tolerance *tolerance, double base, double now);

struct compare_key {
    struct column column;
    struct tolerance *tolerance; /* owned; NULL: none at all */
    bool is_wanted;              /* named by --only or --tolerance */
    bool is_required;            /* named by --only: every cell must have it */
    size_t compared;             /* in how many cells it was */
};

/* Fills compare->keys. err: a key that there is not, or that is no number of a result. */
int compare_keys_open(struct compare *compare, const struct compare_request *request,
                      struct err *err) MUST_CHECK;
void compare_keys_close(struct compare *compare);

/* Whether both sides of a cell have what --only asks for. err: "FILE:LINE: ..." of the one that
 * lacks it. */
int compare_key_check(const struct compare_key *key, const struct compare_cell *cell,
                      struct err *err) MUST_CHECK;

/* Whether each key that has a tolerance was compared in at least one cell. */
int compare_keys_were_used(const struct compare *compare, struct err *err) MUST_CHECK;

#endif
