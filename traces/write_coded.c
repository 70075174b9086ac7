#include "traces/write_coded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "traces/scan.h"

struct writer {
    const struct workload *workload;
    struct text *out;
    uint64_t *first_block; /* of each node: the number of the first block that ends in it */
    uint32_t *grouped;     /* requests by conversation, in the order of the trace */
    bool *written;         /* streams */
    node_id *path;         /* of the list of blocks that is being written */
    size_t path_capacity;
};

/* How many blocks end in a node. */
static uint64_t blocks_of(const struct workload *workload, node_id node)
{
    const uint32_t block = workload->block_tokens;
    return workload->nodes[node].end / block - workload_node_start(workload, node) / block;
}

/* Numbers all blocks. Along a path that mostly goes on to the first child, numbers are
 * consecutive, so that its list is few runs. */
static void number_blocks(struct writer *writer)
{
    const struct workload *workload = writer->workload;
    const uint32_t count = workload->node_count;
    node_id *first_child = mem_array(count, sizeof *first_child); /* the root is no child: none */
    for (node_id node = count - 1; node > NODE_ROOT; node--)
        first_child[workload->nodes[node].parent] = node;
    uint64_t next = 1;
    writer->first_block = mem_array(count, sizeof *writer->first_block);
    for (node_id node = 1; node < count; node++) {
        for (node_id at = node; at != NODE_ROOT && writer->first_block[at] == 0;
             at = first_child[at]) {
            writer->first_block[at] = next;
            next += blocks_of(workload, at);
        }
    }
    free(first_child);
}

/* Sorts the requests by conversation, keeping their order. first[c] .. first[c + 1] are those of
 * conversation c. The caller frees it. */
static size_t *group_requests(struct writer *writer)
{
    const struct workload *workload = writer->workload;
    const size_t conversations = workload->conversation_count;
    size_t *first = mem_array(conversations + 2, sizeof *first);
    writer->grouped = mem_array(workload->request_count, sizeof *writer->grouped);
    for (uint32_t i = 0; i < workload->request_count; i++)
        first[workload->requests[i].conversation + 2]++;
    for (size_t i = 2; i < conversations + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < workload->request_count; i++)
        writer->grouped[first[workload->requests[i].conversation + 1]++] = i;
    return first;
}

/* "key":12.5, - nothing if the time is not known */
static void put_time(struct text *out, const char *key, uint64_t ns)
{
    char digits[SCAN_TIME_TEXT];
    if (ns != TIME_UNKNOWN)
        text_printf(out, "\"%s\":%s,", key, scan_time_text(ns, 9, digits));
}

/* The blocks that end on the path from `above` (not included) down to `node`. */
static void put_runs(struct writer *writer, const char *key, node_id above, node_id node)
{
    const struct workload *workload = writer->workload;
    size_t length = 0;
    for (; node != above && node != NODE_ROOT; node = workload->nodes[node].parent) {
        writer->path =
            mem_grow(writer->path, &writer->path_capacity, length + 1, sizeof *writer->path);
        writer->path[length++] = node;
    }
    uint64_t first = 0, count = 0;
    const char *comma = "";
    text_printf(writer->out, "\"%s\":[", key);
    for (; length > 0; length--) {
        node_id at = writer->path[length - 1];
        uint64_t here = blocks_of(workload, at);
        if (here > 0 && count > 0 && writer->first_block[at] != first + count) {
            text_printf(writer->out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, first, count);
            comma = ",";
            count = 0;
        }
        if (here > 0 && count == 0)
            first = writer->first_block[at];
        count += here;
    }
    if (count > 0)
        text_printf(writer->out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, first, count);
    text_add(writer->out, "]", 1);
}

/* Only the bounds that the request before in the list does not have are written. */
static void put_bounds(struct writer *writer, const struct request *request,
                       const struct request *before)
{
    const uint32_t *bounds = workload_bounds(writer->workload, request);
    const uint32_t *old = before ? workload_bounds(writer->workload, before) : NULL;
    uint32_t keep = 0;
    while (before && keep < before->bounds_count && keep < request->bounds_count &&
           old[keep] == bounds[keep])
        keep++;
    /* The reader takes roles from the kept ones: they must say the same of the system prompt. */
    if (before && before->system_tokens != request->system_tokens)
        keep = 0;
    text_printf(writer->out, "\"keep\":%u,\"bounds\":[", keep);
    for (uint32_t i = keep; i < request->bounds_count; i++)
        text_printf(writer->out, "%s[\"%c\",%u]", i > keep ? "," : "",
                    bounds[i] <= request->system_tokens ? 's' : 'u', bounds[i]);
    text_printf(writer->out, "],");
}

