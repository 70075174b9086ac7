/* The part of the CUDA probe that needs no GPU: laws, refusals and the calibration file, with a
 * stand-in clock whose times follow known laws. What a stand-in says is labelled simulated. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/json.h"
#include "sim/core/rng.h"
#include "sim/cost/calib_band.h"
#include "tests/suite.h"
#include "tools/probe/kda_reference.h"
#include "tools/probe/probe_device.h"
#include "tools/probe/probe_file.h"
#include "tools/probe/probe_main.h"
#include "tools/probe/shim_schedule.h"

/* A device that obeys the published laws of an H200, to within `noise`. */
struct stand_in {
    struct rng rng;
    double noise;
    const struct point *point;
    const struct point *absent, *too_fast, *broken, *unwritten;
    uint32_t processes_before, processes_after;
    bool asked_before, posing; /* as an H200 */
    size_t opened, closed;
};

/* Batches have a cheap piece, and a cliff below 28 KiB. */
static double host_copy_us(const struct point *p)
{
    double us = 0;
    uint64_t offset;
    for (uint64_t i = 0; i < probe_point_piece_count(p); i++) {
        uint64_t bytes = probe_point_piece(p, i, &offset);
        us += p->batched && bytes < 28672 ? (double)bytes / 6e3
                                          : (p->batched ? 0.2 : 1.0) + (double)bytes / 52e3;
    }
    return us;
}

