#include "sim/load/build.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/load/place.h"

/* A request of the current conversation, waiting to be sorted. Runs live in build->runs. */
struct pending {
    struct build_request request;
    size_t runs_first, out_runs_first, bounds_first;
    size_t sequence;
};

struct build {
    struct build_options options;
    struct placer placer;
    struct request *requests;
    size_t request_count, request_capacity;
    struct conversation *conversations;
    size_t conversation_count, conversation_capacity;
    uint32_t *bounds;
    size_t bound_count, bound_capacity;
    uint32_t stream_count;
    uint32_t block_tokens;

    /* the current conversation */
    struct build_conversation current;
    const char *path;
    uint32_t line;
    uint32_t streams_here;
    struct pending *pending;
    size_t pending_count, pending_capacity;
    struct block_run *runs;
    size_t run_count, run_capacity;
    uint32_t *pending_bounds;
    size_t pending_bound_count, pending_bound_capacity;
};

struct build *build_open(const struct build_options *options)
{
    struct build *build = mem_zalloc(sizeof *build);
    build->options = *options;
    placer_open(&build->placer, options);
    /* Never NULL, not even where a trace has prompts of less than a block only. */
    build->runs = mem_grow(NULL, &build->run_capacity, 1, sizeof *build->runs);
    return build;
}

bool build_keeps_partial_blocks(const struct build *build)
{
    return build->options.keep_partial_blocks;
}

void build_close(struct build *build)
{
    if (build == NULL)
        return;
    placer_close(&build->placer);
    free(build->requests);
    free(build->conversations);
    free(build->bounds);
    free(build->pending);
    free(build->runs);
    free(build->pending_bounds);
    free(build);
}

static int fail(const struct build *build, struct err *err, const char *format, ...)
    PRINTF_LIKE(3, 4);

