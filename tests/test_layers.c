/* test_layers.c - kinds of layers, types of values and stages: bytes and work by hand.
 *
 * Expected numbers are arithmetic on the geometry, written out, or stand in a public report that is
 * named beside them; none comes from running this code. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost.h"
#include "sim/model/flops.h"
#include "sim/model/kind.h"
#include "sim/model/model.h"
#include "sim/model/presets.h"
#include "tests/inputs.h"
#include "tests/suite.h"

#define ROWS(array) ((int)(sizeof(array) / sizeof *(array)))

static struct sharding sharding_of(const char *settings)
{
    struct sharding sharding;
    struct err err = {""};
    param_defaults(sharding_params, &sharding);
    int failed = param_parse_list(sharding_params, &sharding, settings, "sharding", &err);
    ck_assert_msg(!failed, "%s", err.text);
    return sharding;
}

static struct model_sizes sizes_of(const struct model *model, const char *settings)
{
    struct sharding sharding = sharding_of(settings);
    struct model_sizes sizes;
    struct err err = {""};
    int failed = model_sizes(model, &sharding, &sizes, &err);
    ck_assert_msg(!failed, "%s %s: %s", model->name, settings, err.text);
    return sizes;
}

/* A model from JSON with ' for ". */
static int read_text(const char *text, struct model *out, struct err *err)
{
    struct json_document document;
    char *source = input_unquote(text);
    int result = json_open_text(&document, "m.json", source, err);
    free(source);
    if (result != 0)
        return -1;
    result = model_read_json(out, &document, document.top, err);
    json_close_document(&document);
    return result;
}

static struct model model_of(const char *text)
{
    struct model model;
    struct err err = {""};
    ck_assert_msg(read_text(text, &model, &err) == 0, "%s", err.text);
    return model;
}

#define MODEL(layers) "{'name':'m','hidden_dim':2048,'vocab':65536,'layers':[" layers "]}"
#define DENSE_LAYER "{'kind':'dense','count':1,'inner_dim':4}"

/* Presets whose layers differ from those of the published table. State and KV bytes: arithmetic;
 * weights in 1e9: as published, which confirms the rest of the geometry. */
static const struct row {
    const char *name;
    uint64_t with_state, with_kv, state, kv;
    double weights, active; /* 0: as many */
} rows[] = {
    /* windows of 2 inputs of 2,048 channels in bf16; 2 x 8 x 64 values per token and layer */
    {"lfm2-1.2b", 10, 6, 10 * 2 * 2048 * 2, 6 * 2 * 8 * 64 * 2, 1.17, 1.17},
    {"lfm2-8b-a1b", 18, 6, 18 * 2 * 2048 * 2, 6 * 2 * 8 * 64 * 2, 8.34, 1.56},
    /* 128 tokens with 8 keys of 192 and 8 values of 128; all tokens with 4 of each */
    {"mimo-v2-flash", 39, 9, 39 * 128 * 8 * (192 + 128) * 2, 9 * 4 * (192 + 128) * 2, 309, 15},
    {"gpt-oss-20b", 12, 12, 12 * 128 * 2 * 8 * 64 * 2, 12 * 2 * 8 * 64 * 2, 20.91, 3.61},
    {"gpt-oss-120b", 18, 18, 18 * 128 * 2 * 8 * 64 * 2, 18 * 2 * 8 * 64 * 2, 116.83, 5.13},
    {"codestral-mamba-7b", 64, 0, 64 * (128 * 64 * 128 * 4 + 3 * (8192 + 2 * 8 * 128) * 2), 0,
     7.285, 0},
    {"nemotron-nano-9b", 27, 4, 27 * (128 * 80 * 128 * 4 + 3 * (10240 + 2 * 8 * 128) * 2),
     4 * 2 * 8 * 128 * 2, 8.89, 0},
};

