#include "sim/load/place.h"

#include <stdlib.h>

#include "sim/core/mem.h"

#define SPACE_TRACE 0u            /* numbers that mean something in the whole trace */
#define SPACE_LOCAL 1u            /* numbers of the current conversation */
#define SPACE_SYSTEM (1ull << 40) /* + tool_tokens: shared system prompts */

struct block_key {
    uint64_t space, number;
};

void placer_open(struct placer *placer, const struct build_options *options)
{
    *placer = (struct placer){.options = *options};
    cut_open(&placer->cut);
}

void placer_close(struct placer *placer)
{
    blockmap_close(&placer->blocks);
    blockmap_close(&placer->local_blocks);
    blockmap_close(&placer->prompt_ends);
    cut_close(&placer->cut);
    free(placer->places);
    placer->places = NULL;
}

void placer_begin(struct placer *placer, const struct build_conversation *conversation,
                  uint64_t system_first, uint64_t system_blocks)
{
    blockmap_clear(&placer->local_blocks);
    placer->block_tokens = conversation->block_tokens;
    placer->local_numbers = conversation->local_numbers;
    placer->tool_tokens = conversation->tool_tokens;
    placer->system_first = system_first;
    placer->system_blocks = system_blocks;
    placer->first_place = placer->count;
}

/* Blocks of a shared system prompt are named by their index, under the length of the tools. */
static struct block_key key_of(const struct placer *placer, uint64_t number)
{
    if (!placer->local_numbers)
        return (struct block_key){SPACE_TRACE, number};
    if (number >= placer->system_first && number - placer->system_first < placer->system_blocks)
        return (struct block_key){SPACE_SYSTEM + placer->tool_tokens,
                                  number - placer->system_first};
    return (struct block_key){SPACE_LOCAL, number};
}

static struct block_entry find_block(const struct placer *placer, uint64_t number)
{
    struct block_key key = key_of(placer, number);
    const struct blockmap *map = key.space == SPACE_LOCAL ? &placer->local_blocks : &placer->blocks;
    return blockmap_find(map, key.space, key.number);
}

static bool is_known(const struct placer *placer, uint64_t number)
{
    return find_block(placer, number).owner != 0;
}

/* Registers consecutive numbers, none of which is known, that end step tokens apart. A run may
 * start within a shared system prompt and end outside it: then its two parts have two spaces. */
static void register_run(struct placer *placer, uint64_t first, uint64_t count, uint32_t segment,
                         uint64_t end)
{
    uint32_t step = placer->block_tokens;
    while (count > 0) {
        struct block_key key = key_of(placer, first);
        uint64_t system_end = placer->system_first + placer->system_blocks;
        uint64_t part = count;
        if (key.space >= SPACE_SYSTEM && system_end - first < part)
            part = system_end - first;
        else if (key.space == SPACE_LOCAL && first < placer->system_first &&
                 placer->system_first - first < part)
            part = placer->system_first - first;
        struct blockmap *map = key.space == SPACE_LOCAL ? &placer->local_blocks : &placer->blocks;
        struct block_entry entry = {segment + 1, (uint32_t)end};
        blockmap_put_run(map, key.space, key.number, part, entry, step);
        first += part;
        count -= part;
        end += part * step;
    }
}

static uint64_t number_at(const struct path_blocks *path, uint64_t index)
{
    const struct block_run *run = path->runs;
    while (index >= run->count)
        index -= run++->count;
    return run->first + index;
}

/* Where the block at an index ends; only the last block of a prompt can be shorter than a block. */
static uint64_t block_end(const struct placer *placer, const struct path_blocks *path,
                          uint64_t index)
{
    uint64_t end = (index + 1) * placer->block_tokens;
    return index + 1 == path->prompt_blocks && end > path->in ? path->in : end;
}

