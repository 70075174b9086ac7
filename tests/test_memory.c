/* Memory strategies, each without a cache: published sizes, and what each wastes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "policies/memory/slab.h"
#include "sim/core/mem.h"
#include "tests/ref_pages.h"
#include "tests/suite.h"

static struct node nodes[] = {{0, 0}, {0, 100000}, {1, 200000}};
static const struct workload tiny = {.nodes = nodes, .node_count = 3};

/* A strategy of its own, without a cache. */
static struct memory open_from(const struct plugin *const *list, const char *text,
                               struct memory asked)
{
    struct err err = {""};
    const struct plugin *plugin = NULL;
    struct memory memory = asked;
    if (memory.capacity_bytes == 0)
        memory.capacity_bytes = 1ull << 40;
    memory.workload = &tiny;
    ck_assert_msg(plugin_parse(list, "memory", text, &plugin, &memory.settings, &err) == 0, "%s",
                  err.text);
    memory.ops = (const struct memory_ops *)(const void *)plugin;
    memory.state = mem_zalloc(plugin->state_size);
    ck_assert_msg(memory.ops->init(&memory, &err) == 0, "%s", err.text);
    if (memory.ops->begin)
        memory.ops->begin(&memory, 0, 0);
    return memory;
}

static struct memory open_memory(const char *text, struct memory asked)
{
    return open_from(memory_list, text, asked);
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
    {"lcm:pieces=1,at_least=20000B", 1000, 2, 3000, 24000, 12, 8},
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
    uint64_t live;               /* and of a live state */
} slot_rows[] = {
    {"ideal", 1024, 1024, 2048},
    {"static", 1024, 1024, 2048},
    {"max", 1024, 2048, 2048},
    {"gcd", 1024, 1024, 2048},
    {"lcm:pieces=1", 1024, 1024, 2048},
    {"lcm:pieces=3", 1026, 1026, 2052}, /* pieces of 342 bytes; large pages of 10,944 */
    {"equal:align=1", 1024, 2048, 2048},
    {"equal:draft_tokens=3", 1216, 2240, 2240}, /* a state, and 3 rows of 64 bytes */
    {"two-ended", 1024, 2048, 2048},
    {"two-ended:compaction=1", 1024, 2048, 2048},
    {"elastic:slab=8KiB", 1024, 2048, 2048},
};

static const struct model_sizes slot_sizes = {.recurrent_layers = 1,
                                              .attention_layers = 1,
                                              .kv_entry_bytes_per_layer = 4,
                                              .state_bytes_per_layer = 2048,
                                              .snapshot_bytes_per_layer = 1024,
                                              .conv_row_bytes_per_layer = 64,
                                              .dcp = 1};

static struct memory slot_memory(uint64_t live_slots)
{
    return (struct memory){.kv_bytes_per_token = 4,
                           .snapshot_bytes = 1024,
                           .state_bytes = 2048,
                           .sizes = &slot_sizes,
                           .align_tokens = 16,
                           .live_slots = live_slots};
}

START_TEST(slots)
{
    for (uint64_t live = 0; live < 2; live++) {
        struct memory memory = open_memory(slot_rows[_i].memory, slot_memory(live));
        memory.ops->snapshot_add(&memory, 0);
        ck_assert_uint_eq(memory.used_bytes,
                          live ? slot_rows[_i].beside_live : slot_rows[_i].alone);
        close_memory(&memory);
    }
}
END_TEST

/* What a live state takes is there again when it has left, whatever else lies in memory; the slow
 * model looks on. */
START_TEST(live_states_come_and_go)
{
    struct memory memory = open_from(ref_pages_list(), slot_rows[_i].memory, slot_memory(2));
    struct memory_need held = {0};
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t before = memory.used_bytes;
        memory.ops->live_add(&memory);
        memory.ops->live_add(&memory);
        held.live_states = 2;
        ck_assert_uint_eq(memory.used_bytes, memory.ops->expected_bytes(&memory, held));
        memory.ops->live_drop(&memory);
        held.live_states = 1;
        ck_assert_uint_eq(memory.used_bytes, memory.ops->expected_bytes(&memory, held));
        ck_assert_uint_eq(memory.used_bytes, before + slot_rows[_i].live);
        memory.ops->live_drop(&memory);
        held.live_states = 0;
        ck_assert_uint_eq(memory.used_bytes, before);
        memory.ops->kv_grow(&memory, 1, 1 + i);
        memory.ops->snapshot_add(&memory, i);
        held.kv_pages += 1 + i;
        held.snapshots++;
    }
    memory.ops->begin(&memory, 1, 1);
    close_memory(&memory);
}
END_TEST

START_TEST(every_strategy_has_slots)
{
    for (size_t i = 0; memory_list[i]; i++) {
        size_t length = strlen(memory_list[i]->name), row = 0;
        while (row < sizeof slot_rows / sizeof *slot_rows &&
               (strncmp(slot_rows[row].memory, memory_list[i]->name, length) != 0 ||
                strchr(":", slot_rows[row].memory[length]) == NULL))
            row++;
        ck_assert_msg(row < sizeof slot_rows / sizeof *slot_rows, "no row for '%s'",
                      memory_list[i]->name);
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

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("all");
    SUITE_LOOP(tcase, large_pages, large_rows);
    tcase_add_test(tcase, equal_units_are_one_list);
    tcase_add_test(tcase, uniform_pages_waste);
    tcase_add_test(tcase, max_page_of_jamba);
    tcase_add_test(tcase, kvcached_padding);
    SUITE_LOOP(tcase, slots, slot_rows);
    SUITE_LOOP(tcase, live_states_come_and_go, slot_rows);
    tcase_add_test(tcase, every_strategy_has_slots);
    SUITE_LOOP(tcase, block_formula, block_rows);
    SUITE_LOOP(tcase, groups, group_rows);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
