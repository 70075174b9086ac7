/* test_cost.c - the times that follow from calibrations for models and shardings.
 *
 * Expected times are worked out by hand from the laws of shared facts, models-and-kernels.md 4 and
 * 8, with the arithmetic beside them. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/calib.h"
#include "sim/cost/cost.h"
#include "sim/model/flops.h"
#include "sim/model/kind.h"
#include "sim/model/presets.h"
#include "tests/inputs.h"
#include "tests/suite.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* settings as on the command line: "tp=8,kv-dtype=fp8" */
static struct cost cost_of(const struct calibration *calib, const char *name, const char *settings)
{
    struct cost cost;
    struct sharding sharding;
    struct err err = {""};
    const struct model *model = input_preset(name);
    param_defaults(sharding_params, &sharding);
    ck_assert_int_eq(param_parse_list(sharding_params, &sharding, settings, "sharding", &err), 0);
    ck_assert_msg(cost_open(&cost, calib, model, &sharding, COST_KDA_FLASH, &err) == 0, "%s",
                  err.text);
    return cost;
}

static const struct layer_group *group_of(const struct cost *cost, const char *kind)
{
    for (size_t i = 0; i < cost->model->group_count; i++)
        if (strcmp(cost->model->groups[i].kind->name, kind) == 0)
            return &cost->model->groups[i];
    ck_abort_msg("%s has no such layers", cost->model->name);
    return NULL;
}

/* Times are whole nanoseconds. */
static void is_near(uint64_t ns, double us, double tolerance)
{
    ck_assert_msg(fabs((double)ns * 1e-3 - us) <= tolerance * us + 0.0005001,
                  "%.3f us, %.3f expected", (double)ns * 1e-3, us);
}

START_TEST(recurrent_k3)
{
    struct calibration calib = input_calib("h200");
    struct cost cost = cost_of(&calib, "kimi-k3", "tp=8");
    const struct layer_group *kda = group_of(&cost, "kda");
    struct cost_work work = {1, 8192, 0}, many = {64, 128, 100000};
    /* 20.4 + 12 * 0.0826 + 8192 * (0.0642 + 12 * 0.000408) */
    is_near(cost_recurrent_prefill(&cost, kda, &work), 587.4257, 1e-6);
    /* 768 chains are 6 waves: 20.4 + 768 * 0.0826 + 128 * (6 * 0.0642 + 768 * 0.000408) */
    is_near(cost_recurrent_prefill(&cost, kda, &many), 173.2504, 1e-6);
    cost.kda = COST_KDA_FLA; /* 38.1 + 12 * 0.067 + 8192 * (0.02 + 12 * 0.00386) */
    is_near(cost_recurrent_prefill(&cost, kda, &work), 582.1974, 1e-6);
    /* 10 + 0.000587 * 12 * 8192 */
    is_near(cost_conv_prefill(&cost, kda, &work), 67.7044, 1e-5);
    /* The fused kernel: 64 * (2 * 786,432 + 2 * (24 * 128 + 12 * 385)) B at 3.61 TB/s and 7.3 us */
    is_near(cost_recurrent_decode(&cost, kda, 64), 35.4574, 1e-5);
    ck_assert_uint_eq(cost_conv_decode(&cost, kda, 64), 0);
    calib.law[LAW_KDA_DECODE_FUSED].present =
        false; /* 4.3 + the same at 4.0; 4.4 + 0.00219 * 768 */
    is_near(cost_recurrent_decode(&cost, kda, 64), 29.7120, 1e-5);
    is_near(cost_conv_decode(&cost, kda, 64), 6.08192, 1e-4);
    calib_close(&calib);
}
END_TEST

