/* Memory strategies in whole runs: what a change of strategy changes, and a slow model of every
 * page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/engine/result.h"
#include "tests/inputs.h"
#include "tests/ref_case.h"
#include "tests/ref_pages.h"
#include "tests/suite.h"
#include "traces/open.h"
#include "traces/synth.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const strategies[] = {
    "ideal",
    "static:0.3",
    "equal",
    "lcm",
    "lcm:pieces=1",
    "max",
    "gcd",
    "two-ended",
    "two-ended:compaction=1",
    "elastic:64MiB",
    "elastic:slab=128MiB,hysteresis=0,pieces=3",
};

static struct result run_text(const struct plugin *const *memories, const char *text, size_t length,
                              const char *const *settings)
{
    struct err err = {""};
    struct record *record = NULL;
    const struct plugins plugins = {placement_list, eviction_list, memories, NULL};
    struct config config = input_config(settings);
    struct build_options build = config_build_options(&config);
    ck_assert_msg(trace_open_memory("t", text, length, &build, NULL, &record, &err) == 0, "%s",
                  err.text);
    return input_replay(&config, record, &plugins);
}

/* On a generated load. */
static struct result run(const struct plugin *const *memories, unsigned conversations,
                         unsigned seed, const char *const *settings)
{
    struct err err = {""};
    struct synth_options options;
    struct text lines = {0};
    param_defaults(synth_params, &options);
    options.conversations = conversations;
    options.seed = seed;
    ck_assert_msg(synth_write(&options, &lines, &err) == 0, "%s", err.text);
    struct result result = run_text(memories, lines.data, lines.length, settings);
    text_close(&lines);
    return result;
}

static uint64_t sum_of(const struct cache_bytes *bytes)
{
    return bytes->kv + bytes->snapshots + bytes->live + bytes->padding + bytes->external +
           bytes->free;
}

/* With room for everything all are the same. Without, where a strategy and bytes alone differ, the
 * report says how often the strategy dropped or refused what bytes alone had room for. Padding is
 * no reason by itself, since all that have pages have some: it counts when something is dropped. */
START_TEST(differences_are_told)
{
    static const char *const capacities[] = {"4TiB", "24GiB", "8GiB"};
    uint64_t ideal[3] = {0};
    for (size_t i = 0; i < COUNT(strategies); i++) {
        for (int c = 0; c < 3; c++) {
            const char *settings[] = {"tp",          "8",        "kv-dtype",    "fp8", "memory",
                                      strategies[i], "capacity", capacities[c], NULL};
            struct result result = run(memory_list, 30, (unsigned)_i + 1, settings);
            uint64_t hit = result.sum.hit_tokens;
            if (i == 0)
                ideal[c] = hit;
            if (c == 0)
                ck_assert_uint_eq(hit, ideal[0]);
            ck_assert_uint_eq(sum_of(&result.mean), result.config.capacity);
            if (hit != ideal[c])
                ck_assert_uint_gt(result.cache.split_evictions + result.cache.split_uncached, 0);
            result_close(&result);
        }
    }
}
END_TEST

/* Without recurrent layers, LRU keeps what was used last, as much of it as there is room for. All
 * that a strategy holds then lies in what bytes alone would hold: none can hit more. */
START_TEST(none_beats_ideal_without_states)
{
    static const char *const capacities[] = {"40GiB", "16GiB", "6GiB"};
    uint64_t ideal[3] = {0};
    for (size_t i = 0; i < COUNT(strategies); i++) {
        for (int c = 0; c < 3; c++) {
            const char *settings[] = {"model",    "llama-3.1-8b", "memory", strategies[i],
                                      "capacity", capacities[c],  NULL};
            struct result result = run(memory_list, 30, (unsigned)_i + 1, settings);
            if (i == 0)
                ideal[c] = result.sum.hit_tokens;
            ck_assert_msg(result.sum.hit_tokens <= ideal[c], "%s at %s", strategies[i],
                          capacities[c]);
            result_close(&result);
        }
        ck_assert_uint_lt(ideal[2], ideal[0]); /* the capacities matter */
    }
}
END_TEST

