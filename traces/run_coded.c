/* The run-coded conversations: one line for each, block numbers as runs [first, how many].
 *
 * A line is first taken apart as it stands, in any order of its keys, into one array of requests
 * whose lists are stretches of common pools; only then, when the whole line is known to be good,
 * is it checked against its block size and handed to build. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "traces/formats.h"
#include "traces/identity.h"
#include "traces/scan.h"

#define BLOCK_NUMBER_MAX ((uint64_t)INT64_MAX)

/* The end of a message, and whether it holds tool definitions or is the system prompt. */
struct bound {
    uint32_t end;
    bool is_prefix;
};

struct stretch {
    size_t first, count;
};

struct entry {
    struct build_request request; /* its lists are filled in last */
    struct stretch runs, out_runs, bounds;
    size_t leading; /* bounds of tool definitions and system prompt, before any other */
    uint64_t block_count, out_block_count;
    unsigned column;   /* where it starts in the line */
    uint32_t identity; /* index + 1 into the identities, 0: none */
};

/* One list of requests: of the conversation, or of one of its sub-conversations. */
struct stream {
    uint32_t number;
    uint64_t last_ns;      /* the latest t so far, or TIME_UNKNOWN */
    struct stretch bounds; /* of the request before */
    size_t leading;        /* of them */
};

struct reader {
    struct scan scan;
    uint32_t line;         /* of the conversation that is being read */
    uint32_t block_tokens; /* of the file, 0 before the first line */
    uint32_t block_line;
    uint32_t stream_count; /* of this conversation */
    struct entry *entries;
    size_t entry_count, entry_capacity;
    struct block_run *runs;
    size_t run_count, run_capacity;
    struct bound *bounds;
    size_t bound_count, bound_capacity;
    uint32_t *ends; /* what build is given of bounds */
    size_t end_capacity;
    struct identity_pool identities;
    struct text name; /* of a name space */
};

/* Finds a key in a table. Most files have the same keys in the same order in each object, so the
 * search starts behind the key that was found last. */
static unsigned find_key(const char *const *names, unsigned count, struct scan_text key,
                         unsigned *last)
{
    unsigned at = *last;
    for (unsigned i = 0; i < count; i++) {
        at = at + 1 < count ? at + 1 : 0;
        if (scan_is(key, names[at])) {
            *last = at;
            return at;
        }
    }
    return count;
}

static void read_runs(struct reader *reader, struct stretch *out, uint64_t *total)
{
    struct scan *scan = &reader->scan;
    *out = (struct stretch){reader->run_count, 0};
    *total = 0;
    scan_enter(scan, '[');
    while (scan_item(scan)) {
        struct block_run run;
        scan_enter(scan, '[');
        scan_next(scan);
        run.first = scan_u64(scan, "the first number of a run", 0, BLOCK_NUMBER_MAX);
        scan_next(scan);
        run.count = scan_u64(scan, "the length of a run", 1, WORKLOAD_TOKENS_MAX);
        scan_leave(scan);
        *total += run.count;
        reader->runs =
            mem_grow(reader->runs, &reader->run_capacity, reader->run_count + 1, sizeof run);
        reader->runs[reader->run_count++] = run;
        out->count++;
    }
}

/* [["u",1268],["a",1384]]: the messages that the request before did not have. */
static void read_bounds(struct reader *reader, struct stretch *out)
{
    static const char *const roles[] = {"o", "s", "u", "a", "t", NULL};
    struct scan *scan = &reader->scan;
    *out = (struct stretch){reader->bound_count, 0};
    scan_enter(scan, '[');
    while (scan_item(scan)) {
        struct bound bound;
        scan_enter(scan, '[');
        scan_next(scan);
        bound.is_prefix = scan_word(scan, "the role of a message", roles) < 2;
        scan_next(scan);
        bound.end = (uint32_t)scan_u64(scan, "the end of a message", 1, WORKLOAD_TOKENS_MAX);
        scan_leave(scan);
        reader->bounds = mem_grow(reader->bounds, &reader->bound_capacity, reader->bound_count + 1,
                                  sizeof bound);
        reader->bounds[reader->bound_count++] = bound;
        out->count++;
    }
}

