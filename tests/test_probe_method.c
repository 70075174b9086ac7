/* The part of the CUDA probe that needs no GPU: grid, rotation, statistics, laws, refusals and the
 * calibration file, with a stand-in clock whose times follow known laws. What a stand-in says is
 * labelled simulated. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/json.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "tools/probe/kda_reference.h"
#include "tools/probe/probe_file.h"
#include "tools/probe/probe_law.h"
#include "tools/probe/probe_main.h"
#include "tools/probe/shim_schedule.h"

/* A device that obeys the published laws of an H200, to within `noise`. */
struct stand_in {
    struct rng rng;
    double noise;
    const struct point *point;
    const struct point *absent, *too_fast, *broken, *unwritten;
    uint32_t processes_before, processes_after;
    bool asked_before;
    size_t opened, closed;
};

static double true_us(const struct point *p)
{
    double chains = (double)probe_point_chains(p), tokens = p->tokens;
    double waves = ceil(chains / 132), kept = (double)probe_point_snapshots(p);
    double state = (double)probe_point_state_bytes(p) / (p->snapshot_bf16 ? 2 : 1);
    double bytes = probe_point_dram_bytes(p), flops = probe_point_flops(p);
    switch (p->kind) {
    case POINT_LAUNCH_STREAM:
        return 2.5;
    case POINT_LAUNCH_GRAPH:
        return 1.5;
    case POINT_KDA_PREFILL:
    case POINT_SNAPSHOT_EMIT:
        return 20.4 + 0.0826 * chains + tokens * (0.0642 * waves + 0.000408 * chains) +
               kept * state / 3.0e6;
    case POINT_GDN_PREFILL:
        return 7 + 0.048 * chains + tokens * (0.0482 * waves + 0.00002 * chains);
    case POINT_CONV_PREFILL:
        return 10 + 0.000587 * p->sequences * tokens * probe_point_channels(p) / 384;
    case POINT_MLA_DECODE:
        return 20 + 0.03 * p->sequences +
               (p->heads > 64 ? 0.354e-3 : 0.265e-3) * p->sequences * p->context;
    case POINT_MLA_PREFILL:
        return 40 + 0.35 * p->heads + flops / 585e6;
    case POINT_HOST_COPY:
        return 1.0 * (double)probe_point_piece_count(p) + (double)p->bytes / 52e3;
    case POINT_GEMM:
        return 5 + fmax(flops / 750e6, bytes / 3.84e6);
    case POINT_HBM_COPY:
    case POINT_HBM_READ:
    case POINT_KDA_DECODE:
    case POINT_GDN_DECODE:
    case POINT_SNAPSHOT_COPY:
    case POINT_KV_GATHER:
    case POINT_CONV_UPDATE:
    case POINT_KINDS:
        break;
    }
    return 4.3 + bytes / 4.0e6;
}

static int stand_in_describe(void *self, struct device_facts *facts, struct err *err)
{
    (void)self;
    (void)err;
    *facts = (struct device_facts){.name = "Stand In",
                                   .driver = "none",
                                   .runtime = "none",
                                   .sm_count = 132,
                                   .memory_bytes = 141u * 1000000000ull,
                                   .l2_bytes = 60u << 20,
                                   .peak_bytes_per_s = 4.8e12,
                                   .peak_bf16_flops = 989e12};
    return 0;
}

static int stand_in_condition(void *self, struct device_condition *condition, struct err *err)
{
    struct stand_in *clock = self;
    (void)err;
    *condition = (struct device_condition){.sm_clock_mhz = 1980};
    condition->other_processes =
        clock->asked_before ? clock->processes_after : clock->processes_before;
    clock->asked_before = true;
    return 0;
}

static enum clock_answer stand_in_open(void *self, const struct point *point, uint32_t sets,
                                       uint32_t launches, struct err *err)
{
    struct stand_in *clock = self;
    ck_assert_uint_gt(sets, 0);
    ck_assert_uint_gt(launches, 0);
    if (point == clock->absent) {
        err_set(err, "not on a stand-in");
        return CLOCK_ABSENT;
    }
    clock->opened++;
    clock->point = point;
    return CLOCK_READY;
}