static int fail(const struct build *build, struct err *err, const char *format, ...)
{
    char message[ERR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return err_set(err, "%.300s:%u: %.700s", build->path, build->line, message);
}

void build_begin(struct build *build, const struct build_conversation *conversation,
                 const char *path, uint32_t line)
{
    build->current = *conversation;
    build->path = path;
    build->line = line;
    build->pending_count = 0;
    build->run_count = 0;
    build->pending_bound_count = 0;
    build->streams_here = 0;
}

static size_t keep_runs(struct build *build, const struct block_run *runs, size_t count)
{
    size_t first = build->run_count;
    build->runs = mem_grow(build->runs, &build->run_capacity, first + count, sizeof *build->runs);
    if (count > 0)
        memcpy(build->runs + first, runs, count * sizeof *runs);
    build->run_count += count;
    return first;
}

static uint64_t blocks_in(const struct block_run *runs, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += runs[i].count;
    return sum;
}

/* The number of blocks that a list for `tokens` tokens must have. */
static uint64_t expected_blocks(const struct build *build, uint64_t tokens)
{
    uint64_t block = build->current.block_tokens;
    return build->options.keep_partial_blocks ? (tokens + block - 1) / block : tokens / block;
}

static int check_request(const struct build *build, const struct build_request *request,
                         struct err *err)
{
    if (request->in == 0 || request->in + request->out > WORKLOAD_TOKENS_MAX)
        return fail(
            build, err, "prompt and reply of 1 to %u tokens were expected, found %llu + %llu",
            WORKLOAD_TOKENS_MAX, (unsigned long long)request->in, (unsigned long long)request->out);
    uint64_t blocks = blocks_in(request->runs, request->run_count);
    uint64_t expected = expected_blocks(build, request->in);
    uint64_t full = request->in / build->current.block_tokens;
    if (blocks != expected && blocks != full)
        return fail(build, err,
                    "%llu block numbers were expected for %llu tokens in blocks of %u, found %llu",
                    (unsigned long long)expected, (unsigned long long)request->in,
                    build->current.block_tokens, (unsigned long long)blocks);
    if (request->out_runs && (request->in % build->current.block_tokens != 0 ||
                              blocks_in(request->out_runs, request->out_run_count) !=
                                  request->out / build->current.block_tokens))
        return fail(build, err, "the reply's block numbers do not fit %llu + %llu tokens",
                    (unsigned long long)request->in, (unsigned long long)request->out);
    for (size_t i = 0; i < request->bound_count; i++)
        if (request->bounds[i] > request->in ||
            request->bounds[i] <= (i > 0 ? request->bounds[i - 1] : 0))
            return fail(build, err, "message bounds that ascend up to %llu were expected, found %u",
                        (unsigned long long)request->in, request->bounds[i]);
    return 0;
}

int build_add(struct build *build, const struct build_request *request, struct err *err)
{
    uint32_t block = build->current.block_tokens;
    if (block == 0 || block > 1u << 20)
        return fail(build, err, "a block size of 1 to %u tokens was expected, found %u", 1u << 20,
                    block);
    if (build->block_tokens != 0 && build->block_tokens != block)
        return fail(build, err, "one block size in the whole trace was expected, found %u after %u",
                    block, build->block_tokens);
    build->block_tokens = block;
    if (check_request(build, request, err) != 0)
        return -1;
    if (build->request_count + build->pending_count >= UINT32_MAX - 1 ||
        build->bound_count + build->pending_bound_count + request->bound_count > UINT32_MAX)
        return fail(build, err, "at most %u requests, and as many message bounds, were expected",
                    UINT32_MAX - 1);
    size_t count = build->pending_count++;
    build->pending =
        mem_grow(build->pending, &build->pending_capacity, count + 1, sizeof *build->pending);
    struct pending *pending = &build->pending[count];
    bool replies_known = request->out_runs && !build->options.drop_replies;
    pending->request = *request;
    pending->sequence = count;
    pending->runs_first = keep_runs(build, request->runs, request->run_count);
    pending->request.out_run_count = replies_known ? request->out_run_count : 0;
    keep_runs(build, request->out_runs, pending->request.out_run_count); /* right behind them */
    pending->bounds_first = build->pending_bound_count;
    size_t need = build->pending_bound_count + request->bound_count;
    build->pending_bounds = mem_grow(build->pending_bounds, &build->pending_bound_capacity, need,
                                     sizeof *build->pending_bounds);
    if (request->bound_count > 0)
        memcpy(build->pending_bounds + pending->bounds_first, request->bounds,
               request->bound_count * sizeof *request->bounds);
    build->pending_bound_count = need;
    return 0;
}

static void keep_bounds(struct build *build, const struct pending *pending, struct request *out)
{
    size_t count = pending->request.bound_count;
    out->bounds_first = (uint32_t)build->bound_count;
    out->bounds_count = (uint32_t)count;
    build->bounds = mem_grow(build->bounds, &build->bound_capacity, build->bound_count + count,
                             sizeof *build->bounds);
    if (count > 0)
        memcpy(build->bounds + build->bound_count, build->pending_bounds + pending->bounds_first,
               count * sizeof *build->bounds);
    build->bound_count += count;
}

static uint32_t system_end(const struct build *build, const struct build_request *request)
{
    uint64_t end = request->system_tokens;
    if (end == 0 && request->stream == 0)
        end = (uint64_t)build->current.tool_tokens + build->current.system_tokens;
    return end < request->in ? (uint32_t)end : 0;
}

static uint32_t add_conversation(struct build *build)
{
    size_t count = build->conversation_count++;
    build->conversations = mem_grow(build->conversations, &build->conversation_capacity, count + 1,
                                    sizeof *build->conversations);
    build->conversations[count] =
        (struct conversation){.start_ns = build->current.start_ns, .first_line = build->line};
    return (uint32_t)count;
}

/* Without recorded conversations, a request joins that of the one it continues, or opens one. */
static void link_request(struct build *build, struct request *request)
{
    if (request->continues == REQUEST_NONE) {
        request->conversation = add_conversation(build);
        request->stream = build->stream_count++;
        return;
    }
    const struct request *before = &build->requests[request->continues];
    uint64_t start = build->conversations[before->conversation].start_ns;
    request->offset_ns = build->current.start_ns - start;
    request->conversation = before->conversation;
    request->stream = before->stream;
}

static int add_request(struct build *build, const struct pending *pending, uint32_t conversation,
                       struct err *err)
{
    const struct build_request *from = &pending->request;
    struct request request = {.reply_tokens = (uint32_t)from->out,
                              .conversation = conversation,
                              .stream = build->stream_count + from->stream,
                              .system_tokens = system_end(build, from),
                              .waited_for = from->waited_for,
                              .offset_ns = from->offset_ns,
                              .think_ns = from->think_ns};
    struct path_blocks path = {.runs = build->runs + pending->runs_first,
                               .run_count = from->run_count + from->out_run_count,
                               .in = from->in,
                               .out = request.reply_tokens,
                               .stream = request.stream};
    path.end = from->in + (build->options.drop_replies ? 0 : from->out);
    path.prompt_blocks = blocks_in(path.runs, from->run_count);
    path.blocks = blocks_in(path.runs, path.run_count);
    struct err reason;
    if (placer_add(&build->placer, &path, &request.continues, &reason) != 0)
        return fail(build, err, "%s", reason.text);
    if (build->options.link_by_prompt)
        link_request(build, &request);
    uint32_t id = (uint32_t)build->request_count++;
    request.order = from->order == REQUEST_NONE ? id : (uint32_t)from->order;
    keep_bounds(build, pending, &request);
    build->requests = mem_grow(build->requests, &build->request_capacity, build->request_count,
                               sizeof *build->requests);
    build->requests[id] = request;
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct pending *x = a, *y = b;
    uint64_t left = x->request.offset_ns, right = y->request.offset_ns;
    if (left != right && left != TIME_UNKNOWN && right != TIME_UNKNOWN)
        return left < right ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The rule of --share-system: the first 97 % of the tool definitions and the system prompt. In the
 * traces that show the sharing, about that much is common to conversations with equal tools. */
static uint64_t shared_system_blocks(const struct build *build)
{
    const struct build_conversation *current = &build->current;
    if (!build->options.share_system || !current->local_numbers || current->tool_tokens == 0)
        return 0;
    uint64_t tokens = (uint64_t)current->tool_tokens + current->system_tokens;
    uint64_t blocks = tokens * 97 / 100 / build->block_tokens;
    const struct pending *first = &build->pending[0];
    uint64_t in_run = first->request.run_count ? build->runs[first->runs_first].count : 0;
    return blocks < in_run ? blocks : in_run;
}

int build_end(struct build *build, struct err *err)
{
    if (build->pending_count == 0)
        return 0;
    bool sortable = true;
    for (size_t i = 0; i < build->pending_count; i++) {
        sortable &= build->pending[i].request.offset_ns != TIME_UNKNOWN;
        if (build->pending[i].request.stream >= build->streams_here)
            build->streams_here = build->pending[i].request.stream + 1;
    }
    if (sortable && build->pending_count > 1)
        qsort(build->pending, build->pending_count, sizeof *build->pending, by_offset);
    const struct pending *first = &build->pending[0];
    uint64_t system_first = first->request.run_count ? build->runs[first->runs_first].first : 0;
    placer_begin(&build->placer, &build->current, system_first, shared_system_blocks(build));
    bool linked = build->options.link_by_prompt;
    uint32_t conversation = linked ? 0 : add_conversation(build);
    for (size_t i = 0; i < build->pending_count; i++)
        if (add_request(build, &build->pending[i], conversation, err) != 0)
            return -1;
    if (!linked)
        build->stream_count += build->streams_here;
    build->pending_count = 0;
    return 0;
}

int build_finish(struct build *build, struct workload **out, struct err *err)
{
    if (build->request_count == 0)
        return err_set(err, "a trace with at least one request was expected, found none");
    struct cut_point *points = mem_array(2 * build->request_count, sizeof *points);
    node_id *found = mem_array(2 * build->request_count, sizeof *found);
    for (size_t i = 0; i < build->request_count; i++) {
        points[2 * i] = build->placer.places[i].prompt;
        points[2 * i + 1] = build->placer.places[i].reply;
    }
    struct workload *workload = mem_zalloc(sizeof *workload);
    workload->name = mem_strdup("");
    workload->block_tokens = build->block_tokens;
    workload->replies_kept = !build->options.drop_replies;
    workload->partial_blocks_kept = build->options.keep_partial_blocks;
    workload->system_shared = build->options.share_system;
    cut_finish(&build->placer.cut, points, 2 * build->request_count, found, &workload->nodes,
               &workload->node_count);
    workload->requests = build->requests;
    workload->request_count = (uint32_t)build->request_count;
    workload->conversations = build->conversations;
    workload->conversation_count = (uint32_t)build->conversation_count;
    workload->bounds = build->bounds;
    workload->bound_count = (uint32_t)build->bound_count;
    workload->stream_count = build->stream_count;
    build->requests = NULL;
    build->conversations = NULL;
    build->bounds = NULL;
    placer_close(&build->placer);
    for (uint32_t i = 0; i < workload->request_count; i++) {
        struct request *request = &workload->requests[i];
        request->prompt_node = found[2 * i];
        request->reply_node = found[2 * i + 1];
        workload->prompt_tokens += workload->nodes[request->prompt_node].end;
        workload->reply_tokens += request->reply_tokens;
    }
    free(points);
    free(found);
    *out = workload;
    return 0;
}
