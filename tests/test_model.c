/* test_model.c - bytes and work of the presets against the published tables.
 *
 * Every expected number is typed in from shared facts (models-and-kernels.md, serving-systems.md,
 * papers.md) or from the public source named beside it; none comes from running this code. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/json.h"
#include "sim/core/text.h"
#include "sim/model/flops.h"
#include "sim/model/kind.h"
#include "sim/model/model.h"
#include "sim/model/presets.h"
#include "tests/inputs.h"
#include "tests/suite.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const struct model *preset(const char *name)
{
    return input_preset(name);
}

/* settings as on the command line: "tp=8,kv-dtype=fp8" */
static struct sharding sharding_of(const char *settings)
{
    struct sharding sharding;
    struct err err = {""};
    param_defaults(sharding_params, &sharding);
    int failed = param_parse_list(sharding_params, &sharding, settings, "sharding", &err);
    ck_assert_msg(!failed, "%s", err.text);
    return sharding;
}

static struct model_sizes sizes_of(const char *name, const char *settings)
{
    struct sharding sharding = sharding_of(settings);
    struct model_sizes sizes;
    struct err err = {""};
    int failed = model_sizes(preset(name), &sharding, &sizes, &err);
    ck_assert_msg(!failed, "%s %s: %s", name, settings, err.text);
    return sizes;
}

static const struct layer_group *group_of(const struct model *model, const char *kind)
{
    for (size_t i = 0; i < model->group_count; i++)
        if (strcmp(model->groups[i].kind->name, kind) == 0)
            return &model->groups[i];
    ck_abort_msg("%s has no such layers", model->name);
    return NULL;
}

/* models-and-kernels.md 2, the table, row by row. */
static const struct row {
    const char *name;
    uint64_t linear, matrix, window, state_fp32, state_bf16, full, kv_layer, kv;
    uint64_t even_fp32, even_bf16;
} rows[] = {
    {"kimi-k3", 69, 6291456, 221184, 449372160, 232316928, 24, 1152, 27648, 16253, 8403},
    {"kimi-linear-48b", 20, 2097152, 73728, 43417600, 22446080, 7, 1152, 8064, 5384, 2783},
    {"qwen3-next-80b", 36, 2097152, 49152, 77266944, 39518208, 12, 2048, 24576, 3144, 1608},
    {"qwen3.5-4b", 24, 2097152, 49152, 51511296, 26345472, 8, 4096, 32768, 1572, 804},
    {"qwen3.5-27b", 48, 3145728, 61440, 153944064, 78446592, 16, 4096, 65536, 2349, 1197},
    {"qwen3.5-35b", 30, 2097152, 49152, 64389120, 32931840, 10, 2048, 20480, 3144, 1608},
    {"qwen3.5-122b", 36, 4194304, 73728, 153649152, 78151680, 12, 2048, 24576, 6252, 3180},
    {"qwen3.5-397b", 45, 4194304, 73728, 192061440, 97689600, 15, 2048, 30720, 6252, 3180},
    {"nemotron-h-56b", 54, 16777216, 122880, 912605184, 459620352, 10, 4096, 40960, 22280, 11221},
    {"nemotron3-nano", 23, 2097152, 36864, 49082368, 24965120, 6, 1024, 6144, 7989, 4063},
    {"nemotron3-super", 40, 4194304, 61440, 170229760, 86343680, 8, 1024, 8192, 20780, 10540},
    {"nemotron3-ultra", 48, 8388608, 110592, 407961600, 206635008, 12, 1024, 12288, 33200, 16816},
    {"minimax-text-01", 70, 4194304, 0, 293601280, 146800640, 10, 4096, 40960, 7168, 3584},
    {"ling-2.5-1t", 70, 4194304, 0, 293601280, 146800640, 10, 1152, 11520, 25486, 12743},
    {"jamba-1.5-mini", 28, 524288, 49152, 16056320, 8716288, 4, 4096, 16384, 980, 532},
    {"jamba-1.5-large", 63, 1048576, 98304, 72253440, 39223296, 9, 4096, 36864, 1960, 1064},
    {"granite-4-h-small", 36, 4194304, 50688, 152819712, 77322240, 4, 4096, 16384, 9327, 4719},
    {"falcon-h1-34b", 72, 4194304, 30720, 304201728, 153206784, 72, 2048, 147456, 2063, 1039},
    {"glm-5.3-flash", 34, 4194304, 147456, 147619840, 76316672, 11, 1024, 11264, 13105, 6775},
    {"deepseek-v3", 0, 0, 0, 0, 0, 61, 1152, 70272, 0, 0},
    {"kimi-k2", 0, 0, 0, 0, 0, 61, 1152, 70272, 0, 0},
    {"llama-3.1-8b", 0, 0, 0, 0, 0, 32, 4096, 131072, 0, 0},
};
#define ROW_COUNT COUNT(rows)

