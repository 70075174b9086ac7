/* draft.h - a schedule in the making: how deep each request hits, and what has to be held for it.
 *
 * The depths alone decide what is held, and when:
 *
 *     KV     of each token on the way to a depth, since a request used it last. And as KV is there
 *            from the start of a path on: while it is held, all shallower tokens of its path are,
 *            so requests that come through those meanwhile *cover* them, whether they hit or not.
 *     state  at the depth, since a request computed it, or stood on it itself: the last one through
 *            there that hit no deeper. That one is the depth's *source*; it must be able to take a
 *            snapshot there (snapshots have grains).
 *
 * A draft starts with every depth 0. Depths are only raised, or taken back in reverse order. */
#ifndef SNAPSIM_DRAFT_H
#define SNAPSIM_DRAFT_H

#include <stdbool.h>

#include "sim/bound/pieces.h"
#include "sim/bound/room.h"

struct draft {
    const struct bound_input *input;
    const struct pieces *pieces;
    int64_t kv_bytes, snapshot_bytes, capacity_bytes;
    struct room room;
    uint32_t *depths;  /* by arrival */
    uint32_t *covers;  /* by arrival: KV of its prompt is held up to here until it comes */
    uint32_t *sources; /* by arrival; itself where the depth is 0 */
    uint32_t *first_user, *next_user, *previous_user; /* by arrival: 1 + one that has a source */
    uint64_t hit_tokens;

    struct draft_change *changes; /* to be taken back */
    size_t change_count, change_capacity;
    struct draft_run *runs; /* scratch of covering */
    size_t run_capacity;
};

void draft_open(struct draft *draft, const struct bound_input *input, const struct pieces *pieces);
void draft_close(struct draft *draft);
void draft_clear(struct draft *draft);

/* The deepest position at or above a depth of an arrival (in one of its pieces) at which a snapshot
 * can be had for it; 0 if there is none. */
uint32_t draft_floor(const struct draft *draft, uint32_t arrival, uint32_t depth);

/* Raises the depth of an arrival. If then more is held than fits, or a state cannot be had, nothing
 * is changed and it is false; *over then says how many bytes too much that would have been, 0 if it
 * was a state. */
bool draft_raise(struct draft *draft, uint32_t arrival, uint32_t depth, int64_t *over);

/* Takes back what was raised since change_count was so much. */
void draft_take_back(struct draft *draft, size_t change_count);

#endif
