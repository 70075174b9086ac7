/* Memory strategies: published sizes, what each wastes, and a slow model of every page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "policies/memory/slab.h"
#include "sim/core/mem.h"
#include "sim/engine/result.h"
#include "tests/ref_case.h"
#include "tests/ref_pages.h"
#include "tests/suite.h"
#include "traces/open.h"
#include "traces/synth.h"

static struct node nodes[] = {{0, 0}, {0, 100000}, {1, 200000}};
static const struct workload tiny = {.nodes = nodes, .node_count = 3};

/* A strategy of its own, without a cache. */
static struct memory open_memory(const char *text, struct memory asked)
{
    struct err err = {""};
    const struct plugin *plugin = NULL;
    struct memory memory = asked;
    if (memory.capacity_bytes == 0)
        memory.capacity_bytes = 1ull << 40;
    memory.workload = &tiny;
    ck_assert_msg(plugin_parse(memory_list, "memory", text, &plugin, &memory.settings, &err) == 0,
                  "%s", err.text);
    memory.ops = (const struct memory_ops *)(const void *)plugin;
    memory.state = mem_zalloc(plugin->state_size);
    ck_assert_msg(memory.ops->init(&memory, &err) == 0, "%s", err.text);
    if (memory.ops->begin)
        memory.ops->begin(&memory, 0);
    return memory;
}

static void close_memory(struct memory *memory)
{
    if (memory->ops->fini)
        memory->ops->fini(memory);
    plugin_free_settings(&memory->ops->plugin, memory->settings);
    free(memory->state);
}

/* ---- large pages, and the foils ---- */

/* papers.md 2.1, 2.3, serving-systems.md 2.4. Jamba: 84 small pages of 16 tokens to a state. */
static const struct {
    const char *memory;
    uint64_t token_bytes, page_tokens, state_bytes;
    uint64_t large_bytes, kv_in_large, states_in_large;
} large_rows[] = {
    {"lcm:pieces=1", 1000, 2, 3000, 6000, 3, 2},
    {"lcm:pieces=1", 128, 3, 256, 768, 2, 3},
    {"lcm:pieces=1", 1, 816, 1648, 84048, 103, 51},
    {"lcm:pieces=1", 4096, 16, 84 * 16 * 4096, 84 * 16 * 4096, 84, 1},
    {"lcm:pieces=1", 1000, 3, 3000, 3000, 1, 1},
    {"lcm:pieces=1,at_least=20000", 1000, 2, 3000, 24000, 12, 8},
    {"lcm:pieces=4", 1000, 2, 12000, 6000, 3, 2},
};

START_TEST(large_pages)
{
    struct memory asked = {.kv_bytes_per_token = large_rows[_i].token_bytes,
                           .page_tokens = large_rows[_i].page_tokens,
                           .snapshot_bytes = large_rows[_i].state_bytes,
                           .state_bytes = large_rows[_i].state_bytes};
    struct memory memory = open_memory(large_rows[_i].memory, asked);
    const struct slabs *slabs = memory.state;
    ck_assert_uint_eq(slabs->slab_bytes, large_rows[_i].large_bytes);
    ck_assert_uint_eq(slabs->per_slab[SLAB_KV], large_rows[_i].kv_in_large);
    ck_assert_uint_eq(slabs->per_slab[SLAB_STATE], large_rows[_i].states_in_large);
    close_memory(&memory);
}
END_TEST