START_TEST(published_table)
{
    const struct row *row = &rows[_i];
    struct model_sizes fp32 = sizes_of(row->name, "");
    struct model_sizes bf16 = sizes_of(row->name, "state-dtype=bf16");
    ck_assert_uint_eq(fp32.recurrent_layers, row->linear);
    ck_assert_uint_eq(fp32.attention_layers, row->full);
    ck_assert_uint_eq(fp32.state_bytes_per_layer, row->matrix + row->window);
    ck_assert_uint_eq(bf16.state_bytes_per_layer, row->matrix / 2 + row->window);
    ck_assert_uint_eq(fp32.state_bytes, row->state_fp32);
    ck_assert_uint_eq(bf16.state_bytes, row->state_bf16);
    ck_assert_uint_eq(bf16.snapshot_bytes, row->state_bf16);
    ck_assert_uint_eq(fp32.kv_bytes_per_token_per_layer, row->kv_layer);
    ck_assert_uint_eq(fp32.kv_bytes_per_token, row->kv);
    ck_assert_uint_eq(model_break_even_tokens(&fp32), row->even_fp32);
    ck_assert_uint_eq(model_break_even_tokens(&bf16), row->even_bf16);
    struct sharding sharding = sharding_of("");
    const struct model *model = preset(row->name);
    struct layer_sizes layer;
    struct err err = {""};
    for (size_t i = 0; i < model->group_count; i++) {
        ck_assert_int_eq(model_layer_sizes(model, &model->groups[i], &sharding, &layer, &err), 0);
        if (model->groups[i].kind->role == ROLE_RECURRENT) {
            ck_assert_uint_eq(layer.matrix_bytes, row->matrix);
            ck_assert_uint_eq(layer.window_bytes, row->window);
        }
    }
}
END_TEST

/* Each preset is in the table above, is marconi-7b, or is in test_layers.c: none goes unchecked. */
START_TEST(every_preset_is_checked)
{
    static const char *const others[] = {"marconi-7b",         "lfm2-1.2b",       "lfm2-8b-a1b",
                                         "mimo-v2-flash",      "gpt-oss-20b",     "gpt-oss-120b",
                                         "codestral-mamba-7b", "nemotron-nano-9b"};
    int found = 0;
    struct err err = {""};
    struct model model, named;
    for (size_t i = 0; presets_at(i, &model); i++) {
        ck_assert_int_eq(presets_find(&named, model.name, &err), 0);
        ck_assert_str_eq(named.source, model.source); /* the file has the model's name */
        ck_assert(model.summary[0] != '\0' && model.source[0] != '\0');
        for (int j = 0; j < ROW_COUNT; j++)
            found += strcmp(rows[j].name, model.name) == 0;
        for (int j = 0; j < COUNT(others); j++)
            found += strcmp(others[j], model.name) == 0;
        ck_assert_int_eq(found, (int)i + 1);
    }
    ck_assert_int_eq(found, ROW_COUNT + COUNT(others));
}
END_TEST

/* models-and-kernels.md 1.2. Two cells there say 32,506 (fp8, TP1 and DCP8); 449,372,160 / 13,824
 * is 32,506.67, and the table rounds to nearest elsewhere (2,031.67 is 2,032), so 32,507 here. */
static const struct shard_row {
    const char *settings;
    uint64_t layer, state, kv_bf16, kv_fp8, even_bf16, even_fp8;
} shard_rows[] = {
    {"tp=1", 6512640, 449372160, 27648, 13824, 16253, 32507},
    {"tp=8", 814080, 56171520, 27648, 13824, 2032, 4063},
    {"tp=16", 407040, 28085760, 27648, 13824, 1016, 2032},
    {"tp=8,dcp=8", 814080, 56171520, 3456, 1728, 16253, 32507},
    {"state-dtype=bf16", 3366912, 232316928, 27648, 13824, 8403, 16805},
};

