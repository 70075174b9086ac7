/* end.h - one end of memory: equal units, counted from that end, with holes where some were freed.
 *
 *     unit     0  1  2  3  4  5  6  7 | gap
 *     taken    A  A  .  B  B  A  .  C |       extent 8, used 6
 *     runs     AA    BB    A     C            the stack of A: units 5, then 1 and 0
 *
 * The lowest free unit is taken first. A holder's units are a stack of runs, since what is dropped
 * of a path goes from its end. */
#ifndef SNAPSIM_END_H
#define SNAPSIM_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"

/* Neighbouring units of one holder. Links are 1 + run, or 0. */
struct end_run {
    uint32_t holder, first, count;
    uint32_t below, above; /* in the holder's stack; below also of the free ones */
};

struct end {
    uint64_t unit_bytes; /* the owner's */
    uint64_t used;       /* units */
    uint32_t extent;     /* units up to the gap, holes included */
    uint64_t *taken;     /* a bit for each unit */
    size_t words;
    size_t first_free_word; /* no hole below */
    uint32_t *runs_ending;  /* by the last unit of a run: the run */
    size_t runs_ending_capacity;
    struct end_run *runs;
    size_t run_count, run_capacity;
    uint32_t free_run; /* 1 + the first, or 0 */
    uint32_t *tops;    /* by holder: 1 + its last run, or 0 */
    size_t tops_capacity;
};

void end_fini(struct end *end);

/* Holders are 0 .. count - 1; to be said before one of them takes units. */
void end_reach(struct end *end, size_t count);

/* Takes neighbouring units from the lowest free one on: at most so many, and beyond the extent no
 * more than there is room for in the gap. Returns how many; 0 if there is neither hole nor room. */
uint64_t end_take(struct end *end, uint32_t holder, uint64_t most, uint64_t room);

/* Frees the last units of a holder; returns how many it had less. */
uint64_t end_give(struct end *end, uint32_t holder, uint64_t units);

/* The last unit of one holder becomes that of another. */
void end_pass(struct end *end, uint32_t from, uint32_t to);

/* Moves the last unit into the lowest hole, which there must be. */
void end_compact(struct end *end);

/* O(n) self-audit. */
int end_check(const struct end *end, struct err *err) MUST_CHECK;

#endif