/* Half the state in bf16 is half the bytes of a decode; heads divide by tp. */
START_TEST(recurrent_types)
{
    struct calibration calib = input_calib("h200");
    struct cost wide = cost_of(&calib, "kimi-k3", "");
    struct cost half = cost_of(&calib, "kimi-k3", "state-dtype=bf16");
    const struct layer_group *kda = group_of(&wide, "kda");
    double inputs = 256 * 2 * (192 * 128 + 96 * 385.0);
    is_near(cost_recurrent_decode(&wide, kda, 256), 7.3 + (256 * 12582912.0 + inputs) / 3.61e6,
            1e-6);
    is_near(cost_recurrent_decode(&half, kda, 256), 7.3 + (256 * 6291456.0 + inputs) / 3.61e6,
            1e-6);
    /* 4.5: GDN of 48 value heads, 1 wave: 7 + 48 * 0.048 + 8192 * (0.0482 + 48 * 0.00002) */
    struct cost qwen = cost_of(&calib, "qwen3.5-27b", "");
    struct cost_work work = {1, 8192, 0};
    is_near(cost_recurrent_prefill(&qwen, group_of(&qwen, "gdn"), &work), 412.0227, 1e-6);
    /* Nemotron-H: 256 heads of 64 x 256 elements are as many chains, 2 waves */
    struct cost nemotron = cost_of(&calib, "nemotron-h-56b", "");
    is_near(cost_recurrent_prefill(&nemotron, group_of(&nemotron, "mamba2"), &work),
            7 + 256 * 0.048 + 8192 * (2 * 0.0482 + 256 * 0.00002), 1e-6);
    /* Jamba: 8192 x 16 elements are 8 chains */
    struct cost jamba = cost_of(&calib, "jamba-1.5-mini", "");
    is_near(cost_recurrent_prefill(&jamba, group_of(&jamba, "mamba1"), &work),
            7 + 8 * 0.048 + 8192 * (0.0482 + 8 * 0.00002), 1e-6);
    calib_close(&calib);
}
END_TEST

START_TEST(mla_forms)
{
    struct calibration calib = input_calib("h200");
    struct cost cost = cost_of(&calib, "kimi-k3", "tp=8");
    const struct layer_group *mla = group_of(&cost, "mla");
    struct cost_work fresh = {1, 8192, 0}, later = {1, 8192, 131072};
    enum cost_form form = COST_ABSORBED;
    /* 40 + 12 * 0.35 + 2 * 12 * 320 * 8192 * 8193 / 2 / 585e6 */
    is_near(cost_attention_prefill(&cost, mla, &fresh, &form), 484.764, 1e-5);
    ck_assert_int_eq(form, COST_EXPANDED);
    /* 4.10: 131,072 cached tokens add 341 + 14 ms to 24 layers (at 580 and 700 TFLOPS) */
    uint64_t extra = cost_attention_prefill(&cost, mla, &later, &form) -
                     cost_attention_prefill(&cost, mla, &fresh, NULL);
    ck_assert_int_eq(form, COST_EXPANDED);
    is_near(24 * extra, 341e3 * 580 / 585 + 14e3 * 700 / 750, 0.02);
    /* 3.2: on a long prefix the absorbed form wins below 171 tokens, by FLOP. The laws' rates
     * differ (600 TFLOPS absorbed, 585 expanded, 750 expanding), so by time it is below
     * 4,194 / (43.49 - 13.13) = 138.2 tokens. */
    ck_assert_uint_eq(flops_absorbed_below(mla), 171);
    uint64_t cross = 0;
    for (uint64_t tokens = 64; tokens < 256 && cross == 0; tokens++) {
        struct cost_work work = {1, tokens, 1 << 20};
        cost_attention_prefill(&cost, mla, &work, &form);
        cross = form == COST_EXPANDED ? tokens : 0;
    }
    ck_assert_uint_eq(cross, 139);
    calib_close(&calib);
}
END_TEST