/* Those that are kept have been checked, but for the end of this prompt. */
static void check_bounds(struct scan *scan, const struct entry *entry, const struct bound *list,
                         size_t kept)
{
    for (size_t i = kept > 0 ? kept - 1 : 0; i < entry->bounds.count; i++) {
        uint32_t before = i > 0 ? list[i - 1].end : 0;
        if (list[i].end <= before || list[i].end > entry->request.in) {
            scan_fail(scan, entry->column,
                      "expected \"bounds\" to rise up to \"in\", %llu, found %u after %u",
                      (unsigned long long)entry->request.in, list[i].end, before);
            return;
        }
    }
}

/* Puts the bounds that are kept from the request before in front of the new ones, which are the
 * last of the pool. */
static void complete_bounds(struct reader *reader, const struct stream *stream, struct entry *entry,
                            uint64_t keep, bool has_bounds)
{
    struct scan *scan = &reader->scan;
    if (scan->failed)
        return;
    if (keep > stream->bounds.count) {
        scan_fail(scan, entry->column,
                  "expected \"keep\" to be at most the %zu bounds of the request before, found "
                  "%llu",
                  stream->bounds.count, (unsigned long long)keep);
        return;
    }
    const size_t kept = (size_t)keep;
    if (!has_bounds)
        entry->bounds = (struct stretch){reader->bound_count, 0};
    const size_t more = entry->bounds.count;
    if (kept == stream->bounds.count && stream->bounds.first + kept == entry->bounds.first) {
        entry->bounds.first = stream->bounds.first; /* it only goes on: no copy */
    } else {
        reader->bound_count += kept;
        reader->bounds = mem_grow(reader->bounds, &reader->bound_capacity, reader->bound_count + 1,
                                  sizeof *reader->bounds);
        struct bound *list = reader->bounds + entry->bounds.first;
        memmove(list + kept, list, more * sizeof *list);
        memcpy(list, reader->bounds + stream->bounds.first, kept * sizeof *list);
    }
    entry->bounds.count = kept + more;
    entry->leading = stream->leading < kept ? stream->leading : kept;
    const struct bound *list = reader->bounds ? reader->bounds + entry->bounds.first : NULL;
    for (size_t i = kept; i < entry->bounds.count; i++)
        entry->leading += entry->leading == i && list[i].is_prefix;
    check_bounds(scan, entry, list, kept);
}

static enum waited_for read_input_types(struct scan *scan)
{
    enum waited_for waited_for = WAITED_UNKNOWN;
    scan_enter(scan, '[');
    while (scan_item(scan)) {
        struct scan_text type = scan_string(scan, "an input type");
        if (scan_is(type, "tool_result"))
            waited_for = WAITED_TOOL;
        else if (scan_is(type, "text") && waited_for == WAITED_UNKNOWN)
            waited_for = WAITED_PERSON;
    }
    return waited_for;
}

enum entry_key {
    KEY_T,
    KEY_TYPE,
    KEY_ORDER,
    KEY_IN,
    KEY_OUT,
    KEY_INPUT_TYPES,
    KEY_THINK_TIME,
    KEY_KEEP,
    KEY_BOUNDS,
    KEY_HASH_RUNS,
    KEY_OUT_RUNS,
    KEY_REQUESTS,
    KEY_TOOL_TOKENS,
    KEY_SYSTEM_TOKENS,
    KEY_REPLY_BACK,
    KEY_PROMPT_REPLACED,
    ENTRY_KEYS
};

static const char *const entry_keys[ENTRY_KEYS] = {
    "t",           "type",          "order",      "in",
    "out",         "input_types",   "think_time", "keep",
    "bounds",      "hash_runs",     "out_runs",   "requests",
    "tool_tokens", "system_tokens", "reply_back", "prompt_replaced",
};

static const char *const entry_types[] = {"n", "s", "subagent", NULL};