START_TEST(equal_units_are_one_list)
{
    struct memory asked = {.kv_bytes_per_token = 1000,
                           .page_tokens = 3,
                           .snapshot_bytes = 3000,
                           .state_bytes = 3000,
                           .capacity_bytes = 30000};
    struct memory memory = open_memory("lcm:pieces=1", asked);
    struct memory_shortage shortage;
    for (uint32_t i = 0; i < 5; i++) { /* alternately, to the last byte */
        memory.ops->kv_grow(&memory, 1, 1);
        memory.ops->snapshot_add(&memory, i);
    }
    ck_assert_uint_eq(memory.used_bytes, 30000);
    ck_assert_uint_eq(memory.ops->unusable_bytes(&memory, PART_KV), 0);
    ck_assert_uint_eq(memory.ops->unusable_bytes(&memory, PART_SNAPSHOT), 0);
    ck_assert(memory.ops->falls_short(&memory, (struct memory_need){.kv_pages = 1}, &shortage));
    ck_assert_int_eq(shortage.part, PART_ANY);
    ck_assert_uint_eq(shortage.place, 0);
    memory.ops->snapshot_drop(&memory, 2); /* what a snapshot frees, KV can take */
    ck_assert(!memory.ops->falls_short(&memory, (struct memory_need){.kv_pages = 1}, &shortage));
    close_memory(&memory);
}
END_TEST

/* papers.md 2.4: 43 text tokens in 32 layers and 6,193 image tokens in 8; uniform pages hold both
 * in all 40. Text as KV and image tokens as the other kind take just what they need as lcm pages.
 */
START_TEST(uniform_pages_waste)
{
    struct memory asked = {.kv_bytes_per_token = 32,
                           .page_tokens = 1,
                           .snapshot_bytes = 8,
                           .state_bytes = 8,
                           .capacity_bytes = 1 << 30};
    struct memory memory = open_memory("lcm:pieces=1", asked);
    memory.ops->kv_grow(&memory, 1, 43);
    for (uint32_t i = 0; i < 6193; i++)
        memory.ops->snapshot_add(&memory, i);
    ck_assert_uint_eq(memory.used_bytes, 43 * 32 + 6193 * 8);
    uint64_t uniform = (43 + 6193) * 40;
    ck_assert_uint_eq((1000 * (uniform - memory.used_bytes) + uniform / 2) / uniform, 796);
    close_memory(&memory);
}
END_TEST

START_TEST(max_page_of_jamba)
{
    struct memory asked = {.kv_bytes_per_token = 16384,
                           .snapshot_bytes = 84 * 16 * 16384,
                           .state_bytes = 84 * 16 * 16384,
                           .align_tokens = 16};
    struct memory memory = open_memory("max", asked);
    ck_assert_uint_eq(memory.page_tokens, 1344);
    close_memory(&memory);
    memory = open_memory("gcd", asked); /* no padding at all */
    memory.ops->kv_grow(&memory, 1, 5);
    memory.ops->snapshot_add(&memory, 0);
    ck_assert_uint_eq(memory.used_bytes, (5 + 84) * 16 * 16384);
    close_memory(&memory);
}
END_TEST

/* serving-systems.md 2.10: one state of 2,146,304 B in a slab of 4 MiB. */
START_TEST(kvcached_padding)
{
    struct memory asked = {.kv_bytes_per_token = 32768,
                           .page_tokens = 16,
                           .snapshot_bytes = 2146304,
                           .state_bytes = 2146304};
    struct memory memory = open_memory("elastic:slab=4MiB", asked);
    memory.ops->snapshot_add(&memory, 0);
    ck_assert_uint_eq(memory.used_bytes, 4194304);
    ck_assert_uint_eq((1000 * (memory.used_bytes - 2146304) + 2146304 / 2) / 2146304, 954);
    close_memory(&memory);
}
END_TEST

/* Snapshots of half a live state's size: a slot is as large as what lies in it. Pages of 64 bytes.
 */
static const struct {
    const char *memory;
    uint64_t alone, beside_live; /* bytes of a snapshot */
} slot_rows[] = {
    {"ideal", 1024, 1024},        {"static", 1024, 1024},
    {"max", 1024, 2048},          {"gcd", 1024, 1024},
    {"lcm:pieces=1", 1024, 1024}, {"equal:align=1", 1024, 2048},
    {"two-ended", 1024, 2048},    {"elastic:slab=8KiB", 1024, 2048},
};

