/* Numbers from outside: other simulators, published tables, and references computed independently.
 * Each table is typed in from its source and must come out to the last token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/engine/result.h"
#include "tests/inputs.h"
#include "tests/suite.h"
#include "traces/open.h"

static const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};

/* Runs a trace of the shared folder; settings are pairs of name and value, ended by NULL. */
static struct result run(const char *file, const char *const *settings)
{
    struct err err = {""};
    struct record *record = NULL;
    struct config config = input_config(settings);
    struct build_options build = config_build_options(&config);
    char path[512];
    snprintf(path, sizeof path, "%s/traces/%s", suite_shared(), file);
    ck_assert_msg(trace_open(path, &build, NULL, &record, &err) == 0, "%s", err.text);
    return input_replay(&config, record, &plugins);
}

/* KV only, 512-token blocks: cases/peers.md 1. The optimum is the block whose next use is furthest,
 * with refusal; it was found by three independent programs. */
struct kv_only {
    const char *file;
    unsigned blocks; /* capacity; 0: unlimited */
    const char *eviction;
    uint64_t hit_tokens, hit_blocks; /* blocks 0: not published */
};

#define CONVERSATION "mooncake/conversation_trace.jsonl.zst"
#define SYNTHETIC "mooncake/synthetic_trace.jsonl.zst"

static const struct kv_only kv_only[] = {
    {CONVERSATION, 0, "lru", 54098411, 105710},      {CONVERSATION, 1000, "lru", 6575459, 12847},
    {CONVERSATION, 10000, "lru", 31238981, 61046},   {CONVERSATION, 50000, "lru", 52347371, 102290},
    {CONVERSATION, 100000, "lru", 53695979, 104924}, {CONVERSATION, 1000, "belady", 28153578, 0},
    {CONVERSATION, 10000, "belady", 54098411, 0},    {CONVERSATION, 50000, "belady", 54098411, 0},
    {CONVERSATION, 100000, "belady", 54098411, 0},   {SYNTHETIC, 0, "lru", 39852661, 77953},
    {SYNTHETIC, 1000, "lru", 5245479, 10252},        {SYNTHETIC, 10000, "lru", 26421660, 51669},
    {SYNTHETIC, 50000, "lru", 39852661, 77953},      {SYNTHETIC, 100000, "lru", 39852661, 77953},
    {SYNTHETIC, 1000, "belady", 17252933, 0},        {SYNTHETIC, 10000, "belady", 38506519, 0},
    {SYNTHETIC, 50000, "belady", 39852661, 0},       {SYNTHETIC, 100000, "belady", 39852661, 0},
};

START_TEST(kv_only_lru_and_optimum)
{
    if (suite_shared() == NULL)
        return;
    const struct kv_only *golden = &kv_only[_i];
    char capacity[32] = "unlimited"; /* 512 tokens of 131,072 bytes are 64 MiB */
    if (golden->blocks > 0)
        snprintf(capacity, sizeof capacity, "%uMiB", golden->blocks * 64);
    const char *settings[] = {"model",
                              "llama-3.1-8b",
                              "memory",
                              "equal",
                              "page-tokens",
                              "trace",
                              "replies",
                              "drop",
                              "partial-blocks",
                              "keep",
                              "capacity",
                              capacity,
                              "eviction",
                              golden->eviction,
                              "min-compute-tokens",
                              "0",
                              NULL};
    struct result result = run(golden->file, settings);
    ck_assert_uint_eq(result.sum.hit_tokens, golden->hit_tokens);
    if (golden->hit_blocks > 0)
        ck_assert_uint_eq(result.hit_pages, golden->hit_blocks);
    result_close(&result);
}
END_TEST

/* Unlimited cache, placement only: the table at the end of traces/README.md. Hit ratios in 1/10,000
 * for a snapshot at every block, prompt ends, grids of 1024, 4096 and 16384 tokens, ends with the
 * 4096 grid, and ends with branches; then distinct snapshots of ends, and of branches beyond. */
struct unlimited {
    const char *file, *grain;
    unsigned ratio[7];
    uint64_t end_snapshots, branch_snapshots;
};

static const struct unlimited unlimited[] = {
    {"kv-cache-tester/v8.jsonl.zst", "64", {9632, 9567, 9593, 9469, 8961, 9625, 9583}, 49324, 3061},
    {"kv-cache-tester/v6.jsonl.zst", "64", {9586, 9461, 9534, 9364, 8663, 9569, 9529}, 25179, 1782},
    {"kv-cache-tester/v8_sample20.jsonl",
     "64",
     {9484, 9428, 9455, 9360, 8959, 9480, 9432},
     585,
     23},
    {CONVERSATION, "512", {3734, 3497, 3396, 2912, 1667, 3667, 3586}, 9633, 604},
    {SYNTHETIC, "512", {6504, 5088, 6423, 5974, 4648, 6415, 5820}, 1607, 93},
    {"multi-swe-bench/sweagent_java.jsonl.zst",
     "16",
     {7927, 6813, 7435, 5745, 52, 7301, 7848},
     9157,
     6918},
    {"swe-context-bench/claude_code.jsonl.zst",
     "16",
     {9779, 9717, 9669, 9332, 7875, 9770, 9775},
     14505,
     24},
    {"mtrag/mtrag.jsonl", "16", {5847, 5829, 5735, 5381, 3760, 5840, 5833}, 747, 57},
    {"tau-bench/airline_gpt4o.jsonl.zst", "16", {9304, 9232, 7636, 2140, 0, 9232, 9302}, 2440, 7},
    {"lmcache-agent/miniswe.jsonl", "16", {9317, 9317, 8684, 6601, 2326, 9317, 9317}, 401, 0},
    {"lmcache-agent/magagent.jsonl", "16", {8393, 7721, 5952, 3987, 0, 7946, 7869}, 165, 64},
};

