#include "sim/bound/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define NEVER UINT32_MAX

static void add_piece(struct pieces *pieces, uint32_t end, uint32_t since)
{
    if (pieces->count > pieces->first[pieces->arrivals] &&
        pieces->items[pieces->count - 1].since == since)
        return; /* the deeper one covers it */
    pieces->items =
        mem_grow(pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items);
    pieces->items[pieces->count++] = (struct piece){end, since};
}

static void cut_prompt(struct pieces *pieces, const struct workload *workload,
                       const struct request *request, uint32_t limit, const uint32_t *last)
{
    const struct node *nodes = workload->nodes;
    for (node_id node = request->prompt_node; node != NODE_ROOT; node = nodes[node].parent)
        if (last[node] != NEVER && workload_node_start(workload, node) < limit)
            add_piece(pieces, nodes[node].end < limit ? nodes[node].end : limit, last[node]);
}

void pieces_open(struct pieces *out, const struct workload *workload,
                 const struct schedule *schedule, uint64_t min_compute_tokens)
{
    const struct node *nodes = workload->nodes;
    uint32_t *last = mem_array(workload->node_count, sizeof *last);
    memset(last, 0xff, workload->node_count * sizeof *last);
    *out = (struct pieces){0};
    out->first = mem_array((size_t)schedule->count + 1, sizeof *out->first);
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct request *request = &workload->requests[schedule->arrivals[i].request];
        uint32_t prompt = nodes[request->prompt_node].end;
        uint32_t limit = min_compute_tokens < prompt ? prompt - (uint32_t)min_compute_tokens : 0;
        cut_prompt(out, workload, request, limit, last);
        out->prompt_tokens += prompt;
        if (out->count > out->first[i])
            out->ideal_tokens += out->items[out->first[i]].end;
        for (node_id node = request->reply_node; node != NODE_ROOT; node = nodes[node].parent)
            last[node] = i;
        out->first[++out->arrivals] = out->count;
    }
    free(last);
}

void pieces_close(struct pieces *pieces)
{
    free(pieces->items);
    free(pieces->first);
}
