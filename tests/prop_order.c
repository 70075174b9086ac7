/* prop_order.c - what the order in which requests come may change, and what nothing may.
 *
 * The tree is placed in order of arrival. On thousands of drawn traces, and on shared ones: what a
 * request has seen does not depend on requests that come later, nor on the order of lines; and
 * where one tree is said to serve all orders, it does. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/mem.h"
#include "tests/inputs.h"
#include "tests/ref_trace.h"
#include "tests/suite.h"
#include "traces/lines.h"
#include "traces/synth.h"

#define SEEDS 3000

static const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};

static struct record *record_of(const struct ref_trace *trace)
{
    struct record *record = NULL;
    struct err err = {""};
    ck_assert_msg(ref_trace_build(trace, &record, &err) == 0, "%s", err.text);
    return record;
}

static void draw(struct ref_trace *trace, uint64_t seed)
{
    static const struct ref_shape shape = {14, 4, 24, 6};
    struct rng rng = rng_open(seed, "prop_order");
    *trace = (struct ref_trace){.block_tokens = 1 + (uint32_t)rng_below(&rng, 4),
                                .drop_replies = rng_below(&rng, 5) == 0,
                                .declares = rng_below(&rng, 3) == 0};
    ref_trace_draw(trace, &rng, &shape);
}

static struct load load_in(struct record *record, const char *arrival)
{
    struct load load;
    struct err err = {""};
    ck_assert_msg(record_load(&load, record, false, arrival, 1, 0, &err) == 0, "%s", err.text);
    return load;
}

/* Whether the first requests of one load are, in order, those of another: as long, and with as much
 * of them seen before. */
static bool starts_with(const struct load *whole, const struct load *part)
{
    for (uint32_t i = 0; i < part->schedule->count; i++) {
        const struct arrival *a = &whole->schedule->arrivals[i], *b = &part->schedule->arrivals[i];
        if (a->at_ns != b->at_ns || a->seen_tokens != b->seen_tokens ||
            workload_prompt_tokens(whole->workload, a->request) !=
                workload_prompt_tokens(part->workload, b->request))
            return false;
    }
    return true;
}

static void fail_on(const struct ref_trace *trace, uint64_t seed, const char *what)
{
    struct text text = {0};
    ref_trace_print(trace, &text);
    fprintf(stderr, "seed %" PRIu64 ": %s\n%s", seed, what, text.data);
    ck_abort_msg("seed %" PRIu64 ": %s, see above", seed, what);
}

/* ---- later requests change nothing ---- */

/* Only the first `count` requests in time. */
static struct ref_trace cut(const struct ref_trace *whole, uint32_t count)
{
    struct ref_trace part;
    bool *keep = mem_array(whole->count + 1, sizeof *keep);
    for (uint32_t i = 0; i < whole->count; i++) {
        uint32_t before = 0;
        for (uint32_t j = 0; j < whole->count; j++)
            before += whole->drawn[j].at < whole->drawn[i].at;
        keep[i] = before < count;
    }
    ref_trace_select(&part, whole, keep);
    free(keep);
    return part;
}

/* How far a tree that is placed in the order of lines, whatever the order of arrival, would fail
 * this: the power of the test. */
static bool lines_would_differ(const struct ref_trace *trace, const struct load *right)
{
    struct record *record = record_of(trace);
    record->order_matters = false; /* so that the first tree is taken for all orders */
    struct load in_lines = load_in(record, "sequential"), asked = load_in(record, "recorded");
    bool differ = !starts_with(&asked, right);
    load_close(&in_lines);
    load_close(&asked);
    record_close(record);
    return differ;
}