/* What an entry says besides its request. */
struct entry_extra {
    uint64_t t_ns, keep;
    uint32_t prefix_tokens; /* of a sub-conversation: its tool definitions and system prompt */
    bool is_sub;
    uint32_t seen;    /* a bit for each enum entry_key */
    size_t sub_first; /* the first entry of the sub-conversation */
};

static void read_list(struct reader *reader, struct stream *stream, bool nested);

static void read_sub_requests(struct reader *reader, struct entry_extra *extra, bool nested)
{
    struct stream sub = {.number = reader->stream_count++, .last_ns = TIME_UNKNOWN};
    if (nested)
        scan_fail(&reader->scan, scan_column(&reader->scan),
                  "expected no sub-conversation inside a sub-conversation, found one");
    extra->sub_first = reader->entry_count;
    read_list(reader, &sub, true);
}

static void read_value(struct reader *reader, enum entry_key key, struct entry *entry,
                       struct entry_extra *extra, bool nested)
{
    struct scan *scan = &reader->scan;
    struct build_request *request = &entry->request;
    const uint64_t limit = WORKLOAD_TOKENS_MAX;
    switch (key) {
    case KEY_T:
        extra->t_ns = scan_time(scan, "\"t\"", 9);
        break;
    case KEY_TYPE:
        extra->is_sub = scan_word(scan, "\"type\"", entry_types) == 2;
        break;
    case KEY_ORDER:
        request->order = scan_u64(scan, "\"order\"", 0, REQUEST_NONE - 1);
        break;
    case KEY_IN:
        request->in = scan_u64(scan, "\"in\"", 1, limit);
        break;
    case KEY_OUT:
        request->out = scan_u64(scan, "\"out\"", 0, limit);
        break;
    case KEY_INPUT_TYPES:
        request->waited_for = read_input_types(scan);
        break;
    case KEY_THINK_TIME:
        request->think_ns = scan_time(scan, "\"think_time\"", 9);
        break;
    case KEY_KEEP:
        extra->keep = scan_u64(scan, "\"keep\"", 0, limit);
        break;
    case KEY_BOUNDS:
        read_bounds(reader, &entry->bounds);
        break;
    case KEY_HASH_RUNS:
        read_runs(reader, &entry->runs, &entry->block_count);
        break;
    case KEY_OUT_RUNS:
        read_runs(reader, &entry->out_runs, &entry->out_block_count);
        break;
    case KEY_REQUESTS:
        read_sub_requests(reader, extra, nested);
        break;
    case KEY_TOOL_TOKENS:
        extra->prefix_tokens += (uint32_t)scan_u64(scan, "\"tool_tokens\"", 0, limit);
        break;
    case KEY_SYSTEM_TOKENS:
        extra->prefix_tokens += (uint32_t)scan_u64(scan, "\"system_tokens\"", 0, limit);
        break;
    case KEY_REPLY_BACK:
        request->declared.back_given = true;
        request->declared.back = (uint32_t)scan_u64(scan, "\"reply_back\"", 0, limit);
        break;
    case KEY_PROMPT_REPLACED:
        request->declared.replaced_given = true;
        request->declared.replaced = (uint32_t)scan_u64(scan, "\"prompt_replaced\"", 0, limit);
        break;
    case ENTRY_KEYS:
        break;
    }
}

/* Whether a key that was found is to be read: not a second one, not null where it may be absent. */
static bool wants_value(struct scan *scan, const char *name, unsigned key, uint32_t *seen)
{
    if (*seen & 1u << key)
        scan_fail(scan, scan_column(scan), "expected one \"%s\" in an object, found a second one",
                  name);
    if (scan_null(scan))
        return false;
    *seen |= 1u << key;
    return !scan->failed;
}

static void require(struct scan *scan, unsigned column, uint32_t seen, unsigned key,
                    const char *name, const char *where)
{
    if ((seen & 1u << key) == 0)
        scan_fail(scan, column, "expected \"%s\" in %s, found none", name, where);
}

