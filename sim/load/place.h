/* place.h - makes the tree of a record, for one order of its requests.
 *
 * Each request that shows something new owns one *segment*: the tokens of its path from `attach`
 * (where it leaves what earlier requests have shown) to the end of its reply. Segments form a tree;
 * cutting them where others attach and where prompts and replies end gives the nodes (cut.h).
 *
 *   1. Go up the request's chains to the deepest block that somebody has shown. As numbers are
 *      chained, all blocks before it have been shown, too.
 *   2. If the request continues another, its path may follow that one's partial block and reply
 *      beyond the last shared block, to the exact token (the rule stands in build.h).
 *   3. What is left becomes a segment, and its blocks are shown from now on. */
#ifndef SNAPSIM_PLACE_H
#define SNAPSIM_PLACE_H

#include "sim/load/record.h"

/* Gives `out`, which has everything but a tree, the tree that the requests make when they come in
 * the order of the schedule, and counts what hangs on the rule of continuation. */
void place_requests(struct record *record, const struct schedule *schedule, struct workload *out);

#endif
