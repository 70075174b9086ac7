/* link.h - who continues whom: the rule of continuation (build.h), for all requests of a stream.
 *
 * Looking back from each request to all before it takes n^2 steps where none fits. So each is
 * entered in an index under the block where its kept prompt ends, and a request asks the chains of
 * its own path, of which it has no more than runs in its list, for the latest entry that fits. */
#ifndef SNAPSIM_LINK_H
#define SNAPSIM_LINK_H

#include "sim/load/chains.h"

/* A request of the stream, in order. */
struct link_item {
    struct block_at path; /* where the full blocks of its prompt end */
    struct block_at kept; /* where those end that a continuation must have; no block: none can */
    uint64_t in;          /* tokens of its prompt */
    uint64_t least_in;    /* of the prompt of a continuation */
    uint32_t continues;   /* out: index of the latest that fits, or LINK_NONE */
    bool too_short;       /* out: has the blocks of the one before, yet is shorter than least_in */
};

#define LINK_NONE UINT32_MAX

void link_stream(struct chains *chains, struct link_item *items, uint32_t count);

#endif
