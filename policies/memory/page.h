/* page.h - the sizes that memory strategies start from. */
#ifndef SNAPSIM_PAGE_H
#define SNAPSIM_PAGE_H

#include "sim/memory.h"

/* Sets memory->page_tokens if it was not asked for. Fails for a model without KV, and for pages
 * that are blocks of the trace, unless the strategy knows those. */
int page_choose(struct memory *memory, uint64_t tokens, bool knows_blocks,
                struct err *err) MUST_CHECK;

/* Bytes of a slot that takes whichever state lies in this memory: a snapshot, and a live state
 * where requests have any. */
uint64_t page_state_slot(const struct memory *memory);

/* How many whole units of some bytes, over 0, fit into a capacity that may be unlimited. */
uint64_t page_whole(uint64_t capacity_bytes, uint64_t bytes);

#endif