/* Its requests' times count from its start. */
static void finish_sub(struct reader *reader, const struct entry_extra *extra, uint32_t identity)
{
    for (size_t i = extra->sub_first; i < reader->entry_count; i++) {
        struct build_request *request = &reader->entries[i].request;
        identity_pool_inherit(&reader->identities, &reader->entries[i].identity, identity);
        if (extra->t_ns == TIME_UNKNOWN || request->offset_ns == TIME_UNKNOWN)
            request->offset_ns = TIME_UNKNOWN;
        else
            request->offset_ns += extra->t_ns;
        request->system_tokens = extra->prefix_tokens;
    }
}

static void finish_request(struct reader *reader, struct stream *stream, struct entry *entry,
                           const struct entry_extra *extra)
{
    struct scan *scan = &reader->scan;
    static const enum entry_key required[] = {KEY_IN, KEY_OUT, KEY_HASH_RUNS};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        require(scan, entry->column, extra->seen, required[i], entry_keys[required[i]],
                "a request");
    complete_bounds(reader, stream, entry, extra->keep, extra->seen & 1u << KEY_BOUNDS);
    stream->bounds = entry->bounds;
    stream->leading = entry->leading;
    if (extra->t_ns != TIME_UNKNOWN) {
        char earliest[SCAN_TIME_TEXT], found[SCAN_TIME_TEXT];
        if (stream->last_ns != TIME_UNKNOWN && extra->t_ns < stream->last_ns)
            scan_fail(scan, entry->column,
                      "time going backwards: expected \"t\" to be at least %s s, found %s s",
                      scan_time_text(stream->last_ns, 9, earliest),
                      scan_time_text(extra->t_ns, 9, found));
        stream->last_ns = extra->t_ns;
    }
    entry->request.offset_ns = extra->t_ns;
    entry->request.stream = stream->number;
    reader->entries =
        mem_grow(reader->entries, &reader->entry_capacity, reader->entry_count + 1, sizeof *entry);
    reader->entries[reader->entry_count++] = *entry;
}

static void read_entry(struct reader *reader, struct stream *stream, bool nested)
{
    struct scan *scan = &reader->scan;
    struct entry entry = {
        .request = {.think_ns = TIME_UNKNOWN, .order = REQUEST_NONE},
        .column = scan_column(scan),
    };
    struct entry_extra extra = {.t_ns = TIME_UNKNOWN};
    struct scan_text name;
    unsigned last = ENTRY_KEYS;
    scan_enter(scan, '{');
    while (scan_key(scan, &name)) {
        unsigned key = find_key(entry_keys, ENTRY_KEYS, name, &last);
        bool other = key == ENTRY_KEYS;
        if (other && !identity_pool_read(&reader->identities, &entry.identity, name, scan))
            scan_skip(scan);
        else if (!other && wants_value(scan, entry_keys[key], key, &extra.seen))
            read_value(reader, (enum entry_key)key, &entry, &extra, nested);
    }
    if (extra.is_sub) {
        require(scan, entry.column, extra.seen, KEY_REQUESTS, "requests", "a sub-conversation");
        finish_sub(reader, &extra, entry.identity);
    } else {
        if (extra.seen & 1u << KEY_REQUESTS)
            scan_fail(scan, entry.column,
                      "expected \"subagent\" as \"type\" of what has \"requests\", found another");
        finish_request(reader, stream, &entry, &extra);
    }
}

static void read_list(struct reader *reader, struct stream *stream, bool nested)
{
    struct scan *scan = &reader->scan;
    unsigned column = scan_column(scan);
    size_t before = reader->entry_count;
    scan_enter(scan, '[');
    while (scan_item(scan))
        read_entry(reader, stream, nested);
    if (reader->entry_count == before)
        scan_fail(scan, column, "expected at least one request in \"requests\", found none");
}

enum conversation_key {
    KEY_BLOCK_SIZE,
    KEY_SCOPE,
    KEY_CONVERSATION_TOOLS,
    KEY_CONVERSATION_SYSTEM,
    KEY_PREFIX,
    KEY_START,
    KEY_CONVERSATION_REQUESTS,
    CONVERSATION_KEYS
};

