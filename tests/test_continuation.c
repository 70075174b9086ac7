/* Who continues whom, and what follows: the rule of sim/load/build.h, on paper; what comes back of
 * a reply; name spaces; numbers that name contents; and how the work grows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/load/link.h"
#include "tests/inputs.h"
#include "tests/suite.h"
#include "traces/compiled.h"
#include "traces/write_coded.h"

static const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};

/* Opens text, with ' for ", with the options of a configuration. */
static struct record *open_as(const char *text, const struct config *config)
{
    struct record *record = NULL;
    struct err err = {""};
    char *content = input_unquote(text);
    struct build_options build = config_build_options(config);
    ck_assert_msg(
        trace_open_memory("t.jsonl", content, strlen(content), &build, NULL, &record, &err) == 0,
        "%s", err.text);
    free(content);
    return record;
}

/* Hit tokens of the whole trace; settings as for input_config. */
static uint64_t hits(const char *text, const char *const *settings)
{
    struct config config = input_config(settings);
    struct record *record = open_as(text, &config);
    struct result result = input_replay(&config, record, &plugins);
    uint64_t hit = result.sum.hit_tokens;
    result_close(&result);
    return hit;
}

/* What each request of the trace has seen, in order of arrival. */
static void must_see(const char *text, const char *const *settings, const uint32_t *expected,
                     uint32_t count)
{
    struct config config = input_config(settings);
    struct load load = input_load(open_as(text, &config), "recorded");
    ck_assert_uint_eq(load.schedule->count, count);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_eq(load.schedule->arrivals[i].seen_tokens, expected[i]);
    load_close(&load);
    config_close(&config);
}

