/* The generator of loads: same seed same bytes, lines that a reader can trust, the statistics of
 * traces/README.md (those of kv-cache-tester/v8), and the same workload from both outputs. */
#include "traces/synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/json.h"
#include "sim/core/mem.h"
#include "sim/load/workload.h"
#include "tests/inputs.h"
#include "tests/suite.h"
#include "traces/open.h"

/* One request as a line tells it. */
struct sent {
    uint32_t stream;
    uint64_t in, out, offset_ms, think_ms, system_end;
    bool person;
    struct block_run *runs;
    size_t run_count;
};

struct conversation_line {
    bool coding;
    uint64_t block, start_ms, tool_tokens, system_tokens;
    struct sent *sent;
    size_t count, capacity;
};

/* A workload's text, cut into lines. */
struct lines {
    struct text text;
    char **line;
    size_t count, capacity;
};

static struct synth_options options_of(const char *list)
{
    struct synth_options options;
    struct err err;
    param_defaults(synth_params, &options);
    ck_assert_msg(param_parse_list(synth_params, &options, list, "synth", &err) == 0, "%s",
                  err.text);
    return options;
}

static struct text written(const char *list)
{
    struct synth_options options = options_of(list);
    struct text text = {0};
    struct err err;
    ck_assert_msg(synth_write(&options, &text, &err) == 0, "%s", err.text);
    return text;
}