START_TEST(slots)
{
    struct model_sizes sizes = {.recurrent_layers = 1,
                                .attention_layers = 1,
                                .kv_entry_bytes_per_layer = 4,
                                .state_bytes_per_layer = 2048,
                                .snapshot_bytes_per_layer = 1024,
                                .dcp = 1};
    for (uint64_t live = 0; live < 2; live++) {
        struct memory asked = {.kv_bytes_per_token = 4,
                               .snapshot_bytes = 1024,
                               .state_bytes = 2048,
                               .sizes = &sizes,
                               .align_tokens = 16,
                               .live_slots = live};
        struct memory memory = open_memory(slot_rows[_i].memory, asked);
        memory.ops->snapshot_add(&memory, 0);
        ck_assert_uint_eq(memory.used_bytes,
                          live ? slot_rows[_i].beside_live : slot_rows[_i].alone);
        close_memory(&memory);
    }
}
END_TEST

/* ---- equal: the block formula and the groups ---- */

/* serving-systems.md 2.3, where S and a are given; papers.md 4.1. pad in 1/100 %, 0: not given. */
static const struct {
    uint64_t state, kv, align, drafts, dcp, tokens, pad;
} block_rows[] = {
    {2146304, 4096, 16, 0, 1, 528, 76},  /* Qwen3.5-4B, 9B */
    {3207168, 4096, 16, 0, 1, 784, 13},  /* Qwen3.6-27B */
    {3207168, 2048, 16, 0, 1, 1568, 13}, /* fp8 KV */
    {3207168, 2048, 16, 2, 1, 1600, 0},  /* MTP 2 */
    {3207168, 2048, 16, 4, 1, 1616, 0},  /* MTP 4 */
    {1634304, 4096, 16, 7, 1, 448, 323}, /* bf16 state, DFlash */
    {1634304, 4096, 16, 15, 1, 480, 127}, {1634304, 2048, 16, 3, 1, 832, 48},
    {814080, 576, 128, 0, 1, 1536, 868}, /* Kimi K3 TP8, fp8 MLA */
    {814080, 576, 128, 0, 8, 12288, 0},  /* with DCP 8 */
    {407040, 1152, 128, 0, 1, 384, 0},   /* TP16 */
    {2170880, 1152, 16, 0, 1, 1888, 0},  /* Kimi Linear */
    {2170880, 1152, 32, 0, 1, 1888, 0},   {2170880, 1152, 64, 0, 1, 1920, 0},
    {2170880, 1152, 128, 0, 1, 1920, 0},  {2195456, 1024, 16, 0, 1, 2144, 0}, /* Qwen3.6-35B fp8 */
    {6512640, 1152, 1, 0, 1, 5654, 0}, /* K3 TP1: 5,653.3 tokens of KV, then in whole ones */
    {6512640, 1152, 1024, 0, 1, 6144, 0}, {3366912, 1152, 1, 0, 1, 2923, 0}, /* bf16 */
    {814080, 1152, 1, 0, 1, 707, 0},                                         /* TP8 */
    {814080, 1152, 1024, 0, 1, 1024, 0},
};

START_TEST(block_formula)
{
    uint64_t state = block_rows[_i].state, kv = block_rows[_i].kv;
    struct model_sizes sizes = {.recurrent_layers = 3,
                                .attention_layers = 1,
                                .kv_entry_bytes_per_layer = kv,
                                .state_bytes_per_layer = state,
                                .snapshot_bytes_per_layer = state,
                                .conv_row_bytes_per_layer = 20480,
                                .dcp = block_rows[_i].dcp};
    struct memory asked = {.kv_bytes_per_token = kv, .sizes = &sizes, .align_tokens = 16};
    char text[64];
    snprintf(text, sizeof text, "equal:align=%u,draft_tokens=%u", (unsigned)block_rows[_i].align,
             (unsigned)block_rows[_i].drafts);
    struct memory memory = open_memory(text, asked);
    ck_assert_uint_eq(memory.page_tokens, block_rows[_i].tokens);
    uint64_t whole = state + 20480 * block_rows[_i].drafts;
    uint64_t page = memory.page_tokens * kv / sizes.dcp;
    if (block_rows[_i].pad > 0)
        ck_assert_uint_eq((10000 * (page - whole) + whole / 2) / whole, block_rows[_i].pad);
    memory.ops->snapshot_add(&memory, 0); /* a page for each of three groups of one layer */
    ck_assert_uint_eq(memory.used_bytes, 3 * page);
    close_memory(&memory);
}
END_TEST