START_TEST(sharding_of_k3)
{
    const struct shard_row *row = &shard_rows[_i];
    char fp8[64];
    snprintf(fp8, sizeof fp8, "%s,kv-dtype=fp8", row->settings);
    struct model_sizes wide = sizes_of("kimi-k3", row->settings), narrow = sizes_of("kimi-k3", fp8);
    ck_assert_uint_eq(wide.state_bytes_per_layer, row->layer);
    ck_assert_uint_eq(wide.state_bytes, row->state);
    ck_assert_uint_eq(wide.kv_bytes_per_token, row->kv_bf16);
    ck_assert_uint_eq(narrow.kv_bytes_per_token, row->kv_fp8);
    ck_assert_uint_eq(model_break_even_tokens(&wide), row->even_bf16);
    ck_assert_uint_eq(model_break_even_tokens(&narrow), row->even_fp8);
}
END_TEST

/* papers.md 1.2: 1,116,160 B per layer, 26.79 MB per checkpoint, 65,536 B per token; and its check,
 * 10,000 tokens with one state per 16 tokens are 17.4 GB. */
START_TEST(marconi_bytes)
{
    struct model_sizes sizes = sizes_of("marconi-7b", "");
    ck_assert_uint_eq(sizes.state_bytes_per_layer, 1116160);
    ck_assert_uint_eq(sizes.snapshot_bytes, 26787840);
    ck_assert_uint_eq(sizes.kv_bytes_per_token, 65536);
    uint64_t sum = 10000 * sizes.kv_bytes_per_token + 10000 / 16 * sizes.snapshot_bytes;
    ck_assert_uint_eq((sum + 50000000) / 100000000, 174);
}
END_TEST

/* 1.2. Only the matrix is converted; int8 adds an fp32 scale per row: 96*128 rows of 128. KV in
 * FlashMLA's layout with scales is 656 B per token and layer, 15,744 B per token. */
START_TEST(types_of_k3)
{
    struct model_sizes bf16 = sizes_of("kimi-k3", "snapshot-dtype=bf16");
    struct model_sizes int8 = sizes_of("kimi-k3", "snapshot-dtype=int8");
    ck_assert_uint_eq(bf16.state_bytes, 449372160);
    ck_assert_uint_eq(bf16.snapshot_bytes, 232316928);
    ck_assert_uint_eq(int8.snapshot_bytes, 69ull * (96 * 128 * (128 + 4) + 221184));
    struct model_sizes scaled = sizes_of("kimi-k3", "kv-dtype=fp8-scaled");
    ck_assert_uint_eq(scaled.kv_bytes_per_token_per_layer, 656);
    ck_assert_uint_eq(scaled.kv_bytes_per_token, 15744);
    struct model_sizes wide = sizes_of("kimi-k3", "state-dtype=bf16,snapshot-dtype=fp32");
    ck_assert_uint_eq(wide.state_bytes, 232316928);
    ck_assert_uint_eq(wide.snapshot_bytes, 449372160);
}
END_TEST

/* models-and-kernels.md 2.1 and serving-systems.md 2.3. */
static const struct page_row {
    const char *name, *settings;
    uint64_t align, tokens;
} page_rows[] = {
    {"kimi-k3", "tp=8,kv-dtype=fp8", 128, 1536},
    {"kimi-k3", "tp=8", 128, 768},
    {"kimi-k3", "tp=16", 128, 384},
    {"kimi-k3", "tp=8,dcp=8,kv-dtype=fp8", 128, 12288}, /* the scheduler's block, 8 x 1,536 */
    {"kimi-k3", "", 1024, 6144},                        /* papers.md 4.1: 5,653, rounded up */
    {"kimi-k3", "tp=8", 1024, 1024},                    /* the same: 707 */
    {"qwen3.5-4b", "", 16, 528},
    {"qwen3.5-27b", "", 16, 784},
    {"qwen3.5-27b", "kv-dtype=fp8", 16, 1568},
    {"kimi-linear-48b", "", 16, 1888},
    {"kimi-linear-48b", "", 64, 1920},
    {"kimi-linear-48b", "", 128, 1920},
    {"nemotron3-nano", "", 16, 2096}, /* reported for Nemotron-3.5-Lightning, of the same shape */
    {"nemotron3-nano", "kv-dtype=fp8", 128, 4224}, /* reported for Nemotron-3-Nano at TP1 */
    {"llama-3.1-8b", "", 16, 16}};

