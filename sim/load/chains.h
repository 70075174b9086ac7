/* chains.h - the block numbers of a trace, as a forest of chains.
 *
 * A chain is a run of consecutive numbers behind one fixed block. A list of numbers is a walk down
 * chains, and where it ends says all of it:
 *
 *     [[1,6]]            chain A: 1 2 3 4 5 6           ends behind 6 blocks of A
 *     [[1,4],[20,2]]           4 - chain B: 20 21       ends behind 2 blocks of B
 *
 * Equal number means equal prompt up to the end of that block. So a number stands behind one block
 * only, once on a path, and chains never overlap; chains_check() says where a trace breaks that.
 * Where numbers name contents instead, the same number behind different blocks is different: with
 * `contents` they are made into chained ones as they are read.
 *
 * Which chains there are depends on the lists alone, never on their order. */
#ifndef SNAPSIM_CHAINS_H
#define SNAPSIM_CHAINS_H

#include <stdbool.h>

#include "sim/core/err.h"
#include "sim/load/keymap.h"

#define CHAIN_NONE UINT32_MAX

struct block_run {
    uint64_t first; /* number of the first block */
    uint64_t count; /* how many consecutive numbers */
};

/* Behind so many blocks of a chain; chain CHAIN_NONE and blocks 0: at the start of a prompt. */
struct block_at {
    uint32_t chain, blocks;
};

struct chain {
    uint64_t space, first; /* its numbers are first, first + 1, ... of that space */
    struct block_at parent;
    uint32_t depth;       /* blocks before it */
    uint32_t blocks;      /* the longest that a list goes along it */
    uint32_t partial_end; /* not 0: it is one block that ends at this token, inside a block */
    uint32_t line;        /* where it was met first */
    /* How far the two users go that go furthest (chains_use). */
    uint32_t user[2], used[2];
};

struct chains {
    struct chain *items;
    uint32_t count;
    size_t capacity;
    bool contents;           /* numbers name contents */
    struct keymap starts[2]; /* space, first number -> chain + 1; [1]: of this conversation */
    struct keymap content_numbers[2]; /* block before, content -> chained number */
    uint32_t content_count;
    uint64_t steps; /* of all loops over chains, for tests of how the work grows */

    /* the current conversation */
    bool local;
    uint32_t first_local;
    uint32_t tool_tokens;
    uint64_t system_first, system_blocks; /* numbers of the shared system prompt, if any */
};

void chains_close(struct chains *chains);

/* Starts a conversation, whose numbers mean something in it only if they are local. Then the
 * system_blocks numbers from system_first are those of a system prompt that is shared with the
 * conversations of equal tool_tokens. */
void chains_begin(struct chains *chains, bool local, uint32_t tool_tokens, uint64_t system_first,
                  uint64_t system_blocks);

/* Walks down one run from *at, in a name space. partial_end not 0: the run is one block that ends
 * at that token. line is where the list stands. err: a number that stood behind another block, in
 * line *earlier. */
int chains_walk(struct chains *chains, struct block_at *at, struct block_run run,
                uint32_t name_space, uint32_t partial_end, uint32_t line, uint32_t *earlier,
                struct err *err) MUST_CHECK;

/* A number that is met in two places: inside chain `inside`, and where chain `start` starts. */
struct chain_overlap {
    uint32_t inside, start;
};

/* Looks for two chains that overlap: of the current conversation's own numbers, or of those that
 * mean something in the whole trace. Whether there are. */
bool chains_overlap(const struct chains *chains, bool local, struct chain_overlap *out);

/* Appends where a block stands: "behind number 7", "at the start of a prompt". */
void chains_describe(const struct chains *chains, struct block_at parent, uint32_t partial_end,
                     char out[80]);

/* Blocks from the start of the prompt. */
uint32_t chains_depth(const struct chains *chains, struct block_at at);

/* On the path down to `at`, behind so many blocks from the start (at most those of `at`). */
struct block_at chains_above(struct chains *chains, struct block_at at, uint32_t blocks);

/* Whether the path down to `at` goes through `upper`. */
bool chains_through(struct chains *chains, struct block_at upper, struct block_at at);

/* Notes that a user's path goes down to `at`. */
void chains_use(struct chains *chains, struct block_at at, uint32_t user);

/* How many leading blocks of a chain more than one user has. */
uint32_t chains_shared(const struct chain *chain);

#endif