/* serving-systems.md 2.2: snapshots at every block take Gm/(Gm+Ga) of the ids. */
static const struct {
    uint64_t recurrent, attention, draft, per_snapshot, per_block, share;
} group_rows[] = {
    {69, 24, 0, 3, 1, 75}, /* Kimi K3; the third group is padded */
    {20, 7, 0, 3, 1, 75},  /* Kimi Linear */
    {24, 8, 0, 3, 1, 75},  /* Qwen3.5-4B */
    {30, 10, 0, 3, 1, 75}, /* Qwen3.5-35B */
    {48, 12, 0, 4, 1, 80}, /* the 1+4 layout */
    {24, 20, 0, 1, 1, 50}, /* less than half as much again: the largest, padded */
    {24, 8, 1, 24, 9, 73}, /* a draft layer of its own kind makes groups of one */
    {0, 32, 0, 0, 1, 0},
};

START_TEST(groups)
{
    struct model_sizes sizes = {.recurrent_layers = group_rows[_i].recurrent,
                                .attention_layers = group_rows[_i].attention,
                                .kv_entry_bytes_per_layer = 576,
                                .state_bytes_per_layer = 814080,
                                .snapshot_bytes_per_layer = 814080,
                                .dcp = 1};
    struct memory asked = {.kv_bytes_per_token = 1, .sizes = &sizes, .align_tokens = 128};
    char text[64];
    snprintf(text, sizeof text, "equal:draft_layers=%u", (unsigned)group_rows[_i].draft);
    struct memory memory = open_memory(text, asked);
    memory.ops->kv_grow(&memory, 1, 1);
    uint64_t block = memory.used_bytes;
    memory.ops->snapshot_add(&memory, 0);
    uint64_t snapshot = memory.used_bytes - block;
    ck_assert_uint_eq(snapshot * group_rows[_i].per_block, block * group_rows[_i].per_snapshot);
    ck_assert_uint_eq((100 * snapshot + (block + snapshot) / 2) / (block + snapshot),
                      group_rows[_i].share);
    if (_i == 0) /* serving-systems.md 14: 3 ids x 24 x 884,736 B = 63.7 MB */
        ck_assert_uint_eq(snapshot, 3 * 24 * 884736);
    close_memory(&memory);
}
END_TEST

/* ---- whole runs ---- */

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
#define STRATEGIES (sizeof strategies / sizeof *strategies)