START_TEST(page_tokens)
{
    const struct page_row *row = &page_rows[_i];
    struct model_sizes sizes = sizes_of(row->name, row->settings);
    ck_assert_uint_eq(model_page_tokens(&sizes, row->align), row->tokens);
    ck_assert_uint_eq(model_default_align(preset("kimi-k3")), 128);
    ck_assert_uint_eq(model_default_align(preset("qwen3.5-4b")), 16);
}
END_TEST

/* GQA heads are divided down to one per GPU, then copied, and copies may share tokens by dcp. */
START_TEST(gqa_sharding)
{
    ck_assert_uint_eq(sizes_of("llama-3.1-8b", "tp=8").kv_bytes_per_token, 131072 / 8);
    ck_assert_uint_eq(sizes_of("llama-3.1-8b", "tp=16").kv_bytes_per_token, 131072 / 8);
    ck_assert_uint_eq(sizes_of("llama-3.1-8b", "tp=16,dcp=2").kv_bytes_per_token, 131072 / 16);
    ck_assert_uint_eq(sizes_of("qwen3.5-35b", "tp=8").kv_bytes_per_token, 20480 / 2);
    ck_assert_uint_eq(sizes_of("qwen3.5-35b", "tp=8").state_bytes, 64389120 / 8);
    /* one group of Mamba2 is copied: (8192/8 + 2*128) channels, three rows of two bytes */
    ck_assert_uint_eq(sizes_of("granite-4-h-small", "tp=8").state_bytes_per_layer,
                      4194304 / 8 + 3 * (8192 / 8 + 256) * 2);
}
END_TEST

static const struct bad_sharding {
    const char *name, *settings, *message;
} bad_shardings[] = {
    {"kimi-k3", "tp=5", "tp: 5 does not divide the 96 heads of the kda layers"},
    {"qwen3.5-27b", "tp=32", "tp: 32 does not divide the 48 heads of the gdn layers"},
    {"qwen3.5-27b", "tp=24", "tp: 24 does not divide the 16 key heads of the gdn layers"},
    {"falcon-h1-34b", "tp=8", "tp: 8 does not divide the 20 heads of the gqa layers"},
    {"kimi-k3", "tp=8,dcp=3", "dcp: 3 does not divide tp 8"},
    {"llama-3.1-8b", "tp=8,dcp=2",
     "dcp: 2 GPUs cannot share tokens: at tp 8 the KV of the gqa layers exists 1 time"},
    {"kimi-k3", "tp=32,dcp=32,kv-dtype=fp8-scaled",
     "dcp: 32 does not divide the 656 KV bytes of a token"},
    {"llama-3.1-8b", "kv-dtype=fp8-scaled",
     "kv-dtype: fp8-scaled is a layout for MLA, the model has gqa layers"},
};

START_TEST(sharding_errors)
{
    const struct bad_sharding *bad = &bad_shardings[_i];
    struct sharding sharding = sharding_of(bad->settings);
    struct model_sizes sizes;
    struct err err = {""};
    ck_assert_int_eq(model_sizes(preset(bad->name), &sharding, &sizes, &err), -1);
    ck_assert_str_eq(err.text, bad->message);
}
END_TEST

/* papers.md 10: a context of 256K (262,144 tokens) takes 2.11 and 7.25 GB of KV. 92 requests of
 * Kimi Linear fit in 200 GB; for K3 the page says 26 (bf16) and 49 (fp8), which leaves out the
 * convolution windows (15.3 MB): with them 25.98, so 25. */
START_TEST(requests_in_memory)
{
    struct model_sizes small = sizes_of("kimi-linear-48b", ""), large = sizes_of("kimi-k3", "");
    uint64_t small_kv = 262144 * small.kv_bytes_per_token,
             large_kv = 262144 * large.kv_bytes_per_token;
    ck_assert_uint_eq((small_kv + 5000000) / 10000000, 211);
    ck_assert_uint_eq((large_kv + 5000000) / 10000000, 725);
    ck_assert_uint_eq(200000000000 / (small_kv + small.state_bytes), 92);
    ck_assert_uint_eq(200000000000 / (large_kv + large.state_bytes), 25);
    ck_assert_uint_eq(200000000000 / (large_kv + large.state_bytes - 69ull * 221184), 26);
    uint64_t fp8_kv = 262144 * sizes_of("kimi-k3", "kv-dtype=fp8").kv_bytes_per_token;
    ck_assert_uint_eq(200000000000 / (fp8_kv + large.state_bytes), 49);
}
END_TEST