START_TEST(test_cut_by_time)
{
    unsigned would_fail = 0, matters = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct ref_trace whole;
        draw(&whole, seed);
        struct record *record = record_of(&whole);
        struct load load = load_in(record, "recorded");
        matters += record->order_matters;
        would_fail += lines_would_differ(&whole, &load);
        for (uint32_t k = 1; k < whole.count; k++) {
            struct ref_trace part = cut(&whole, k);
            struct record *first = record_of(&part);
            struct load first_load = load_in(first, "recorded");
            if (!starts_with(&load, &first_load))
                fail_on(&whole, seed, "what comes later changes what was seen");
            load_close(&first_load);
            record_close(first);
            ref_trace_close(&part);
        }
        load_close(&load);
        record_close(record);
        ref_trace_close(&whole);
    }
    ck_assert_uint_gt(matters, SEEDS / 20);
    ck_assert_uint_gt(would_fail, SEEDS / 200);
}
END_TEST

/* ---- the order of lines changes nothing ---- */

static int by_conversation(const void *a, const void *b)
{
    const struct ref_drawn *x = a, *y = b;
    if (x->conversation != y->conversation)
        return x->conversation < y->conversation ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

START_TEST(test_order_of_lines)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct ref_trace trace;
        draw(&trace, seed);
        struct record *record = record_of(&trace);
        struct load load = load_in(record, "recorded");
        for (uint32_t i = 0; i < trace.count; i++) /* 4 at most: the other way round, and turned */
            trace.drawn[i].conversation = (7 - trace.drawn[i].conversation + (uint32_t)seed) % 4;
        qsort(trace.drawn, trace.count, sizeof *trace.drawn, by_conversation);
        struct record *shuffled = record_of(&trace);
        struct load again = load_in(shuffled, "recorded");
        if (!starts_with(&load, &again))
            fail_on(&trace, seed, "the order of lines changes what was seen");
        ck_assert(record->order_matters == shuffled->order_matters);
        load_close(&again);
        record_close(shuffled);
        load_close(&load);
        record_close(record);
        ref_trace_close(&trace);
    }
}
END_TEST

/* ---- one tree for all orders ---- */

START_TEST(test_one_tree_for_all)
{
    static const char *const orders[] = {"recorded", "poisson:0.1", "poisson:5", "sequential"};
    unsigned free_of_order = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct ref_trace trace;
        draw(&trace, seed);
        trace.local_numbers = seed % 4 == 0;
        struct record *shared = record_of(&trace);
        ck_assert(!trace.local_numbers || !shared->order_matters);
        for (size_t i = 0; i < 4 && !shared->order_matters; i++) {
            struct record *own = record_of(&trace);
            struct load one = load_in(shared, orders[i]), other = load_in(own, orders[i]);
            if (!starts_with(&one, &other))
                fail_on(&trace, seed, "a tree for all orders does not serve one");
            ck_assert_ptr_null(one.own_tree);
            load_close(&one);
            load_close(&other);
            record_close(own);
            free_of_order++;
        }
        record_close(shared);
        ref_trace_close(&trace);
    }
    ck_assert_uint_gt(free_of_order, SEEDS);
}
END_TEST

/* ---- whole traces, with starts that were drawn and then written down ---- */

struct lines {
    char **line;
    size_t count, capacity;
};

static struct lines read_lines(const char *path)
{
    struct lines out = {0};
    struct trace_lines *lines = NULL;
    struct err err = {""};
    char *line = NULL;
    size_t length = 0;
    ck_assert_msg(lines_open_file(&lines, path, &err) == 0, "%s", err.text);
    while (lines_next(lines, &line, &length, &err) == 1) {
        out.line = mem_grow(out.line, &out.capacity, out.count + 1, sizeof *out.line);
        out.line[out.count++] = mem_strdup(line);
    }
    lines_close(lines);
    return out;
}

