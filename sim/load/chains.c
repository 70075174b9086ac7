#include "sim/load/chains.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/mem.h"

/* Two bits for what the numbers of a space belong to, then name space and length of the tools. */
enum kind { OF_TRACE, OF_CONVERSATION, OF_SYSTEM_PROMPT };

static uint64_t space_of(enum kind kind, uint32_t name_space, uint32_t tool_tokens)
{
    assert(name_space < 1u << 31 && tool_tokens < 1u << 31);
    return (uint64_t)kind << 62 | (uint64_t)name_space << 31 | tool_tokens;
}

static bool is_local(const struct chain *chain)
{
    return chain->space >> 62 == OF_CONVERSATION;
}

void chains_close(struct chains *chains)
{
    free(chains->items);
    for (size_t i = 0; i < 2; i++) {
        keymap_close(&chains->starts[i]);
        keymap_close(&chains->content_numbers[i]);
    }
    chains->items = NULL;
    chains->count = 0;
}

void chains_begin(struct chains *chains, bool local, uint32_t tool_tokens, uint64_t system_first,
                  uint64_t system_blocks)
{
    keymap_clear(&chains->starts[1]);
    keymap_clear(&chains->content_numbers[1]);
    chains->local = local;
    chains->first_local = chains->count;
    chains->tool_tokens = tool_tokens;
    chains->system_first = system_first;
    chains->system_blocks = system_blocks;
}

/* ---- walking ---- */

static uint32_t add_chain(struct chains *chains, const struct chain *chain)
{
    uint32_t id = chains->count++;
    assert(id < CHAIN_NONE);
    chains->items =
        mem_grow(chains->items, &chains->capacity, chains->count, sizeof *chains->items);
    chains->items[id] = *chain;
    keymap_put(&chains->starts[is_local(chain)], chain->space, chain->first, id + 1);
    return id;
}

static uint64_t last_number(const struct chains *chains, struct block_at at)
{
    return chains->items[at.chain].first + at.blocks - 1;
}

void chains_describe(const struct chains *chains, struct block_at parent, uint32_t partial_end,
                     char out[80])
{
    int length = parent.chain == CHAIN_NONE
                     ? snprintf(out, 80, "at the start of a prompt")
                     : snprintf(out, 80, "behind number %" PRIu64, last_number(chains, parent));
    if (partial_end > 0)
        snprintf(out + length, 80 - (size_t)length, ", ending at token %" PRIu32, partial_end);
}

static int fail_moved(const struct chains *chains, const struct chain *known,
                      const struct chain *found, uint32_t *earlier, struct err *err)
{
    char before[80], now[80];
    chains_describe(chains, known->parent, known->partial_end, before);
    chains_describe(chains, found->parent, found->partial_end, now);
    *earlier = known->line;
    return err_set(err, "block number %" PRIu64 " was expected %s, found %s", known->first, before,
                   now);
}

/* Walks down numbers of one space. */
static int walk(struct chains *chains, struct block_at *at, uint64_t space, struct block_run run,
                uint32_t partial_end, uint32_t line, uint32_t *earlier, struct err *err)
{
    const struct chain *here = at->chain == CHAIN_NONE ? NULL : &chains->items[at->chain];
    bool goes_on = here && here->space == space && here->first + at->blocks == run.first &&
                   here->partial_end == 0 && partial_end == 0;
    if (!goes_on) {
        const struct chain chain = {.space = space,
                                    .first = run.first,
                                    .parent = *at,
                                    .depth = chains_depth(chains, *at),
                                    .partial_end = partial_end,
                                    .line = line,
                                    .user = {CHAIN_NONE, CHAIN_NONE}};
        uint32_t known = keymap_find(&chains->starts[is_local(&chain)], space, run.first);
        uint32_t id = known > 0 ? known - 1 : add_chain(chains, &chain);
        const struct chain *found = &chains->items[id];
        if (found->parent.chain != at->chain || found->parent.blocks != at->blocks ||
            found->partial_end != partial_end)
            return fail_moved(chains, found, &chain, earlier, err);
        *at = (struct block_at){id, 0};
    }
    at->blocks += (uint32_t)run.count;
    struct chain *chain = &chains->items[at->chain];
    if (chain->blocks < at->blocks)
        chain->blocks = at->blocks;
    chains->steps++;
    return 0;
}

/* Blocks of a shared system prompt are named by their index, under the length of the tools. A run
 * may start before them, and end behind them: this is the part of it that is of one space. */
static uint64_t first_part(const struct chains *chains, struct block_run run, uint32_t name_space,
                           uint64_t *space, uint64_t *number)
{
    *number = run.first;
    *space = space_of(chains->local ? OF_CONVERSATION : OF_TRACE, name_space, 0);
    if (!chains->local || chains->system_blocks == 0)
        return run.count;
    uint64_t start = chains->system_first, end = start + chains->system_blocks, limit = UINT64_MAX;
    if (run.first < start) {
        limit = start - run.first;
    } else if (run.first < end) {
        *space = space_of(OF_SYSTEM_PROMPT, name_space, chains->tool_tokens);
        *number = run.first - start;
        limit = end - run.first;
    }
    return limit < run.count ? limit : run.count;
}