START_TEST(attention_decode)
{
    struct calibration h200 = input_calib("h200"), h100 = input_calib("h100");
    struct cost tp8 = cost_of(&h200, "kimi-k3", "tp=8"), tp1 = cost_of(&h200, "kimi-k3", "");
    struct cost dcp = cost_of(&h200, "kimi-k3", "tp=8,dcp=8");
    struct cost older = cost_of(&h100, "kimi-k3", "");
    const struct layer_group *mla = group_of(&tp8, "mla");
    uint64_t sum = 32 * 32768;
    is_near(cost_attention_decode(&tp8, mla, 32, sum), 20 + 32 * 0.03 + 0.265e-3 * 1048576, 1e-6);
    /* 4.2: 96 heads wait for arithmetic on an H200 (0.348 ns; 0.354 at 590 TFLOPS), for memory on
     * an H100 (0.378) */
    is_near(cost_attention_decode(&tp1, mla, 32, sum), 21 + 3.2 + 0.348e-3 * 1048576, 1e-6);
    is_near(cost_attention_decode(&older, mla, 32, sum), 21 + 0.8 + 0.378e-3 * 1048576, 1e-6);
    /* An eighth of the tokens for all heads */
    is_near(cost_attention_decode(&dcp, mla, 32, sum), 21 + 3.2 + 0.348e-3 * 131072, 1e-6);
    /* GQA: 24 query heads, 4 KV heads of 256: 4,096 B per token */
    struct cost qwen = cost_of(&h200, "qwen3.5-27b", "");
    is_near(cost_attention_decode(&qwen, group_of(&qwen, "gqa"), 8, 8 * 4096),
            20 + 8 * 0.03 + 8 * (4096 * 4096.0 + 2 * 24 * 512) / 4.35e6, 1e-6);
    /* On an H20 64 heads wait for arithmetic too: 0.00191 us * 64 / 96 per token */
    struct calibration h20 = input_calib("h20");
    struct cost slow = cost_of(&h20, "glm-5.3-flash", "");
    ck_assert_uint_gt(cost_attention_decode(&slow, group_of(&slow, "mla"), 1, 1000000), 1000000);
    calib_close(&h20);
    calib_close(&h100);
    calib_close(&h200);
}
END_TEST

/* 4.6: products of K3 at TP8, in us on H100 and H200, within 20%; 4.10: the projections of a KDA
 * layer are 0.958 + 0.05 + 0.24 ms, those of an MLA layer 0.9. */
START_TEST(products)
{
    static const struct {
        uint64_t n, k, m;
        double us[2];
    } rows[] = {{6144, 7168, 1, {34, 27}},      {6144, 7168, 128, {34, 25}},
                {6144, 7168, 1024, {115, 111}}, {6144, 7168, 8192, {862, 958}},
                {7168, 1536, 32, {10.6, 8.6}},  {7168, 1536, 8192, {232, 236}},
                {3584, 7168, 1, {21, 17}},      {3584, 7168, 4096, {296, 300}}};
    static const char *const names[] = {"h100", "h200"};
    for (int g = 0; g < 2; g++) {
        struct calibration calib = input_calib(names[g]);
        struct cost cost = cost_of(&calib, "kimi-k3", "tp=8");
        for (int i = 0; i < COUNT(rows); i++)
            is_near(cost_gemm(&cost, rows[i].m, rows[i].n, rows[i].k), rows[i].us[g], 0.20);
        if (g == 1) {
            is_near(cost_projection(&cost, group_of(&cost, "kda"), 8192), 1248, 0.03);
            is_near(cost_projection(&cost, group_of(&cost, "mla"), 8192), 900, 0.03);
        }
        ck_assert_uint_eq(cost_projection(&cost, group_of(&cost, "moe"), 8192), 0);
        calib_close(&calib);
    }
}
END_TEST

/* 4.9: 56,171,520 B of a K3 snapshot at TP8. */
START_TEST(snapshots)
{
    struct calibration h200 = input_calib("h200"), h100 = input_calib("h100");
    struct cost cost = cost_of(&h200, "kimi-k3", "tp=8"), older = cost_of(&h100, "kimi-k3", "tp=8");
    is_near(cost_snapshot_copy(&cost), 28 + 3, 0.01);
    is_near(cost_snapshot_restore(&older), 39 + 3, 0.01);
    is_near(cost_snapshot_emit(&cost, 1), 56.17152 / 4.0, 1e-4); /* 0.2 us per layer */
    is_near(cost_snapshot_emit(&cost, 128), 128 * 56.17152 / 4.0, 1e-6);
    /* 69 pieces of 814,080 B: 69 * 0.05 + 56,171.52 / 52 */
    is_near(cost_snapshot_host(&cost, true), 3.45 + 1080.2215, 1e-6);
    struct cost half = cost_of(&h200, "kimi-k3", "tp=8,snapshot-dtype=bf16");
    uint64_t bytes = 69 * (393216 + 27648);
    is_near(cost_snapshot_copy(&half), 3 + (56171520.0 + (double)bytes) / 4.0e6, 1e-5);
    is_near(cost_snapshot_host(&half, false), 3.45 + (double)bytes / 52e3, 1e-6);
    struct cost none = cost_of(&h200, "llama-3.1-8b", "");
    ck_assert_uint_eq(cost_snapshot_copy(&none), 0);
    ck_assert_uint_eq(cost_snapshot_host(&none, true), 0);
    ck_assert_uint_eq(cost_snapshot_emit(&none, 3), 0);
    calib_close(&h100);
    calib_close(&h200);
}
END_TEST