/* Writes the starts that a seed draws into the lines: {"start":1.5, ... */
static void write_starts(struct lines *lines, const char *path)
{
    struct record *record = NULL;
    struct err err = {""};
    ck_assert_msg(trace_open(path, &(struct build_options){0}, NULL, &record, &err) == 0, "%s",
                  err.text);
    struct load load = load_in(record, "open:32");
    for (uint32_t i = 0; i < load.schedule->total; i++) {
        const struct arrival *arrival = &load.schedule->arrivals[i];
        const struct request *request = &record->calls->requests[arrival->request];
        char **line = &lines->line[request->conversation];
        if (strncmp(*line, "{\"start\"", 8) == 0)
            continue;
        uint64_t start = arrival->at_ns - request->offset_ns;
        struct text with = {0};
        text_printf(&with, "{\"start\":%" PRIu64 ".%09" PRIu64 ",%s", start / 1000000000,
                    start % 1000000000, *line + 1);
        free(*line);
        *line = with.data;
    }
    load_close(&load);
    record_close(record);
}

static uint64_t hit_tokens(const struct lines *lines)
{
    struct text text = {0};
    struct record *record = NULL;
    struct err err = {""};
    const char *const settings[] = {"capacity", "100TB", "placement", "turn", NULL};
    struct config config = input_config(settings);
    for (size_t i = 0; i < lines->count; i++)
        text_printf(&text, "%s\n", lines->line[i]);
    ck_assert_msg(trace_open_memory("t", text.data, text.length, &(struct build_options){0}, NULL,
                                    &record, &err) == 0,
                  "%s", err.text);
    text_close(&text);
    struct result result = input_replay(&config, record, &plugins);
    uint64_t hit = result.sum.hit_tokens;
    result_close(&result);
    return hit;
}

static void shuffle(struct lines *lines, uint64_t seed)
{
    struct rng rng = rng_open(seed, "lines");
    for (size_t i = lines->count; i > 1; i--) {
        size_t other = (size_t)rng_below(&rng, i);
        char *line = lines->line[i - 1];
        lines->line[i - 1] = lines->line[other];
        lines->line[other] = line;
    }
}

static void must_not_depend_on_lines(struct lines *lines, uint64_t expected)
{
    uint64_t first = hit_tokens(lines);
    if (expected > 0)
        ck_assert_uint_eq(first, expected);
    for (uint64_t seed = 1; seed < 4; seed++) {
        shuffle(lines, seed);
        ck_assert_uint_eq(hit_tokens(lines), first);
    }
    for (size_t i = 0; i < lines->count; i++)
        free(lines->line[i]);
    free(lines->line);
}

/* The total of mtrag is that of an independent program. */
START_TEST(test_shared_traces_shuffled)
{
    static const struct {
        const char *file;
        uint64_t hit_tokens;
    } traces[] = {{"mtrag/mtrag.jsonl", 19192931}, {"kv-cache-tester/v6.jsonl.zst", 0}};
    char path[512];
    if (suite_shared() == NULL)
        return;
    snprintf(path, sizeof path, "%s/traces/%s", suite_shared(), traces[_i].file);
    struct lines lines = read_lines(path);
    write_starts(&lines, path);
    must_not_depend_on_lines(&lines, traces[_i].hit_tokens);
}
END_TEST

START_TEST(test_generated_load_shuffled)
{
    struct synth_options options;
    struct text text = {0};
    struct err err = {""};
    struct lines lines = {0};
    ck_assert(synth_parse_name("generated:conversations=150,coding_share=0.5,system_prompts=2",
                               &options, &err) == 0);
    ck_assert(synth_write(&options, &text, &err) == 0);
    for (char *at = text.data; *at; at = strchr(at, '\n') + 1) {
        lines.line = mem_grow(lines.line, &lines.capacity, lines.count + 1, sizeof *lines.line);
        lines.line[lines.count++] = mem_strndup(at, (size_t)(strchr(at, '\n') - at));
    }
    text_close(&text);
    must_not_depend_on_lines(&lines, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_cut_by_time);
    tcase_add_test(tcase, test_order_of_lines);
    tcase_add_test(tcase, test_one_tree_for_all);
    tcase_add_loop_test(tcase, test_shared_traces_shuffled, 0, 2);
    tcase_add_test(tcase, test_generated_load_shuffled);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