/* A content behind a block is one chained number; along a new path they are consecutive. */
static int walk_contents(struct chains *chains, struct block_at *at, uint64_t space,
                         struct block_run run, uint32_t partial_end, uint32_t line,
                         uint32_t *earlier, struct err *err)
{
    struct keymap *numbers = &chains->content_numbers[chains->local];
    for (uint64_t i = 0; i < run.count; i++) {
        uint64_t before = at->chain == CHAIN_NONE ? UINT64_MAX - space : last_number(chains, *at);
        uint32_t number = keymap_find(numbers, before, run.first + i);
        if (number == 0) {
            if (chains->content_count == UINT32_MAX)
                return err_set(err, "at most %" PRIu32 " different blocks were expected",
                               UINT32_MAX);
            number = ++chains->content_count;
            keymap_put(numbers, before, run.first + i, number);
        }
        struct block_run one = {number, 1};
        if (walk(chains, at, space, one, partial_end, line, earlier, err) != 0)
            return -1;
    }
    return 0;
}

int chains_walk(struct chains *chains, struct block_at *at, struct block_run run,
                uint32_t name_space, uint32_t partial_end, uint32_t line, uint32_t *earlier,
                struct err *err)
{
    *earlier = 0;
    while (run.count > 0) {
        struct block_run part;
        uint64_t space;
        part.count = first_part(chains, run, name_space, &space, &part.first);
        int result = chains->contents
                         ? walk_contents(chains, at, space, part, partial_end, line, earlier, err)
                         : walk(chains, at, space, part, partial_end, line, earlier, err);
        if (result != 0)
            return -1;
        run.first += part.count;
        run.count -= part.count;
    }
    return 0;
}

/* ---- what must not overlap ---- */

struct by_number {
    uint64_t space, first;
    uint32_t chain;
};

static int compare_numbers(const void *a, const void *b)
{
    const struct by_number *x = a, *y = b;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

bool chains_overlap(const struct chains *chains, bool local, struct chain_overlap *out)
{
    uint32_t from = local ? chains->first_local : 0, count = 0;
    struct by_number *sorted = mem_array(chains->count - from + 1, sizeof *sorted);
    bool ascending = true, found = false;
    for (uint32_t i = from; i < chains->count; i++) {
        const struct chain *chain = &chains->items[i];
        if (is_local(chain) != local)
            continue;
        sorted[count] = (struct by_number){chain->space, chain->first, i};
        ascending &= count == 0 || compare_numbers(&sorted[count - 1], &sorted[count]) < 0;
        count++;
    }
    if (!ascending)
        qsort(sorted, count, sizeof *sorted, compare_numbers);
    /* The one that goes furthest of those that start before; the earliest mistake is told. */
    const struct by_number *widest = sorted;
    for (uint32_t i = 1; i < count; i++) {
        const struct by_number *next = &sorted[i];
        const struct chain *start = &chains->items[next->chain];
        bool overlaps = widest->space == next->space &&
                        next->first - widest->first < chains->items[widest->chain].blocks;
        if (overlaps && (!found || start->line < chains->items[out->start].line))
            *out = (struct chain_overlap){widest->chain, next->chain};
        found |= overlaps;
        if (!overlaps ||
            next->first + start->blocks > widest->first + chains->items[widest->chain].blocks)
            widest = next;
    }
    free(sorted);
    return found;
}

/* ---- paths ---- */

uint32_t chains_depth(const struct chains *chains, struct block_at at)
{
    return at.chain == CHAIN_NONE ? 0 : chains->items[at.chain].depth + at.blocks;
}

struct block_at chains_above(struct chains *chains, struct block_at at, uint32_t blocks)
{
    while (at.chain != CHAIN_NONE && chains->items[at.chain].depth >= blocks) {
        at = chains->items[at.chain].parent;
        chains->steps++;
    }
    if (at.chain != CHAIN_NONE)
        at.blocks = blocks - chains->items[at.chain].depth;
    return at;
}

bool chains_through(struct chains *chains, struct block_at upper, struct block_at at)
{
    uint32_t depth = chains_depth(chains, upper);
    if (depth > chains_depth(chains, at))
        return false;
    struct block_at there = chains_above(chains, at, depth);
    return there.chain == upper.chain && there.blocks == upper.blocks;
}

void chains_use(struct chains *chains, struct block_at at, uint32_t user)
{
    for (; at.chain != CHAIN_NONE; at = chains->items[at.chain].parent) {
        struct chain *chain = &chains->items[at.chain];
        chains->steps++;
        bool second =
            chain->user[1] == user || (chain->user[0] != user && chain->used[1] < chain->used[0]);
        if (chain->user[second] != user && chain->used[second] >= at.blocks)
            continue;
        if (chain->user[second] != user || chain->used[second] < at.blocks)
            chain->used[second] = at.blocks;
        chain->user[second] = user;
    }
}

uint32_t chains_shared(const struct chain *chain)
{
    return chain->used[0] < chain->used[1] ? chain->used[0] : chain->used[1];
}