static struct result run_unlimited(const struct unlimited *golden, const char *placement)
{
    const char *settings[] = {"placement", placement,    "snapshot-grain",     golden->grain,
                              "replies",   "drop",       "capacity",           "unlimited",
                              "arrival",   "sequential", "min-compute-tokens", "0",
                              NULL};
    return run(golden->file, settings);
}

START_TEST(unlimited_placements)
{
    if (suite_shared() == NULL)
        return;
    const struct unlimited *golden = &unlimited[_i];
    char every_block[32];
    snprintf(every_block, sizeof every_block, "fixed:%s", golden->grain);
    const char *placements[] = {every_block,        "prompt-end",  "fixed:1024",
                                "fixed:4096",       "fixed:16384", "prompt-end+fixed:4096",
                                "prompt-end+branch"};
    for (int i = 0; i < 7; i++) {
        struct result result = run_unlimited(golden, placements[i]);
        unsigned ratio = (unsigned)(result_hit_ratio(&result) * 10000 + 0.5);
        ck_assert_msg(ratio == golden->ratio[i], "%s, %s: 0.%04u expected, found 0.%04u",
                      golden->file, placements[i], golden->ratio[i], ratio);
        if (i == 1)
            ck_assert_uint_eq(result.cache.snapshots_taken, golden->end_snapshots);
        if (i == 6)
            ck_assert_uint_eq(result.cache.snapshots_taken,
                              golden->end_snapshots + golden->branch_snapshots);
        result_close(&result);
    }
}
END_TEST

/* The Marconi paper's placement with room for everything: cases/peers.md 2. */
START_TEST(marconi_unlimited)
{
    static const struct {
        const char *file;
        uint64_t prompt_tokens, hit_tokens;
    } golden[] = {{"marconi/chat.jsonl.zst", 6354325, 6167031},
                  {"marconi/agent.jsonl.zst", 33561110, 18277393}};
    if (suite_shared() == NULL)
        return;
    const char *settings[] = {"model",    "marconi-7b", "placement", "branch+reply-end",
                              "capacity", "unlimited",  NULL};
    struct result result = run(golden[_i].file, settings);
    ck_assert_uint_eq(result.prompt_tokens, golden[_i].prompt_tokens);
    ck_assert_uint_eq(result.sum.hit_tokens, golden[_i].hit_tokens);
    result_close(&result);
}
END_TEST

/* The Kimi K3 report's worked example: 2,800 matched tokens and checkpoints at multiples of 512
 * make 2,560 usable. A prompt of 2,800 tokens, then one that shares them and goes on. */
START_TEST(kimi_k3_grain_512)
{
    static const char lines[] =
        "{\"id\":\"a\",\"block_size\":1,\"hash_id_scope\":\"global\",\"requests\":["
        "{\"t\":0,\"in\":2800,\"out\":0,\"hash_runs\":[[1,2800]]},"
        "{\"t\":9,\"in\":3000,\"out\":1,\"hash_runs\":[[1,2800],[5000,200]]}]}\n";
    struct err err = {""};
    static const char *const settings[] = {"placement", "prompt-end", "snapshot-grain",
                                           "512",       "orphans",    "keep",
                                           "arrival",   "sequential", NULL};
    struct config config = input_config(settings);
    struct record *record = NULL;
    struct build_options build = config_build_options(&config);
    ck_assert_msg(trace_open_memory("example", lines, strlen(lines), &build, NULL, &record, &err) ==
                      0,
                  "%s", err.text);
    struct result result = input_replay(&config, record, &plugins);
    ck_assert_uint_eq(result.sum.hit_tokens, 2560);
    ck_assert_uint_eq(result.sum.missed_rounding_tokens, 240);
    ck_assert_uint_eq(result.sum.missed_new_tokens, 2800 + 200);
    result_close(&result);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, kv_only_lru_and_optimum, 0, sizeof kv_only / sizeof *kv_only);
    tcase_add_loop_test(tcase, unlimited_placements, 0, sizeof unlimited / sizeof *unlimited);
    tcase_add_loop_test(tcase, marconi_unlimited, 0, 2);
    tcase_add_test(tcase, kimi_k3_grain_512);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