static int stand_in_sample(void *self, double *us, struct err *err)
{
    struct stand_in *clock = self;
    if (clock->point == clock->broken)
        return err_set(err, "an illegal memory access was encountered");
    *us = true_us(clock->point) * (1 + clock->noise * (2 * rng_unit(&clock->rng) - 1));
    if (clock->point == clock->too_fast)
        *us /= 10;
    return 0;
}

static int stand_in_close(void *self, struct err *err)
{
    struct stand_in *clock = self;
    clock->closed++;
    return clock->point == clock->unwritten ? err_set(err, "byte 0 of output 8 unwritten") : 0;
}

static struct probe_clock stand_in_interface(struct stand_in *clock)
{
    clock->rng = rng_open(1, "stand-in clock");
    return (struct probe_clock){
        clock,         "simulated",     stand_in_describe, stand_in_condition,
        stand_in_open, stand_in_sample, stand_in_close};
}

static void check_passes(struct lab *lab, const struct check_shape *shape,
                         struct check_outcome *outcome)
{
    double one = 1;
    (void)lab;
    (void)shape;
    probe_check_compare(outcome, "nothing", &one, &one, 1, 1e-2);
}

static void check_fails(struct lab *lab, const struct check_shape *shape,
                        struct check_outcome *outcome)
{
    double one = 1, two = 2;
    (void)lab;
    (void)shape;
    probe_check_compare(outcome, "everything", &one, &two, 1, 1e-2);
}

/* A check of each kernel that always passes, so that runs take no time. */
struct light_checks {
    struct check checks[POINT_KINDS];
    size_t count;
};

static struct light_checks light_checks(void)
{
    struct light_checks light = {.count = 0};
    for (size_t i = 0; i < POINT_KINDS; i++) {
        const char *kernel = probe_point_facts((enum point_kind)i)->kernel;
        if (kernel != NULL)
            light.checks[light.count++] = (struct check){kernel, kernel, check_passes, {0}};
    }
    return light;
}

static int run_all(struct run *run, const struct grid *grid, struct stand_in *clock,
                   const struct light_checks *light, struct err *err)
{
    struct probe_clock interface = stand_in_interface(clock);
    const struct run_options options = {
        .checks = light->checks, .check_count = light->count, .seed = 1};
    return probe_measure_open(run, grid, &interface, &options, err);
}

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
                      probe_point_facts((enum point_kind)k)->name);
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
    struct point prefill = {.kind = POINT_MLA_PREFILL, .heads = 96, .tokens = 8192};
    ck_assert_double_eq_tol(probe_point_flops(&prefill) * 24, 49.5e12, 0.05e12);
    struct point absorbed = {
        .kind = POINT_MLA_DECODE, .heads = 96, .sequences = 1, .context = 1000};
    ck_assert_double_eq_tol(probe_point_flops(&absorbed) * 24, 5.01e9, 0.01e9);
    struct point chunk = {.kind = POINT_KDA_PREFILL, .heads = 1, .sequences = 1, .tokens = 1};
    ck_assert_double_eq(probe_point_flops(&chunk), 98304);
}
END_TEST

START_TEST(test_least_squares)
{
    double factor[6][LAW_TERMS] = {{0}}, us[6], c[LAW_TERMS];
    for (int i = 0; i < 6; i++) {
        factor[i][0] = 1;
        factor[i][1] = i;
        factor[i][2] = 1e9 * i * i;
        us[i] = 2 + 3 * i + 0.5 * i * i;
    }
    ck_assert_double_le(probe_law_solve((const double(*)[LAW_TERMS])factor, us, 6, 3, c), 1e-20);
    ck_assert_double_eq_tol(c[0], 2, 1e-6);
    ck_assert_double_eq_tol(c[1], 3, 1e-6);
    ck_assert_double_eq_tol(c[2] * 1e9, 0.5, 1e-6);
    /* Falling times would need a negative slope: the best that is allowed is a constant. */
    for (int i = 0; i < 6; i++)
        us[i] = 10 - i;
    probe_law_solve((const double(*)[LAW_TERMS])factor, us, 6, 2, c);
    ck_assert_double_eq(c[1], 0);
    ck_assert_double_gt(c[0], 5);
    /* Two equal columns: one of them will do. */
    for (int i = 0; i < 6; i++)
        factor[i][1] = 1;
    ck_assert_double_lt(probe_law_solve((const double(*)[LAW_TERMS])factor, us, 6, 2, c), 1);
}
END_TEST

