#include "sim/load/place.h"

#include <stdlib.h>

#include "sim/core/mem.h"
#include "sim/load/cut.h"

/* How much of a chain has been shown, and the segment that holds the last of it. */
struct shown {
    uint32_t blocks, segment;
};

/* Where one request lies. */
struct place {
    struct cut_point prompt, reply; /* where its prompt and its reply end; segment CUT_ROOT:
                                       nowhere, it has not come yet */
    /* A continuation, or the trace itself, has named the blocks of its path that end behind its
     * prompt: the last of those that a continuation shares. */
    struct block_at tail;
    bool tail_named, continued;
};

struct placer {
    struct record *record;
    struct chains *chains;
    const struct workload *calls;
    struct cut cut;
    struct shown *shown;  /* of each chain */
    struct place *places; /* of each request */
    struct continuation_counts *counts;
};

/* Where a block ends; only the last block of a prompt can be shorter than a block. */
static uint32_t block_end(const struct placer *placer, struct block_at at)
{
    const struct chain *chain = &placer->chains->items[at.chain];
    return chain->partial_end > 0 ? chain->partial_end
                                  : (chain->depth + at.blocks) * placer->calls->block_tokens;
}

/* Step 1. */
static struct block_at deepest_shown(const struct placer *placer, struct block_at at)
{
    const struct chain *chains = placer->chains->items;
    while (at.chain != CHAIN_NONE && placer->shown[at.chain].blocks == 0) {
        at = chains[at.chain].parent;
        placer->chains->steps++;
    }
    if (at.chain != CHAIN_NONE && at.blocks > placer->shown[at.chain].blocks)
        at.blocks = placer->shown[at.chain].blocks;
    return at;
}

static struct cut_point point_behind(const struct placer *placer, struct block_at shown)
{
    if (shown.chain == CHAIN_NONE)
        return (struct cut_point){CUT_ROOT, 0};
    uint32_t end = block_end(placer, shown), segment = placer->shown[shown.chain].segment;
    return (struct cut_point){cut_segment_at(&placer->cut, segment, end, &placer->chains->steps),
                              end};
}

/* Shows all blocks down to a place that have not been shown; the segment holds them. */
static void show(struct placer *placer, struct block_at at, uint32_t segment)
{
    while (at.chain != CHAIN_NONE && placer->shown[at.chain].blocks < at.blocks) {
        bool first = placer->shown[at.chain].blocks == 0;
        placer->shown[at.chain] = (struct shown){at.blocks, segment};
        placer->chains->steps++;
        if (!first)
            break;
        at = placer->chains->items[at.chain].parent;
    }
}

static bool same_block(struct block_at a, struct block_at b)
{
    return a.chain == b.chain && a.blocks == b.blocks;
}

/* Step 2: moves `attach` from the last shared block, the `shared`-th, to the end of what request j
 * shares with the one that it continues, where that lies deeper and nothing contradicts it. */
static void attach_to_continued(struct placer *placer, uint32_t j, struct block_at last,
                                struct cut_point *attach)
{
    const struct request *request = &placer->calls->requests[j];
    const struct request *other = &placer->calls->requests[request->continues];
    struct place *before = &placer->places[request->continues];
    const struct record_path *path = &placer->record->paths[request->continues];
    const uint32_t block = placer->calls->block_tokens;
    const uint32_t end = request_common(other, path->in, placer->calls->replies_kept);
    const uint32_t shared = chains_depth(placer->chains, last), whole = end / block;
    const uint32_t kept = request_kept(other, path->in) / block;
    if (before->reply.segment == CUT_ROOT)
        return; /* equal times and a stated order: it comes later */
    bool is_first = !before->continued && !before->tail_named && end > kept * block;
    before->continued = true;
    placer->counts->first += is_first;
    placer->counts->first_leaving += is_first && shared > kept;
    if (end <= attach->position)
        return;
    struct block_at tail = chains_above(placer->chains, placer->record->paths[j].full, whole);
    if (shared > kept && !(shared == whole && before->tail_named && same_block(tail, before->tail)))
        return; /* it has another block there */
    if (whole > shared && before->tail_named)
        return; /* another continuation says that these blocks are different */
    if (whole > shared)
        show(placer, tail, before->reply.segment);
    if (!before->tail_named) {
        before->tail = tail;
        before->tail_named = true;
    }
    if (request_is_guessed(other))
        placer->counts->guessed_tokens += end - attach->position;
    attach->position = end;
    attach->segment =
        cut_segment_at(&placer->cut, before->reply.segment, end, &placer->chains->steps);
}

static struct place place_request(struct placer *placer, uint32_t j)
{
    const struct request *request = &placer->calls->requests[j];
    const struct record_path *path = &placer->record->paths[j];
    const uint32_t block = placer->calls->block_tokens;
    const uint32_t end = path->in + (placer->calls->replies_kept ? request->reply_tokens : 0);
    struct block_at last = deepest_shown(placer, path->end);
    struct cut_point attach = point_behind(placer, last);
    struct place place = {.tail_named = record_reply_is_known(path)};
    if (request->continues != REQUEST_NONE && !place.tail_named &&
        !placer->calls->partial_blocks_kept)
        attach_to_continued(placer, j, last, &attach);
    uint32_t segment = attach.segment;
    if (end > attach.position)
        segment = cut_add_segment(&placer->cut, attach, end);
    show(placer, path->end, segment);
    uint64_t *steps = &placer->chains->steps;
    place.prompt =
        (struct cut_point){cut_segment_at(&placer->cut, segment, path->in, steps), path->in};
    place.reply = (struct cut_point){cut_segment_at(&placer->cut, segment, end, steps), end};
    if (place.tail_named)
        place.tail =
            chains_above(placer->chains, path->end, (path->in + request_back(request)) / block);
    return place;
}

static void finish(struct placer *placer, struct workload *out)
{
    uint32_t count = out->request_count;
    struct cut_point *points = mem_array(2 * (size_t)count, sizeof *points);
    node_id *found = mem_array(2 * (size_t)count, sizeof *found);
    for (uint32_t i = 0; i < count; i++) {
        points[2 * (size_t)i] = placer->places[i].prompt;
        points[2 * (size_t)i + 1] = placer->places[i].reply;
    }
    free(placer->places);
    free(placer->shown);
    cut_finish(&placer->cut, points, 2 * (size_t)count, found, &out->nodes, &out->node_count);
    free(points);
    for (uint32_t i = 0; i < count; i++) {
        out->requests[i].prompt_node = found[2 * (size_t)i];
        out->requests[i].reply_node = found[2 * (size_t)i + 1];
    }
    free(found);
    cut_close(&placer->cut);
}

void place_requests(struct record *record, const struct schedule *schedule, struct workload *out)
{
    struct placer placer = {.record = record,
                            .chains = &record->chains,
                            .calls = record->calls,
                            .counts = &out->continuation};
    placer.shown = mem_array(record->chains.count, sizeof *placer.shown);
    placer.places = mem_array(record->calls->request_count, sizeof *placer.places);
    cut_open(&placer.cut);
    for (uint32_t i = 0; i < schedule->total; i++) {
        uint32_t j = schedule->arrivals[i].request;
        placer.places[j] = place_request(&placer, j);
    }
    finish(&placer, out);
}