START_TEST(presets)
{
    const struct row *row = &rows[_i];
    const struct model *model = input_preset(row->name);
    struct model_sizes sizes = sizes_of(model, "");
    ck_assert_uint_eq(sizes.recurrent_layers, row->with_state);
    ck_assert_uint_eq(sizes.attention_layers, row->with_kv);
    ck_assert_uint_eq(sizes.state_bytes, row->state);
    ck_assert_uint_eq(sizes.snapshot_bytes, row->state);
    ck_assert_uint_eq(sizes.kv_bytes_per_token, row->kv);
    ck_assert_double_eq_tol((double)flops_parameters(model) / 1e9 / row->weights, 1, 2e-3);
    if (row->active > 0)
        ck_assert_double_eq_tol((double)flops_active_parameters(model) / 1e9 / row->active, 1,
                                1.5e-2);
}
END_TEST

/* lmstudio-bug-tracker 1862: Qwen3.6-27B in llama.cpp, which keeps the window in fp32. KV of
 * 262,144 tokens is 16,384 MiB; four states are 598.50 MiB. */
START_TEST(llama_cpp_window)
{
    struct model_sizes sizes = sizes_of(input_preset("qwen3.6-27b"), "conv-dtype=fp32");
    ck_assert_uint_eq(262144 * sizes.kv_bytes_per_token, 16384ull << 20);
    ck_assert_double_eq(4 * (double)sizes.state_bytes / (1 << 20), 598.5);
    ck_assert_uint_eq(sizes.snapshot_bytes, sizes.state_bytes);
    /* LFM2: 10 layers of 2 x 2,048 fp32 */
    ck_assert_uint_eq(sizes_of(input_preset("lfm2-1.2b"), "conv-dtype=fp32").state_bytes,
                      10 * 2 * 2048 * 4);
    /* keys and values in a sliding window have the type of KV, not of the convolution */
    ck_assert_uint_eq(sizes_of(input_preset("gpt-oss-20b"), "conv-dtype=fp32").state_bytes,
                      12 * 128 * 2 * 8 * 64 * 2);
}
END_TEST

/* Blocks: q8_0 is 34 bytes for 32 values, q4_0 18, int4 half a byte for each. */
static const struct type_row {
    const char *name, *settings;
    uint64_t kv;
} type_rows[] = {
    {"qwen3.5-27b", "kv-dtype=q8_0", 16 * 2 * 4 * 256 / 32 * 34},
    {"qwen3.5-27b", "kv-dtype=q4_0", 16 * 2 * 4 * 256 / 32 * 18},
    {"qwen3.5-27b", "kv-dtype=int4", 16 * 2 * 4 * 256 / 2},
    {"qwen3.5-27b", "kv-dtype=q8_0,tp=2", 16 * 2 * 2 * 256 / 32 * 34},
    {"kimi-k3", "kv-dtype=q8_0", 24 * (576 / 32 * 34)}, /* the latent is one vector */
    {"kimi-k3", "kv-dtype=int4,tp=8,dcp=8", 24 * 576 / 2 / 8},
};

START_TEST(kv_types)
{
    const struct type_row *row = &type_rows[_i];
    ck_assert_uint_eq(sizes_of(input_preset(row->name), row->settings).kv_bytes_per_token, row->kv);
}
END_TEST

/* Vectors that no whole number of blocks holds are rounded up, each by itself: a head's key of 40
 * and value of 33 values are 2 blocks each, and of 4 bits 20 and 17 bytes. */
START_TEST(part_blocks)
{
    struct model model = model_of(
        MODEL("{'kind':'gqa','count':1,'heads':6,'kv_heads':3,'head_dim':40,'value_dim':33}"));
    ck_assert_uint_eq(sizes_of(&model, "").kv_bytes_per_token, 3 * (40 + 33) * 2);
    ck_assert_uint_eq(sizes_of(&model, "kv-dtype=q8_0").kv_bytes_per_token, 3 * (2 + 2) * 34);
    ck_assert_uint_eq(sizes_of(&model, "kv-dtype=int4").kv_bytes_per_token, 3 * (20 + 17));
    /* weights: queries 6 x 40, output 6 x 33, keys and values 3 x (40 + 33), per hidden value */
    ck_assert_uint_eq(flops_layer_parameters(&model, &model.groups[0]),
                      2048 * (6 * 40 + 6 * 33 + 3 * 73));
    ck_assert_uint_eq(flops_pair(&model.groups[0]), 2 * 6 * 73);
}
END_TEST