static const char *const conversation_keys[CONVERSATION_KEYS] = {
    "block_size",    "hash_id_scope", "tool_tokens", "system_tokens",
    "prefix_tokens", "start",         "requests",
};

static const char *const scopes[] = {"global", "local", NULL};

static void read_conversation_value(struct reader *reader, enum conversation_key key,
                                    struct build_conversation *out, uint32_t *prefix_tokens)
{
    struct scan *scan = &reader->scan;
    const uint64_t limit = WORKLOAD_TOKENS_MAX;
    unsigned column = scan_column(scan);
    switch (key) {
    case KEY_BLOCK_SIZE:
        out->block_tokens = (uint32_t)scan_u64(scan, "\"block_size\"", 1, 1u << 20);
        if (reader->block_tokens != 0 && out->block_tokens != reader->block_tokens)
            scan_fail(scan, column, "expected a \"block_size\" of %u as in line %u, found %u",
                      reader->block_tokens, reader->block_line, out->block_tokens);
        break;
    case KEY_SCOPE:
        out->local_numbers = scan_word(scan, "\"hash_id_scope\"", scopes) == 1;
        break;
    case KEY_CONVERSATION_TOOLS:
        out->tool_tokens = (uint32_t)scan_u64(scan, "\"tool_tokens\"", 0, limit);
        break;
    case KEY_CONVERSATION_SYSTEM:
        out->system_tokens = (uint32_t)scan_u64(scan, "\"system_tokens\"", 0, limit);
        break;
    case KEY_PREFIX:
        *prefix_tokens = (uint32_t)scan_u64(scan, "\"prefix_tokens\"", 0, limit);
        break;
    case KEY_START:
        out->start_ns = scan_time(scan, "\"start\"", 9);
        break;
    case KEY_CONVERSATION_REQUESTS: {
        struct stream main_stream = {.number = 0, .last_ns = TIME_UNKNOWN};
        reader->stream_count = 1;
        read_list(reader, &main_stream, false);
        break;
    }
    case CONVERSATION_KEYS:
        break;
    }
}

/* Checks what needs the whole line, and fills in the lists. */
static int finish_entry(struct reader *reader, struct entry *entry, uint32_t block_tokens,
                        bool system_known)
{
    struct scan *scan = &reader->scan;
    struct build_request *request = &entry->request;
    if (request->in + request->out > WORKLOAD_TOKENS_MAX)
        scan_fail(scan, entry->column,
                  "expected \"in\" and \"out\" to be at most %u together, "
                  "found %llu",
                  WORKLOAD_TOKENS_MAX, (unsigned long long)(request->in + request->out));
    if (entry->block_count != request->in / block_tokens)
        scan_fail(scan, entry->column,
                  "expected %llu blocks in \"hash_runs\" for %llu prompt tokens, found %llu",
                  (unsigned long long)(request->in / block_tokens), (unsigned long long)request->in,
                  (unsigned long long)entry->block_count);
    if (entry->out_runs.count > 0 && block_tokens != 1)
        scan_fail(scan, entry->column,
                  "expected \"out_runs\" only with a \"block_size\" of 1, found them with %u",
                  block_tokens);
    if (entry->out_runs.count > 0 && entry->out_block_count != request->out)
        scan_fail(scan, entry->column, "expected %llu tokens in \"out_runs\", found %llu",
                  (unsigned long long)request->out, (unsigned long long)entry->out_block_count);
    request->runs = reader->runs + entry->runs.first;
    request->run_count = entry->runs.count;
    request->out_runs = entry->out_runs.count > 0 ? reader->runs + entry->out_runs.first : NULL;
    request->out_run_count = entry->out_runs.count;
    request->bounds = reader->ends + entry->bounds.first;
    request->bound_count = entry->bounds.count;
    if (!system_known && request->system_tokens == 0 && entry->leading > 0)
        request->system_tokens = request->bounds[entry->leading - 1];
    return scan->failed ? -1 : 0;
}