/* models-and-kernels.md 1.1, the parameter check. */
START_TEST(parameters_of_k3)
{
    const struct model *k3 = preset("kimi-k3");
    ck_assert_uint_eq(flops_layer_parameters(k3, group_of(k3, "kda")), 443727872);
    ck_assert_uint_eq(flops_layer_parameters(k3, group_of(k3, "mla")), 232194048);
    ck_assert_uint_eq(flops_layer_parameters(k3, group_of(k3, "moe")),
                      33030144ull * 896 + 132120576 + 51380224 + 6422528);
    ck_assert_uint_eq((flops_parameters(k3) + 50000000) / 100000000, 27795);
    ck_assert_uint_eq((flops_active_parameters(k3) + 5000000) / 10000000, 10418);
}
END_TEST

/* Weights in 1e9 as vendors name their models, in the order of rows[], and how far off (in 1/1000)
 * such a rounded name may be. */
static const double named_sizes[ROW_COUNT][2] = {
    {2780, 1}, {49.1, 10}, {80, 5},   {4, 60},   {27, 20},   {35, 20},   {122, 10}, {397, 10},
    {56, 20},  {31.6, 5},  {120, 10}, {550, 30}, {456, 10},  {1000, 30}, {52, 20},  {398, 10},
    {32, 20},  {34, 20},   {321, 30}, {671, 2},  {1030, 10}, {8, 10}};

START_TEST(parameters_of_presets)
{
    double found = (double)flops_parameters(preset(rows[_i].name)) / 1e9;
    double named = named_sizes[_i][0], tolerance = named_sizes[_i][1] / 1000;
    ck_assert_msg(fabs(found - named) <= tolerance * named, "%s: %.1fe9 weights, not %.1fe9",
                  rows[_i].name, found, named);
}
END_TEST

/* Counted weights that were published, of which we leave out norms and biases only: Llama-3.1-8B
 * has 8,030,261,248 with 65 norms of 4,096; Qwen3-Coder-Next, of Qwen3-Next's shape, has
 * 79,674,391,296 and 3,874,929,408 active with the input embedding; Nemotron-3-Super
 * 123,611,012,096 with 2,942,324,736 of the MTP head, and 12,770,216,960 active. */
START_TEST(parameters_exactly)
{
    const struct model *next = preset("qwen3-next-80b"), *super = preset("nemotron3-super");
    uint64_t next_embedding = next->vocab * next->hidden_dim;
    uint64_t super_embedding = super->vocab * super->hidden_dim;
    ck_assert_uint_eq(flops_parameters(preset("llama-3.1-8b")), 8030261248 - 65 * 4096);
    ck_assert_double_eq_tol((double)flops_parameters(next) / 79674391296., 1, 2e-5);
    ck_assert_double_eq_tol((double)flops_parameters(super) / 120668687360., 1, 2e-5);
    ck_assert_double_eq_tol((double)(flops_active_parameters(next) + next_embedding) / 3874929408.,
                            1, 1e-4);
    ck_assert_double_eq_tol(
        (double)(flops_active_parameters(super) + super_embedding) / 12770216960., 1, 1e-4);
}
END_TEST

/* models-and-kernels.md 3.1. */
START_TEST(flops_of_kda)
{
    const struct model *k3 = preset("kimi-k3");
    const struct layer_group *kda = group_of(k3, "kda");
    ck_assert_uint_eq(flops_projection(k3, kda) / 1000000, 887);
    ck_assert_uint_eq(flops_recurrent_chunk(k3, kda, 64), 96ull * 126976);
    ck_assert_uint_eq(flops_recurrent_decode(k3, kda), 96ull * 7 * 128 * 128);
}
END_TEST

/* 3.2. */
START_TEST(flops_of_mla)
{
    const struct model *k3 = preset("kimi-k3");
    const struct layer_group *mla = group_of(k3, "mla");
    ck_assert_uint_eq(flops_projection(k3, mla) / 1000000, 464);
    ck_assert_uint_eq(24 * flops_pair(mla), 24ull * 2 * 96 * 320);           /* 1.475 MFLOP */
    ck_assert_uint_eq(24 * flops_pair_absorbed(mla), 24ull * 2 * 96 * 1088); /* 5.01 MFLOP */
    ck_assert_uint_eq(flops_expansion(mla), 2ull * 512 * 256 * 96);
    ck_assert_uint_eq((24 * flops_expansion(mla) + 500000) / 1000000, 604);
    ck_assert_uint_eq(flops_absorbed_below(mla), 171);
    double pair = 24. * (double)flops_pair(mla);
    ck_assert_double_eq_tol(pair * flops_pairs(8192, 0), 49.5e12, 0.05e12);
    ck_assert_double_eq_tol(pair * flops_pairs(8192, 131072), 1633e12, 0.5e12);
    /* the cheaper form: expanded for a long suffix, absorbed for a short one */
    ck_assert_double_eq_tol(flops_attention(k3, 8192, 131072),
                            pair * flops_pairs(8192, 131072) + 24. * 25165824. * 131072, 1e6);
    ck_assert_double_eq_tol(flops_attention(k3, 64, 131072),
                            24. * 2 * 96 * 1088 * (64. * 131072 + 64 * 65 / 2), 1e6);
}
END_TEST