/* A window divides by tp as KV does, down to one head, and has the type of KV; dcp leaves it. */
START_TEST(sliding_window)
{
    struct model model =
        model_of(MODEL("{'kind':'swa','count':5,'heads':16,'kv_heads':4,'head_dim':64,"
                       "'window':1024},{'kind':'gqa','count':1,'heads':16,'kv_heads':1,"
                       "'head_dim':64}"));
    ck_assert_uint_eq(sizes_of(&model, "").state_bytes, 5 * 1024 * 2 * 4 * 64 * 2);
    ck_assert_uint_eq(sizes_of(&model, "").kv_bytes_per_token, 2 * 64 * 2);
    ck_assert_uint_eq(sizes_of(&model, "tp=2,kv-dtype=fp8").state_bytes, 5 * 1024 * 2 * 2 * 64);
    ck_assert_uint_eq(sizes_of(&model, "tp=8").state_bytes, 5 * 1024 * 2 * 1 * 64 * 2);
    ck_assert_uint_eq(sizes_of(&model, "tp=8,dcp=8").state_bytes, 5 * 1024 * 2 * 1 * 64 * 2);
    ck_assert_uint_eq(sizes_of(&model, "tp=8,dcp=8").kv_bytes_per_token, 2 * 64 * 2 / 8);
    ck_assert_uint_eq(sizes_of(&model, "snapshot-dtype=int8").snapshot_bytes,
                      5 * 1024 * 2 * 4 * 64 * 2);
}
END_TEST

/* Pairs of a query and a key, counted one by one. */
START_TEST(window_pairs)
{
    static const uint64_t cases[][3] = {{5, 0, 3},  {5, 2, 3},   {5, 9, 3},  {1, 0, 1},
                                        {2, 0, 10}, {7, 100, 0}, {4, 8, 10}, {0, 5, 3}};
    for (int i = 0; i < ROWS(cases); i++) {
        uint64_t pairs = 0;
        for (uint64_t token = 0; token < cases[i][0]; token++) {
            uint64_t seen = cases[i][1] + token + 1;
            pairs += cases[i][2] > 0 && seen > cases[i][2] ? cases[i][2] : seen;
        }
        ck_assert_double_eq(flops_window_pairs(cases[i][0], cases[i][1], cases[i][2]),
                            (double)pairs);
    }
}
END_TEST

/* A window's attention costs as full attention until it is full, then no more; its decode reads the
 * window. gqa_prefill of h200: 40 + 0.35 H + flops / 608; gqa_decode 20 + 0.03 + bytes / 4.35. */
START_TEST(window_costs)
{
    struct calibration calib = input_calib("h200");
    const struct model *model = input_preset("gpt-oss-20b");
    const struct layer_group *window = &model->groups[0], *full = &model->groups[1];
    struct sharding sharding = sharding_of("");
    struct cost cost;
    struct err err = {""};
    ck_assert_int_eq(cost_open(&cost, &calib, model, &sharding, COST_KDA_FLASH, &err), 0);
    struct cost_work brief = {1, 100, 20}, many = {1, 8192, 0};
    ck_assert_uint_eq(cost_attention_prefill(&cost, window, &brief, NULL),
                      cost_attention_prefill(&cost, full, &brief, NULL));
    double pairs = 128 * 129 / 2 + (8192 - 128) * 128.;
    double us = 40 + 0.35 * 64 + 2 * 64 * 128 * pairs / 608e6;
    ck_assert_double_eq_tol((double)cost_attention_prefill(&cost, window, &many, NULL) / 1e3, us,
                            1e-3);
    double bytes = 128 * 2048. + 2 * 64 * 128; /* the window, and a token's heads in and out */
    ck_assert_double_eq_tol((double)cost_attention_decode(&cost, window, 1, 100000) / 1e3,
                            20 + 0.03 + bytes / 4.35e6, 1e-3);
    ck_assert_uint_eq(cost_recurrent_prefill(&cost, window, &many), 0);
    ck_assert_uint_eq(cost_conv_prefill(&cost, window, &many), 0);
    calib_close(&calib);
}
END_TEST

/* A short convolution has no recurrence: 10 + 0.000587 us per token and 384 channels. Its weights:
 * three projections in and one out, three taps. */
