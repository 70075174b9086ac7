/* Mooncake: one request per line, in order of arrival; no conversations. The template for a new
 * format: a table at the end, a reader that turns lines into calls of sim/load/build.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "traces/formats.h"
#include "traces/identity.h"
#include "traces/scan.h"

enum { BLOCK_TOKENS = 512 };

#define BLOCK_NUMBER_MAX ((uint64_t)INT64_MAX)

struct blocks {
    struct block_run *runs; /* consecutive numbers are one run */
    size_t run_count, run_capacity;
    uint64_t count;
};

struct call {
    uint64_t timestamp_ns, in, out;
    unsigned timestamp_column, ids_column;
    struct declared declared;
    struct identity identity;
};

enum key {
    KEY_TIMESTAMP,
    KEY_IN,
    KEY_OUT,
    KEY_IDS,
    REQUIRED,
    KEY_BACK = REQUIRED,
    KEY_REPLACED,
    KEYS
};

static const char *const key_names[KEYS] = {
    "timestamp", "input_length", "output_length", "hash_ids", "reply_back", "prompt_replaced",
};

static void add_block(struct blocks *blocks, uint64_t number)
{
    blocks->count++;
    if (blocks->run_count > 0) {
        struct block_run *last = &blocks->runs[blocks->run_count - 1];
        if (last->first + last->count == number) {
            last->count++;
            return;
        }
    }
    blocks->runs =
        mem_grow(blocks->runs, &blocks->run_capacity, blocks->run_count + 1, sizeof *blocks->runs);
    blocks->runs[blocks->run_count++] = (struct block_run){number, 1};
}

static void drop_last_block(struct blocks *blocks)
{
    blocks->count--;
    if (--blocks->runs[blocks->run_count - 1].count == 0)
        blocks->run_count--;
}

static void read_ids(struct scan *scan, struct call *call, struct blocks *blocks)
{
    call->ids_column = scan_column(scan);
    scan_enter(scan, '[');
    while (scan_item(scan))
        add_block(blocks, scan_u64(scan, "a block number", 0, BLOCK_NUMBER_MAX - 1));
}

static void read_value(struct scan *scan, enum key key, struct call *call, struct blocks *blocks)
{
    switch (key) {
    case KEY_TIMESTAMP:
        call->timestamp_column = scan_column(scan);
        call->timestamp_ns = scan_time(scan, "\"timestamp\"", 6);
        break;
    case KEY_IN:
        call->in = scan_u64(scan, "\"input_length\"", 1, WORKLOAD_TOKENS_MAX);
        break;
    case KEY_OUT:
        call->out = scan_u64(scan, "\"output_length\"", 0, WORKLOAD_TOKENS_MAX);
        break;
    case KEY_IDS:
        read_ids(scan, call, blocks);
        break;
    case KEY_BACK:
        call->declared.back_given = true;
        call->declared.back = (uint32_t)scan_u64(scan, "\"reply_back\"", 0, WORKLOAD_TOKENS_MAX);
        break;
    case KEY_REPLACED:
        call->declared.replaced_given = true;
        call->declared.replaced =
            (uint32_t)scan_u64(scan, "\"prompt_replaced\"", 0, WORKLOAD_TOKENS_MAX);
        break;
    case KEYS:
        break;
    }
}

/* Reads one line. Each key once, in any order; keys that are not known are skipped. */
static int read_call(struct scan *scan, struct call *call, struct blocks *blocks)
{
    struct scan_text key;
    unsigned seen = 0, column = scan_column(scan);
    blocks->run_count = 0;
    blocks->count = 0;
    scan_enter(scan, '{');
    while (scan_key(scan, &key)) {
        unsigned which = 0;
        while (which < KEYS && !scan_is(key, key_names[which]))
            which++;
        if (which == KEYS) {
            if (!identity_read(&call->identity, key, scan))
                scan_skip(scan);
            continue;
        }
        if (seen & 1u << which)
            scan_fail(scan, scan_column(scan),
                      "expected one \"%s\" in an object, found a second one", key_names[which]);
        seen |= 1u << which;
        if (which < REQUIRED || !scan_null(scan))
            read_value(scan, (enum key)which, call, blocks);
    }
    for (unsigned i = 0; i < REQUIRED; i++)
        if ((seen & 1u << i) == 0)
            scan_fail(scan, column, "expected \"%s\" in a request, found none", key_names[i]);
    return scan_close(scan);
}