static void put_request(struct writer *writer, uint32_t id, uint32_t index,
                        const struct request *before, uint64_t marker_ns)
{
    static const char *const input_types[] = {
        [WAITED_UNKNOWN] = "",
        [WAITED_TOOL] = "\"input_types\":[\"tool_result\"],",
        [WAITED_PERSON] = "\"input_types\":[\"text\"],",
    };
    const struct workload *workload = writer->workload;
    const struct request *request = &workload->requests[id];
    text_add(writer->out, "{", 1);
    if (request->offset_ns != TIME_UNKNOWN)
        put_time(writer->out, "t", request->offset_ns - marker_ns);
    put_time(writer->out, "think_time", request->think_ns);
    if (request->name_space > 0)
        text_printf(writer->out, "\"namespace\":%u,", request->name_space);
    if (request->reply_back != TOKENS_UNDECLARED)
        text_printf(writer->out, "\"reply_back\":%u,", request->reply_back);
    if (request->prompt_replaced != TOKENS_UNDECLARED)
        text_printf(writer->out, "\"prompt_replaced\":%u,", request->prompt_replaced);
    if (request->order != index)
        text_printf(writer->out, "\"order\":%u,", request->order);
    text_printf(writer->out, "\"in\":%u,\"out\":%u,%s", workload_prompt_tokens(workload, id),
                request->reply_tokens, input_types[request->waited_for]);
    if (request->bounds_count > 0)
        put_bounds(writer, request, before);
    put_runs(writer, "hash_runs", NODE_ROOT, request->prompt_node);
    if (workload->block_tokens == 1 && workload->replies_kept) {
        text_add(writer->out, ",", 1);
        put_runs(writer, "out_runs", request->prompt_node, request->reply_node);
    }
    text_add(writer->out, "}", 1);
}

/* The longest system prompt that a request of this stream has; where there are bounds they say it.
 */
static void put_system(struct writer *writer, size_t from, size_t to, uint32_t stream)
{
    const struct request *requests = writer->workload->requests;
    uint32_t longest = 0;
    for (size_t i = from; i < to; i++) {
        const struct request *request = &requests[writer->grouped[i]];
        if (request->stream == stream && request->bounds_count > 0)
            return;
        if (request->stream == stream && request->system_tokens > longest)
            longest = request->system_tokens;
    }
    if (longest > 0)
        text_printf(writer->out, "\"system_tokens\":%u,", longest);
}

/* When a sub-conversation starts: its earliest known offset. */
static uint64_t start_of_stream(const struct writer *writer, size_t from, size_t to,
                                uint32_t stream)
{
    uint64_t earliest = TIME_UNKNOWN;
    for (size_t i = from; i < to; i++) {
        const struct request *request = &writer->workload->requests[writer->grouped[i]];
        if (request->stream == stream && request->offset_ns < earliest)
            earliest = request->offset_ns;
    }
    return earliest;
}

/* Writes the requests of one stream, and at the place of the first request of another stream of
 * the conversation, all of that as a sub-conversation. */
static void put_stream(struct writer *writer, size_t from, size_t to, uint32_t stream, bool is_main,
                       uint64_t marker_ns)
{
    const struct request *requests = writer->workload->requests, *before = NULL;
    const char *comma = "";
    writer->written[stream] = true;
    put_system(writer, from, to, stream);
    text_printf(writer->out, "\"requests\":[");
    for (size_t i = from; i < to; i++) {
        const struct request *request = &requests[writer->grouped[i]];
        if (request->stream == stream) {
            text_printf(writer->out, "%s", comma);
            put_request(writer, writer->grouped[i], (uint32_t)i, before, marker_ns);
            before = request;
        } else if (is_main && !writer->written[request->stream]) {
            uint64_t start_ns = start_of_stream(writer, i, to, request->stream);
            text_printf(writer->out, "%s{\"type\":\"subagent\",", comma);
            put_time(writer->out, "t", start_ns);
            put_stream(writer, i, to, request->stream, false, start_ns);
            text_add(writer->out, "}", 1);
        } else {
            continue;
        }
        comma = ",";
    }
    text_add(writer->out, "]", 1);
}

static void put_conversation(struct writer *writer, uint32_t id, size_t from, size_t to)
{
    const struct workload *workload = writer->workload;
    uint32_t main_stream = UINT32_MAX;
    for (size_t i = from; i < to; i++) {
        uint32_t stream = workload->requests[writer->grouped[i]].stream;
        main_stream = stream < main_stream ? stream : main_stream;
    }
    text_printf(writer->out, "{\"id\":\"c%u\",\"block_size\":%u,\"hash_id_scope\":\"global\",", id,
                workload->block_tokens);
    put_time(writer->out, "start", workload->conversations[id].start_ns);
    put_stream(writer, from, to, main_stream, true, 0);
    text_add(writer->out, "}\n", 2);
}

int write_coded(const struct workload *workload, struct text *out, struct err *err)
{
    if (workload->partial_blocks_kept && workload->block_tokens > 1)
        return err_set(err, "conversations hold full blocks only; read the trace without "
                            "--partial-blocks keep to write it so");
    struct writer writer = {.workload = workload, .out = out};
    number_blocks(&writer);
    writer.written = mem_array(workload->stream_count, sizeof *writer.written);
    size_t *first = group_requests(&writer);
    for (uint32_t i = 0; i < workload->conversation_count; i++)
        if (first[i] < first[i + 1])
            put_conversation(&writer, i, first[i], first[i + 1]);
    free(first);
    free(writer.first_block);
    free(writer.grouped);
    free(writer.written);
    free(writer.path);
    return 0;
}
