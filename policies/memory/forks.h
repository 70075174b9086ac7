/* forks.h - the rule of memory.h for pages that forks cut, for strategies whose pages have
 * identity.
 */
#ifndef SNAPSIM_FORKS_H
#define SNAPSIM_FORKS_H

#include "sim/memory.h"

/* Frees up to so many pages at a node's end; returns how many it had less. */
typedef uint64_t forks_give(struct memory *memory, node_id node, uint64_t pages);
/* Moves the one page that a node may have left to another node's end. */
typedef void forks_pass(struct memory *memory, node_id from, node_id to);

/* kv_shrink: what the node lacks is freed above it; what it leaves behind passes up. */
void forks_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone, forks_give *give,
                  forks_pass *pass);

#endif