START_TEST(short_convolution)
{
    struct calibration calib = input_calib("h200");
    const struct model *model = input_preset("lfm2-1.2b");
    const struct layer_group *conv = &model->groups[0];
    struct sharding sharding = sharding_of("tp=4");
    struct cost cost;
    struct err err = {""};
    ck_assert_int_eq(cost_open(&cost, &calib, model, &sharding, COST_KDA_FLASH, &err), 0);
    struct cost_work work = {1, 4096, 0};
    ck_assert_uint_eq(cost_recurrent_prefill(&cost, conv, &work), 0);
    ck_assert_uint_eq(cost_recurrent_decode(&cost, conv, 8), 0);
    ck_assert_double_eq_tol((double)cost_conv_prefill(&cost, conv, &work) / 1e3,
                            10 + 0.000587 * 4096 * 512 / 384, 1e-3);
    ck_assert_uint_eq(flops_layer_parameters(model, conv), 4 * 2048 * 2048 + 3 * 2048);
    ck_assert_uint_eq(flops_recurrent_chunk(model, conv, 64), 0);
    ck_assert_uint_eq(sizes_of(model, "tp=4").state_bytes, 10 * 2 * 512 * 2);
    calib_close(&calib);
}
END_TEST

/* sglang 33666: K3 has 93 layers, 69 of them recurrent; a slot at pp 8 is charged for the stage
 * that has the most. Stages have 12, 12, 12, 12, 12, 11, 11 and 11 layers; full attention is every
 * fourth, and the last: 9 recurrent ones in each of the first five, and in 61-71; 84, 88, 92 and 93
 * are attention, in the last. So a pool that had 26 slots with all 69 has 26 x 69 / 9 = 199. */
START_TEST(stages_of_k3)
{
    const struct model *k3 = input_preset("kimi-k3");
    struct model_sizes sizes = sizes_of(k3, "pp=8"), whole = sizes_of(k3, "");
    ck_assert_uint_eq(sizes.recurrent_layers, 9);
    ck_assert_uint_eq(sizes.attention_layers, 4);
    ck_assert_uint_eq(sizes.snapshot_bytes, 9 * 6512640);
    ck_assert_uint_eq(sizes.kv_bytes_per_token, 4 * 1152);
    ck_assert_uint_eq(26 * whole.snapshot_bytes / sizes.snapshot_bytes, 199);
    /* three stages of 31: attention at 4..28, at 32..60, at 64..92 and 93 */
    ck_assert_uint_eq(sizes_of(k3, "pp=3").attention_layers, 9);
    ck_assert_uint_eq(sizes_of(k3, "pp=3").recurrent_layers, 24);
    ck_assert_uint_eq(sizes_of(k3, "pp=93").recurrent_layers, 1);
    ck_assert_uint_eq(sizes_of(k3, "pp=8,tp=8").state_bytes_per_layer, 814080);
}
END_TEST

/* A model that does not say where its layers are has them spread evenly: 1/pp of each, rounded up.
 */
START_TEST(stages_spread_evenly)
{
    const struct model *model = input_preset("nemotron3-super");
    ck_assert_str_eq(model->attention_at, "");
    ck_assert_uint_eq(sizes_of(model, "pp=3").recurrent_layers, 14); /* of 40 */
    ck_assert_uint_eq(sizes_of(model, "pp=3").attention_layers, 3);  /* of 8 */
    ck_assert_uint_eq(sizes_of(model, "pp=3").kv_bytes_per_token, 3 * 1024);
    struct sharding sharding = sharding_of("pp=49");
    struct model_sizes sizes;
    struct err err = {""};
    ck_assert_int_eq(model_sizes(model, &sharding, &sizes, &err), -1);
    ck_assert_str_eq(err.text, "pp: at most 48 was expected, the layers of the model");
}
END_TEST

#define TWO "{'kind':'conv','count':4,'inner_dim':8,'conv_kernel':3},"
#define GQA "{'kind':'gqa','count':2,'heads':4,'kv_heads':2,'head_dim':16}"
#define PLACED(at, layers)                                                                         \
    "{'name':'m','hidden_dim':64,'vocab':100,'attention_at':'" at "','layers':[" layers "]}"

