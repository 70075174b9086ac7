/* Trace reading: what the fields mean; that the same content gives the same workload in every form;
 * that damage is noticed; and what the shared traces are known to hold. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "tests/inputs.h"
#include "tests/suite.h"
#include "traces/compiled.h"
#include "traces/open.h"
#include "traces/scan.h"
#include "traces/write_coded.h"

static const struct build_options plain_options;

/* In the order of the trace, which every trace has. */
static struct load must_open(const char *text)
{
    struct record *record = NULL;
    struct err err = {""};
    int result = input_trace(text, NULL, &record, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    struct load load = input_load(record, "sequential");
    ck_assert_msg(workload_check(load.workload, &err) == 0, "%s", err.text);
    return load;
}

#define C "conversations"
#define M "mooncake"
#define GOOD                                                                                       \
    "{'block_size':64,'hash_id_scope':'global',"                                                   \
    "'requests':[{'in':130,'out':5,'hash_runs':[[1,2]]}]}\n"
#define CALL(t, in, ids)                                                                           \
    "{'timestamp':" t ",'input_length':" in ",'output_length':1,'hash_ids':" ids "}"

/* ---- what is read ---- */

START_TEST(test_conversation_fields)
{
    struct load load = must_open(
        "{'requests':["
        "{'t':1.5,'type':'n','in':130,'out':5,'input_types':['text'],'hash_runs':[[1,2]]},"
        "{'t':3,'type':'subagent','tool_tokens':20,'system_tokens':9,'requests':["
        "{'t':0.25,'in':64,'out':1,'input_types':['text','tool_result'],'hash_runs':[[9,1]]},"
        "{'t':0.25,'in':70,'out':1,'hash_runs':[[9,1]]}],'models':[null,{'a':[1e5,\"\\u00e9\"]}]},"
        "{'t':3.1,'think_time':0.0000000005,'in':200,'out':0,'hash_runs':[[1,2],[7,1]]}],"
        "'system_tokens':7,'tool_tokens':30,'hash_id_scope':'local','block_size':64,'start':2}");
    const struct workload *workload = load.workload;
    const struct request *requests = workload->requests;
    ck_assert_uint_eq(workload->request_count, 4);
    ck_assert_uint_eq(workload->conversation_count, 1);
    ck_assert_uint_eq(workload->stream_count, 2);
    ck_assert_uint_eq(workload->block_tokens, 64);
    ck_assert_uint_eq(workload->conversations[0].start_ns, 2000000000);
    ck_assert_uint_eq(requests[0].offset_ns, 1500000000);
    ck_assert_uint_eq(requests[1].offset_ns, 3100000000);
    ck_assert_uint_eq(requests[2].offset_ns, 3250000000);
    ck_assert_uint_eq(requests[3].offset_ns, 3250000000);
    ck_assert_uint_eq(requests[0].waited_for, WAITED_PERSON);
    ck_assert_uint_eq(requests[2].waited_for, WAITED_TOOL);
    ck_assert_uint_eq(requests[3].waited_for, WAITED_UNKNOWN);
    ck_assert_uint_eq(requests[0].think_ns, TIME_UNKNOWN);
    ck_assert_uint_eq(requests[1].think_ns, 1); /* half a nanosecond, rounded up */
    ck_assert_uint_eq(requests[1].continues, 0);
    ck_assert_uint_eq(requests[3].continues, 2);
    ck_assert_uint_eq(requests[0].stream, 0);
    ck_assert_uint_eq(requests[2].stream, 1);
    ck_assert_uint_eq(requests[0].system_tokens, 37);
    ck_assert_uint_eq(requests[2].system_tokens, 29);
    load_close(&load);
}
END_TEST

/* Each prompt has `keep` bounds of the one before and those listed; the system prompt ends where
 * the leading o and s do, unless the conversation says its length. */
START_TEST(test_bounds)
{
    static const char requests[] =
        "'requests':["
        "{'in':100,'out':1,'hash_runs':[[1,1]],'bounds':[['o',10],['s',20],['u',99]],'keep':0},"
        "{'in':120,'out':1,'hash_runs':[[1,1]],'keep':2,'bounds':[['u',50],['a',60],['s',110]]},"
        "{'in':120,'out':1,'hash_runs':[[1,1]],'keep':1},"
        "{'in':120,'out':1,'hash_runs':[[1,1]]}]";
    static const uint32_t expected[] = {10, 20, 99, 10, 20, 50, 60, 110, 10};
    char text[600];
    snprintf(text, sizeof text, "{'block_size':64,'hash_id_scope':'global',%s}", requests);
    struct load load = must_open(text);
    const struct workload *workload = load.workload;
    ck_assert_uint_eq(workload->bound_count, 9);
    ck_assert_mem_eq(workload->bounds, expected, sizeof expected);
    ck_assert_uint_eq(workload->requests[0].system_tokens, 20);
    ck_assert_uint_eq(workload->requests[1].system_tokens, 20);
    ck_assert_uint_eq(workload->requests[1].bounds_count, 5);
    ck_assert_uint_eq(workload->requests[2].system_tokens, 10);
    ck_assert_uint_eq(workload->requests[3].bounds_count, 0);
    ck_assert_uint_eq(workload->requests[3].system_tokens, 0);
    load_close(&load);
    snprintf(text, sizeof text, "{'block_size':64,'hash_id_scope':'global','prefix_tokens':33,%s}",
             requests);
    load = must_open(text);
    workload = load.workload;
    ck_assert_uint_eq(workload->requests[0].system_tokens, 33);
    ck_assert_uint_eq(workload->requests[3].system_tokens, 33);
    load_close(&load);
}
END_TEST

START_TEST(test_mooncake_fields)
{
    static const char text[] = CALL("1.25", "1500", "[4,5,9]") "\r\n" CALL("7", "600", "[4,6]");
    struct build_options keep = {.keep_partial_blocks = true};
    struct load load = must_open(text);
    const struct workload *workload = load.workload;
    ck_assert_uint_eq(workload->request_count, 2);
    ck_assert_uint_eq(workload->block_tokens, 512);
    ck_assert_uint_eq(workload->conversations[0].start_ns, 1250000);
    ck_assert_uint_eq(workload->conversations[1].start_ns, 7000000);
    ck_assert_uint_eq(workload->prompt_tokens, 2100);
    ck_assert(!workload->partial_blocks_kept);
    load_close(&load);
    char *content = input_unquote(text);
    struct err err;
    struct record *record = NULL;
    ck_assert_int_eq(trace_open_memory("t", content, strlen(content), &keep, M, &record, &err), 0);
    ck_assert(record->calls->partial_blocks_kept);
    record_close(record);
    free(content);
}
END_TEST

static const struct {
    const char *text;
    unsigned decimals;
    uint64_t ns;
} times[] = {
    {"0", 9, 0},
    {"-0.0", 9, 0},
    {"0.1", 9, 100000000},
    {"1.9999999995", 9, 2000000000},
    {"1.9999999994999999999999999999999", 9, 1999999999},
    {"0.0000000005", 9, 1},
    {"0.00000000049999999999", 9, 0},
    {"15e-1", 9, 1500000000},
    {"1.5E+3", 9, 1500000000000},
    {"1e-30", 9, 0},
    {"0e99999999999", 9, 0},
    {"4000000000", 9, SCAN_TIME_MAX_NS},
    {"123456789.123456789", 9, 123456789123456789},
    {"00000000000000000000.5", 9, UINT64_MAX},
    {"4000000000.000000001", 9, UINT64_MAX},
    {"99999999999999999999999", 9, UINT64_MAX},
    {"27482", 6, 27482000000},
    {"0.0000005", 6, 1},
};

START_TEST(test_times_are_exact)
{
    struct scan scan;
    struct err err;
    char back[SCAN_TIME_TEXT];
    const char *text = times[_i].text;
    scan_open(&scan, "t", 1, text, strlen(text), &err);
    uint64_t ns = scan_time(&scan, "a time", times[_i].decimals);
    if (times[_i].ns == UINT64_MAX) {
        ck_assert_int_eq(scan_close(&scan), -1);
        return;
    }
    ck_assert_int_eq(scan_close(&scan), 0);
    ck_assert_uint_eq(ns, times[_i].ns);
    scan_time_text(ns, times[_i].decimals, back);
    scan_open(&scan, "t", 1, back, strlen(back), &err);
    ck_assert_uint_eq(scan_time(&scan, "a time", times[_i].decimals), ns);
}
END_TEST

/* ---- every form of the same content ---- */

static const char sample[] =
    "{'block_size':16,'hash_id_scope':'global','requests':["
    "{'t':0,'in':40,'out':9,'hash_runs':[[1,2]],'bounds':[['s',20],['u',40]]},"
    "{'t':2.5,'in':60,'out':3,'hash_runs':[[1,2],[7,1]],'keep':2,'bounds':[['a',49],['u',60]]}]}\n"
    "{'block_size':16,'hash_id_scope':'global','start':4,'requests':["
    "{'t':0,'in':33,'out':3,'hash_runs':[[1,1],[8,1]]},"
    "{'t':1,'type':'subagent','requests':[{'t':1,'in':5,'out':3,'hash_runs':[]}]}]}\n";

static struct text packed(const char *bytes, size_t length)
{
    struct text out = {0};
    size_t bound = ZSTD_compressBound(length);
    char *room = mem_alloc(bound);
    size_t used = ZSTD_compress(room, bound, bytes, length, 3);
    ck_assert(!ZSTD_isError(used));
    text_add(&out, room, used);
    free(room);
    return out;
}

/* What a content is read as, in compiled form. */
static struct text read_back(const char *path, const void *bytes, size_t length)
{
    struct record *record = NULL;
    struct err err = {""};
    struct text out = {0};
    int result = trace_open_memory(path, bytes, length, &plain_options, NULL, &record, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    struct load load = input_load(record, "sequential");
    compiled_print(load.workload, &out);
    load_close(&load);
    return out;
}

static void must_equal(const struct text *a, const struct text *b)
{
    ck_assert_uint_eq(a->length, b->length);
    ck_assert_mem_eq(a->data, b->data, a->length);
}

START_TEST(test_all_forms_are_equal)
{
    char *content = input_unquote(sample);
    const size_t length = strlen(content), half = length / 2;
    static const char skippable[] = "\x53\x2a\x4d\x18\x03\0\0\0abc";
    struct text plain = read_back("dir/t.jsonl", content, length);
    struct text whole = packed(content, length), first = packed(content, half);
    struct text second = packed(content + half, length - half), frames = {0};
    text_add(&frames, skippable, sizeof skippable - 1);
    text_add(&frames, first.data, first.length);
    text_add(&frames, skippable, sizeof skippable - 1);
    text_add(&frames, second.data, second.length);
    struct text packed_plain = packed(plain.data, plain.length);
    struct text from[] = {
        read_back("t.jsonl.zst", whole.data, whole.length),
        read_back("t.json", frames.data, frames.length),
        read_back("other.snapsim", plain.data, plain.length),
        read_back("other.zst", packed_plain.data, packed_plain.length),
    };
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        must_equal(&plain, &from[i]);
        text_close(&from[i]);
    }
    text_close(&plain);
    text_close(&whole);
    text_close(&first);
    text_close(&second);
    text_close(&frames);
    text_close(&packed_plain);
    free(content);
}
END_TEST

/* All but the name and the digest of the content comes back from run-coded lines. */
START_TEST(test_written_conversations_read_back)
{
    struct load load = must_open(sample), again;
    struct record *record = NULL;
    struct text lines = {0}, a = {0}, b = {0};
    struct err err = {""};
    ck_assert_int_eq(write_coded(load.workload, &lines, &err), 0);
    ck_assert_int_eq(
        trace_open_memory("t", lines.data, lines.length, &plain_options, C, &record, &err), 0);
    memcpy(record->calls->sha256, load.workload->sha256, sizeof record->calls->sha256);
    for (uint32_t i = 0; i < record->calls->conversation_count; i++)
        record->calls->conversations[i].first_line = load.workload->conversations[i].first_line;
    again = input_load(record, "sequential");
    compiled_print(load.workload, &a);
    compiled_print(again.workload, &b);
    must_equal(&a, &b);
    text_close(&lines);
    text_close(&a);
    text_close(&b);
    load_close(&load);
    load_close(&again);
}
END_TEST

/* ---- damage ---- */

static void must_fail(const void *bytes, size_t length, const struct build_options *options,
                      const char *message)
{
    struct record *record = NULL;
    struct err err = {"(it was accepted)"};
    ck_assert_int_eq(trace_open_memory("t", bytes, length, options, NULL, &record, &err), -1);
    ck_assert_str_eq(err.text, message);
}

START_TEST(test_damaged_zstd)
{
    char *content = input_unquote(GOOD GOOD GOOD);
    struct text whole = packed(content, strlen(content));
    must_fail(whole.data, whole.length - 1, &plain_options,
              "t:1: truncated zstd data: the file ends inside a frame");
    /* The first frame is whole lines; the damage comes in the fourth. */
    struct text two = {0};
    text_add(&two, whole.data, whole.length);
    text_add(&two, whole.data, whole.length - 4);
    must_fail(two.data, two.length, &plain_options,
              "t:4: truncated zstd data: the file ends inside a frame");
    two.length = whole.length;
    text_add(&two, "xyzzy", 5);
    must_fail(two.data, two.length, &plain_options,
              "t:4: damaged zstd data: Unknown frame descriptor");
    text_close(&two);
    text_close(&whole);
    free(content);
}
END_TEST

/* A frame of one block as it is, by hand: the magic number, no flags, the window's exponent above
 * 10 in the upper five bits, then length times 8, 1 for the last block. Such a window is what `zstd
 * --long=31` writes when it does not know how much will come. */
static struct text windowed(int window_log, const char *content)
{
    struct text frame = {0};
    unsigned block = (unsigned)strlen(content) << 3 | 1;
    const unsigned char head[] = {0x28,
                                  0xb5,
                                  0x2f,
                                  0xfd,
                                  0x00,
                                  (unsigned char)((window_log - 10) << 3),
                                  (unsigned char)block,
                                  (unsigned char)(block >> 8),
                                  (unsigned char)(block >> 16)};
    text_add(&frame, (const char *)head, sizeof head);
    text_add(&frame, content, strlen(content));
    return frame;
}

START_TEST(test_windows)
{
    char *content = input_unquote(GOOD GOOD GOOD);
    for (int window_log = 10; window_log <= 31; window_log += 7) {
        struct text frame = windowed(window_log, content);
        struct record *record = NULL;
        struct err err = {""};
        ck_assert_msg(trace_open_memory("t", frame.data, frame.length, &plain_options, NULL,
                                        &record, &err) == 0,
                      "2^%d: %s", window_log, err.text);
        ck_assert_uint_eq(record->calls->request_count, 3);
        record_close(record);
        text_close(&frame);
    }
    struct text frame = windowed(32, content);
    must_fail(frame.data, frame.length, &plain_options,
              "t:1: expected a zstd window of at most 2 GiB, found a larger one; compress it again "
              "with --long=31 or less");
    text_close(&frame);
    free(content);
}
END_TEST

START_TEST(test_damaged_compiled)
{
    char *content = input_unquote(sample);
    struct text good = read_back("t", content, strlen(content)), bad = {0};
    const struct build_options drop = {.drop_replies = true}, keep = {.keep_partial_blocks = true};
    must_fail(good.data, good.length, &drop,
              "t: expected a trace compiled with --replies drop, found one compiled with --replies "
              "keep; convert the original again, or ask for what it has");
    must_fail(good.data, good.length, &keep,
              "t: expected a trace compiled with --partial-blocks keep, found one compiled with "
              "--partial-blocks drop; convert the original again, or ask for what it has");
    must_fail(good.data, 100, &plain_options,
              "t: expected the compiled form of a trace, found something else");
    char message[200];
    snprintf(message, sizeof message, "t: damaged: expected %zu bytes by its header, found %zu",
             good.length, good.length - 1);
    must_fail(good.data, good.length - 1, &plain_options, message);
    text_add(&bad, good.data, good.length);
    bad.data[8] = 9;
    must_fail(bad.data, bad.length, &plain_options,
              "t: expected version 2 of the compiled form, found version 9; convert the original "
              "again");
    struct text short_packed = packed(good.data, good.length - 4);
    must_fail(short_packed.data, short_packed.length, &plain_options,
              "t: damaged: expected the rest of the compiled trace, found the end of the file");
    text_close(&short_packed);
    /* Whatever bit changes behind the digest, it is noticed. */
    for (size_t i = 24; i < good.length; i++) {
        struct record *record = NULL;
        struct err err;
        bad.length = 0;
        text_add(&bad, good.data, good.length);
        bad.data[i] = (char)(bad.data[i] ^ 4);
        ck_assert_int_eq(
            trace_open_memory("t", bad.data, bad.length, &plain_options, NULL, &record, &err), -1);
    }
    text_close(&bad);
    text_close(&good);
    free(content);
}
END_TEST

START_TEST(test_longest_line)
{
    const size_t length = LINES_LENGTH_MAX + 3;
    char *content = mem_alloc(length), *line = NULL;
    struct err err = {""};
    size_t found = 0;
    memset(content, 'x', length);
    content[0] = '\n';
    content[LINES_LENGTH_MAX + 1] = '\n';
    struct trace_lines *lines = lines_open_memory("t", content, length);
    ck_assert_int_eq(lines_next(lines, &line, &found, &err), 1);
    ck_assert_uint_eq(found, LINES_LENGTH_MAX);
    ck_assert_uint_eq(lines_number(lines), 2);
    ck_assert_int_eq(lines_next(lines, &line, &found, &err), 1);
    ck_assert_str_eq(line, "x");
    ck_assert_int_eq(lines_next(lines, &line, &found, &err), 0);
    lines_close(lines);
    content[LINES_LENGTH_MAX + 1] = 'x';
    lines = lines_open_memory("t", content, length);
    ck_assert_int_eq(lines_next(lines, &line, &found, &err), -1);
    ck_assert_str_eq(err.text, "t:2: expected a line of at most 64 MiB, found a longer one");
    lines_close(lines);
    free(content);
}
END_TEST

START_TEST(test_files_that_are_none)
{
    struct record *record = NULL;
    struct err err;
    ck_assert_int_eq(trace_open("/nowhere/t", &plain_options, NULL, &record, &err), -1);
    ck_assert_str_eq(err.text, "open '/nowhere/t': No such file or directory");
    ck_assert_int_eq(trace_open("/", &plain_options, NULL, &record, &err), -1);
    ck_assert_str_eq(err.text, "read '/': Is a directory");
}
END_TEST

/* ---- the shared traces ---- */

/* As counted in shared/traces/README.md; 0 where it gives no exact number. */
static const struct {
    const char *file, *name;
    uint32_t conversations, requests, continuations;
    uint64_t prompt_tokens;
} shared[] = {
    {"kv-cache-tester/v8.jsonl.zst", "v8", 710, 49334, 0, 0},
    {"kv-cache-tester/v6.jsonl.zst", "v6", 454, 26770, 0, 0},
    {"kv-cache-tester/v8_sample20.jsonl", "v8_sample20", 20, 585, 0, 0},
    {"mooncake/conversation_trace.jsonl.zst", "conversation_trace", 0, 12031, 3536, 144793823},
    {"mooncake/synthetic_trace.jsonl.zst", "synthetic_trace", 0, 3993, 0, 61194628},
    {"multi-swe-bench/sweagent_java.jsonl.zst", "sweagent_java", 448, 9514, 0, 0},
    {"swe-context-bench/claude_code.jsonl.zst", "claude_code", 300, 14507, 0, 0},
    {"mtrag/mtrag.jsonl", "mtrag", 105, 850, 0, 0},
    {"tau-bench/airline_gpt4o.jsonl.zst", "airline_gpt4o", 200, 2454, 0, 0},
    {"lmcache-agent/miniswe.jsonl", "miniswe", 20, 402, 0, 0},
    {"lmcache-agent/magagent.jsonl", "magagent", 25, 693, 0, 0},
    {"marconi/chat.jsonl.zst", "chat", 100, 1671, 0, 6354325},
    {"marconi/agent.jsonl.zst", "agent", 100, 3152, 0, 33561110},
};

START_TEST(test_shared_trace)
{
    const char *folder = suite_shared();
    if (folder == NULL)
        return;
    char path[1000];
    snprintf(path, sizeof path, "%s/traces/%s", folder, shared[_i].file);
    struct record *record = NULL, *again = NULL;
    struct err err = {""};
    int result = trace_open(path, &plain_options, NULL, &record, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    struct load load = input_load(record, "auto");
    const struct workload *workload = load.workload;
    ck_assert_msg(workload_check(workload, &err) == 0, "%s", err.text);
    ck_assert_str_eq(workload->name, shared[_i].name);
    ck_assert_uint_eq(workload->request_count, shared[_i].requests);
    if (shared[_i].conversations)
        ck_assert_uint_eq(workload->conversation_count, shared[_i].conversations);
    if (shared[_i].prompt_tokens)
        ck_assert_uint_eq(workload->prompt_tokens, shared[_i].prompt_tokens);
    uint32_t continuations = 0;
    for (uint32_t i = 0; i < workload->request_count; i++)
        continuations += workload->requests[i].continues != REQUEST_NONE;
    if (shared[_i].continuations)
        ck_assert_uint_eq(continuations, shared[_i].continuations);
    struct text form = {0}, second = {0};
    compiled_print(workload, &form);
    result = trace_open_memory("x", form.data, form.length, &plain_options, NULL, &again, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    compiled_print(again->calls, &second);
    must_equal(&form, &second);
    text_close(&form);
    text_close(&second);
    record_close(again);
    load_close(&load);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("traces");
    TCase *parse = tcase_create("parse"), *forms = tcase_create("forms");
    TCase *files = tcase_create("shared");
    tcase_add_loop_test(parse, test_times_are_exact, 0, COUNT(times));
    tcase_add_test(parse, test_conversation_fields);
    tcase_add_test(parse, test_bounds);
    tcase_add_test(parse, test_mooncake_fields);
    tcase_add_test(forms, test_all_forms_are_equal);
    tcase_add_test(forms, test_written_conversations_read_back);
    tcase_add_test(forms, test_damaged_zstd);
    tcase_add_test(forms, test_windows);
    tcase_add_test(forms, test_damaged_compiled);
    tcase_add_test(forms, test_longest_line);
    tcase_add_test(forms, test_files_that_are_none);
    tcase_add_loop_test(files, test_shared_trace, 0, COUNT(shared));
    tcase_set_timeout(forms, 60);
    tcase_set_timeout(files, 60);
    suite_add_tcase(suite, parse);
    suite_add_tcase(suite, forms);
    suite_add_tcase(suite, files);
    return suite_run(suite);
}
