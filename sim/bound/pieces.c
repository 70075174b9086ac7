#include "sim/bound/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define NEVER UINT32_MAX

/* above: those before this one are closed. */
static void add_piece(struct pieces *pieces, size_t above, uint32_t end, uint32_t since)
{
    if (pieces->count > above && pieces->items[pieces->count - 1].since == since)
        return; /* the deeper one covers it */
    pieces->items =
        mem_grow(pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items);
    pieces->items[pieces->count++] = (struct piece){end, since};
}

static void cut_path(struct pieces *pieces, const struct workload *workload, node_id node,
                     uint32_t limit, const uint32_t *last)
{
    size_t first = pieces->count, usable = first;
    for (; node != NODE_ROOT; node = workload->nodes[node].parent) {
        uint32_t start = workload_node_start(workload, node), end = workload->nodes[node].end;
        if (last[node] == NEVER)
            continue;
        if (end > limit) {
            add_piece(pieces, first, end, last[node]);
            usable = pieces->count;
        }
        if (start < limit)
            add_piece(pieces, usable, end < limit ? end : limit, last[node]);
    }
    pieces->usable[pieces->arrivals] = usable;
    pieces->first[++pieces->arrivals] = pieces->count;
}

void pieces_open(struct pieces *out, const struct workload *workload,
                 const struct schedule *schedule, uint64_t min_compute_tokens)
{
    const struct node *nodes = workload->nodes;
    uint32_t *last = mem_array(workload->node_count, sizeof *last);
    memset(last, 0xff, workload->node_count * sizeof *last);
    *out = (struct pieces){0};
    out->first = mem_array((size_t)schedule->count + 1, sizeof *out->first);
    out->usable = mem_array(schedule->count, sizeof *out->usable);
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct request *request = &workload->requests[schedule->arrivals[i].request];
        uint32_t prompt = nodes[request->prompt_node].end;
        uint32_t limit = min_compute_tokens < prompt ? prompt - (uint32_t)min_compute_tokens : 0;
        cut_path(out, workload, request->reply_node, limit, last);
        out->prompt_tokens += prompt;
        out->ideal_tokens += pieces_limit(out, i);
        for (node_id node = request->reply_node; node != NODE_ROOT; node = nodes[node].parent)
            last[node] = i;
    }
    free(last);
}

void pieces_close(struct pieces *pieces)
{
    free(pieces->items);
    free(pieces->first);
    free(pieces->usable);
}