/* With snapshots that is no law, since LRU is not the best of evictions. On paper: A has a prompt
 * of 1,024 tokens and a reply of 512, B as much again, and C is A's prompt with other words after
 * it. A token takes 4 bytes, a snapshot 12. A and B with two snapshots each take 12 bytes more than
 * there are. Bytes alone drop A's oldest snapshot, which lies at its prompt's end; so C finds KV
 * and no snapshot. The split has room for four snapshots and for 2,772 tokens of KV: KV is short,
 * only the end of A's path frees any, and the snapshot that C wants stays. */
START_TEST(a_wall_can_beat_one_lru)
{
    static const char text[] = "{\"timestamp\":0,\"input_length\":1024,\"output_length\":512,"
                               "\"hash_ids\":[1,2]}\n"
                               "{\"timestamp\":1,\"input_length\":1024,\"output_length\":512,"
                               "\"hash_ids\":[3,4]}\n"
                               "{\"timestamp\":2,\"input_length\":1100,\"output_length\":1,"
                               "\"hash_ids\":[1,2,5]}\n";
    static const struct {
        const char *memory;
        uint64_t hit, no_snapshot, kv_evicted;
    } rows[] = {{"ideal", 0, 1024, 1536}, {"static:ratio=0.1", 1024, 0, 512}};
    char model[256];
    ref_model_path(&ref_models[0], model);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *settings[] = {"model",       model,  "memory",   rows[i].memory,
                                  "page-tokens", "1",    "capacity", "12324B",
                                  "placement",   "turn", NULL};
        struct result result = run_text(memory_list, text, sizeof text - 1, settings);
        ck_assert_uint_eq(result.sum.hit_tokens, rows[i].hit);
        ck_assert_uint_eq(result.sum.missed_no_snapshot_tokens, rows[i].no_snapshot);
        ck_assert_uint_eq(result.cache.kv_tokens_evicted, rows[i].kv_evicted);
        result_close(&result);
    }
}
END_TEST

/* On paper, tokens of 4 bytes and snapshots of 12: what is dropped or refused though bytes alone
 * would do is the price of the split, and what bytes alone would not hold is not.
 *
 * A and B have prompts of 512 tokens and replies of 512, with a snapshot at both ends: 4,120 bytes
 * each. C has a prompt of 1,024: 6,168 bytes with two snapshots, 6,156 with one.
 *
 * 1, 2  of 12 kB, states have 24 bytes. B's snapshots need A's two to go, and with the last of them
 *       all of A goes; 8,240 bytes would fit. Bytes alone drop nothing.
 * 3, 4  of 8 kB, KV has 4,096 bytes: A's, to the last token, but never C's. Bytes alone hold C when
 *       A has gone, in two drops that are no split's, for 10,288 bytes are too many.
 * 5     of 6,144 bytes, KV has half: neither A nor C is stored. A would fit as bytes, C not: 6,156.
 * 6     of 4,400 bytes, B needs A to go in two drops, as it would as bytes.
 * 7     of 8,240 bytes, a live state takes 12, so one snapshot has to go, as it would as bytes.
 * 8, 9  as 1 and 6, where belady stores first and drops then. */
#define PAPER_A "{\"timestamp\":0,\"input_length\":512,\"output_length\":512,\"hash_ids\":[1]}\n"
#define PAPER_B "{\"timestamp\":1,\"input_length\":512,\"output_length\":512,\"hash_ids\":[2]}\n"
#define PAPER_C "{\"timestamp\":1,\"input_length\":1024,\"output_length\":512,\"hash_ids\":[3,4]}\n"

