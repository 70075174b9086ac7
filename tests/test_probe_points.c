/* The CUDA probe's grid, rotation, statistics and devices: what needs no clock. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/mem.h"
#include "tests/suite.h"
#include "tools/probe/probe_device.h"
#include "tools/probe/probe_grid.h"
#include "tools/probe/probe_stats.h"

START_TEST(test_statistics)
{
    double samples[] = {5, 1, 4, 2, 3};
    struct stats stats = probe_stats_of(samples, 5);
    ck_assert_double_eq(stats.median, 3);
    ck_assert_double_eq_tol(stats.p10, 1.4, 1e-12);
    ck_assert_double_eq_tol(stats.p90, 4.6, 1e-12);
    ck_assert_double_eq(stats.least, 1);
    ck_assert_double_eq(stats.most, 5);
    ck_assert_double_eq_tol(probe_stats_spread(&stats), 3.2 / 3, 1e-12);
    double even[] = {4, 1}, one[] = {7};
    ck_assert_double_eq(probe_stats_of(even, 2).median, 2.5);
    ck_assert_double_eq(probe_stats_of(one, 1).p90, 7);
}
END_TEST

START_TEST(test_grid)
{
    struct grid full, quick;
    probe_grid_open(&full, false);
    probe_grid_open(&quick, true);
    printf("full: %zu points, %.0f s; quick: %zu points, %.0f s\n", full.count,
           probe_grid_estimate_s(&full), quick.count, probe_grid_estimate_s(&quick));
    ck_assert_double_lt(probe_grid_estimate_s(&full), 360);
    ck_assert_double_lt(probe_grid_estimate_s(&quick), 60);
    bool seen[2][POINT_KINDS] = {{false}};
    char **names = mem_array(full.count, sizeof(char *));
    for (size_t i = 0; i < full.count; i++) {
        const struct point *point = &full.points[i];
        struct text name = {0};
        probe_point_print(point, &name);
        names[i] = name.data;
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(names[i], names[j]);
        seen[0][point->kind] = true;
        seen[1][point->kind] = seen[1][point->kind] || point->quick;
        /* More than four L2 caches lie between two uses of the same bytes, and every set of
         * buffers is used in every sample. */
        if (probe_point_facts(point->kind)->on_device) {
            uint32_t sets = probe_grid_rotation(point, 60u << 20);
            ck_assert_msg(sets * probe_point_dram_bytes(point) > 4.0 * (60u << 20), "%s", names[i]);
            ck_assert_uint_ge(probe_grid_launches(point, 60u << 20), sets);
        }
        uint64_t offset, covered = 0;
        for (uint64_t p = 0; point->kind == POINT_HOST_COPY && p < probe_point_piece_count(point);
             p++) {
            uint64_t bytes = probe_point_piece(point, p, &offset);
            ck_assert_uint_eq(offset, covered);
            covered += bytes;
        }
        if (point->kind == POINT_HOST_COPY)
            ck_assert_uint_eq(covered, point->bytes);
    }
    for (size_t k = 0; k < POINT_KINDS; k++)
        ck_assert_msg(seen[0][k] && seen[1][k], "no point of %s",
                      probe_point_name((enum point_kind)k));
    for (size_t i = 0; i < full.count; i++)
        free(names[i]);
    free(names);
    probe_grid_close(&full);
    probe_grid_close(&quick);
}
END_TEST

/* Section 8 and section 1.2 of the facts: K3 at TP8 copies 69 x 814,080 bytes, one sequence of
 * decode at TP1 moves 2 x 6,291,456 bytes of state. */
START_TEST(test_bytes)
{
    struct point tp8 = {.kind = POINT_HOST_COPY, .heads = 12, .key_heads = 12, .layers = 69};
    ck_assert_uint_eq(probe_point_state_bytes(&tp8), 786432);
    ck_assert_uint_eq(probe_point_window_bytes(&tp8), 27648);
    tp8.bytes = 69 * 814080u;
    tp8.layer_parts = 2;
    ck_assert_uint_eq(probe_point_piece_count(&tp8), 138);
    struct point decode = {
        .kind = POINT_KDA_DECODE, .heads = 96, .key_heads = 96, .sequences = 1, .tokens = 1};
    ck_assert_double_eq_tol(probe_point_dram_bytes(&decode), 2 * 6291456.0, 130e3);
    struct point prefill = {.kind = POINT_MLA_PREFILL, .heads = 96, .sequences = 1, .tokens = 8192};
    ck_assert_double_eq_tol(probe_point_flops(&prefill) * 24, 49.5e12, 0.05e12);
    struct point absorbed = {
        .kind = POINT_MLA_DECODE, .heads = 96, .sequences = 1, .context = 1000};
    ck_assert_double_eq_tol(probe_point_flops(&absorbed) * 24, 5.01e9, 0.01e9);
    struct point chunk = {.kind = POINT_KDA_PREFILL, .heads = 1, .sequences = 1, .tokens = 1};
    ck_assert_double_eq(probe_point_flops(&chunk), 98304);
}
END_TEST

/* The longest name that fits decides; an unknown device has no peaks. */
START_TEST(test_peaks)
{
    static const struct {
        const char *name;
        double bytes_per_s, flops, link;
    } want[] = {{"NVIDIA H200", 4.8e12, 989e12, 64e9},
                {"NVIDIA H200 NVL", 4.8e12, 836e12, 64e9},
                {"NVIDIA GH200 480GB", 4.0e12, 989e12, 450e9},
                {"NVIDIA H100 80GB HBM3", 3.35e12, 989e12, 64e9},
                {"NVIDIA H100 PCIe", 2.0e12, 756e12, 64e9},
                {"NVIDIA H20", 4.0e12, 148e12, 64e9},
                {"NVIDIA B200", 0, 0, 0}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct device_facts facts = {.sm_count = 1};
        snprintf(facts.name, sizeof(facts.name), "%s", want[i].name);
        probe_device_find_peaks(&facts);
        ck_assert_double_eq(facts.peak_bytes_per_s, want[i].bytes_per_s);
        ck_assert_double_eq(facts.peak_bf16_flops, want[i].flops);
        ck_assert_double_eq(facts.peak_link_bytes_per_s, want[i].link);
        struct calib_device device = probe_device_of(&facts, CALIB_MEASURED);
        ck_assert(device.pcie.known == (want[i].link > 0));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe_points");
    TCase *tests = tcase_create("points");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_statistics);
    tcase_add_test(tests, test_grid);
    tcase_add_test(tests, test_bytes);
    tcase_add_test(tests, test_peaks);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