static const struct bad {
    const char *text, *message;
} bads[] = {
    {PLACED("3,7", TWO GQA), "m.json:1: attention_at: 2 places from 1 to 6 were expected, found 1"},
    {PLACED("3", TWO GQA), "m.json:1: attention_at: 2 places from 1 to 6 were expected, found 1"},
    {PLACED("6,3", TWO GQA), "m.json:1: attention_at: rising places such as 4-92/4,93 were "
                             "expected, found '6,3'"},
    {PLACED("3-6/0", TWO GQA), "m.json:1: attention_at: rising places such as 4-92/4,93 were "
                               "expected, found '3-6/0'"},
    {PLACED("3-6/3x", TWO GQA), "m.json:1: attention_at: rising places such as 4-92/4,93 were "
                                "expected, found '3-6/3x'"},
    {PLACED("1-2", GQA), "m.json:1: attention_at: it is for models with one group of recurrent and "
                         "one of attention layers"},
    {MODEL("{'kind':'mamba1','count':1,'inner_dim':8,'state_dim':0,'dt_rank':1}"),
     "m.json:1: mamba1: state_dim is 0: a short convolution without a recurrent matrix is kind "
     "\"conv\", with count, inner_dim and conv_kernel"},
    {MODEL("{'kind':'swa','count':1,'heads':3,'kv_heads':2,'head_dim':8,'window':4}"),
     "m.json:1: swa: kv_heads (2) must divide heads (3)"},
    {MODEL("{'kind':'swa','count':1,'heads':4,'kv_heads':2,'head_dim':8}"),
     "m.json:1: key 'window' is missing (last tokens that a token looks at, itself included)"},
    {MODEL(DENSE_LAYER), "m.json:1: layers: a recurrent or an attention layer was expected, found "
                         "none"},
};

START_TEST(bad_models)
{
    struct model model;
    struct err err = {""};
    ck_assert_int_eq(read_text(bads[_i].text, &model, &err), -1);
    ck_assert_str_eq(err.text, bads[_i].message);
}
END_TEST

START_TEST(good_places)
{
    struct model model = model_of(PLACED("3-6/3", TWO GQA));
    ck_assert_uint_eq(sizes_of(&model, "pp=2").attention_layers, 1);
    ck_assert_uint_eq(sizes_of(&model, "pp=3").recurrent_layers, 2);
    model = model_of(PLACED("5,6", TWO GQA));
    ck_assert_uint_eq(sizes_of(&model, "pp=2").attention_layers, 2);
    ck_assert_uint_eq(sizes_of(&model, "pp=2").recurrent_layers, 3);
}
END_TEST

/* Another name, in letters of any case, is the same model. */
START_TEST(aliases)
{
    static const char *const names[][2] = {{"qwen3.6-27b", "qwen3.5-27b"},
                                           {"Qwen3.8-27B", "qwen3.5-27b"},
                                           {"Qwen3.5-27B", "qwen3.5-27b"},
                                           {"kimi-linear", "kimi-linear-48b"},
                                           {"ring-2.5-1t", "ling-2.5-1t"}};
    struct model model;
    struct err err = {""};
    for (int i = 0; i < ROWS(names); i++) {
        ck_assert_int_eq(model_load(&model, names[i][0], &err), 0);
        ck_assert_str_eq(model.name, names[i][1]);
    }
    ck_assert_int_eq(model_load(&model, "qwen3.6", &err), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layers");
    TCase *kinds = tcase_create("kinds");
    tcase_add_loop_test(kinds, presets, 0, ROWS(rows));
    tcase_add_test(kinds, llama_cpp_window);
    tcase_add_loop_test(kinds, kv_types, 0, ROWS(type_rows));
    tcase_add_test(kinds, part_blocks);
    tcase_add_test(kinds, sliding_window);
    tcase_add_test(kinds, window_pairs);
    tcase_add_test(kinds, window_costs);
    tcase_add_test(kinds, short_convolution);
    tcase_add_test(kinds, stages_of_k3);
    tcase_add_test(kinds, stages_spread_evenly);
    tcase_add_loop_test(kinds, bad_models, 0, ROWS(bads));
    tcase_add_test(kinds, good_places);
    tcase_add_test(kinds, aliases);
    suite_add_tcase(suite, kinds);
    return suite_run(suite);
}