#define SEES(text, settings, ...)                                                                  \
    must_see(text, settings, (const uint32_t[]){__VA_ARGS__},                                      \
             sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Appends a conversation in blocks of 4 tokens from "t in out runs; t in out runs; ...". */
static void add_turns(const char *scope, unsigned start, const char *turns, struct text *out)
{
    unsigned t, in, reply;
    char runs[64];
    int length = 0;
    const char *comma = "";
    text_printf(out, "{'block_size':4,'hash_id_scope':'%s','start':%u,'requests':[", scope, start);
    while (sscanf(turns, " %u %u %u %63[^;] %n", &t, &in, &reply, runs, &length) == 4) {
        text_printf(out, "%s{'t':%u,'in':%u,'out':%u,'hash_runs':%s}", comma, t, in, reply, runs);
        turns += length;
        turns += *turns == ';';
        comma = ",";
    }
    ck_assert_str_eq(turns, "");
    text_printf(out, "]}\n");
}

/* As must_see, of one conversation. */
static void turns_see(const char *turns, const char *const *settings, const uint32_t *expected,
                      uint32_t count)
{
    struct text text = {0};
    add_turns("global", 0, turns, &text);
    must_see(text.data, settings, expected, count);
    text_close(&text);
}

#define TURNS_SEE(turns, settings, ...)                                                            \
    turns_see(turns, settings, (const uint32_t[]){__VA_ARGS__},                                    \
              sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static const char *const defaults[] = {NULL};

/* ---- order of arrival ---- */

#define D1_A                                                                                       \
    "{'block_size':4,'hash_id_scope':'global','start':1000,'requests':["                           \
    "{'t':0,'in':24,'out':1,'hash_runs':[[1,6]]}]}\n"
#define D1_B                                                                                       \
    "{'block_size':4,'hash_id_scope':'global','start':0,'requests':["                              \
    "{'t':0,'in':9,'out':10,'hash_runs':[[1,2]]},{'t':5,'in':24,'out':1,'hash_runs':[[1,6]]}]}\n"

/* The second request of b goes on from the first, 9 + 10 tokens, and is the first to name blocks
 * there. That of a comes a thousand seconds later, with the same six blocks: 24 tokens, seen. */
START_TEST(test_lines_in_any_order)
{
    SEES(D1_A D1_B, defaults, 0, 19, 24);
    SEES(D1_B D1_A, defaults, 0, 19, 24);
}
END_TEST

/* A compiled form holds the tree for one order, and says so; where the order does not matter, for
 * all. */
START_TEST(test_compiled_order)
{
    char text[600];
    for (int local = 0; local < 2; local++) {
        snprintf(text, sizeof text, "%s%s", D1_A, D1_B);
        for (char *at = text; local && (at = strstr(at, "'global'")) != NULL;)
            memcpy(at, "'local' ", 8);
        struct config config = input_config(defaults);
        struct load load = input_load(open_as(text, &config), "recorded"), other;
        struct text form = {0};
        struct record *record = NULL;
        struct err err = {""};
        ck_assert(load.own_record->order_matters == !local);
        compiled_print(load.workload, &form);
        ck_assert(trace_open_memory("x", form.data, form.length, &(struct build_options){0}, NULL,
                                    &record, &err) == 0);
        ck_assert(record_load(&other, record, false, "recorded", 7, 0, &err) == 0);
        load_close(&other);
        int result = record_load(&other, record, false, "sequential", 1, 0, &err);
        ck_assert_int_eq(result, local ? 0 : -1);
        if (!local)
            ck_assert_str_eq(err.text,
                             "the tree of 't' was compiled for another order of requests, that of "
                             "--arrival recorded --seed 1; convert the original again with "
                             "--arrival sequential --seed 1, or use the original");
        load_close(&other);
        record_close(record);
        text_close(&form);
        load_close(&load);
        config_close(&config);
    }
}
END_TEST

/* ---- the rule ---- */

/* i: 6 tokens and a reply of 7, which end at 13, inside the fourth block. The first j names blocks
 * 2, 3 of i's path and shares 13 tokens, and so does one with the same blocks and another fourth
 * one; one that names the third block otherwise shares the 8 tokens of two blocks. */
START_TEST(test_inside_blocks)
{
    TURNS_SEE("0 6 7 [[1,1]]; 1 16 1 [[1,4]]; 2 17 0 [[1,4]]", defaults, 0, 13, 17);
    TURNS_SEE("0 6 7 [[1,1]]; 1 16 0 [[1,4]]; 2 16 0 [[1,3],[9,1]]", defaults, 0, 13, 13);
    TURNS_SEE("0 6 7 [[1,1]]; 1 16 0 [[1,4]]; 2 16 0 [[1,2],[9,2]]", defaults, 0, 13, 8);
    /* Block 2 was placed before, by a prompt too short for the reply: the third, which goes on from
     * that one, shares its 8 tokens. */
    TURNS_SEE("0 6 7 [[1,1]]; 1 8 0 [[1,2]]; 2 16 0 [[1,4]]", defaults, 0, 4, 8);
}
END_TEST

START_TEST(test_counts)
{
    struct text text = {0};
    add_turns("global", 0, "0 6 7 [[1,1]]; 2 16 0 [[1,4]]", &text);
    add_turns("global", 1, "0 8 0 [[1,2]]", &text);
    add_turns("global", 0, "9 6 3 [[50,1]]; 10 8 0 [[50,2]]; 11 9 0 [[50,2]]", &text);
    add_turns("global", 0, "20 6 3 [[60,1]]; 21 9 0 [[60,2]]", &text);
    struct config config = input_config(defaults);
    struct load load = input_load(open_as(text.data, &config), "recorded");
    const struct continuation_counts *counts = &load.workload->continuation;
    /* 16 >= 6 + 7, but the other conversation placed its second block: it leaves. 8 < 6 + 3: too
     * short. 9 >= 8 + 0, and 8 is the end of a block: nothing to follow inside one. 9 >= 6 + 3:
     * follows to token 9, five beyond the block that proves it. */
    ck_assert_uint_eq(counts->all, 3);
    ck_assert_uint_eq(counts->guessed, 3);
    ck_assert_uint_eq(counts->first, 2);
    ck_assert_uint_eq(counts->first_leaving, 1);
    ck_assert_uint_eq(counts->short_prompts, 1);
    ck_assert_uint_eq(counts->guessed_tokens, 5);
    load_close(&load);
    config_close(&config);
    text_close(&text);
}
END_TEST

/* ---- what comes back ---- */

/* Three turns in blocks of 16, of which the thinking, the whole reply of 64 tokens, is stripped:
 * each prompt is the one before and 36 tokens. A state after a prompt is of use to the next one,
 * at 70 and 106; one after a reply never. */
#define SHORT                                                                                      \
    "{'block_size':16,'hash_id_scope':'global','start':0,'requests':["                             \
    "{'t':0,'in':70,'out':64,'hash_runs':[[1,4]]%s},{'t':1,'in':106,'out':64,'hash_runs':[[1,6]]%" \
    "s},"                                                                                          \
    "{'t':2,'in':142,'out':64,'hash_runs':[[1,8]]%s}]}"
/* The same with 82 tokens: longer than the reply. */
#define LONG                                                                                       \
    "{'block_size':16,'hash_id_scope':'global','start':0,'requests':["                             \
    "{'t':0,'in':116,'out':64,'hash_runs':[[1,7]]%s},"                                             \
    "{'t':1,'in':198,'out':64,'hash_runs':[[1,12]]%s},"                                            \
    "{'t':2,'in':280,'out':64,'hash_runs':[[1,17]]%s}]}"
/* Prompts in blocks of 64 whose last 4 tokens the next one replaces. */
#define SUFFIX                                                                                     \
    "{'block_size':64,'hash_id_scope':'global','start':0,'requests':["                             \
    "{'t':0,'in':2004,'out':50,'hash_runs':[[1,31]]%s},"                                           \
    "{'t':1,'in':2358,'out':50,'hash_runs':[[1,36]]%s},"                                           \
    "{'t':2,'in':2712,'out':50,'hash_runs':[[1,42]]%s}]}"

static const struct {
    const char *text, *key, *option, *value, *placement, *replies;
    uint64_t hit_tokens;
} came_back[] = {
    {SHORT, NULL, "reply-back", "none", "prompt-end", "keep", 70 + 106},
    {SHORT, "'reply_back':0", NULL, NULL, "prompt-end", "keep", 70 + 106},
    {SHORT, NULL, NULL, NULL, "prompt-end", "drop", 70 + 106},
    {SHORT, NULL, NULL, NULL, "prompt-end", "keep", 0}, /* 142 >= 70 + 64, yet block 5 is not
                                                               the first one's */
    {SHORT, NULL, "reply-back", "all", "prompt-end", "keep", 0},
    {SHORT, NULL, "reply-back", "36", "prompt-end", "keep", 70 + 106},
    {SHORT, NULL, "reply-back", "37", "prompt-end", "keep", 0},
    {LONG, NULL, NULL, NULL, "reply-end", "keep", 180 + 262},
    {LONG, NULL, "reply-back", "none", "reply-end", "keep", 0},
    {LONG, NULL, "reply-back", "none", "prompt-end", "keep", 116 + 198},
    {LONG, NULL, "reply-back", "63", "reply-end", "keep", 0},
    {LONG, "'reply_back':0", "reply-back", "all", "reply-end", "keep", 0}, /* the key is nearer */
    {LONG, "'reply_back':64", "reply-back", "none", "reply-end", "keep", 180 + 262},
    {LONG, "'reply_back':99", NULL, NULL, "reply-end", "keep", 180 + 262},
    {SUFFIX, NULL, NULL, NULL, "prompt-end", "keep", 2004 + 2358},
    {SUFFIX, NULL, "prompt-replaced", "4", "prompt-end", "keep", 0},
    {SUFFIX, "'prompt_replaced':4", NULL, NULL, "prompt-end", "keep", 0},
    {SUFFIX, NULL, "prompt-replaced", "4", "prompt-end", "drop", 0},
    /* Then the state at a block's end is the deepest one that is of use: 31 and 36 of them. */
    {SUFFIX, NULL, "prompt-replaced", "4", "fixed:64", "keep", 31 * 64 + 36 * 64},
};

START_TEST(test_what_comes_back)
{
    char text[900], key[100] = "";
    const char *option = came_back[_i].option ? came_back[_i].option : "seed";
    const char *value = came_back[_i].value ? came_back[_i].value : "1";
    const char *settings[] = {"model",     "qwen3.5-35b",
                              "capacity",  "unlimited",
                              "placement", came_back[_i].placement,
                              "replies",   came_back[_i].replies,
                              option,      value,
                              NULL};
    if (came_back[_i].key)
        snprintf(key, sizeof key, ",%s", came_back[_i].key);
    snprintf(text, sizeof text, came_back[_i].text, key, key, key);
    ck_assert_uint_eq(hits(text, settings), came_back[_i].hit_tokens);
}
END_TEST

/* The same through run-coded lines, which keep what was declared. */
START_TEST(test_declared_is_written)
{
    char text[900];
    snprintf(text, sizeof text, SUFFIX, ",'prompt_replaced':4,'tenant':'x'",
             ",'prompt_replaced':4,'reply_back':9,'tenant':'x'", ",'prompt_replaced':4");
    struct config config = input_config(defaults);
    struct load load = input_load(open_as(text, &config), "recorded");
    struct text lines = {0};
    struct record *record = NULL;
    struct err err = {""};
    ck_assert(write_coded(load.workload, &lines, &err) == 0);
    ck_assert_msg(trace_open_memory("t", lines.data, lines.length, &(struct build_options){0}, NULL,
                                    &record, &err) == 0,
                  "%s", err.text);
    struct load again = input_load(record, "recorded");
    for (uint32_t i = 0; i < 3; i++) {
        const struct request *a = &load.workload->requests[i], *b = &again.workload->requests[i];
        ck_assert_uint_eq(b->prompt_replaced, 4);
        ck_assert_uint_eq(b->reply_back, i == 1 ? 9 : TOKENS_UNDECLARED);
        ck_assert_uint_eq(a->name_space > 0, b->name_space > 0);
        ck_assert_uint_eq(load.schedule->arrivals[i].seen_tokens,
                          again.schedule->arrivals[i].seen_tokens);
    }
    text_close(&lines);
    load_close(&again);
    load_close(&load);
    config_close(&config);
}
END_TEST

/* ---- name spaces ---- */

#define PAIR(a, b)                                                                                 \
    "{'block_size':4,'hash_id_scope':'global','start':0,'requests':["                              \
    "{'t':0,'in':8,'out':0,'hash_runs':[[1,2]]" a "}]" b "}\n"
#define CALL(t, more)                                                                              \
    "{'timestamp':" #t ",'input_length':1024,'output_length':1,'hash_ids':[1,2]" more "}\n"

/* Two equal prompts of 8 tokens share them if their name spaces are the same. */
static const struct {
    const char *text;
    uint32_t seen, name_spaces;
} spaces[] = {
    {PAIR("", "") PAIR("", ""), 8, 1},
    {PAIR(",'namespace':'a'", "") PAIR(",'namespace':'a'", ""), 8, 1},
    {PAIR(",'namespace':'a'", "") PAIR(",'namespace':'b'", ""), 0, 2},
    {PAIR(",'namespace':'a'", "") PAIR("", ""), 0, 2},
    {PAIR(",'cache_salt':'a'", "") PAIR(",'cache_salt':'b'", ""), 0, 2},
    {PAIR(",'lora_id':1", "") PAIR(",'lora_id':2", ""), 0, 2},
    {PAIR(",'lora_id':1", "") PAIR(",'lora_id':'1'", ""), 8, 1},
    {PAIR(",'lora_id':null", "") PAIR("", ""), 8, 1},
    {PAIR(",'tenant':''", "") PAIR("", ""), 8, 1},
    {PAIR(",'salt':'x','adapter':'y'", "") PAIR(",'adapter':'y','salt':'x'", ""), 8, 1},
    {PAIR(",'salt':'x'", "") PAIR(",'adapter':'x'", ""), 0, 2},
    {PAIR("", ",'tenant':'a'") PAIR(",'tenant':'a'", ""), 8, 1},
    {PAIR(",'tenant':'b'", ",'tenant':'a'") PAIR(",'tenant':'b'", ""), 8, 1},
    {PAIR(",'tenant':null", ",'tenant':'a'") PAIR("", ""), 8, 1},
    {PAIR("", ",'lora_name':'a'") PAIR("", ",'lora_name':'b'"), 0, 2},
    {CALL(0, "") CALL(1, ""), 1024, 1},
    {CALL(0, ",'cache_salt':'a'") CALL(1, ",'cache_salt':'b'"), 0, 2},
    {CALL(0, ",'tenant':7") CALL(1, ",'tenant':7"), 1024, 1},
    {CALL(0, ",'user':'a'") CALL(1, ",'user':'b'"), 1024, 1}, /* says nothing of sharing */
};

START_TEST(test_name_spaces)
{
    struct config config = input_config(defaults);
    struct load load = input_load(open_as(spaces[_i].text, &config), "recorded");
    ck_assert_uint_eq(load.schedule->arrivals[1].seen_tokens, spaces[_i].seen);
    ck_assert_uint_eq(load.workload->name_space_count, spaces[_i].name_spaces);
    load_close(&load);
    config_close(&config);
}
END_TEST

/* A sub-conversation's requests are in its name space, unless they say otherwise. */
START_TEST(test_name_space_of_a_sub_conversation)
{
    SEES("{'block_size':4,'hash_id_scope':'local','start':0,'requests':["
         "{'t':0,'in':8,'out':0,'hash_runs':[[1,2]]},"
         "{'t':1,'type':'subagent','lora':'x','requests':[{'t':0,'in':8,'out':0,'hash_runs':[[1,2]]"
         "},"
         "{'t':1,'in':9,'out':0,'hash_runs':[[1,2]]},"
         "{'t':2,'in':8,'out':0,'hash_runs':[[1,2]],'lora':'y'}]},"
         "{'t':9,'in':8,'out':0,'hash_runs':[[1,2]]}]}",
         defaults, 0, 0, 8, 0, 8);
}
END_TEST

/* ---- numbers that name contents ---- */

static const char *const contents[] = {"block-ids", "content", NULL};

/* Block 2 behind block 1, and behind block 3, are different; a number may be twice on a path. */
START_TEST(test_contents_are_chained)
{
    TURNS_SEE("0 12 0 [[0,3]]; 1 12 0 [[0,1],[3,1],[2,1]]; 2 12 0 [[0,1],[3,1],[2,1]];"
              "3 16 0 [[0,1],[0,1],[0,1],[0,1]]; 4 16 0 [[0,1],[0,1],[0,1],[1,1]]; 5 4 0 [[2,1]]",
              contents, 0, 4, 12, 4, 12, 0);
    /* Local numbers are apart also as contents. */
    struct text text = {0};
    add_turns("local", 0, "0 8 0 [[1,2]]; 5 8 0 [[1,1],[1,1]]", &text);
    add_turns("local", 1, "0 8 0 [[1,2]]; 1 8 0 [[1,2]]", &text);
    SEES(text.data, contents, 0, 0, 8, 4);
    text_close(&text);
}
END_TEST

/* ---- the index against looking back ---- */

static bool fits(struct chains *chains, const struct link_item *i, const struct link_item *j)
{
    return i->kept.chain != CHAIN_NONE && j->in >= i->least_in &&
           chains_through(chains, i->kept, j->path);
}

/* Goes on from a place of an earlier path, over numbers that nobody has or that somebody has. */
static struct block_at draw_path(struct chains *chains, struct rng *rng,
                                 const struct link_item *items, uint32_t count)
{
    struct err err;
    uint32_t earlier;
    struct block_at at = {CHAIN_NONE, 0};
    if (count > 0 && rng_below(rng, 5)) {
        at = items[rng_below(rng, count)].path;
        at = chains_above(chains, at, (uint32_t)rng_below(rng, chains_depth(chains, at) + 1));
    }
    uint64_t first = at.chain == CHAIN_NONE || rng_below(rng, 3) == 0
                         ? 1000 * (1 + (uint64_t)chains->count)
                         : chains->items[at.chain].first + at.blocks;
    struct block_run run = {first, 1 + rng_below(rng, 6)};
    ck_assert(chains_walk(chains, &at, run, 0, 0, 1, &earlier, &err) == 0);
    return at;
}

START_TEST(test_index_finds_the_latest)
{
    enum { MOST = 40 };
    uint64_t back = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct rng rng = rng_open(seed, "link");
        struct chains chains = {0};
        struct link_item items[MOST];
        uint32_t count = 2 + (uint32_t)rng_below(&rng, MOST - 1);
        chains_begin(&chains, false, 0, 0, 0);
        for (uint32_t i = 0; i < count; i++) {
            struct link_item *item = &items[i];
            *item = (struct link_item){.path = draw_path(&chains, &rng, items, i)};
            uint32_t depth = chains_depth(&chains, item->path);
            uint32_t kept = depth - (uint32_t)(rng_below(&rng, 3) ? 0 : rng_below(&rng, depth + 1));
            item->in = depth * 4 + rng_below(&rng, 4);
            item->least_in = kept * 4 + rng_below(&rng, 30);
            item->kept = chains_above(&chains, item->path, kept);
        }
        link_stream(&chains, items, count);
        for (uint32_t j = 0; j < count; j++) {
            uint32_t latest = j;
            while (latest > 0 && !fits(&chains, &items[latest - 1], &items[j]))
                latest--;
            ck_assert_uint_eq(items[j].continues, latest > 0 ? latest - 1 : LINK_NONE);
            back += latest > 0 && latest < j;
        }
        chains_close(&chains);
    }
    ck_assert_uint_gt(back, 5000);
}
END_TEST

/* ---- how the work grows ---- */

enum shape {
    NONE_CONTINUES,
    ONE_BLOCK_LONG_REPLIES,
    GROWS_LONG_REPLIES,
    GROWS_THEN_LEAVES,
    REPLACED_WITHIN_A_BLOCK,
    CHAINS_OF_TAILS,
    SHAPES
};

static void write_one(enum shape shape, unsigned i, unsigned n, struct text *out)
{
    const char *comma = i > 0 ? "," : "";
    switch (shape) {
    case NONE_CONTINUES:
        text_printf(out, "%s{'in':128,'out':1,'hash_runs':[[%u,2]]}", comma, 10 * i);
        break;
    case ONE_BLOCK_LONG_REPLIES:
        text_printf(out, "%s{'in':128,'out':1000000,'hash_runs':[[1,2]]}", comma);
        break;
    case GROWS_LONG_REPLIES:
        text_printf(out, "%s{'in':%u,'out':1000000,'hash_runs':[[1,%u]]}", comma, 64 * (i + 1),
                    i + 1);
        break;
    case GROWS_THEN_LEAVES: /* the later half fits none of the first but its very first block */
        if (i < n / 2)
            text_printf(out, "%s{'in':%u,'out':1,'hash_runs':[[1,%u]]}", comma, 64 * (i + 2),
                        i + 2);
        else
            text_printf(out, "%s{'in':%u,'out':9000000,'hash_runs':[[1,1],[%u,%u]]}", comma,
                        64 * (n + 1), 1000000000 + i * 2 * n, n);
        break;
    case REPLACED_WITHIN_A_BLOCK: /* each a token longer, and all of what is beyond is replaced */
        text_printf(out, "%s{'in':%u,'out':0,'prompt_replaced':%u,'hash_runs':[[1,1]]}", comma,
                    65536 + 6 + i, i);
        break;
    case CHAINS_OF_TAILS: /* every other one goes on, over a new block */
        text_printf(out, "%s{'in':%u,'out':%u,'hash_runs':[[1,1],[7,%u]]}", comma, 64 * (i + 2),
                    i % 2 ? 3 : 900000, i + 1);
        break;
    case SHAPES:
        break;
    }
}

static uint64_t steps(enum shape shape, unsigned n)
{
    struct text text = {0};
    struct record *record = NULL;
    struct load load;
    struct err err = {""};
    text_printf(&text, "{'block_size':%u,'hash_id_scope':'global','requests':[",
                shape == REPLACED_WITHIN_A_BLOCK ? 65536 : 64);
    for (unsigned i = 0; i < n; i++)
        write_one(shape, i, n, &text);
    text_printf(&text, "]}");
    ck_assert_msg(input_trace(text.data, NULL, &record, &err) == 0, "%s", err.text);
    ck_assert_msg(record_load(&load, record, true, "sequential", 1, 0, &err) == 0, "%s", err.text);
    uint64_t count = record->chains.steps;
    load_close(&load);
    record_close(record);
    text_close(&text);
    return count;
}

/* Four times the requests may take four times the steps, and a little for the logarithm; with n^2
 * they would take sixteen times. */
START_TEST(test_steps_grow_with_the_input)
{
    uint64_t small = steps((enum shape)_i, 2000), large = steps((enum shape)_i, 8000);
    ck_assert_uint_gt(small, 2000);
    ck_assert_msg(large < 11 * small / 2, "%" PRIu64 " steps for 2,000, %" PRIu64 " for 8,000",
                  small, large);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("continuation");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_lines_in_any_order);
    tcase_add_test(tcase, test_compiled_order);
    tcase_add_test(tcase, test_inside_blocks);
    tcase_add_test(tcase, test_counts);
    SUITE_LOOP(tcase, test_what_comes_back, came_back);
    tcase_add_test(tcase, test_declared_is_written);
    SUITE_LOOP(tcase, test_name_spaces, spaces);
    tcase_add_test(tcase, test_name_space_of_a_sub_conversation);
    tcase_add_test(tcase, test_contents_are_chained);
    tcase_add_test(tcase, test_index_finds_the_latest);
    tcase_add_loop_test(tcase, test_steps_grow_with_the_input, 0, SHAPES);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