static struct result run_text(const struct plugin *const *memories, const char *text, size_t length,
                              const char *const *settings)
{
    struct err err = {""};
    struct config config;
    struct workload *workload = NULL;
    struct schedule *schedule = NULL;
    struct result result;
    const struct plugins plugins = {placement_list, eviction_list, memories};
    config_open(&config);
    for (; settings[0]; settings += 2)
        ck_assert_msg(config_set(&config, settings[0], settings[1], &err) == 0, "%s", err.text);
    struct build_options build = config_build_options(&config);
    ck_assert_msg(trace_open_memory("t", text, length, &build, NULL, &workload, &err) == 0, "%s",
                  err.text);
    ck_assert(schedule_open(&schedule, workload, config.arrival, config.seed, 0, &err) == 0);
    ck_assert_msg(replay_run(&result, &config, workload, schedule, &plugins, NULL, NULL, &err) == 0,
                  "%s", err.text);
    schedule_close(schedule);
    workload_close(workload);
    config_close(&config);
    return result;
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
 * report says what the strategy dropped, refused or padded. */
START_TEST(differences_are_told)
{
    static const char *const capacities[] = {"4TiB", "24GiB", "8GiB"};
    uint64_t ideal[3] = {0};
    for (size_t i = 0; i < STRATEGIES; i++) {
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
                ck_assert_uint_gt(result.cache.split_evictions + result.cache.split_uncached +
                                      result.mean.padding,
                                  0);
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
    for (size_t i = 0; i < STRATEGIES; i++) {
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
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

/* Every page of every strategy, against the slow model. */
START_TEST(page_by_page)
{
    static const char *const placements[] = {"turn", "branch+reply-end", "fixed:2048"};
    static const char *const orphans[] = {"drop", "keep", "keep-for-fork"};
    static const char *const capacities[] = {"2GiB", "6GiB", "20GiB"};
    static const char *const slots[] = {"0", "2"};
    for (unsigned i = 0; i < 6; i++) {
        unsigned pick = (unsigned)_i * 7 + i;
        const char *settings[] = {"tp",
                                  "8",
                                  "kv-dtype",
                                  "fp8",
                                  "memory",
                                  strategies[_i],
                                  "placement",
                                  placements[pick % 3],
                                  "orphans",
                                  orphans[pick / 3 % 3],
                                  "capacity",
                                  capacities[i % 3],
                                  "slots-per-request",
                                  slots[i % 2],
                                  "snapshot-dtype",
                                  i % 3 == 1 ? "bf16" : "state",
                                  "requests",
                                  "60",
                                  NULL};
        struct result result = run(ref_pages_list(), 12, pick, settings);
        struct result real = run(memory_list, 12, pick, settings);
        ck_assert_uint_eq(result.digest, real.digest);
        result_close(&result);
        result_close(&real);
    }
    ck_assert_uint_gt(ref_pages_steps(), 1000);
}
END_TEST

/* Every parameter of a strategy moves some result. */
START_TEST(parameters_count)
{
    static const char *const pairs[][2] = {
        {"static:0.2", "static:0.6"},        {"static:best", "static:0.6"},
        {"equal", "equal:align=1024"},       {"equal", "equal:draft_layers=4"},
        {"equal", "equal:draft_tokens=400"}, {"lcm", "lcm:pieces=3"},
        {"lcm", "lcm:at_least=1GiB"},        {"two-ended", "two-ended:compaction=1"},
        {"elastic", "elastic:slab=200MiB"},  {"elastic", "elastic:hysteresis=0"},
        {"elastic", "elastic:pieces=7"},
    };
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

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("all");
    tcase_add_unchecked_fixture(tcase, ref_models_open, ref_models_close);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, large_pages, 0, sizeof large_rows / sizeof *large_rows);
    tcase_add_test(tcase, equal_units_are_one_list);
    tcase_add_test(tcase, uniform_pages_waste);
    tcase_add_test(tcase, max_page_of_jamba);
    tcase_add_test(tcase, kvcached_padding);
    SUITE_LOOP(tcase, slots, slot_rows);
    tcase_add_loop_test(tcase, block_formula, 0, sizeof block_rows / sizeof *block_rows);
    tcase_add_loop_test(tcase, groups, 0, sizeof group_rows / sizeof *group_rows);
    tcase_add_loop_test(tcase, differences_are_told, 0, 3);
    tcase_add_loop_test(tcase, none_beats_ideal_without_states, 0, 3);
    tcase_add_test(tcase, a_wall_can_beat_one_lru);
    tcase_add_loop_test(tcase, page_by_page, 0, (int)STRATEGIES);
    tcase_add_loop_test(tcase, parameters_count, 0, 11);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