static double value_of(const struct run *run, const char *law_name, const char *term)
{
    for (size_t i = 0; i < probe_law_count(); i++) {
        const struct law *law = probe_law_at(i);
        struct law_fit fit = probe_law_fit(law, run);
        for (size_t t = 0; t < LAW_TERMS && law->term[t].name != NULL; t++)
            if (strcmp(law->name, law_name) == 0 && strcmp(law->term[t].name, term) == 0)
                return fit.points > 0 && fit.known[t] ? fit.value[t] : NAN;
    }
    return NAN;
}

/* From noisy times back to the laws that made them. */
START_TEST(test_laws_return)
{
    struct grid grid;
    struct run run;
    struct err err;
    struct stand_in clock = {.noise = 0.02};
    struct light_checks light = light_checks();
    probe_grid_open(&grid, false);
    ck_assert_msg(run_all(&run, &grid, &clock, &light, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(run.count, grid.count);
    ck_assert_uint_eq(clock.opened, clock.closed);
    static const struct {
        const char *law, *term;
        double value, tolerance;
    } want[] = {{"launch_graph", "t0", 1.5, 0.02},
                {"launch_stream", "t0", 2.5, 0.02},
                {"hbm_copy", "rate", 4.0, 0.03},
                {"kda_prefill", "t0", 20.4, 0.1},
                {"kda_prefill", "per_token_wave", 0.0642, 0.05},
                {"kda_prefill", "per_token_chain", 0.000408, 0.05},
                {"gdn_prefill", "per_token_wave", 0.0482, 0.05},
                {"kda_decode", "t0", 4.3, 0.1},
                {"kda_decode", "rate", 4.0, 0.03},
                {"conv_prefill", "per_token_chain", 0.000587, 0.03},
                {"mla_decode", "per_kv_token", 0.265e-3, 0.03},
                {"mla_decode_wide", "per_kv_token", 0.354e-3, 0.03},
                {"mla_prefill", "peak", 585, 0.03},
                {"host_to_device", "rate", 52, 0.05},
                {"host_to_device", "per_piece", 1, 0.05},
                {"device_to_host_batched", "per_piece", 1, 0.05},
                {"gemm_bf16_small", "rate", 3.84, 0.05},
                {"gemm_bf16_large", "peak", 750, 0.05}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        double got = value_of(&run, want[i].law, want[i].term);
        ck_assert_msg(fabs(got / want[i].value - 1) <= want[i].tolerance, "%s %s: %g, not %g",
                      want[i].law, want[i].term, got, want[i].value);
    }
    probe_measure_close(&run);
    /* The cost of snapshots is a small difference of large times: only without noise exactly. */
    clock = (struct stand_in){.noise = 0};
    ck_assert_int_eq(run_all(&run, &grid, &clock, &light, &err), 0);
    ck_assert_double_eq_tol(value_of(&run, "snapshot_emit", "rate"), 3.0, 0.01);
    probe_measure_close(&run);
    probe_grid_close(&grid);
}
END_TEST

/* Everything that must end without a file, and what is said. */
START_TEST(test_refusals)
{
    struct grid grid;
    struct run run;
    struct err err;
    probe_grid_open(&grid, true);
    struct light_checks light = light_checks();
    const struct point *copy = NULL;
    for (size_t i = 0; i < grid.count; i++)
        if (grid.points[i].kind == POINT_HBM_COPY)
            copy = &grid.points[i];
    struct {
        struct stand_in clock;
        const char *says;
    } cases[] = {{{.too_fast = copy}, "peak"},
                 {{.broken = copy}, "illegal memory access"},
                 {{.unwritten = copy}, "unwritten"},
                 {{.processes_before = 2}, "2 other processes"},
                 {{.processes_after = 1}, "during the run"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(run_all(&run, &grid, &cases[i].clock, &light, &err), -1);
        ck_assert_msg(strstr(err.text, cases[i].says) != NULL, "%s", err.text);
        ck_assert_uint_eq(cases[i].clock.opened, cases[i].clock.closed);
        probe_measure_close(&run);
    }
    /* A wrong kernel is not timed; the others are, for whoever looks at the log. */
    struct stand_in clock = {.noise = 0};
    for (size_t i = 0; i < light.count; i++)
        if (strcmp(light.checks[i].kernel, "kda_decode") == 0)
            light.checks[i].run = check_fails;
    ck_assert_int_eq(run_all(&run, &grid, &clock, &light, &err), -1);
    ck_assert_msg(strstr(err.text, "1 checks failed") != NULL, "%s", err.text);
    ck_assert_uint_gt(run.count, 0);
    for (size_t i = 0; i < run.count; i++)
        ck_assert_int_ne((int)run.measurements[i].point->kind, POINT_KDA_DECODE);
    probe_measure_close(&run);
    /* Nor is one without a check. */
    light.count = 1;
    clock = (struct stand_in){.noise = 0};
    ck_assert_int_eq(run_all(&run, &grid, &clock, &light, &err), -1);
    ck_assert_msg(strstr(err.text, "no checks") != NULL, "%s", err.text);
    probe_measure_close(&run);
    probe_grid_close(&grid);
}
END_TEST

/* Every value of a stand-in's file says simulated, none says measured. */
START_TEST(test_file)
{
    struct grid grid;
    struct run run;
    struct err err;
    struct stand_in clock = {.noise = 0.01};
    struct light_checks light = light_checks();
    probe_grid_open(&grid, false);
    clock.absent = &grid.points[grid.count - 1];
    ck_assert_int_eq(run_all(&run, &grid, &clock, &light, &err), 0);
    struct text file = {0}, again = {0};
    probe_file_print(&run, "stand-in", "2026-11-29T00:00:00Z", "test", &file);
    probe_file_print(&run, "stand-in", "2026-11-29T00:00:00Z", "test", &again);
    ck_assert_str_eq(file.data, again.data);
    ck_assert_ptr_null(strstr(file.data, "\"measured\""));
    struct json_document document;
    ck_assert_msg(json_open_text(&document, "file", file.data, &err) == 0, "%s", err.text);
    uint64_t schema = 0;
    ck_assert_int_eq(json_u64(json_get(document.top, "schema"), &schema), 0);
    ck_assert_uint_eq(schema, PROBE_FILE_SCHEMA);
    ck_assert_str_eq(json_string(json_get(document.top, "kind")), "calibration");
    ck_assert_str_eq(json_string(json_get(document.top, "provenance")), "simulated");
    size_t points = 0, absent = 0;
    const struct json *point = json_first(json_get(document.top, "points"));
    for (; point != NULL; point = json_next(point)) {
        points++;
        absent += json_get(point, "absent") != NULL;
        if (json_get(point, "absent") == NULL) {
            ck_assert_str_eq(json_string(json_get(point, "provenance")), "simulated");
            ck_assert_double_gt(json_double(json_get(json_get(point, "time_us"), "median")), 0);
        }
    }
    ck_assert_uint_eq(points, grid.count);
    ck_assert_uint_eq(absent, 1);
    const struct json *laws = json_get(document.top, "laws");
    for (size_t i = 0; i < probe_law_count(); i++) {
        const struct json *law = json_get(laws, probe_law_at(i)->name);
        ck_assert_msg(law != NULL, "no law %s", probe_law_at(i)->name);
        const struct json *value = json_first(json_get(law, "coefficients"));
        for (; value != NULL; value = json_next(value)) {
            ck_assert_str_eq(json_string(json_get(value, "provenance")), "simulated");
            ck_assert_ptr_nonnull(json_string(json_get(value, "unit")));
        }
    }
    json_close_document(&document);
    text_close(&file);
    text_close(&again);
    probe_measure_close(&run);
    probe_grid_close(&grid);
}
END_TEST

static int command(struct stand_in *clock, const char *const *words, char *out, size_t size)
{
    char *argv[8] = {"probe"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1];
    struct probe_clock interface = stand_in_interface(clock);
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    int status = probe_main(argc, argv, &interface, "test", file, file);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
    return status;
}

/* The command as a whole; its checks are the real ones, through the shim. */
START_TEST(test_command)
{
    char out[65536], path[] = "/tmp/probe-test-XXXXXX";
    struct stand_in clock = {.noise = 0.01};
    int handle = mkstemp(path);
    ck_assert_int_ge(handle, 0);
    close(handle);
    unlink(path);
    shim_set_order(SHIM_FORWARD, 0);
    ck_assert_int_eq(command(&clock, (const char *[]){"--help", NULL}, out, sizeof(out)), 0);
    ck_assert_ptr_nonnull(strstr(out, "--quick"));
    ck_assert_int_eq(command(&clock, (const char *[]){"--list", NULL}, out, sizeof(out)), 0);
    ck_assert_ptr_nonnull(strstr(out, "kda_prefill kimi-k3 tp=8 heads=12 sequences=1 tokens=8192"));
    ck_assert_int_eq(command(&clock, (const char *[]){"--quik", NULL}, out, sizeof(out)), 2);
    ck_assert_ptr_nonnull(strstr(out, "did you mean '--quick'"));
    ck_assert_int_eq(command(&clock, (const char *[]){"--only", "gem", NULL}, out, sizeof(out)), 2);
    ck_assert_int_eq(command(&clock, (const char *[]){"--seed", "x", NULL}, out, sizeof(out)), 2);
    ck_assert_int_eq(command(&clock, (const char *[]){"--output", NULL}, out, sizeof(out)), 2);
    const char *checks[] = {"--check", "--only", "conv_update", NULL};
    ck_assert_int_eq(command(&clock, checks, out, sizeof(out)), 0);
    ck_assert_ptr_nonnull(strstr(out, "check conv_update: right"));
    ck_assert_uint_eq(clock.opened, 0);
    const char *neither[] = {"--check", "--output", path, NULL};
    ck_assert_int_eq(command(&clock, neither, out, sizeof(out)), 2);
    const char *refused[] = {"--quick", "--only", "conv_update", "--output", path, NULL};
    clock = (struct stand_in){.processes_before = 1};
    ck_assert_int_eq(command(&clock, refused, out, sizeof(out)), 1);
    ck_assert_int_ne(access(path, F_OK), 0);
    clock = (struct stand_in){.noise = 0.01};
    const char *good[] = {"--quick", "--output", path, NULL};
    ck_assert_msg(command(&clock, good, out, sizeof(out)) == 0, "%s", out);
    struct json_document document;
    struct err err;
    ck_assert_msg(json_open_file(&document, path, &err) == 0, "%s", err.text);
    ck_assert_str_eq(json_string(json_get(document.top, "name")), "stand-in-simulated");
    ck_assert_str_eq(json_string(json_get(document.top, "provenance")), "simulated");
    json_close_document(&document);
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe_method");
    TCase *tests = tcase_create("method");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_statistics);
    tcase_add_test(tests, test_grid);
    tcase_add_test(tests, test_bytes);
    tcase_add_test(tests, test_least_squares);
    tcase_add_test(tests, test_laws_return);
    tcase_add_test(tests, test_refusals);
    tcase_add_test(tests, test_file);
    tcase_add_test(tests, test_command);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