/* How many leading blocks of a run are known. */
static uint64_t count_known(const struct placer *placer, const struct block_run *run)
{
    if (run->count > 0 && is_known(placer, run->first + run->count - 1))
        return run->count;
    uint64_t low = 0, high = run->count; /* the answer lies in low..high */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (is_known(placer, run->first + middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t count_shared(const struct placer *placer, const struct path_blocks *path)
{
    uint64_t shared = 0;
    for (size_t i = 0; i < path->run_count; i++) {
        uint64_t known = count_known(placer, &path->runs[i]);
        shared += known;
        if (known < path->runs[i].count)
            break;
    }
    return shared;
}

/* Numbers that are not chained would make a tree that nobody recorded. So where a shared run ends,
 * the known block must end at the same token, and all must lie on one path. */
static int check_chained(const struct placer *placer, const struct path_blocks *path,
                         uint64_t shared, struct err *err)
{
    size_t i = 0;
    uint64_t index = 0; /* of the block after run i */
    for (; i < path->run_count && index < shared; i++)
        index += path->runs[i].count;
    uint32_t segment = CUT_ROOT;
    for (bool deepest = true; i-- > 0; deepest = false) {
        uint64_t last = index < shared ? index : shared;
        index -= path->runs[i].count;
        if (last == index)
            continue;
        uint64_t number = path->runs[i].first + (last - index) - 1;
        uint64_t end = block_end(placer, path, last - 1);
        struct block_entry entry = find_block(placer, number);
        bool same_end = entry.owner != 0 && entry.end == end;
        if (same_end && deepest)
            segment = entry.owner - 1;
        if (same_end)
            segment = cut_segment_at(&placer->cut, segment, (uint32_t)end);
        if (!same_end || segment != entry.owner - 1)
            return err_set(err,
                           "block number %llu was expected where it stood before, ending at token "
                           "%u, found it ending at token %llu, after other blocks (numbers must "
                           "be chained: equal number, equal prompt up to there)",
                           (unsigned long long)number, entry.end, (unsigned long long)end);
    }
    return 0;
}

static uint32_t find_continued(const struct placer *placer, const struct path_blocks *path,
                               uint64_t shared)
{
    for (size_t i = placer->count; i-- > placer->first_place;) {
        const struct place *place = &placer->places[i];
        if (place->stream != path->stream || place->full_blocks == 0 ||
            place->full_blocks > shared || path->in < (uint64_t)place->prompt.position + place->out)
            continue;
        struct block_key key = key_of(placer, number_at(path, place->full_blocks - 1));
        if (key.space == place->last_space && key.number == place->last_block)
            return (uint32_t)i;
    }
    return REQUEST_NONE;
}

static uint32_t find_linked(const struct placer *placer, const struct path_blocks *path,
                            uint64_t shared)
{
    uint64_t full = path->in / placer->block_tokens, end = shared < full ? shared : full;
    size_t run = 0;
    uint64_t run_start = 0; /* index of the first block of that run */
    while (run < path->run_count && run_start + path->runs[run].count < end)
        run_start += path->runs[run++].count;
    for (uint64_t index = end; index-- > 1;) {
        while (index < run_start)
            run_start -= path->runs[--run].count;
        uint64_t number = path->runs[run].first + (index - run_start);
        struct block_entry entry = blockmap_find(&placer->prompt_ends, SPACE_TRACE, number);
        if (entry.owner == 0)
            continue;
        const struct place *found = &placer->places[entry.owner - 1];
        return path->in > (uint64_t)found->prompt.position + found->out ? entry.owner - 1
                                                                        : REQUEST_NONE;
    }
    return REQUEST_NONE;
}

static void remember_prompt_end(struct placer *placer)
{
    const struct place *place = &placer->places[placer->count - 1];
    if (place->full_blocks < 2)
        return;
    struct block_entry known = blockmap_find(&placer->prompt_ends, SPACE_TRACE, place->last_block);
    struct block_entry mine = {(uint32_t)placer->count, place->prompt.position};
    if (known.owner == 0 || known.end <= mine.end)
        blockmap_put(&placer->prompt_ends, SPACE_TRACE, place->last_block, mine);
}

/* Step 2: moves `attach` from the last shared block to the end of the path that this one continues,
 * where that lies deeper and nothing contradicts it. */
static void attach_to_reply(struct placer *placer, const struct path_blocks *path, uint64_t shared,
                            uint32_t continued, struct cut_point *attach)
{
    struct place *before = &placer->places[continued];
    uint32_t block = placer->block_tokens, segment = before->reply.segment;
    uint32_t end = before->reply.position;
    if (end <= attach->position || end > path->in ||
        cut_segment_at(&placer->cut, segment, attach->position) != attach->segment)
        return;
    uint64_t whole = end / block; /* blocks that end within that path */
    if (whole > shared) {
        if (before->tail_named || shared != before->full_blocks)
            return; /* another continuation says that these blocks are different */
        for (uint64_t index = shared; index < whole; index++) {
            uint32_t position = (uint32_t)((index + 1) * block);
            register_run(placer, number_at(path, index), 1,
                         cut_segment_at(&placer->cut, segment, position), position);
        }
    }
    before->tail_named = true;
    *attach = before->reply;
}

/* Step 3. */
static uint32_t add_segment(struct placer *placer, const struct path_blocks *path,
                            struct cut_point attach)
{
    uint32_t segment = cut_add_segment(&placer->cut, attach, (uint32_t)path->end);
    uint64_t index = 0, first_new = attach.position / placer->block_tokens;
    for (size_t i = 0; i < path->run_count; index += path->runs[i++].count) {
        const struct block_run *run = &path->runs[i];
        uint64_t skip = first_new <= index ? 0 : first_new - index;
        if (skip >= run->count)
            continue;
        uint64_t count = run->count - skip;
        bool partial = block_end(placer, path, index + run->count - 1) % placer->block_tokens != 0;
        uint64_t whole = count - partial; /* a partial block ends nearer than a step */
        register_run(placer, run->first + skip, whole, segment,
                     block_end(placer, path, index + skip));
        if (partial && path->in > attach.position)
            register_run(placer, run->first + run->count - 1, 1, segment, path->in);
    }
    return segment;
}

static struct place describe(const struct placer *placer, const struct path_blocks *path,
                             uint32_t segment)
{
    struct place place = {.out = path->out, .stream = path->stream};
    place.tail_named = path->blocks > path->prompt_blocks; /* by the trace itself */
    place.prompt.position = (uint32_t)path->in;
    place.prompt.segment = cut_segment_at(&placer->cut, segment, place.prompt.position);
    place.reply.position = (uint32_t)path->end;
    place.reply.segment = cut_segment_at(&placer->cut, segment, place.reply.position);
    uint64_t full = path->in / placer->block_tokens;
    place.full_blocks = (uint32_t)(full < path->prompt_blocks ? full : path->prompt_blocks);
    if (place.full_blocks > 0) {
        struct block_key key = key_of(placer, number_at(path, place.full_blocks - 1));
        place.last_block = key.number;
        place.last_space = key.space;
    }
    return place;
}

int placer_add(struct placer *placer, const struct path_blocks *path, uint32_t *continues,
               struct err *err)
{
    uint64_t shared = count_shared(placer, path);
    if (check_chained(placer, path, shared, err) != 0)
        return -1;
    struct cut_point attach = {CUT_ROOT, 0};
    if (shared > 0) {
        struct block_entry last = find_block(placer, number_at(path, shared - 1));
        attach = (struct cut_point){last.owner - 1, last.end};
    }
    *continues = placer->options.link_by_prompt ? find_linked(placer, path, shared)
                                                : find_continued(placer, path, shared);
    bool reply_known = path->blocks > path->prompt_blocks;
    if (*continues != REQUEST_NONE && !reply_known && !placer->options.keep_partial_blocks)
        attach_to_reply(placer, path, shared, *continues, &attach);
    uint32_t segment = attach.segment;
    if (path->end > attach.position)
        segment = add_segment(placer, path, attach);
    size_t id = placer->count++;
    placer->places =
        mem_grow(placer->places, &placer->capacity, placer->count, sizeof *placer->places);
    placer->places[id] = describe(placer, path, segment);
    if (placer->options.link_by_prompt)
        remember_prompt_end(placer);
    return 0;
}
