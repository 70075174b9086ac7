#include "sim/load/workload.h"

#include <stdlib.h>

#include "sim/core/mem.h"

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
    free(workload->arrival);
    free(workload->nodes);
    free(workload->requests);
    free(workload->conversations);
    free(workload->bounds);
    free(workload);
}

void workload_count_name_spaces(struct workload *workload)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < workload->request_count; i++)
        if (workload->requests[i].name_space > most)
            most = workload->requests[i].name_space;
    bool *used = mem_array((size_t)most + 1, sizeof *used);
    workload->name_space_count = 0;
    for (uint32_t i = 0; i < workload->request_count; i++) {
        bool *one = &used[workload->requests[i].name_space];
        workload->name_space_count += !*one;
        *one = true;
    }
    free(used);
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

/* Where each node stands when the tree is walked depth first, and how many are below it and itself:
 * whether one is above another is then told without a walk, however the file is made. */
struct walk {
    uint32_t *place, *size;
};

static struct walk walk_open(const struct workload *workload)
{
    const uint32_t count = workload->node_count;
    struct walk walk = {mem_array(count, sizeof *walk.place), mem_array(count, sizeof *walk.size)};
    uint32_t *next = mem_array(count, sizeof *next);
    for (uint32_t i = count; i-- > 0;) {
        walk.size[i]++;
        if (i > 0)
            walk.size[workload->nodes[i].parent] += walk.size[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t parent = workload->nodes[i].parent;
        walk.place[i] = i > 0 ? next[parent] : 0;
        next[parent] += i > 0 ? walk.size[i] : 0;
        next[i] = walk.place[i] + 1;
    }
    free(next);
    return walk;
}

static void walk_close(struct walk *walk)
{
    free(walk->place);
    free(walk->size);
}

static bool is_above(const struct walk *walk, node_id upper, node_id lower)
{
    return walk->place[lower] - walk->place[upper] < walk->size[upper];
}

static int check_request(const struct workload *workload, const struct walk *walk, uint32_t id,
                         struct err *err)
{
    const struct request *request = &workload->requests[id];
    if (request->prompt_node >= workload->node_count || request->prompt_node == NODE_ROOT ||
        request->reply_node >= workload->node_count)
        return err_set(err, "request %u: its nodes do not exist", id);
    uint32_t prompt = workload->nodes[request->prompt_node].end;
    uint32_t reply = workload->nodes[request->reply_node].end;
    uint64_t expected = (uint64_t)prompt + (workload->replies_kept ? request->reply_tokens : 0);
    if (reply != expected || !is_above(walk, request->prompt_node, request->reply_node))
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
    if (request->system_tokens >= prompt || request->waited_for > WAITED_PERSON ||
        request->name_space > workload->request_count)
        return err_set(err, "request %u: a field is out of range", id);
    return 0;
}

int workload_check(const struct workload *workload, struct err *err)
{
    if (workload->request_count == 0 || workload->block_tokens == 0)
        return err_set(err, "a workload without requests or block size");
    /* The main stream of a conversation may have none. */
    if (workload->stream_count > (uint64_t)workload->request_count + workload->conversation_count)
        return err_set(err, "more streams than requests and conversations");
    if (check_nodes(workload, err) != 0)
        return -1;
    uint64_t prompt_tokens = 0, reply_tokens = 0;
    struct walk walk = walk_open(workload);
    int result = 0;
    for (uint32_t i = 0; i < workload->request_count && result == 0; i++) {
        result = check_request(workload, &walk, i, err);
        prompt_tokens += result == 0 ? workload_prompt_tokens(workload, i) : 0;
        reply_tokens += workload->requests[i].reply_tokens;
    }
    walk_close(&walk);
    if (result != 0)
        return -1;
    if (prompt_tokens != workload->prompt_tokens || reply_tokens != workload->reply_tokens)
        return err_set(err, "the token sums do not agree with the requests");
    return 0;
}