static const struct {
    const char *text, *memory, *capacity, *eviction, *slots;
    uint64_t drops, split_evictions, uncached, split_uncached, quota_bytes;
} split_rows[] = {
    {PAPER_A PAPER_B, "static:ratio=0.002", "12000B", "lru", "0", 2, 2, 0, 0, 24},
    {PAPER_A PAPER_B, "ideal", "12000B", "lru", "0", 0, 0, 0, 0, 0},
    {PAPER_A PAPER_C, "static:ratio=0.5", "8192B", "lru", "0", 0, 0, 1, 1, 4096},
    {PAPER_A PAPER_C, "ideal", "8192B", "lru", "0", 2, 0, 0, 0, 0},
    {PAPER_A PAPER_C, "static:ratio=0.5", "6144B", "lru", "0", 0, 0, 2, 1, 3072},
    {PAPER_A PAPER_B, "two-ended", "4400B", "lru", "0", 2, 0, 0, 0, 0},
    {PAPER_A PAPER_B, "two-ended", "8240B", "lru", "1", 1, 0, 0, 0, 0},
    {PAPER_A PAPER_B, "static:ratio=0.002", "12000B", "belady", "0", 2, 2, 0, 0, 24},
    {PAPER_A PAPER_B, "equal", "4400B", "belady", "0", 2, 0, 0, 0, 0},
};

START_TEST(the_price_of_a_split)
{
    char model[256];
    ref_model_path(&ref_models[0], model);
    const char *settings[] = {"model",
                              model,
                              "memory",
                              split_rows[_i].memory,
                              "capacity",
                              split_rows[_i].capacity,
                              "eviction",
                              split_rows[_i].eviction,
                              "slots-per-request",
                              split_rows[_i].slots,
                              "page-tokens",
                              "1",
                              "placement",
                              "turn",
                              NULL};
    const char *text = split_rows[_i].text;
    struct result result = run_text(memory_list, text, strlen(text), settings);
    ck_assert_uint_eq(result.cache.drops, split_rows[_i].drops);
    ck_assert_uint_eq(result.cache.split_evictions, split_rows[_i].split_evictions);
    ck_assert_uint_eq(result.cache.uncached_requests, split_rows[_i].uncached);
    ck_assert_uint_eq(result.cache.split_uncached, split_rows[_i].split_uncached);
    ck_assert_uint_eq(result.quota_bytes, split_rows[_i].quota_bytes);
    result_close(&result);
}
END_TEST

/* Where bytes are short, the older of both kinds leaves. On paper, tokens of 4 bytes, snapshots of
 * 12 at the ends of prompts, orphans kept: prompts of 512, 1,024 and 1,536 tokens, each the start
 * of the next, leave a path whose KV was used by the third, and whose first snapshot by the second.
 * A prompt of 512 other tokens brings KV and a snapshot to 8,240 bytes, 12 more than there are. So
 * the first snapshot leaves, and 2,048 tokens that go on from the third hit 1,536. Were KV taken
 * for older, the end of the path would leave first, with the snapshot there, and they would hit
 * 1,024. */
START_TEST(the_older_kind_leaves)
{
    static const char text[] =
        "{\"timestamp\":0,\"input_length\":512,\"output_length\":0,\"hash_ids\":[1]}\n"
        "{\"timestamp\":1,\"input_length\":1024,\"output_length\":0,\"hash_ids\":[1,2]}\n"
        "{\"timestamp\":2,\"input_length\":1536,\"output_length\":0,\"hash_ids\":[1,2,3]}\n"
        "{\"timestamp\":3,\"input_length\":512,\"output_length\":0,\"hash_ids\":[9]}\n"
        "{\"timestamp\":4,\"input_length\":2048,\"output_length\":0,\"hash_ids\":[1,2,3,4]}\n";
    char model[256];
    ref_model_path(&ref_models[0], model);
    const char *settings[] = {"model",
                              model,
                              "memory",
                              "two-ended",
                              "orphans",
                              "keep",
                              "page-tokens",
                              "1",
                              "capacity",
                              "8228B",
                              "placement",
                              "prompt-end",
                              "min-compute-tokens",
                              "0",
                              NULL};
    struct result result = run_text(memory_list, text, sizeof text - 1, settings);
    ck_assert_uint_eq(result.sum.hit_tokens, 512 + 1024 + 1536);
    result_close(&result);
}
END_TEST

/* static:best is the explicit ratio with the most hits, of equals the smallest; what it gives to
 * states says which. */