/* 4.9: pages of 16 tokens (18,432 B) are below the cliff at 28 KiB, those of 64 (73,728 B) above,
 * and a conv window (27,648 B) is just below. */
START_TEST(host_copies)
{
    struct calibration calib = input_calib("h200");
    struct cost cost = cost_of(&calib, "kimi-k3", "tp=8");
    double kv = 8192 * 27648.0;
    is_near(cost_kv_host(&cost, 8192, 64, true), 3072 * 0.05 + kv / 52e3, 1e-6);
    is_near(cost_kv_host(&cost, 8192, 16, true), 12288 * 2.35 + kv / 52e3, 1e-6); /* single calls */
    is_near(cost_host_copy(&cost, 6000000, 4096, false), 1000, 1e-6); /* 6 GB/s, batched */
    is_near(cost_host_copy(&cost, 69 * 27648, 27648, false), 69 * 2.35 + 69 * 27648 / 52e3, 1e-6);
    is_near(cost_host_copy(&cost, 69 * 28672, 28672, false), 69 * 0.05 + 69 * 28672 / 52e3, 1e-6);
    is_near(cost_host_copy(&cost, 52000, 0, false), 1.05, 1e-6);
    ck_assert_uint_eq(cost_host_copy(&cost, 0, 4096, false), 0);
    /* 0.45 ms gathered at 3.6 TB/s: read and written */
    is_near(cost_kv_gather(&cost, 8192, 64), 3 + 2 * kv / 3.6e6, 1e-6);
    calib_close(&calib);
}
END_TEST

/* Every preset that tp 1 fits can be costed by every calibration that has its laws, and what is
 * missing is named. */
START_TEST(every_preset)
{
    static const char *const names[] = {"h200", "h100", "h800"};
    struct calibration calib = input_calib(names[_i]);
    struct model model;
    for (size_t i = 0; presets_at(i, &model); i++) {
        struct cost cost = cost_of(&calib, model.name, "");
        for (size_t g = 0; g < model.group_count; g++) {
            const struct layer_group *group = &model.groups[g];
            struct cost_work work = {1, 1000, 5000};
            bool recurrent = group->kind->matrix != NULL;
            bool attention = group->kind->attention != NULL;
            ck_assert(recurrent == (cost_recurrent_prefill(&cost, group, &work) > 0));
            ck_assert(recurrent == (cost_recurrent_decode(&cost, group, 3) > 0));
            ck_assert(attention == (cost_attention_prefill(&cost, group, &work, NULL) > 0));
            ck_assert(attention == (cost_attention_decode(&cost, group, 3, 900) > 0));
        }
    }
    calib_close(&calib);
}
END_TEST

START_TEST(missing_laws)
{
    struct calibration calib = input_calib("h20");
    struct sharding sharding;
    struct cost cost;
    struct err err = {""};
    param_defaults(sharding_params, &sharding);
    const struct model *mamba = input_preset("nemotron-h-56b");
    ck_assert_int_ne(cost_open(&cost, &calib, mamba, &sharding, COST_KDA_FLASH, &err), 0);
    ck_assert_str_eq(err.text,
                     "calibration 'h20' has no law mamba_prefill, which mamba2 layers need");
    calib_close(&calib);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *costs = tcase_create("costs");
    tcase_add_test(costs, recurrent_k3);
    tcase_add_test(costs, recurrent_types);
    tcase_add_test(costs, mla_forms);
    tcase_add_test(costs, attention_decode);
    tcase_add_test(costs, products);
    tcase_add_test(costs, snapshots);
    tcase_add_test(costs, host_copies);
    tcase_add_loop_test(costs, every_preset, 0, 3);
    tcase_add_test(costs, missing_laws);
    suite_add_tcase(suite, costs);
    return suite_run(suite);
}
