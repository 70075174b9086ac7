#include "sim/load/build.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/load/interned.h"
#include "sim/load/link.h"

/* A request of the current conversation, waiting to be sorted. Runs live in build->runs. */
struct pending {
    struct build_request request;
    size_t runs_first;
    size_t sequence;
};

struct build {
    struct build_options options;
    struct declared format; /* build_declare */
    struct record *record;
    struct workload *calls; /* the record's */
    size_t request_capacity, path_capacity, conversation_capacity, bound_capacity;
    struct keymap prompt_ends;    /* link_by_prompt: chain, blocks -> the longest such prompt + 1 */
    bool order_of_stream_unknown; /* some stream's requests do not come in the order of the trace */
    struct interned name_spaces;

    /* the current conversation */
    struct build_conversation current;
    const char *path;
    uint32_t line;
    uint32_t streams_here;
    struct pending *pending;
    size_t pending_count, pending_capacity;
    struct block_run *runs;
    size_t run_count, run_capacity;
    struct link_item *items; /* of a stream */
    size_t item_capacity;
};

struct build *build_open(const struct build_options *options)
{
    struct build *build = mem_zalloc(sizeof *build);
    build->options = *options;
    build->record = mem_zalloc(sizeof *build->record);
    build->record->chains.contents = options->chain_contents;
    build->calls = build->record->calls = mem_zalloc(sizeof *build->calls);
    build->calls->name = mem_strdup("");
    build->calls->arrival = mem_strdup("");
    /* Never NULL, not even where a trace has prompts of less than a block only. */
    build->runs = mem_grow(NULL, &build->run_capacity, 1, sizeof *build->runs);
    return build;
}

bool build_keeps_partial_blocks(const struct build *build)
{
    return build->options.keep_partial_blocks;
}

void build_declare(struct build *build, const struct declared *declared)
{
    build->format = *declared;
}

uint32_t build_name_space(struct build *build, const char *name, size_t length)
{
    return interned_number(&build->name_spaces, name, length);
}