/* 3.3: in MFLOP 1,057, 264, 103 and 13 per layer; 209 GFLOP per token with the head. */
START_TEST(flops_of_moe_and_prefill)
{
    const struct model *k3 = preset("kimi-k3");
    const struct layer_group *moe = group_of(k3, "moe");
    struct flops_moe parts = flops_moe(k3, moe);
    ck_assert_uint_eq((parts.routed + 500000) / 1000000, 1057);
    ck_assert_uint_eq((parts.shared + 500000) / 1000000, 264);
    ck_assert_uint_eq((parts.latent + 500000) / 1000000, 103);
    ck_assert_uint_eq((parts.router + 500000) / 1000000, 13);
    ck_assert_uint_eq(parts.routed, 6ull * 16 * 3584 * 3072);
    ck_assert_uint_eq(parts.latent, 4ull * 7168 * 3584);
    ck_assert_uint_eq(parts.routed + parts.shared + parts.latent + parts.router,
                      flops_projection(k3, moe));
    ck_assert_double_eq_tol(92. * (double)flops_projection(k3, moe), 132.2e9, 0.05e9);
    ck_assert_double_eq_tol((double)flops_head(k3), 2.35e9, 0.005e9);
    ck_assert_double_eq_tol((double)(flops_token(k3, 64) + flops_head(k3)), 209e9, 0.5e9);
    static const double touched[][2] = {{1, 16}, {8, 120}, {32, 393}, {64, 613}, {256, 887}};
    for (int i = 0; i < COUNT(touched); i++)
        ck_assert_double_eq_tol(flops_experts_touched(moe, (uint64_t)touched[i][0]), touched[i][1],
                                0.51);
    double whole = flops_prefill(k3, 8192, 0, 64);
    double tokens = 8192. * (double)flops_token(k3, 64) + flops_attention(k3, 8192, 0);
    ck_assert_double_eq_tol(whole - tokens, 2. * 163840 * 7168, 1e7);
}
END_TEST

/* papers.md 1.2, by hand for L = 1,000, D = 4,096, N = 128. */
START_TEST(flops_of_marconi)
{
    double l = 1000, d = 4096, n = 128;
    double attention = 8 * l * d * d + 4 * l * l * d, mlp = 16 * l * d * d;
    double ssm = 12 * l * d * d + 16 * l * d * n + 10 * l * d;
    const struct model *model = preset("marconi-7b");
    ck_assert_double_eq_tol(flops_marconi(model, 1000), 4 * attention + 24 * ssm + 28 * mlp, 1e3);
    /* the general count agrees where it must: projections and the state-space part */
    ck_assert_double_eq_tol(1000. * (double)flops_token(model, 64),
                            4 * 8 * l * d * d + 24 * ssm + 28 * mlp, 1e3);
}
END_TEST

START_TEST(names)
{
    struct model model;
    struct err err = {""};
    ck_assert_int_eq(presets_find(&model, "kimi-k33", &err), -1);
    ck_assert_str_eq(err.text, "unknown model 'kimi-k33' (did you mean 'kimi-k3'?)");
    ck_assert_int_eq(presets_find(&model, "zzzzzzzzzz", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, " kimi-k3 "));
    ck_assert_int_eq(presets_find(&model, PRESETS_DEFAULT, &err), 0);
    ck_assert_int_eq(model_load(&model, "llama-3.1-8b", &err), 0);
    ck_assert_str_eq(model.name, "llama-3.1-8b");
    ck_assert_int_eq(model_load(&model, "./no-such-file.json", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "./no-such-file.json"));
}
END_TEST

static void print_model(const struct model *model, bool wrapped, struct text *out)
{
    struct json *top = json_new_object();
    model_to_json(model, wrapped ? json_add_object(top, "model") : top);
    if (wrapped)
        json_add_u64(json_add_object(top, "sizes"), "snapshot_bytes", 1);
    json_print(top, true, out);
    json_close(top);
}

