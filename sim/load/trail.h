/* trail.h - who came last through each node of a tree, where whole paths are walked.
 *
 * A walk from the root leaves its number on every node of its path. On a chain (paths.h) that is
 * always the beginning, so a chain is a few *pieces* of equal numbers, the youngest first:
 *
 *     chain    o--o--o--o--o--o--o--o--o
 *     numbers  9  9  9  4  4  2  2  2  0        0: nobody yet
 *     pieces   ^        ^     ^        ^
 *
 * A walk ends the pieces that it covers and begins one on each chain that it touches, so n walks
 * make and end n log n of them, however long the paths are. */
#ifndef SNAPSIM_TRAIL_H
#define SNAPSIM_TRAIL_H

#include "sim/load/paths.h"

struct trail {
    const struct paths *paths; /* NULL: not opened */
    struct marks begins;       /* places where a piece begins */
    uint32_t *numbers;         /* by the place where a piece begins */
};

void trail_open(struct trail *trail, const struct paths *paths);
void trail_close(struct trail *trail);

/* The number that was left last on the node at a place, or 0. */
uint32_t trail_number(const struct trail *trail, uint32_t place);

/* The piece that holds a place below `past`, up to `past`: places [place, end of it). */
uint32_t trail_piece_end(const struct trail *trail, uint32_t place, uint32_t past);

/* Leaves a number on a span that begins its chain. Returns the pieces that it ended, and one. */
uint32_t trail_cover(struct trail *trail, struct span span, uint32_t number);

/* The same for the whole path down to a node. */
uint32_t trail_walk(struct trail *trail, node_id node, uint32_t number);

#endif
