#include "sim/bound/pieces.h"

#include <stdlib.h>

#include "sim/core/mem.h"

#define NEVER UINT32_MAX

/* Of each node, while the requests go by. */
struct mark {
    uint32_t last; /* the arrival that went through it last */
    bool ended;    /* a prompt or a reply ended at its end */
};

/* above: pieces before this one are closed. */
static struct piece *add_piece(struct pieces *pieces, size_t above, uint32_t end, uint32_t since)
{
    if (pieces->count == above || pieces->items[pieces->count - 1].since != since) {
        pieces->items =
            mem_grow(pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items);
        pieces->items[pieces->count++] = (struct piece){.end = end, .since = since};
    } /* else the deeper one covers it */
    return &pieces->items[pieces->count - 1];
}

static void add_place(struct piece *piece, uint32_t position)
{
    if (position > piece->high)
        piece->high = position;
    if (position < piece->low || piece->low == 0)
        piece->low = position;
}

static uint64_t next_multiple(uint64_t above, uint64_t grain)
{
    return above - above % grain + grain;
}

/* The shallowest place below a depth, ends of requests aside. */
static uint64_t place_below(const struct bound_input *input, uint32_t depth)
{
    uint64_t interior = next_multiple(depth, input->interior_grain);
    uint64_t from = input->grid_from > depth + 1u ? input->grid_from - 1 : depth;
    uint64_t grid = next_multiple(from, input->grid_grain);
    return grid < interior ? grid : interior;
}

/* The places that lie in the usable pieces of the newest arrival. */
static void add_places(struct pieces *pieces, const struct bound_input *input)
{
    uint32_t arrival = pieces->arrivals - 1;
    for (size_t i = pieces->usable[arrival]; i < pieces->count; i++) {
        struct piece *piece = &pieces->items[i];
        uint64_t first = place_below(input, piece_start(pieces, arrival, i));
        if (first <= piece->end) {
            add_place(piece, (uint32_t)first);
            add_place(piece, bound_place(input, piece->end));
        }
        if (input->end_grain > 1) { /* a floored end may be any of its multiples */
            first = next_multiple(piece_start(pieces, arrival, i), input->end_grain);
            if (first <= piece->end) {
                add_place(piece, (uint32_t)first);
                add_place(piece, (uint32_t)(piece->end - piece->end % input->end_grain));
            }
        }
    }
}

static void cut_path(struct pieces *pieces, const struct workload *workload, node_id node,
                     uint32_t limit, const struct mark *marks)
{
    size_t first = pieces->count, usable = first;
    for (; node != NODE_ROOT; node = workload->nodes[node].parent) {
        uint32_t start = workload_node_start(workload, node), end = workload->nodes[node].end;
        if (marks[node].last == NEVER)
            continue;
        if (end > limit) {
            add_piece(pieces, first, end, marks[node].last);
            usable = pieces->count;
        }
        if (start >= limit)
            continue;
        struct piece *piece =
            add_piece(pieces, usable, end < limit ? end : limit, marks[node].last);
        if (end <= limit && marks[node].ended)
            add_place(piece, end);
    }
    pieces->usable[pieces->arrivals] = usable;
    pieces->first[++pieces->arrivals] = pieces->count;
}

void pieces_open(struct pieces *out, const struct bound_input *input)
{
    const struct workload *workload = input->workload;
    const struct schedule *schedule = input->schedule;
    const struct node *nodes = workload->nodes;
    struct mark *marks = mem_array(workload->node_count, sizeof *marks);
    for (node_id node = 0; node < workload->node_count; node++)
        marks[node].last = NEVER;
    *out = (struct pieces){0};
    out->first = mem_array((size_t)schedule->count + 1, sizeof *out->first);
    out->usable = mem_array(schedule->count, sizeof *out->usable);
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct request *request = &workload->requests[schedule->arrivals[i].request];
        uint64_t prompt = nodes[request->prompt_node].end, compute = input->min_compute_tokens;
        uint32_t limit = compute < prompt ? (uint32_t)(prompt - compute) : 0;
        cut_path(out, workload, request->reply_node, limit, marks);
        add_places(out, input);
        out->prompt_tokens += prompt;
        out->ideal_tokens += pieces_limit(out, i);
        for (node_id node = request->reply_node; node != NODE_ROOT; node = nodes[node].parent)
            marks[node].last = i;
        if (input->end_grain == 1) /* else they are floored to one of the multiples */
            marks[request->prompt_node].ended = marks[request->reply_node].ended = true;
    }
    free(marks);
}

void pieces_close(struct pieces *pieces)
{
    free(pieces->items);
    free(pieces->first);
    free(pieces->usable);
}