static char scratch[64];

static void make_scratch(void)
{
    strcpy(scratch, "/tmp/test_model.XXXXXX");
    int file = mkstemp(scratch);
    ck_assert_int_ge(file, 0);
    close(file);
}

static void drop_scratch(void)
{
    remove(scratch);
}

/* Every preset, bare and as `model show` prints it: the same text, bytes and work afterwards. */
START_TEST(round_trip)
{
    struct model preset;
    const struct model *model = &preset;
    ck_assert(presets_at((size_t)_i / 2, &preset));
    struct text first = {0}, second = {0}, bare = {0};
    struct model read;
    struct err err = {""};
    print_model(model, _i % 2 == 1, &first);
    print_model(model, false, &bare);
    ck_assert_int_eq(text_write_file(scratch, first.data, first.length, &err), 0);
    int failed = model_read_file(&read, scratch, &err);
    ck_assert_msg(!failed, "%s", err.text);
    print_model(&read, false, &second);
    ck_assert_str_eq(second.data, bare.data);
    ck_assert_str_eq(read.source, model->source);
    struct sharding sharding = sharding_of("");
    struct model_sizes before, after;
    ck_assert_int_eq(model_sizes(model, &sharding, &before, &err), 0);
    ck_assert_int_eq(model_sizes(&read, &sharding, &after, &err), 0);
    ck_assert_uint_eq(before.snapshot_bytes, after.snapshot_bytes);
    ck_assert_uint_eq(before.kv_bytes_per_token, after.kv_bytes_per_token);
    ck_assert_double_eq(flops_prefill(model, 4096, 8192, 64), flops_prefill(&read, 4096, 8192, 64));
    text_close(&first);
    text_close(&second);
    text_close(&bare);
}
END_TEST

/* Writes text to the scratch file, with ` turned into a quote. */
static void write_scratch(const char *source)
{
    struct err err = {""};
    struct text text = {0};
    text_printf(&text, "%s", source);
    for (size_t i = 0; i < text.length; i++)
        text.data[i] = (char)(text.data[i] == '`' ? '"' : text.data[i]);
    ck_assert_int_eq(text_write_file(scratch, text.data, text.length, &err), 0);
    text_close(&text);
}

#define HEAD "{\n`name`: `m`,\n`hidden_dim`: 64,\n`vocab`: 100,\n"
#define LAYERS HEAD "`layers`: [\n"
#define GQA_LAYER "{`kind`: `gqa`, `count`: 2, `heads`: 4, `kv_heads`: 2, `head_dim`: 16"

/* What a user may get wrong, and the line and the words they are told. ` stands for a quote. */
static const struct bad_file {
    const char *source, *message;
} bad_files[] = {
    {LAYERS GQA_LAYER ",\n`kv_head`: 2}]}", ":7: unknown key 'kv_head' (did you mean 'kv_heads'?)"},
    {LAYERS "{`kind`: `gqa`, `count`: 2,\n`heads`: 4, `head_dim`: 16}]}",
     ":6: key 'kv_heads' is missing (key and value heads)"},
    {LAYERS "{`count`: 2,\n`kind`: `gqq`}]}", ":7: kind: unknown kind 'gqq' (did you mean 'gqa'?)"},
    {LAYERS "{`count`: 2}]}", ":6: kind: a kind of layer was expected, such as \"kda\" or \"mla\""},
    {LAYERS "{`kind`: `dense`,\n`count`: 0, `inner_dim`: 4}]}",
     ":7: count: a whole number from 1 to 1024 was expected, found '0'"},
    {LAYERS "{`kind`: `dense`,\n`count`: `2`, `inner_dim`: 4}]}",
     ":7: count: a number was expected"},
    {LAYERS "{`kind`: `dense`, `count`: 2,\n`inner_dim`: 2.5}]}",
     ":7: inner_dim: a whole number from 1 to 1048576 was expected, found '2.5'"},
    {LAYERS GQA_LAYER ",\n`output_gate`: 1}]}", ":7: output_gate: true or false was expected"},
    {LAYERS GQA_LAYER ",\n`heads`: 5}]}", ":7: key 'heads' appears twice"},
    {HEAD "`layers`: 5}", ":5: layers: a list of groups of layers was expected"},
    {HEAD "`layers`: [5]}", ":5: layers: an object per group of layers was expected"},
    {LAYERS "]}", ":5: layers: a recurrent or an attention layer was expected, found none"},
    {LAYERS "{`kind`: `gqa`, `count`: 2, `heads`: 3, `kv_heads`: 2, `head_dim`: 16}]}",
     ":5: gqa: kv_heads (2) must divide heads (3)"},
    {HEAD "`state_dtype`: 16}", ":5: state_dtype: fp32 or bf16 was expected"},
    {HEAD "`state_dtype`: `model`}", ":5: state_dtype: fp32 or bf16 was expected, found 'model'"},
    {HEAD "`hidden`: 3}", ":5: unknown key 'hidden' (did you mean 'hidden_dim'?)"},
    {"{\n`vocab`: 3}", ":2: key 'hidden_dim' is missing (width of the residual stream)"},
    {"{\n`name`: `0123456789012345678901234567890123456789012345678901234567890123`}",
     ":2: name: a text of at most 63 bytes was expected"},
    {"{\n`name`: 7}", ":2: name: a text of at most 63 bytes was expected"},
    {"{\n`schema`: 2}", ":2: schema: 1 was expected"},
    {"{\n`model`: {},\n`other`: 1}", ":3: unknown key 'other'"},
    {"[]", ":1: an object that describes a model was expected"},
    {"{\n`name`: `m`,", ":2: JSON was expected, found 'end of file'"},
};