START_TEST(best_is_the_best_of_all)
{
    const uint64_t capacity = 12ull << 30;
    const char *settings[] = {"tp",    "8",      "kv-dtype", "fp8", "capacity",
                              "12GiB", "memory", NULL,       NULL};
    uint64_t most = 0, best = 0, least = UINT64_MAX;
    for (uint64_t k = 0; k <= 64; k++) {
        char text[32];
        snprintf(text, sizeof text, "static:ratio=%.6f", (double)k / 64);
        settings[7] = text;
        struct result result = run(memory_list, 10, 1, settings);
        uint64_t hit = result.sum.hit_tokens;
        best = hit > most ? k : best;
        most = hit > most ? hit : most;
        least = hit < least ? hit : least;
        result_close(&result);
    }
    ck_assert(least < most && best > 0 && best < 64); /* or nothing is tested */
    settings[7] = "static:best";
    struct result result = run(memory_list, 10, 1, settings);
    ck_assert_uint_eq(result.sum.hit_tokens, most);
    ck_assert_uint_eq(result.quota_bytes, best * capacity / 64);
    result_close(&result);
}
END_TEST

/* fifo knew only of the ends that it had named itself. Where a place was emptied, or KV was kept
 * for a fork and then was not, a path ended in an older stretch than fifo thought, and it named an
 * end below which nothing may go: an assertion, and a sweep that died at the same cell for ever.
 * Every eviction must stand all that may happen to its holdings. */
START_TEST(every_eviction_stands_it)
{
    static const char *const placements[] = {"fixed:64", "balanced:4"};
    static const char *const orphans[] = {"drop", "keep", "keep-for-fork"};
    for (unsigned i = 0; eviction_list[i]; i++)
        for (unsigned pick = 0; pick < 6; pick++) {
            const char *eviction = eviction_list[i]->name;
            const char *settings[] = {"model",     "marconi-7b",
                                      "memory",    strategies[_i],
                                      "eviction",  eviction,
                                      "placement", placements[pick % 2],
                                      "orphans",   orphans[pick / 2],
                                      "capacity",  "2GiB",
                                      "requests",  "60",
                                      NULL};
            if (!ref_case_go_together(eviction, strategies[_i]))
                continue;
            struct result result = run(memory_list, 8, 1 + pick % 2, settings);
            ck_assert_uint_eq(result.sum.hit_tokens + result.computed_tokens, result.prompt_tokens);
            ck_assert_uint_eq(sum_of(&result.mean), result.config.capacity);
            result_close(&result);
        }
}
END_TEST

/* Every page of every strategy, against the slow model: each placement at each capacity, what else
 * there is as drawn. */
START_TEST(page_by_page)
{
    static const char *const placements[] = {"turn", "branch+reply-end", "fixed:2048"};
    static const char *const capacities[] = {"2GiB", "6GiB", "20GiB"};
    static const char *const orphans[] = {"drop", "keep", "keep-for-fork"};
    static const char *const slots[] = {"0", "2"};
    static const char *const dtypes[] = {"state", "bf16"};
    static const char *const evictions[] = {"lru", "lru", "lfu", "fifo"};
    struct rng rng = rng_open((uint64_t)_i, "page_by_page");
    for (unsigned i = 0; i < COUNT(placements) * COUNT(capacities); i++) {
        const char *settings[] = {"tp",
                                  "8",
                                  "kv-dtype",
                                  "fp8",
                                  "memory",
                                  strategies[_i],
                                  "placement",
                                  placements[i % COUNT(placements)],
                                  "capacity",
                                  capacities[i / COUNT(placements)],
                                  "orphans",
                                  orphans[rng_below(&rng, COUNT(orphans))],
                                  "slots-per-request",
                                  slots[rng_below(&rng, COUNT(slots))],
                                  "snapshot-dtype",
                                  dtypes[rng_below(&rng, COUNT(dtypes))],
                                  "eviction",
                                  evictions[rng_below(&rng, COUNT(evictions))],
                                  "requests",
                                  "60",
                                  NULL};
        unsigned seed = (unsigned)rng_below(&rng, 1000);
        struct result result = run(ref_pages_list(), 12, seed, settings);
        struct result real = run(memory_list, 12, seed, settings);
        ck_assert_uint_eq(result.digest, real.digest);
        result_close(&result);
        result_close(&real);
    }
    ck_assert_uint_gt(ref_pages_steps(), 1000);
}
END_TEST

