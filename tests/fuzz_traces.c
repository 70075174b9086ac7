/* Reads arbitrary bytes as a trace, as both text formats and the compiled form, plain or zstd. What
 * is accepted must be a good workload, and must come back from each form it can be written in. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "tests/fuzz_require.h"
#include "traces/compiled.h"
#include "traces/open.h"
#include "traces/write_coded.h"

/* A number that could be a prompt of many tokens: the builder takes memory for every block, and a
 * fuzzer that finds prompts of 2^30 tokens only measures that. */
static bool has_large_number(const char *line, size_t length)
{
    uint64_t value = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && line[i] >= '0' && line[i] <= '9') {
            value = value < 1u << 31 ? value * 10 + (uint64_t)(line[i] - '0') : value;
            continue;
        }
        if (value > 50000 && value <= WORKLOAD_TOKENS_MAX)
            return true;
        value = 0;
    }
    return false;
}

static bool too_large(const uint8_t *bytes, size_t length)
{
    struct trace_lines *lines = lines_open_memory("fuzz", bytes, length);
    struct err err;
    char *line = NULL;
    size_t line_length = 0;
    bool large = false;
    while (!large && lines_next(lines, &line, &line_length, &err) == 1)
        large = has_large_number(line, line_length);
    lines_close(lines);
    return large;
}

/* In file order, which is there for any trace. */
static struct load make_load(struct record *record)
{
    struct load load;
    struct err err = {""};
    require(record_load(&load, record, true, "sequential", 1, 0, &err) == 0, "no load", &err);
    load.own_record = record;
    return load;
}

/* The same workload must come back from its compiled form. */
static void check_compiled(const struct workload *workload, const struct build_options *options)
{
    struct text first = {0}, second = {0};
    struct record *again = NULL;
    struct err err = {""};
    compiled_print(workload, &first);
    require(trace_open_memory("again", first.data, first.length, options, NULL, &again, &err) == 0,
            "compiled form refused", &err);
    compiled_print(again->calls, &second);
    require(first.length == second.length && memcmp(first.data, second.data, first.length) == 0,
            "compiled form differs", &err);
    record_close(again);
    text_close(&first);
    text_close(&second);
}

/* Run-coded lines of it must be read, and hold the same tokens. */
static void check_written(const struct workload *workload)
{
    const struct build_options options = {0};
    struct text lines = {0};
    struct record *again = NULL;
    struct err err = {""};
    if (write_coded(workload, &lines, &err) == 0) {
        int result = trace_open_memory("written", lines.data, lines.length, &options,
                                       "conversations", &again, &err);
        require(result == 0, "written lines refused", &err);
        require(again->calls->prompt_tokens == workload->prompt_tokens &&
                    again->calls->request_count == workload->request_count,
                "written lines differ", &err);
    }
    record_close(again);
    text_close(&lines);
}

static void try_options(const char *bytes, size_t length, unsigned bits)
{
    const struct build_options options = {
        .drop_replies = bits & 1,
        .keep_partial_blocks = bits & 2,
        .share_system = bits & 4,
        .chain_contents = (bits & 12) == 8,
        .declared = {.back_given = bits & 16, .back = 3, .replaced_given = bits & 16},
    };
    struct record *record = NULL;
    struct err err = {""};
    bool compiled = compiled_matches(bytes, length);
    if (trace_open_memory("fuzz.jsonl", bytes, length, &options, NULL, &record, &err) != 0)
        return;
    if (compiled) {
        check_compiled(record->calls, &options);
        record_close(record);
        return;
    }
    struct load load = make_load(record);
    require(workload_check(load.workload, &err) == 0, "bad workload", &err);
    check_compiled(load.workload, &options);
    if (bits == 0)
        check_written(load.workload);
    load_close(&load);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (too_large(bytes, length))
        return 0;
    /* Otherwise every change to a compiled form would end at its digest. */
    char *copy = mem_alloc(length + 1);
    if (length > 0)
        memcpy(copy, bytes, length);
    if (compiled_matches(copy, length))
        compiled_seal(copy, length);
    for (unsigned bits = 0; bits < 32; bits++)
        try_options(copy, length, bits);
    free(copy);
    return 0;
}