void build_close(struct build *build)
{
    if (build == NULL)
        return;
    record_close(build->record);
    keymap_close(&build->prompt_ends);
    interned_close(&build->name_spaces);
    free(build->items);
    free(build->pending);
    free(build->runs);
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

/* The line of the first request whose path goes behind so many blocks of a chain. */
static uint32_t line_of(const struct build *build, uint32_t chain, uint32_t blocks)
{
    const struct chain *chains = build->record->chains.items;
    for (uint32_t i = 0; i < build->calls->request_count; i++) {
        struct block_at at = build->record->paths[i].end;
        while (at.chain != CHAIN_NONE && at.chain != chain)
            at = chains[at.chain].parent;
        if (at.chain == chain && at.blocks >= blocks)
            return build->record->paths[i].line;
    }
    return build->line; /* the request that is being added */
}

static int fail_at(const struct build *build, uint32_t line, uint32_t earlier,
                   const struct err *reason, struct err *err)
{
    if (build->options.chain_contents)
        return err_set(err,
                       "%.250s:%u: a block was expected as long as at %.250s:%u, found another "
                       "length under the same number",
                       build->path, line, build->path, earlier);
    return err_set(err,
                   "%.250s:%u: %.300s, as at %.250s:%u (numbers must be chained: equal number, "
                   "equal prompt up to there; --block-ids content reads numbers of contents)",
                   build->path, line, reason->text, build->path, earlier);
}

/* Chains that overlap: a number stands behind two different blocks. */
static int check_overlap(const struct build *build, bool local, struct err *err)
{
    struct chain_overlap found;
    struct err reason;
    if (!chains_overlap(&build->record->chains, local, &found))
        return 0;
    const struct chain *inside = &build->record->chains.items[found.inside];
    const struct chain *start = &build->record->chains.items[found.start];
    uint32_t before = (uint32_t)(start->first - inside->first);
    uint32_t lines[2] = {line_of(build, found.inside, before + 1), start->line};
    char where[2][80];
    chains_describe(&build->record->chains, (struct block_at){found.inside, before},
                    inside->partial_end, where[0]);
    chains_describe(&build->record->chains, start->parent, start->partial_end, where[1]);
    bool later = lines[1] >= lines[0]; /* which of the two is the mistake */
    err_set(&reason, "block number %" PRIu64 " was expected %s, found %s", start->first,
            where[!later], where[later]);
    return fail_at(build, lines[later], lines[!later], &reason, err);
}

/* The list that is being read has a number behind another block than before. If lists before it
 * went wrong already, that is said. */
static int fail_moved(const struct build *build, uint32_t earlier, const struct err *reason,
                      struct err *err)
{
    if (check_overlap(build, false, err) != 0 ||
        (build->current.local_numbers && check_overlap(build, true, err) != 0))
        return -1;
    return fail_at(build, build->line, earlier, reason, err);
}

void build_begin(struct build *build, const struct build_conversation *conversation,
                 const char *path, uint32_t line)
{
    build->current = *conversation;
    build->path = path;
    build->line = line;
    build->pending_count = 0;
    build->run_count = 0;
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
    return 0;
}

int build_add(struct build *build, const struct build_request *request, struct err *err)
{
    uint32_t block = build->current.block_tokens;
    if (block == 0 || block > 1u << 20)
        return fail(build, err, "a block size of 1 to %u tokens was expected, found %u", 1u << 20,
                    block);
    if (build->calls->block_tokens != 0 && build->calls->block_tokens != block)
        return fail(build, err, "one block size in the whole trace was expected, found %u after %u",
                    block, build->calls->block_tokens);
    build->calls->block_tokens = block;
    if (check_request(build, request, err) != 0)
        return -1;
    if ((size_t)build->calls->request_count + build->pending_count >= UINT32_MAX - 1)
        return fail(build, err, "at most %u requests were expected", UINT32_MAX - 1);
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
    return 0;
}

/* Keeps the message bounds of a request. before, NULL or the one before in its stream, has its own
 * at the end of all that are kept: a list that only goes on from it shares them. */
static int keep_bounds(struct build *build, const struct pending *pending,
                       const struct pending *before, uint32_t id, struct err *err)
{
    struct workload *calls = build->calls;
    const struct build_request *request = &pending->request;
    const size_t count = request->bound_count;
    const size_t shared =
        before && before->request.bounds == request->bounds && before->request.bound_count <= count
            ? before->request.bound_count
            : 0;
    const uint64_t first = calls->bound_count - shared, total = first + count;
    if (total > UINT32_MAX)
        return fail(build, err, "at most %u message bounds were expected", UINT32_MAX);
    for (size_t i = shared; i < count; i++)
        if (request->bounds[i] <= (i > 0 ? request->bounds[i - 1] : 0))
            return fail(build, err, "message bounds that ascend were expected, found %u",
                        request->bounds[i]);
    if (count > 0 && request->bounds[count - 1] > request->in)
        return fail(build, err, "message bounds up to %llu were expected, found %u",
                    (unsigned long long)request->in, request->bounds[count - 1]);
    calls->bounds = mem_grow(calls->bounds, &build->bound_capacity, total, sizeof *calls->bounds);
    if (count > shared)
        memcpy(calls->bounds + first + shared, request->bounds + shared,
               (count - shared) * sizeof *calls->bounds);
    calls->bound_count = (uint32_t)total;
    calls->requests[id].bounds_first = (uint32_t)first;
    calls->requests[id].bounds_count = (uint32_t)count;
    return 0;
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
    struct workload *calls = build->calls;
    uint32_t id = calls->conversation_count++;
    calls->conversations = mem_grow(calls->conversations, &build->conversation_capacity,
                                    calls->conversation_count, sizeof *calls->conversations);
    calls->conversations[id] =
        (struct conversation){.start_ns = build->current.start_ns, .first_line = build->line};
    return id;
}

/* ---- blocks ---- */

static int walk_runs(struct build *build, const struct block_run *runs, size_t count,
                     uint32_t name_space, struct block_at *at, struct err *err)
{
    struct err reason;
    uint32_t earlier = 0;
    for (size_t i = 0; i < count; i++) {
        if (chains_walk(&build->record->chains, at, runs[i], name_space, 0, build->line, &earlier,
                        &reason) != 0)
            return earlier > 0 ? fail_moved(build, earlier, &reason, err)
                               : fail(build, err, "%s", reason.text);
    }
    return 0;
}

/* Finds a request's path through the chains. A last, partial block is one of its own. */
static int find_path(struct build *build, const struct pending *pending, struct record_path *out,
                     struct err *err)
{
    const struct build_request *from = &pending->request;
    const uint32_t block = build->current.block_tokens;
    struct block_run *runs = build->runs + pending->runs_first, last = {0, 0};
    size_t count = from->run_count;
    *out = (struct record_path){
        .full = {CHAIN_NONE, 0}, .in = (uint32_t)from->in, .line = build->line};
    if (blocks_in(runs, count) > from->in / block) {
        struct block_run *of = &runs[count - 1];
        last = (struct block_run){of->first + of->count - 1, 1};
        count -= --of->count == 0;
    }
    if (walk_runs(build, runs, count, from->name_space, &out->full, err) != 0)
        return -1;
    out->prompt = out->full;
    struct err reason;
    uint32_t earlier = 0;
    if (last.count > 0 && chains_walk(&build->record->chains, &out->prompt, last, from->name_space,
                                      out->in, build->line, &earlier, &reason) != 0)
        return fail_moved(build, earlier, &reason, err);
    out->end = out->prompt;
    return walk_runs(build, runs + from->run_count, from->out_run_count, from->name_space,
                     &out->end, err);
}

/* ---- who continues whom ---- */

static struct link_item item_of(struct build *build, uint32_t id)
{
    const struct record_path *path = &build->record->paths[id];
    const struct request *request = &build->calls->requests[id];
    const uint32_t kept = request_kept(request, path->in);
    struct link_item item = {.path = path->full, .in = path->in, .least_in = kept};
    if (!build->options.drop_replies)
        item.least_in += request_back(request);
    item.kept = chains_above(&build->record->chains, path->full, kept / build->calls->block_tokens);
    return item;
}

/* Links the requests of one stream of the conversation that has just been added. */
static void link_requests(struct build *build, const uint32_t *ids, uint32_t count)
{
    struct workload *calls = build->calls;
    build->items = mem_grow(build->items, &build->item_capacity, count, sizeof *build->items);
    for (uint32_t i = 0; i < count; i++)
        build->items[i] = item_of(build, ids[i]);
    link_stream(&build->record->chains, build->items, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct link_item *item = &build->items[i];
        if (item->continues != LINK_NONE)
            calls->requests[ids[i]].continues = ids[item->continues];
        calls->continuation.short_prompts +=
            item->too_short && request_is_guessed(&calls->requests[ids[i - 1]]);
    }
}

/* Without recorded conversations: the longest earlier prompt, by its number of blocks. */
static uint32_t find_linked(struct build *build, const struct record_path *path)
{
    struct chains *chains = &build->record->chains;
    for (struct block_at at = path->full; chains_depth(chains, at) > 1;) {
        const struct chain *chain = &chains->items[at.chain];
        const uint32_t used = chain->used[0] > chain->used[1] ? chain->used[0] : chain->used[1];
        if (at.blocks > used) /* no earlier request went so far */
            at.blocks = used;
        if (at.blocks == 0) {
            at = chain->parent;
            continue;
        }
        chains->steps++;
        uint32_t found = keymap_find(&build->prompt_ends, at.chain, at.blocks);
        if (found > 0) {
            struct link_item item = item_of(build, found - 1);
            build->calls->continuation.short_prompts +=
                path->in <= item.least_in && request_is_guessed(&build->calls->requests[found - 1]);
            return path->in > item.least_in ? found - 1 : REQUEST_NONE;
        }
        at.blocks--;
    }
    return REQUEST_NONE;
}

static void remember_prompt_end(struct build *build, uint32_t id)
{
    const struct request *requests = build->calls->requests;
    const struct record_path *paths = build->record->paths;
    struct block_at kept = item_of(build, id).kept;
    if (chains_depth(&build->record->chains, kept) < 2)
        return;
    uint32_t known = keymap_find(&build->prompt_ends, kept.chain, kept.blocks);
    if (known == 0 || request_kept(&requests[known - 1], paths[known - 1].in) <=
                          request_kept(&requests[id], paths[id].in))
        keymap_put(&build->prompt_ends, kept.chain, kept.blocks, id + 1);
}

/* Without recorded conversations, a request joins that of the one it continues, or opens one. */
static void join_conversation(struct build *build, uint32_t id)
{
    struct workload *calls = build->calls;
    struct request *request = &calls->requests[id];
    request->continues = find_linked(build, &build->record->paths[id]);
    remember_prompt_end(build, id);
    if (request->continues == REQUEST_NONE) {
        request->conversation = add_conversation(build);
        request->stream = calls->stream_count++;
        return;
    }
    const struct request *before = &calls->requests[request->continues];
    uint64_t start = calls->conversations[before->conversation].start_ns;
    request->offset_ns = build->current.start_ns - start;
    request->conversation = before->conversation;
    request->stream = before->stream;
}

/* ---- adding a conversation ---- */

static void declare(const struct declared *declared, struct request *out)
{
    if (declared->back_given && out->reply_back == TOKENS_UNDECLARED)
        out->reply_back = declared->back < out->reply_tokens ? declared->back : out->reply_tokens;
    if (declared->replaced_given && out->prompt_replaced == TOKENS_UNDECLARED)
        out->prompt_replaced = declared->replaced;
}

static int add_request(struct build *build, const struct pending *pending, uint32_t conversation,
                       struct err *err)
{
    const struct build_request *from = &pending->request;
    struct workload *calls = build->calls;
    struct record *record = build->record;
    struct request request = {.reply_tokens = (uint32_t)from->out,
                              .conversation = conversation,
                              .stream = calls->stream_count + from->stream,
                              .continues = REQUEST_NONE,
                              .system_tokens = system_end(build, from),
                              .waited_for = from->waited_for,
                              .name_space = from->name_space,
                              .reply_back = TOKENS_UNDECLARED,
                              .prompt_replaced = TOKENS_UNDECLARED,
                              .offset_ns = from->offset_ns,
                              .think_ns = from->think_ns};
    declare(&from->declared, &request);
    declare(&build->format, &request);
    declare(&build->options.declared, &request);
    uint32_t id = calls->request_count;
    request.order = from->order == REQUEST_NONE ? id : (uint32_t)from->order;
    record->paths =
        mem_grow(record->paths, &build->path_capacity, (size_t)id + 1, sizeof *record->paths);
    if (find_path(build, pending, &record->paths[id], err) != 0)
        return -1;
    calls->requests = mem_grow(calls->requests, &build->request_capacity, (size_t)id + 1,
                               sizeof *calls->requests);
    calls->requests[id] = request;
    calls->request_count++;
    calls->prompt_tokens += from->in;
    calls->reply_tokens += from->out;
    if (build->options.link_by_prompt)
        join_conversation(build, id);
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
    uint64_t blocks = tokens * 97 / 100 / build->current.block_tokens;
    const struct pending *first = &build->pending[0];
    uint64_t in_run = first->request.run_count ? build->runs[first->runs_first].count : 0;
    return blocks < in_run ? blocks : in_run;
}

/* What is done stream by stream: bounds are kept, and requests are linked. */
static int finish_streams(struct build *build, uint32_t first, struct err *err)
{
    struct workload *calls = build->calls;
    const uint32_t count = calls->request_count - first;
    int result = 0;
    uint32_t *start = mem_array((size_t)build->streams_here + 2, sizeof *start);
    uint32_t *ids = mem_array(count, sizeof *ids);
    for (uint32_t i = 0; i < count; i++)
        start[build->pending[i].request.stream + 2]++;
    for (uint32_t i = 2; i < build->streams_here + 2; i++)
        start[i] += start[i - 1];
    for (uint32_t i = 0; i < count; i++)
        ids[start[build->pending[i].request.stream + 1]++] = first + i;
    for (uint32_t i = 0; i < build->streams_here && result == 0; i++) {
        const struct pending *before = NULL;
        for (uint32_t k = start[i]; k < start[i + 1] && result == 0; k++) {
            const struct pending *pending = &build->pending[ids[k] - first];
            result = keep_bounds(build, pending, before, ids[k], err);
            before = pending;
        }
        if (!build->options.link_by_prompt)
            link_requests(build, ids + start[i], start[i + 1] - start[i]);
    }
    free(start);
    free(ids);
    return result;
}

/* Notes who uses which blocks. Requests that come in one order in every schedule are one user: of
 * a conversation where all offsets are recorded, else of a stream. */
static void note_uses(struct build *build, uint32_t first, bool offsets_known)
{
    /* A request that comes a think time after the one before can come behind a later one whose
     * offset is recorded. */
    const struct workload *calls = build->calls;
    for (uint32_t i = first; i < calls->request_count; i++) {
        const struct request *request = &calls->requests[i];
        uint32_t user =
            offsets_known && !build->options.link_by_prompt ? calls->stream_count : request->stream;
        chains_use(&build->record->chains, build->record->paths[i].end, user);
        if (!offsets_known && (request->offset_ns != TIME_UNKNOWN ||
                               (i > first && request->order <= calls->requests[i - 1].order)))
            build->order_of_stream_unknown = true;
    }
}

int build_end(struct build *build, struct err *err)
{
    if (build->pending_count == 0)
        return 0;
    bool sortable = true;
    build->streams_here = 0;
    for (size_t i = 0; i < build->pending_count; i++) {
        sortable &= build->pending[i].request.offset_ns != TIME_UNKNOWN;
        if (build->pending[i].request.stream >= build->streams_here)
            build->streams_here = build->pending[i].request.stream + 1;
    }
    if (sortable && build->pending_count > 1)
        qsort(build->pending, build->pending_count, sizeof *build->pending, by_offset);
    const struct pending *pending = &build->pending[0];
    uint64_t system_first = pending->request.run_count ? build->runs[pending->runs_first].first : 0;
    chains_begin(&build->record->chains, build->current.local_numbers, build->current.tool_tokens,
                 system_first, shared_system_blocks(build));
    const bool linked = build->options.link_by_prompt;
    const uint32_t conversation = linked ? 0 : add_conversation(build);
    const uint32_t first = build->calls->request_count;
    for (size_t i = 0; i < build->pending_count; i++)
        if (add_request(build, &build->pending[i], conversation, err) != 0)
            return -1;
    if (build->current.local_numbers && check_overlap(build, true, err) != 0)
        return -1;
    if (finish_streams(build, first, err) != 0)
        return -1;
    note_uses(build, first, sortable);
    if (!linked)
        build->calls->stream_count += build->streams_here;
    build->pending_count = 0;
    return 0;
}

/* ---- the whole trace ---- */

int build_finish(struct build *build, struct record **out, struct err *err)
{
    struct workload *calls = build->calls;
    const struct declared *declared = &build->options.declared;
    if (calls->request_count == 0)
        return err_set(err, "a trace with at least one request was expected, found none");
    if (check_overlap(build, false, err) != 0)
        return -1;
    calls->replies_kept = !build->options.drop_replies;
    calls->partial_blocks_kept = build->options.keep_partial_blocks;
    calls->system_shared = build->options.share_system;
    calls->contents_chained = build->options.chain_contents;
    calls->reply_back = declared->back_given ? declared->back : TOKENS_UNDECLARED;
    calls->prompt_replaced = declared->replaced_given ? declared->replaced : TOKENS_UNDECLARED;
    record_finish(build->record, build->order_of_stream_unknown);
    *out = build->record;
    build->record = NULL;
    return 0;
}