/* Every parameter of a strategy moves some result. */
static const char *const pairs[][2] = {
    {"static:0.2", "static:0.6"},        {"static:best", "static:0.6"},
    {"equal", "equal:align=1024"},       {"equal", "equal:draft_layers=4"},
    {"equal", "equal:draft_tokens=400"}, {"lcm", "lcm:pieces=3"},
    {"lcm", "lcm:at_least=1GiB"},        {"two-ended", "two-ended:compaction=1"},
    {"elastic", "elastic:slab=200MiB"},  {"elastic", "elastic:hysteresis=0"},
    {"elastic", "elastic:pieces=7"},
};

START_TEST(parameters_count)
{
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        const char *settings[] = {"tp",         "8",        "kv-dtype", "fp8", "memory",
                                  pairs[_i][i], "capacity", "8GiB",     NULL};
        struct result result = run(memory_list, 30, 3, settings);
        digests[i] = result.digest;
        result_close(&result);
    }
    ck_assert_uint_ne(digests[0], digests[1]);
}
END_TEST

static const struct plugin *parse(const char *text, void **settings)
{
    struct err err = {""};
    const struct plugin *plugin = NULL;
    ck_assert_msg(plugin_parse(memory_list, "memory", text, &plugin, settings, &err) == 0, "%s",
                  err.text);
    return plugin;
}

/* Whether a strategy is given as text in two ways that differ in one parameter alone. */
static bool differ_only_in(const char *const pair[2], const struct plugin *plugin,
                           const struct param *param)
{
    void *settings[2];
    const struct plugin *plugins[2];
    for (int i = 0; i < 2; i++)
        plugins[i] = parse(pair[i], &settings[i]);
    bool here = plugins[0] == plugin && plugins[1] == plugin;
    for (const struct param *each = plugin->params; here && each->name; each++) {
        struct text values[2] = {{0}};
        for (int i = 0; i < 2; i++)
            param_print_value(each, settings[i], &values[i]);
        here = (strcmp(values[0].data, values[1].data) != 0) == (each == param);
        text_close(&values[0]);
        text_close(&values[1]);
    }
    for (int i = 0; i < 2; i++)
        plugin_free_settings(plugins[i], settings[i]);
    return here;
}

static bool is_listed(const struct plugin *plugin)
{
    bool listed = false;
    for (size_t i = 0; i < COUNT(strategies); i++) {
        void *settings = NULL;
        const struct plugin *each = parse(strategies[i], &settings);
        listed = listed || each == plugin;
        plugin_free_settings(each, settings);
    }
    return listed;
}

/* The lists above leave out no strategy and no parameter. */
START_TEST(nothing_is_left_out)
{
    for (size_t i = 0; memory_list[i]; i++) {
        const struct plugin *plugin = memory_list[i];
        ck_assert_msg(is_listed(plugin), "'%s' is not among the strategies", plugin->name);
        for (const struct param *param = plugin->params; param && param->name; param++) {
            bool listed = false;
            for (size_t k = 0; k < COUNT(pairs); k++)
                listed = listed || differ_only_in(pairs[k], plugin, param);
            ck_assert_msg(listed, "no pair for %s:%s", plugin->name, param->name);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory runs");
    TCase *tcase = tcase_create("all");
    tcase_add_unchecked_fixture(tcase, ref_models_open, ref_models_close);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, differences_are_told, 0, 3);
    tcase_add_loop_test(tcase, none_beats_ideal_without_states, 0, 3);
    tcase_add_test(tcase, a_wall_can_beat_one_lru);
    SUITE_LOOP(tcase, the_price_of_a_split, split_rows);
    tcase_add_test(tcase, the_older_kind_leaves);
    tcase_add_test(tcase, best_is_the_best_of_all);
    SUITE_LOOP(tcase, every_eviction_stands_it, strategies);
    SUITE_LOOP(tcase, page_by_page, strategies);
    tcase_add_test(tcase, nothing_is_left_out);
    SUITE_LOOP(tcase, parameters_count, pairs);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
