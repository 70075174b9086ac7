/* place.h - finds where each request of a trace lies in the tree.
 *
 * Each request that shows something new owns one *segment*: the tokens of its path from `attach`
 * (where it leaves what earlier requests have shown) to the end of its reply. Segments form a tree;
 * cutting them where others attach and where prompts and replies end gives the nodes (cut.h).
 *
 *   1. Follow the block numbers as far as they are known: `shared` blocks, the last of them owned
 *      by some segment. Numbers are chained, so knowing the last means knowing all before it.
 *   2. If the request continues another, its path may follow that one's partial block and reply
 *      beyond the last shared block, to the exact token (the rule stands in build.h).
 *   3. What is left becomes a segment, and its blocks are registered as its own. */
#ifndef SNAPSIM_PLACE_H
#define SNAPSIM_PLACE_H

#include "sim/load/blockmap.h"
#include "sim/load/build.h"
#include "sim/load/cut.h"

/* The blocks of one request's path. */
struct path_blocks {
    const struct block_run *runs; /* of the prompt, then of a reply that is known */
    size_t run_count;
    uint64_t blocks;        /* in all */
    uint64_t prompt_blocks; /* of the prompt */
    uint64_t in, end;       /* tokens of the prompt; of prompt and kept reply */
    uint32_t out;           /* tokens of the reply as recorded */
    uint32_t stream;
};

/* Where one request lies. */
struct place {
    struct cut_point prompt, reply; /* where its prompt and its reply end */
    uint64_t last_block;            /* number of the last full block of its prompt */
    uint64_t last_space;            /* and the space in which it means something */
    uint32_t full_blocks;
    uint32_t out, stream;
    bool tail_named; /* a continuation has named the blocks after the full ones */
};

struct placer {
    struct build_options options;
    uint32_t block_tokens;
    struct cut cut;
    struct blockmap blocks;       /* lives as long as the trace */
    struct blockmap local_blocks; /* of one conversation */
    struct blockmap prompt_ends;  /* link_by_prompt: last full block -> the longest such prompt */
    struct place *places;         /* of all requests so far */
    size_t count, capacity;

    /* the current conversation */
    bool local_numbers;
    uint32_t tool_tokens;
    uint64_t system_first, system_blocks; /* numbers of the shared system prompt, if any */
    size_t first_place;
};

void placer_open(struct placer *placer, const struct build_options *options);
void placer_close(struct placer *placer);

/* Starts a conversation; system names the run of blocks that starts its first prompt, of which the
 * first system_blocks are shared with other conversations of equal tool_tokens. */
void placer_begin(struct placer *placer, const struct build_conversation *conversation,
                  uint64_t system_first, uint64_t system_blocks);

/* Places the next request; *continues is the one that it continues, or REQUEST_NONE. err (without
 * a place) if the block numbers are not chained. */
int placer_add(struct placer *placer, const struct path_blocks *path, uint32_t *continues,
               struct err *err) MUST_CHECK;

#endif
