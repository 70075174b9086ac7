#include "sim/load/workload.h"

#include <stdlib.h>

node_id workload_node_at(const struct workload *workload, node_id node, uint32_t position)
{
    while (node != NODE_ROOT && position <= workload_node_start(workload, node))
        node = workload->nodes[node].parent;
    return node;
}

void workload_close(struct workload *workload)
{
    if (workload == NULL)
        return;
    free(workload->name);
    free(workload->nodes);
    free(workload->requests);
    free(workload->conversations);
    free(workload->bounds);
    free(workload);
}

bool workload_has_starts(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->conversation_count; i++)
        if (workload->conversations[i].start_ns == TIME_UNKNOWN)
            return false;
    return true;
}

bool workload_has_offsets(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->request_count; i++)
        if (workload->requests[i].offset_ns == TIME_UNKNOWN)
            return false;
    return true;
}

static int check_nodes(const struct workload *workload, struct err *err)
{
    const struct node *nodes = workload->nodes;
    if (workload->node_count == 0 || nodes[0].parent != NODE_ROOT || nodes[0].end != 0)
        return err_set(err, "the first node must be the root");
    for (uint32_t i = 1; i < workload->node_count; i++)
        if (nodes[i].parent >= i || nodes[i].end <= nodes[nodes[i].parent].end ||
            nodes[i].end > WORKLOAD_TOKENS_MAX)
            return err_set(err, "node %u does not follow its parent", i);
    return 0;
}

static int check_request(const struct workload *workload, uint32_t id, struct err *err)
{
    const struct request *request = &workload->requests[id];
    if (request->prompt_node >= workload->node_count || request->prompt_node == NODE_ROOT ||
        request->reply_node >= workload->node_count)
        return err_set(err, "request %u: its nodes do not exist", id);
    uint32_t prompt = workload->nodes[request->prompt_node].end;
    uint32_t reply = workload->nodes[request->reply_node].end;
    uint64_t expected = (uint64_t)prompt + (workload->replies_kept ? request->reply_tokens : 0);
    if (reply != expected ||
        workload_node_at(workload, request->reply_node, prompt) != request->prompt_node)
        return err_set(err, "request %u: its reply does not follow its prompt", id);
    if (request->conversation >= workload->conversation_count ||
        request->stream >= workload->stream_count ||
        (request->continues != REQUEST_NONE && request->continues >= id))
        return err_set(err, "request %u: its conversation or stream does not exist", id);
    if ((uint64_t)request->bounds_first + request->bounds_count > workload->bound_count)
        return err_set(err, "request %u: its message bounds do not exist", id);
    const uint32_t *bounds = workload_bounds(workload, request);
    for (uint32_t i = 0; i < request->bounds_count; i++)
        if (bounds[i] > prompt || bounds[i] <= (i > 0 ? bounds[i - 1] : 0))
            return err_set(err, "request %u: its message bounds do not ascend", id);
    if (request->system_tokens >= prompt || request->waited_for > WAITED_PERSON)
        return err_set(err, "request %u: a field is out of range", id);
    return 0;
}

int workload_check(const struct workload *workload, struct err *err)
{
    if (workload->request_count == 0 || workload->block_tokens == 0)
        return err_set(err, "a workload without requests or block size");
    if (workload->stream_count > workload->request_count)
        return err_set(err, "more streams than requests");
    if (check_nodes(workload, err) != 0)
        return -1;
    uint64_t prompt_tokens = 0, reply_tokens = 0;
    for (uint32_t i = 0; i < workload->request_count; i++) {
        if (check_request(workload, i, err) != 0)
            return -1;
        prompt_tokens += workload_prompt_tokens(workload, i);
        reply_tokens += workload->requests[i].reply_tokens;
    }
    if (prompt_tokens != workload->prompt_tokens || reply_tokens != workload->reply_tokens)
        return err_set(err, "the token sums do not agree with the requests");
    return 0;
}