static int hand_over(struct reader *reader, const struct build_conversation *conversation,
                     uint32_t identity, bool system_known, struct build *build, struct err *err)
{
    build_begin(build, conversation, reader->scan.path, reader->line);
    reader->ends = mem_grow(reader->ends, &reader->end_capacity, reader->bound_count + 1,
                            sizeof *reader->ends);
    for (size_t i = 0; i < reader->bound_count; i++)
        reader->ends[i] = reader->bounds[i].end;
    for (size_t i = 0; i < reader->entry_count; i++) {
        struct entry *entry = &reader->entries[i];
        identity_pool_inherit(&reader->identities, &entry->identity, identity);
        if (entry->identity > 0)
            entry->request.name_space = identity_name_space(
                &reader->identities.items[entry->identity - 1], build, &reader->name);
        if (finish_entry(reader, entry, conversation->block_tokens, system_known) != 0 ||
            build_add(build, &entry->request, err) != 0)
            return -1;
    }
    return build_end(build, err);
}

static int read_conversation(struct reader *reader, struct build *build, struct err *err)
{
    struct scan *scan = &reader->scan;
    struct build_conversation conversation = {.start_ns = TIME_UNKNOWN};
    struct scan_text name;
    uint32_t prefix_tokens = 0, seen = 0, identity = 0;
    unsigned last = CONVERSATION_KEYS;
    unsigned column = scan_column(scan);
    reader->entry_count = reader->run_count = reader->bound_count = reader->identities.count = 0;
    scan_enter(scan, '{');
    while (scan_key(scan, &name)) {
        unsigned key = find_key(conversation_keys, CONVERSATION_KEYS, name, &last);
        bool other = key == CONVERSATION_KEYS;
        if (other && !identity_pool_read(&reader->identities, &identity, name, scan))
            scan_skip(scan);
        else if (!other && wants_value(scan, conversation_keys[key], key, &seen))
            read_conversation_value(reader, (enum conversation_key)key, &conversation,
                                    &prefix_tokens);
    }
    static const enum conversation_key required[] = {KEY_BLOCK_SIZE, KEY_SCOPE,
                                                     KEY_CONVERSATION_REQUESTS};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        require(scan, column, seen, required[i], conversation_keys[required[i]], "a conversation");
    if (scan_close(scan) != 0)
        return -1;
    bool system_known =
        seen & (1u << KEY_CONVERSATION_TOOLS | 1u << KEY_CONVERSATION_SYSTEM | 1u << KEY_PREFIX);
    if (conversation.tool_tokens == 0 && conversation.system_tokens == 0)
        conversation.system_tokens = prefix_tokens;
    if (reader->block_tokens == 0) {
        reader->block_tokens = conversation.block_tokens;
        reader->block_line = reader->line;
    }
    return hand_over(reader, &conversation, identity, system_known, build, err);
}

static int run_coded_read(struct trace_lines *lines, struct build *build, struct err *err)
{
    struct reader reader = {0};
    /* Never NULL, so that a place in it exists also for a list without runs. */
    reader.runs = mem_grow(NULL, &reader.run_capacity, 1, sizeof *reader.runs);
    char *line = NULL;
    size_t length = 0;
    int found = 0;
    while ((found = lines_next(lines, &line, &length, err)) == 1) {
        reader.line = lines_number(lines);
        scan_open(&reader.scan, lines_path(lines), reader.line, line, length, err);
        found = read_conversation(&reader, build, err);
        if (found != 0)
            break;
    }
    free(reader.entries);
    free(reader.runs);
    free(reader.bounds);
    free(reader.ends);
    free(reader.identities.items);
    text_close(&reader.name);
    return found;
}

static bool run_coded_matches(const char *start, size_t length)
{
    return scan_line_has_key(start, length, "requests");
}

const struct trace_format trace_format_conversations = {
    .name = "conversations",
    .summary = "a conversation per line, block numbers as runs [first, count]",
    .matches = run_coded_matches,
    .read = run_coded_read,
};