static struct lines lines_of(const char *list)
{
    struct lines lines = {.text = written(list)};
    char *rest = NULL;
    for (char *line = strtok_r(lines.text.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        lines.line = mem_grow(lines.line, &lines.capacity, lines.count + 1, sizeof *lines.line);
        lines.line[lines.count++] = line;
    }
    return lines;
}

static void free_lines(struct lines *lines)
{
    text_close(&lines->text);
    free(lines->line);
}

/* ---- reading a line ---- */

/* Check's own assertions cost a system call each, too much for every number of a load. */
static void must(bool holds, const char *what)
{
    if (!holds)
        ck_abort_msg("%s was expected", what);
}

static uint64_t whole(const struct json *object, const char *key)
{
    uint64_t value = 0;
    const struct json *found = json_get(object, key);
    must(found && json_u64(found, &value) == 0, key);
    return value;
}

static uint64_t milliseconds(const struct json *object, const char *key)
{
    const struct json *found = json_get(object, key);
    must(found && json_is_number(found) && json_double(found) >= 0, key);
    return (uint64_t)(json_double(found) * 1000 + 0.5);
}

static const char *string_of(const struct json *value)
{
    const char *text = value ? json_string(value) : NULL;
    must(text != NULL, "a string");
    return text;
}

static void read_runs(const struct json *list, uint64_t blocks, struct sent *sent)
{
    must(list != NULL, "hash_runs");
    size_t capacity = 0;
    uint64_t sum = 0;
    for (const struct json *run = json_first(list); run; run = json_next(run)) {
        const struct json *first = json_first(run), *count = json_next(first);
        struct block_run one;
        must(json_next(count) == NULL, "a pair");
        must(json_u64(first, &one.first) == 0 && json_u64(count, &one.count) == 0, "a run");
        must(one.count > 0, "a run of blocks");
        sum += one.count;
        sent->runs = mem_grow(sent->runs, &capacity, sent->run_count + 1, sizeof one);
        sent->runs[sent->run_count++] = one;
    }
    must(sum == blocks, "floor(in / block_size) blocks");
}

static void read_request(const struct json *request, uint64_t block, uint64_t stream_start_ms,
                         struct sent *sent)
{
    sent->in = whole(request, "in");
    sent->out = whole(request, "out");
    must(sent->in > sent->system_end && sent->out > 0, "a message and a reply");
    sent->offset_ms = stream_start_ms + milliseconds(request, "t");
    sent->think_ms = milliseconds(request, "think_time");
    milliseconds(request, "api_time");
    const char *type = string_of(json_first(json_get(request, "input_types")));
    sent->person = strcmp(type, "text") == 0;
    must(sent->person || strcmp(type, "tool_result") == 0, "text or tool_result");
    read_runs(json_get(request, "hash_runs"), sent->in / block, sent);
}

/* Reads a list of requests; in it, t never goes backwards. */
static void read_requests(const struct json *list, uint32_t stream, uint64_t start_ms,
                          uint64_t system_end, uint32_t *streams, struct conversation_line *line)
{
    uint64_t last_ms = 0;
    for (const struct json *entry = json_first(list); entry; entry = json_next(entry)) {
        uint64_t t_ms = milliseconds(entry, "t");
        must(t_ms >= last_ms, "t that does not go backwards");
        last_ms = t_ms;
        if (strcmp(string_of(json_get(entry, "type")), "subagent") == 0) {
            must(stream == 0, "no sub-agent in a sub-agent");
            uint64_t system = whole(entry, "tool_tokens") + whole(entry, "system_tokens");
            read_requests(json_get(entry, "requests"), ++*streams, t_ms, system, streams, line);
            continue;
        }
        line->sent =
            mem_grow_zeroed(line->sent, &line->capacity, line->count + 1, sizeof *line->sent);
        struct sent *sent = &line->sent[line->count++];
        *sent = (struct sent){.stream = stream, .system_end = system_end};
        read_request(entry, line->block, start_ms, sent);
    }
}

static struct conversation_line read_line(const char *text)
{
    struct conversation_line line = {0};
    struct json_document document;
    struct err err;
    ck_assert_msg(json_open_text(&document, "line", text, &err) == 0, "%s", err.text);
    const struct json *top = document.top;
    line.coding = strncmp(string_of(json_get(top, "id")), "coding-", 7) == 0;
    line.block = whole(top, "block_size");
    line.start_ms = milliseconds(top, "start");
    line.tool_tokens = whole(top, "tool_tokens");
    line.system_tokens = whole(top, "system_tokens");
    ck_assert_str_eq(string_of(json_get(top, "hash_id_scope")), "global");
    uint32_t streams = 0;
    read_requests(json_get(top, "requests"), 0, 0, line.tool_tokens + line.system_tokens, &streams,
                  &line);
    ck_assert_uint_ge(line.count, 1);
    json_close_document(&document);
    return line;
}

static void free_line(struct conversation_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        free(line->sent[i].runs);
    free(line->sent);
}

/* ---- statistics ---- */

struct sample {
    double *value;
    size_t count, capacity;
};

static void add_value(struct sample *sample, double value)
{
    sample->value =
        mem_grow(sample->value, &sample->capacity, sample->count + 1, sizeof *sample->value);
    sample->value[sample->count++] = value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(struct sample *sample, double share)
{
    qsort(sample->value, sample->count, sizeof *sample->value, by_value);
    return sample->value[(size_t)(share * (double)sample->count)];
}

static double mean(const struct sample *sample)
{
    double sum = 0;
    for (size_t i = 0; i < sample->count; i++)
        sum += sample->value[i];
    return sum / (double)sample->count;
}

static double share_above(const struct sample *sample, double limit)
{
    size_t above = 0;
    for (size_t i = 0; i < sample->count; i++)
        above += sample->value[i] > limit;
    return (double)above / (double)sample->count;
}

static uint64_t common_blocks(const struct sent *a, const struct sent *b)
{
    uint64_t common = 0, skip_a = 0, skip_b = 0;
    size_t i = 0, j = 0;
    while (i < a->run_count && j < b->run_count &&
           a->runs[i].first + skip_a == b->runs[j].first + skip_b) {
        uint64_t left_a = a->runs[i].count - skip_a, left_b = b->runs[j].count - skip_b;
        uint64_t step = left_a < left_b ? left_a : left_b;
        common += step;
        skip_a += step;
        skip_b += step;
        if (skip_a == a->runs[i].count)
            skip_a = 0, i++;
        if (skip_b == b->runs[j].count)
            skip_b = 0, j++;
    }
    return common;
}

struct statistics {
    struct sample requests, growth, reply, tool_pause, person_pause, prompt;
    size_t pairs, whole, last, tenth, middle, system, reply_kept, sub_agent;
};

static void count_pair(struct statistics *all, const struct sent *before, const struct sent *next,
                       uint64_t block)
{
    uint64_t common = common_blocks(before, next), blocks = before->in / block;
    all->pairs++;
    add_value(next->person ? &all->person_pause : &all->tool_pause, (double)next->think_ms / 1000);
    if (common == blocks) {
        all->whole++;
        all->reply_kept += next->in >= before->in + before->out;
        add_value(&all->growth, (double)next->in - (double)before->in);
    } else if (common + 1 == blocks) {
        all->last++;
    } else if ((double)common >= 0.9 * (double)blocks) {
        all->tenth++;
    } else if ((double)(common * block) > 1.1 * (double)next->system_end) {
        all->middle++;
    } else {
        all->system++;
    }
}

static void count_line(struct statistics *all, const struct conversation_line *line)
{
    size_t main_requests = 0;
    for (size_t i = 0; i < line->count; i++) {
        const struct sent *next = &line->sent[i], *before = NULL;
        main_requests += next->stream == 0;
        all->sub_agent += next->stream != 0;
        add_value(&all->reply, (double)next->out);
        add_value(&all->prompt, (double)next->in);
        for (size_t j = i; j-- > 0 && before == NULL;)
            if (line->sent[j].stream == next->stream)
                before = &line->sent[j];
        if (before)
            count_pair(all, before, next, line->block);
    }
    add_value(&all->requests, (double)main_requests);
}

static void free_statistics(struct statistics *all)
{
    struct sample *samples[] = {&all->requests,   &all->growth,       &all->reply,
                                &all->tool_pause, &all->person_pause, &all->prompt};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        free(samples[i]->value);
}

static struct statistics statistics_of(const char *list)
{
    struct statistics all = {0};
    struct lines lines = lines_of(list);
    for (size_t i = 0; i < lines.count; i++) {
        struct conversation_line line = read_line(lines.line[i]);
        count_line(&all, &line);
        free_line(&line);
    }
    free_lines(&lines);
    return all;
}

static void near(const char *what, double found, double wanted, double tolerance)
{
    if (getenv("SYNTH_SHOW"))
        printf("%-40s %12.4f wanted %12.4f\n", what, found, wanted);
    ck_assert_msg(found > wanted - tolerance && found < wanted + tolerance,
                  "%s: %g within %g was expected, found %g", what, wanted, tolerance, found);
}

/* The wanted numbers stand in traces/README.md, "Facts about the files", for v8. */
START_TEST(coding_follows_v8)
{
    struct statistics all = statistics_of("conversations=1500,coding_share=1,seed=7");
    double pairs = (double)all.pairs;
    near("growth, median", quantile(&all.growth, 0.5), 665, 35);
    near("growth, mean", mean(&all.growth), 1718, 120);
    near("growth, share over 16,000", share_above(&all.growth, 16000), 0.01, 0.003);
    near("reply, median", quantile(&all.reply, 0.5), 216, 12);
    near("tool pause, median", quantile(&all.tool_pause, 0.5), 9, 0.6);
    near("tool pause, 90 %", quantile(&all.tool_pause, 0.9), 73, 8);
    near("person's pause, median", quantile(&all.person_pause, 0.5), 127, 10);
    near("person's pause, share over 409 s", share_above(&all.person_pause, 409), 0.25, 0.015);
    near("person's pause, share over 1543 s", share_above(&all.person_pause, 1543), 0.10, 0.01);
    near("keeps the whole prompt", (double)all.whole / pairs, 0.932, 0.005);
    near("loses the last block", (double)all.last / pairs, 0.041, 0.003);
    near("loses up to a tenth", (double)all.tenth / pairs, 0.009, 0.0015);
    near("back to the middle", (double)all.middle / pairs, 0.002, 0.001);
    near("back to the system prompt", (double)all.system / pairs, 0.017, 0.002);
    near("kept prompts with the reply", (double)all.reply_kept / (double)all.whole, 0.90, 0.01);
    near("requests, mean", mean(&all.requests), 70, 7);
    near("requests, 90 %", quantile(&all.requests, 0.9), 160, 20);
    near("requests, 99 %", quantile(&all.requests, 0.99), 342, 90);
    near("sub-agents' share", (double)all.sub_agent / (double)all.reply.count, 0.02, 0.006);
    /* v8 has 103,662, with prompts up to 0.9 M; here no context is longer than 200,000. */
    near("prompt, median", quantile(&all.prompt, 0.5), 85000, 15000);
    ck_assert(quantile(&all.prompt, 0.9999) <= 200000);
    free_statistics(&all);
}
END_TEST

START_TEST(chats_are_short)
{
    struct statistics all = statistics_of("conversations=5000,coding_share=0");
    near("requests, mean", mean(&all.requests), 2.9, 0.15);
    ck_assert(quantile(&all.requests, 0) >= 1 && quantile(&all.requests, 0.9999) <= 8);
    near("prompt, median", quantile(&all.prompt, 0.5), 6000, 1500); /* Mooncake: 6,909 */
    near("person's pause, median", quantile(&all.person_pause, 0.5), 127, 12);
    near("edits", (double)(all.tenth + all.middle + all.system) / (double)all.pairs, 0.045, 0.01);
    ck_assert_uint_eq(all.tool_pause.count, 0);
    ck_assert_uint_eq(all.sub_agent, 0);
    free_statistics(&all);
}
END_TEST

/* ---- determinism ---- */

START_TEST(a_seed_is_a_load)
{
    struct text a = written("conversations=50"), b = written("conversations=50,seed=1"),
                c = written("conversations=50,seed=2");
    ck_assert_uint_eq(a.length, b.length);
    ck_assert(memcmp(a.data, b.data, a.length) == 0);
    ck_assert(a.length != c.length || memcmp(a.data, c.data, a.length) != 0);
    text_close(&a);
    text_close(&b);
    text_close(&c);
}
END_TEST

START_TEST(more_conversations_leave_the_first_as_they_are)
{
    struct text some = written("conversations=30,seed=5"),
                more = written("conversations=90,seed=5");
    ck_assert_uint_lt(some.length, more.length);
    ck_assert(memcmp(some.data, more.data, some.length) == 0);
    text_close(&some);
    text_close(&more);
}
END_TEST

/* ---- starts and system prompts ---- */

START_TEST(starts_are_poisson)
{
    struct lines lines = lines_of("conversations=4000,coding_share=0,starts_per_hour=360");
    struct sample gaps = {0};
    uint64_t last_ms = 0;
    for (size_t i = 0; i < lines.count; i++) {
        struct conversation_line line = read_line(lines.line[i]);
        ck_assert_uint_ge(line.start_ms, last_ms);
        if (i == 0)
            ck_assert_uint_eq(line.start_ms, 0);
        else
            add_value(&gaps, (double)(line.start_ms - last_ms) / 1000);
        last_ms = line.start_ms;
        free_line(&line);
    }
    near("gap, mean", mean(&gaps), 10, 0.5);
    near("gap, share over the mean", share_above(&gaps, 10), 0.368, 0.025); /* 1/e */
    free(gaps.value);
    free_lines(&lines);
}
END_TEST

START_TEST(drift_goes_from_chats_to_coding)
{
    struct lines lines = lines_of("conversations=1000,coding_share=0.1,drift=1");
    double hours = 0;
    for (size_t i = 0; i < lines.count; i++) {
        struct conversation_line line = read_line(lines.line[i]);
        ck_assert(line.coding == (i >= 900));
        hours = (double)line.start_ms / 3600000;
        if (i == 899)
            near("hours of chat starts", hours, 1000 / 60.0 / 2, 1.2);
        free_line(&line);
    }
    near("hours of all starts", hours, 1000 / 60.0, 3);
    free_lines(&lines);
}
END_TEST

/* Equal tool_tokens and equal first blocks are the same thing, and no two tenants have either. */
START_TEST(system_prompts_are_shared)
{
    struct lines lines = lines_of("conversations=400,system_prompts=3,tenants=5,coding_share=0.5,"
                                  "coding_requests=2");
    uint64_t first[30], tools[30];
    size_t found = 0;
    for (size_t i = 0; i < lines.count; i++) {
        struct conversation_line line = read_line(lines.line[i]);
        const struct block_run *run = &line.sent[0].runs[0];
        uint64_t tokens = line.tool_tokens + line.system_tokens;
        ck_assert(run->count == tokens * 97 / 100 / line.block || line.sent[0].run_count == 1);
        size_t k = 0;
        while (k < found && first[k] != run->first && tools[k] != line.tool_tokens)
            k++;
        ck_assert_uint_lt(k, 30);
        if (k == found) {
            first[found] = run->first;
            tools[found++] = line.tool_tokens;
        }
        ck_assert(first[k] == run->first && tools[k] == line.tool_tokens);
        free_line(&line);
    }
    ck_assert_uint_gt(found, 25);
    free_lines(&lines);
}
END_TEST

/* ---- both outputs are one load ---- */

/* Read as any trace is: without an option. */
static struct load load_of_text(const char *list)
{
    struct text text = written(list);
    struct record *record = NULL;
    struct err err;
    int result = trace_open_memory("synth", text.data, text.length, &(struct build_options){0},
                                   NULL, &record, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    text_close(&text);
    return input_load(record, "recorded");
}

static struct load load_of_calls(const char *list)
{
    struct build *build = build_open(&(struct build_options){.share_system = true});
    struct synth_options options = options_of(list);
    struct err err;
    ck_assert_msg(synth_build(&options, build, &err) == 0, "%s", err.text);
    struct record *record = NULL;
    ck_assert_msg(build_finish(build, &record, &err) == 0, "%s", err.text);
    build_close(build);
    struct load load = input_load(record, "recorded");
    ck_assert_msg(workload_check(load.workload, &err) == 0, "%s", err.text);
    return load;
}

static const char *const loads[] = {
    "conversations=300",
    "conversations=40,block=1,coding_share=0.5",
    "conversations=40,block=1048576,coding_share=0.5",
    "conversations=60,block=16,context_limit=40000,coding_share=1,sub_agent_share=0.9",
    "conversations=300,tenants=64,system_prompts=64,coding_requests=1,chat_turns=1",
    "conversations=200,drift=1,tenants=7,block=512,chat_turns=20,starts_per_hour=1e9",
    "conversations=3,coding_share=1,coding_requests=400,block=1",
};

START_TEST(text_and_calls_are_the_same_load)
{
    struct load of_text = load_of_text(loads[_i]), of_calls = load_of_calls(loads[_i]);
    const struct workload *a = of_text.workload, *b = of_calls.workload;
    uint64_t limit = options_of(loads[_i]).context_limit;
    ck_assert_uint_eq(a->node_count, b->node_count);
    ck_assert_uint_eq(a->request_count, b->request_count);
    ck_assert_uint_eq(a->conversation_count, b->conversation_count);
    ck_assert_uint_eq(a->stream_count, b->stream_count);
    ck_assert_uint_eq(a->prompt_tokens, b->prompt_tokens);
    ck_assert(memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) == 0);
    ck_assert(memcmp(a->requests, b->requests, a->request_count * sizeof *a->requests) == 0);
    for (uint32_t i = 0; i < a->request_count; i++)
        must(workload_prompt_tokens(a, i) <= limit, "a prompt within context_limit");
    for (uint32_t i = 0; i < a->conversation_count; i++)
        ck_assert(a->conversations[i].start_ns == b->conversations[i].start_ns &&
                  a->conversations[i].first_line == b->conversations[i].first_line);
    load_close(&of_text);
    load_close(&of_calls);
}
END_TEST

START_TEST(impossible_options_are_refused)
{
    struct synth_options many = options_of("tenants=100,system_prompts=100");
    struct synth_options slow = options_of("conversations=1000000,starts_per_hour=0.01");
    struct text text = {0};
    struct err err;
    ck_assert_int_eq(synth_write(&many, &text, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "10000"));
    struct build *build = build_open(&(struct build_options){0});
    ck_assert_int_eq(synth_build(&slow, build, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "years"));
    ck_assert_uint_eq(text.length, 0);
    build_close(build);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("synth");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, coding_follows_v8);
    tcase_add_test(tcase, chats_are_short);
    tcase_add_test(tcase, a_seed_is_a_load);
    tcase_add_test(tcase, more_conversations_leave_the_first_as_they_are);
    tcase_add_test(tcase, starts_are_poisson);
    tcase_add_test(tcase, drift_goes_from_chats_to_coding);
    tcase_add_test(tcase, system_prompts_are_shared);
    int count = (int)(sizeof loads / sizeof *loads);
    tcase_add_loop_test(tcase, text_and_calls_are_the_same_load, 0, count);
    tcase_add_test(tcase, impossible_options_are_refused);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