START_TEST(bad_model_files)
{
    const struct bad_file *bad = &bad_files[_i];
    struct model model;
    struct err err = {""};
    struct text wanted = {0};
    text_printf(&wanted, "%s%s", scratch, bad->message);
    write_scratch(bad->source);
    ck_assert_int_eq(model_read_file(&model, scratch, &err), -1);
    ck_assert_str_eq(err.text, wanted.data);
    text_close(&wanted);
}
END_TEST

/* A user's own file, with defaults left out. */
START_TEST(good_model_file)
{
    struct model model;
    struct model_sizes sizes;
    struct sharding sharding = sharding_of("tp=2");
    struct err err = {""};
    write_scratch(LAYERS GQA_LAYER "}, {`kind`: `kda`, `count`: 3, `heads`: 2,"
                                   "`key_dim`: 8, `value_dim`: 16}]}");
    int failed = model_read_file(&model, scratch, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_int_eq(model_sizes(&model, &sharding, &sizes, &err), 0);
    ck_assert_uint_eq(sizes.kv_bytes_per_token, 2 * 2 * 1 * 16 * 2);
    ck_assert_uint_eq(sizes.state_bytes, 3 * (1 * 8 * 16 * 4 + 3 * (2 * 8 + 16) * 2));
}
END_TEST

static Suite *model_suite(void)
{
    Suite *suite = suite_create("model");
    TCase *bytes = tcase_create("bytes"), *work = tcase_create("work"),
          *file = tcase_create("file");
    tcase_add_loop_test(bytes, published_table, 0, ROW_COUNT);
    tcase_add_test(bytes, every_preset_is_checked);
    tcase_add_loop_test(bytes, sharding_of_k3, 0, COUNT(shard_rows));
    tcase_add_test(bytes, marconi_bytes);
    tcase_add_test(bytes, types_of_k3);
    tcase_add_loop_test(bytes, page_tokens, 0, COUNT(page_rows));
    tcase_add_test(bytes, gqa_sharding);
    tcase_add_loop_test(bytes, sharding_errors, 0, COUNT(bad_shardings));
    tcase_add_test(bytes, requests_in_memory);
    tcase_add_test(work, parameters_of_k3);
    tcase_add_loop_test(work, parameters_of_presets, 0, ROW_COUNT);
    tcase_add_test(work, parameters_exactly);
    tcase_add_test(work, flops_of_kda);
    tcase_add_test(work, flops_of_mla);
    tcase_add_test(work, flops_of_moe_and_prefill);
    tcase_add_test(work, flops_of_marconi);
    tcase_add_checked_fixture(file, make_scratch, drop_scratch);
    tcase_add_test(file, names);
    tcase_add_loop_test(file, round_trip, 0, 2 * (ROW_COUNT + 8));
    tcase_add_loop_test(file, bad_model_files, 0, COUNT(bad_files));
    tcase_add_test(file, good_model_file);
    suite_add_tcase(suite, bytes);
    suite_add_tcase(suite, work);
    suite_add_tcase(suite, file);
    return suite;
}

int main(void)
{
    return suite_run(model_suite());
}
