/* oracle - offline: a snapshot wherever a later prompt would start from, had nothing ever left.
 *
 * A prompt would start from the last token that earlier requests have shown, or from the last one
 * before those that it computes in any case. Each request that comes through such a position, and
 * computes it, takes the snapshot; together with `belady` this is a schedule that any server could
 * have followed, had it known. */
#include <stdlib.h>

#include "sim/core/mem.h"
#include "sim/placement.h"

/* A position on a node, from which the last request of those that start there starts. */
struct start {
    uint32_t position, last_arrival;
    uint32_t next; /* 1 + the node's next one, or 0 */
};

struct oracle {
    struct start *starts;
    size_t count, capacity;
    struct remembered nodes; /* those that have starts */
};

static void add_start(struct placement *placement, node_id node, uint32_t position,
                      uint32_t arrival)
{
    struct oracle *oracle = placement->state;
    uint32_t *first = (uint32_t *)placement->nodes + node;
    uint32_t link = *first;
    while (link && oracle->starts[link - 1].position != position)
        link = oracle->starts[link - 1].next;
    if (link == 0) {
        oracle->starts =
            mem_grow(oracle->starts, &oracle->capacity, oracle->count + 1, sizeof *oracle->starts);
        oracle->starts[oracle->count++] = (struct start){position, arrival, *first};
        link = *first = (uint32_t)oracle->count;
    }
    oracle->starts[link - 1].last_arrival = arrival;
}

static void init(struct placement *placement)
{
    const struct future *future = placement->future;
    struct oracle *oracle = placement->state;
    remembered_open(&oracle->nodes, future->workload);
    for (uint32_t i = 0; i < future->schedule->count; i++) {
        const struct arrival *arrival = &future->schedule->arrivals[i];
        uint32_t prompt = workload_prompt_tokens(future->workload, arrival->request);
        uint64_t compute = future->min_compute_tokens;
        uint32_t position = compute < prompt ? prompt - (uint32_t)compute : 0;
        if (position > arrival->seen_tokens)
            position = arrival->seen_tokens;
        node_id prompt_node = future->workload->requests[arrival->request].prompt_node;
        if (position == 0)
            continue;
        node_id node = workload_node_at(future->workload, prompt_node, position);
        add_start(placement, node, position, i);
        oracle->nodes.nodes[node] = true;
    }
}

static void fini(struct placement *placement)
{
    struct oracle *oracle = placement->state;
    remembered_close(&oracle->nodes);
    free(oracle->starts);
}

/* Wants the starts of a node that are still to come, and forgets the others. */
static void want_starts(struct placement *placement, const struct placement_view *view,
                        node_id node, struct positions *positions)
{
    struct oracle *oracle = placement->state;
    uint32_t *first = (uint32_t *)placement->nodes + node;
    for (uint32_t *link = first; *link; placement->steps++) {
        struct start *start = &oracle->starts[*link - 1];
        if (start->last_arrival <= view->context->arrival) {
            *link = start->next;
            continue;
        }
        if (start->position == view->prompt_tokens || start->position == view->end_tokens)
            positions_add_end(positions, start->position);
        else
            positions_add_interior(positions, start->position);
        link = &start->next;
    }
    if (*first == 0)
        remembered_set(&oracle->nodes, view, node, false);
}

static void plan(struct placement *placement, const struct placement_view *view,
                 struct positions *positions)
{
    struct oracle *oracle = placement->state;
    const struct node *nodes = view->workload->nodes;
    uint32_t request = placement->future->schedule->arrivals[view->context->arrival].request;
    node_id end = view->workload->requests[request].reply_node;
    node_id node = remembered_next(&oracle->nodes, view, end, &placement->steps);
    while (node != NODE_ROOT) {
        want_starts(placement, view, node, positions);
        node = remembered_next(&oracle->nodes, view, nodes[node].parent, &placement->steps);
    }
}

const struct placement_ops placement_oracle = {
    .plugin = {.name = "oracle",
               .summary = "offline: where later prompts would start, had nothing ever left",
               .state_size = sizeof(struct oracle),
               .offline = true},
    .node_size = sizeof(uint32_t),
    .init = init,
    .fini = fini,
    .plan = plan,
};