static double true_us(const struct point *p)
{
    double chains = (double)probe_point_chains(p), tokens = p->tokens;
    double waves = ceil(chains / 132);
    double kept = p->interval > 0 ? p->sequences * floor(tokens / p->interval) : 0;
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
        return host_copy_us(p);
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
    const struct stand_in *clock = self;
    (void)err;
    *facts = (struct device_facts){.name = "Stand In",

                                   .driver = "none",
                                   .runtime = "none",
                                   .sm_count = 132,
                                   .memory_bytes = 141u * 1000000000ull,
                                   .l2_bytes = 60u << 20,
                                   .peak_bytes_per_s = 4.8e12,
                                   .peak_bf16_flops = 989e12,
                                   .peak_link_bytes_per_s = 64e9};
    if (clock->posing) {
        snprintf(facts->name, sizeof(facts->name), "NVIDIA H200");
        probe_device_find_peaks(facts);
    }
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
        clock,         clock->posing,   stand_in_describe, stand_in_condition,
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

static double value_of(const struct calibration *calib, const char *law_name, const char *term)
{
    for (int i = 0; i < CALIB_LAWS; i++) {
        enum calib_law_id id = (enum calib_law_id)i;
        const struct calib_law_facts *facts = calib_law_facts(id);
        for (size_t t = 0; t < calib_law_terms(id); t++)
            if (strcmp(facts->name, law_name) == 0 && strcmp(facts->term[t].name, term) == 0)
                return calib->law[id].term[t].known ? calib->law[id].term[t].value : NAN;
    }
    return NAN;
}

static void fit_run(struct calibration *calib, const struct run *run)
{
    struct err err;
    int result = probe_file_open(calib, run, "run", "2026-11-29T00:00:00Z", "test", &err);
    ck_assert_msg(result == 0, "%s", err.text);
}

/* From noisy times back to the laws that made them. */
START_TEST(test_laws_return)
{
    struct grid grid;
    struct run run;
    struct calibration calib;
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
                {"device_to_host", "small_rate", NAN, 0},
                {"device_to_host_batched", "per_piece", 0.2, 0.1},
                {"device_to_host_batched", "rate", 52, 0.05},
                {"device_to_host_batched", "small_rate", 6, 0.03},
                {"device_to_host_batched", "small_below", 28672, 0},
                {"host_to_device_batched", "small_rate", 6, 0.03},
                {"host_to_device_batched", "small_below", 28672, 0},
                {"gemm_bf16_small", "rate", 3.84, 0.05},
                {"gemm_bf16_large", "peak", 750, 0.05}};
    fit_run(&calib, &run);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        double got = value_of(&calib, want[i].law, want[i].term);
        ck_assert_msg(isnan(got) == isnan(want[i].value) &&
                          !(fabs(got / want[i].value - 1) > want[i].tolerance),
                      "%s %s: %g, not %g", want[i].law, want[i].term, got, want[i].value);
    }
    calib_close(&calib);
    probe_measure_close(&run);
    /* The cost of snapshots is a small difference of large times: only without noise exactly. */
    clock = (struct stand_in){.noise = 0};
    ck_assert_int_eq(run_all(&run, &grid, &clock, &light, &err), 0);
    fit_run(&calib, &run);
    ck_assert_double_eq_tol(value_of(&calib, "snapshot_emit", "rate"), 3.0, 0.01);
    calib_close(&calib);
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
    } cases[] = {{{.too_fast = copy}, "but the memory of a Stand In allows"},
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

/* Every value of a stand-in's file says simulated, none says measured; snapsim reads the file as
 * the same calibration, fits the same laws, and takes no times from it. */
START_TEST(test_file)
{
    struct grid grid;
    struct run run;
    struct err err;
    struct stand_in clock = {.noise = 0.01};
    struct light_checks light = light_checks();
    probe_grid_open(&grid, _i == 1);
    clock.absent = &grid.points[grid.count - 1];
    ck_assert_int_eq(run_all(&run, &grid, &clock, &light, &err), 0);
    struct text file = {0}, again = {0};
    const char *date = "2026-11-29T00:00:00Z";
    ck_assert_int_eq(probe_file_print(&run, "stand-in", date, "test", &file, &err), 0);
    ck_assert_ptr_null(strstr(file.data, "\"measured\""));
    ck_assert_ptr_null(strstr(file.data, "\"published\""));
    struct calibration calib;
    ck_assert_int_ne(calib_read_text(&calib, "file", file.data, CALIB_TO_COST, &err), 0);
    ck_assert_msg(strstr(err.text, "simulated values come from a stand-in") != NULL, "%s",
                  err.text);
    int result = calib_read_text(&calib, "file", file.data, CALIB_TO_LOOK, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    ck_assert(calib.provenance == CALIB_SIMULATED);
    ck_assert_uint_eq(calib.point_count, grid.count);
    ck_assert_str_eq(calib.point[grid.count - 1].absent, "not on a stand-in");
    ck_assert_uint_eq(calib.check_count, light.count);
    ck_assert_double_eq(calib.device.pcie.value, 64);
    calib_print(&calib, &again);
    ck_assert_str_eq(file.data, again.data);
    text_clear(&again);
    ck_assert_msg(calib_fit_all(&calib, &err) == 0, "%s", err.text);
    calib_print(&calib, &again);
    ck_assert_str_eq(file.data, again.data);
    calib_close(&calib);
    text_close(&file);
    text_close(&again);
    probe_measure_close(&run);
    probe_grid_close(&grid);
}
END_TEST

/* If a GPU gave these times, its file would be used: every law that the probe is to measure is
 * there and possible, every band finds its points, and the peaks are those of the data sheet. */
START_TEST(test_file_of_a_gpu)
{
    struct grid grid;
    struct run run;
    struct err err;
    struct stand_in clock = {.noise = 0.01, .posing = true};
    struct light_checks light = light_checks();
    probe_grid_open(&grid, false);
    ck_assert_msg(run_all(&run, &grid, &clock, &light, &err) == 0, "%s", err.text);
    struct text file = {0};
    const char *date = "2026-11-29T00:00:00Z";
    ck_assert_int_eq(probe_file_print(&run, "h200", date, "test", &file, &err), 0);
    struct calibration calib;
    int result = calib_read_text(&calib, "file", file.data, CALIB_TO_COST, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    const struct calib_device *device = &calib.device;
    const struct calib_value *peaks[] = {&device->peak_bandwidth, &device->peak_bf16,
                                         &device->pcie};
    for (size_t i = 0; i < 3; i++) {
        ck_assert(peaks[i]->known && peaks[i]->provenance == CALIB_PUBLISHED);
        ck_assert_str_eq(peaks[i]->source, "data sheet of NVIDIA H200");
    }
    for (int i = 0; i < CALIB_LAWS; i++) {
        enum calib_law_id law = (enum calib_law_id)i;
        bool elsewhere = law == LAW_KDA_PREFILL_FLA || law == LAW_MAMBA_PREFILL ||
                         law == LAW_KDA_DECODE_FUSED || law == LAW_MAMBA_DECODE ||
                         law == LAW_GQA_DECODE || law == LAW_GQA_PREFILL ||
                         law == LAW_GEMM_FP8_LARGE;
        ck_assert_msg(calib_law_complete(&calib, law) != elsewhere, "%s",
                      calib_law_facts(law)->name);
    }
    for (size_t i = 0; i < calib_band_count(); i++) {
        struct band band = calib_band_at(&calib, i);
        ck_assert_msg(band.verdict != BAND_ABSENT && !band.from_law, "%s", band.name);
    }
    calib_close(&calib);
    text_close(&file);
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

/* tests/run.sh says where the program is: it must read the file, and fit the same laws to it. */
static void check_program_reads(const char *path)
{
    const char *program = getenv("SNAPSIM");
    if (program == NULL)
        return;
    static const char *const commands[] = {
        "'%s' calib show '%s' --format json | cmp -s - '%s'",
        "'%s' calib fit '%s' --format json | cmp -s - '%s'",
        "'%s' calib diff '%s' '%s' --format json | grep -q hbm_copy",
        "'%s' calib check '%s' | grep -q '; 0 faster than the device' # '%s'",
        "! '%s' cost --calib '%s' 2>&1 | grep -qv 'cannot be used' # '%s'"};
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char line[1024];
        snprintf(line, sizeof(line), commands[i], program, path, path);
        ck_assert_msg(system(line) == 0, "%s", line);
    }
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
    const char *nowhere[] = {"--quick", "--output", "missing/h200.json", NULL};
    ck_assert_int_eq(command(&clock, nowhere, out, sizeof(out)), 2);
    ck_assert_ptr_nonnull(strstr(out, "--output: write into 'missing/': No such file"));
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
    check_program_reads(path);
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe_method");
    TCase *tests = tcase_create("method");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_laws_return);
    tcase_add_test(tests, test_refusals);
    tcase_add_loop_test(tests, test_file, 0, 2);
    tcase_add_test(tests, test_file_of_a_gpu);
    tcase_add_test(tests, test_command);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