static int check_call(struct scan *scan, const struct call *call, const struct blocks *blocks,
                      uint64_t earliest_ns)
{
    uint64_t expected = (call->in + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
    if (blocks->count != expected)
        scan_fail(scan, call->ids_column,
                  "expected %" PRIu64 " numbers in \"hash_ids\" for %" PRIu64
                  " prompt tokens, found %" PRIu64,
                  expected, call->in, blocks->count);
    char earliest[SCAN_TIME_TEXT], found[SCAN_TIME_TEXT];
    if (call->timestamp_ns < earliest_ns)
        scan_fail(scan, call->timestamp_column,
                  "time going backwards: expected \"timestamp\" to be at least %s ms, found %s ms",
                  scan_time_text(earliest_ns, 6, earliest),
                  scan_time_text(call->timestamp_ns, 6, found));
    if (call->in + call->out > WORKLOAD_TOKENS_MAX)
        scan_fail(scan, 1,
                  "expected \"input_length\" and \"output_length\" to be at most %u together, "
                  "found %" PRIu64,
                  WORKLOAD_TOKENS_MAX, call->in + call->out);
    return scan->failed ? -1 : 0;
}

/* Each request is a conversation of its own, until build links it to an earlier one. */
static int hand_over(const struct call *call, const struct blocks *blocks, uint32_t name_space,
                     const struct trace_lines *lines, struct build *build, struct err *err)
{
    const struct build_conversation conversation = {
        .block_tokens = BLOCK_TOKENS,
        .start_ns = call->timestamp_ns,
    };
    const struct build_request request = {
        .in = call->in,
        .out = call->out,
        .runs = blocks->runs,
        .run_count = blocks->run_count,
        .offset_ns = 0,
        .think_ns = TIME_UNKNOWN,
        .order = REQUEST_NONE,
        .name_space = name_space,
        .declared = call->declared,
    };
    build_begin(build, &conversation, lines_path(lines), lines_number(lines));
    if (build_add(build, &request, err) != 0)
        return -1;
    return build_end(build, err);
}

static int mooncake_read(struct trace_lines *lines, struct build *build, struct err *err)
{
    struct blocks blocks = {0};
    struct text name = {0};
    uint64_t earliest_ns = 0;
    char *line = NULL;
    size_t length = 0;
    int found = 0;
    while ((found = lines_next(lines, &line, &length, err)) == 1) {
        struct scan scan;
        struct call call = {0};
        scan_open(&scan, lines_path(lines), lines_number(lines), line, length, err);
        found = -1;
        if (read_call(&scan, &call, &blocks) != 0 ||
            check_call(&scan, &call, &blocks, earliest_ns) != 0)
            break;
        earliest_ns = call.timestamp_ns;
        /* A prompt that goes on never shows the number of the partial block again. */
        if (call.in % BLOCK_TOKENS != 0 && !build_keeps_partial_blocks(build))
            drop_last_block(&blocks);
        uint32_t name_space = 0;
        if (call.identity.seen != 0)
            name_space = identity_name_space(&call.identity, build, &name);
        found = hand_over(&call, &blocks, name_space, lines, build, err);
        if (found != 0)
            break;
    }
    free(blocks.runs);
    text_close(&name);
    return found;
}

/* Formats that look alike but say more (Qwen-Bailian, Mooncake with conversations) are told apart
 * by the key that names a conversation: reading them as this one would lose what it says. */
static bool mooncake_matches(const char *start, size_t length)
{
    return scan_line_has_key(start, length, "hash_ids") &&
           scan_line_has_key(start, length, "input_length") &&
           !scan_line_has_key(start, length, "chat_id") &&
           !scan_line_has_key(start, length, "session_id");
}

const struct trace_format trace_format_mooncake = {
    .name = "mooncake",
    .summary = "a request per line with arrival in ms and numbers of 512-token blocks",
    .link_by_prompt = true,
    .matches = mooncake_matches,
    .read = mooncake_read,
};
