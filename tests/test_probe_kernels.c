/* Every kernel of the CUDA probe, run through the host shim and compared with the double-precision
 * reference: each check of the table under each schedule of the shim, proof that both the shim and
 * the checks can fail, and the buffers and arguments with which a GPU would be timed. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tests/suite.h"
#include "tools/probe/probe_check.h"
#include "tools/probe/probe_grid.h"
#include "tools/probe/probe_plan.h"
#include "tools/probe/probe_work.h"
#include "tools/probe/shim_canary.h"
#include "tools/probe/shim_schedule.h"

/* Test number _i is check _i / SHIM_ORDERS under order _i % SHIM_ORDERS. */
START_TEST(test_kernel)
{
    const struct check *check = probe_check_at((size_t)_i / SHIM_ORDERS);
    enum shim_order order = (enum shim_order)(_i % SHIM_ORDERS);
    struct check_outcome outcome;
    struct err err;
    bool passed;
    if (check->shape.large)
        return;
    shim_set_order(order, (uint64_t)_i);
    ck_assert_msg(probe_check_run(check, 1, &outcome, &passed, &err) == 0, "%s: %s", check->name,
                  err.text);
    if (order == SHIM_FORWARD)
        printf("%-28s %-12s %.1e of %.0e\n", check->name, outcome.what, outcome.error,
               outcome.bound);
    ck_assert_msg(passed, "%s, order %d: %s off by %g, allowed %g", check->name, (int)order,
                  outcome.what, outcome.error, outcome.bound);
}
END_TEST

START_TEST(test_other_inputs)
{
    const struct check *check = probe_check_at((size_t)_i);
    struct check_outcome outcome;
    struct err err;
    bool passed;
    if (check->shape.large)
        return;
    shim_set_order(SHIM_RANDOM, 99);
    ck_assert_int_eq(probe_check_run(check, 1000 + (uint64_t)_i, &outcome, &passed, &err), 0);
    ck_assert_msg(passed, "%s: %s off by %g", check->name, outcome.what, outcome.error);
}
END_TEST

static bool canary_survives(enum canary fault)
{
    bool good = true;
    for (int order = 0; order < SHIM_ORDERS; order++) {
        shim_set_order((enum shim_order)order, 5);
        good = shim_canary_run(fault) && good;
    }
    return good;
}

START_TEST(test_shim_notices)
{
    ck_assert(canary_survives(CANARY_NONE));
    ck_assert(!canary_survives(CANARY_NO_BARRIER));
    ck_assert(!canary_survives(CANARY_NO_WARP_BARRIER));
    ck_assert(!canary_survives(CANARY_NO_WAIT));
}
END_TEST

START_TEST(test_shim_aborts)
{
    shim_set_order(SHIM_FORWARD, 0);
    if (freopen("/dev/null", "w", stderr) == NULL)
        ck_abort_msg("cannot silence stderr");
    shim_canary_run((enum canary)_i);
}
END_TEST

/* A wrong number, a NaN and an unequal byte each fail a check, and the worst is kept. */
START_TEST(test_checks_can_fail)
{
    struct check_outcome outcome = {0};
    double want[2] = {3, 4}, near[2] = {3, 4.01}, broken[2] = {3, NAN};
    probe_check_compare(&outcome, "near", near, want, 2, 1e-2);
    ck_assert_double_eq_tol(outcome.error, 0.01 / 5, 1e-9);
    probe_check_compare(&outcome, "better", want, want, 2, 1e-2);
    ck_assert_str_eq(outcome.what, "near");
    probe_check_equal(&outcome, "unequal", "ab", "ac", 2);
    ck_assert_str_eq(outcome.what, "unequal");
    ck_assert_double_gt(outcome.error, outcome.bound);
    outcome = (struct check_outcome){0};
    probe_check_compare(&outcome, "broken", broken, want, 2, 1e-2);
    ck_assert(isnan(outcome.error));
}
END_TEST

/* A kernel that is right, told the wrong thing: the check must see it. */
static void check_wrong_bound(struct lab *lab, const struct check_shape *shape,
                              struct check_outcome *outcome)
{
    check_recurrent_prefill(lab, shape, outcome);
    outcome->bound /= 1000;
}

static void check_writes_nothing(struct lab *lab, const struct check_shape *shape,
                                 struct check_outcome *outcome)
{
    double *got =
        probe_lab_read_fp32(lab, probe_lab_device(lab, 4 * shape->channels), shape->channels);
    double *want = probe_lab_host(lab, shape->channels, sizeof(double));
    probe_check_compare(outcome, "never written", got, want, shape->channels, 1);
}

static void check_writes_behind(struct lab *lab, const struct check_shape *shape,
                                struct check_outcome *outcome)
{
    /* Ten values into room for eight: within the guard, so also fine for an address sanitizer. */
    struct random_fill fill = {probe_lab_device(lab, 32), shape->channels, 0, 1, 1, true};
    double one = 1;
    probe_lab_finish(lab, kernel_random_fill(NULL, &fill), "random_fill");
    probe_check_compare(outcome, "fine", &one, &one, 1, 0);
}

START_TEST(test_faults_are_found)
{
    const struct check faults[] = {
        {"bound",
         "kda_prefill",
         check_wrong_bound,
         {.heads = 1, .key_heads = 1, .sequences = 1, .warps = 8, .sequence = {{20, 0}}}},
        {"nothing", "none", check_writes_nothing, {.channels = 8}},
        {"behind", "none", check_writes_behind, {.channels = 10}},
    };
    shim_set_order(SHIM_FORWARD, 0);
    for (size_t i = 0; i < 3; i++) {
        struct check_outcome outcome;
        struct err err;
        bool passed = true;
        ck_assert_int_eq(probe_check_run(&faults[i], 1, &outcome, &passed, &err), 0);
        ck_assert_msg(!passed, "%s", faults[i].name);
    }
}
END_TEST

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The point with the same switches and few numbers, for the shim. */
static struct point shrunk(const struct point *point)
{
    struct point small = *point;
    small.model = "-";
    small.tp = 0;
    small.quick = false;
    bool grouped = point->key_heads < point->heads;
    small.heads = point->kind == POINT_MLA_DECODE ? least(point->heads, 33)
                  : point->heads > 0              ? 2
                                                  : 0;
    small.key_heads = grouped && point->heads > 0 ? 1 : small.heads;
    small.sequences = point->sequences > 0 ? 2 : 0;
    small.tokens = least(point->tokens, 40);
    small.context = least(point->context, 130);
    small.interval = least(point->interval, 32);
    small.page_tokens = least(point->page_tokens, 64);
    small.layers = least(point->layers, 3);
    small.bytes = point->bytes > 0 ? 70000 / 16 * 16 : 0;
    if (point->kind == POINT_KV_GATHER)
        small.bytes = 5ull * small.page_tokens * KERNEL_CACHED * 2;
    if (point->kind == POINT_SNAPSHOT_COPY)
        small.bytes =
            small.layers * (probe_point_state_bytes(&small) + probe_point_window_bytes(&small));
    if (small.kind == POINT_KDA_PREFILL || small.kind == POINT_GDN_PREFILL)
        small.interval = 0;
    if (!point->variant && small.warps > 0)
        small.warps = 8;
    return small;
}

/* The buffers and arguments of every kind of point that a GPU would run, through the shim, where an
 * address sanitizer would see a wrong size. */
START_TEST(test_work)
{
    struct grid grid;
    struct err err;
    shim_set_order(SHIM_FORWARD, 0);
    probe_grid_open(&grid, false);
    struct point *seen = mem_array(grid.count, sizeof(*seen));
    size_t ran = 0;
    for (size_t i = 0; i < grid.count; i++) {
        struct point small = shrunk(&grid.points[i]);
        if (!probe_point_facts(small.kind)->on_device)
            continue;
        bool again = false;
        for (size_t j = 0; j < ran && !again; j++)
            again = memcmp(&small, &seen[j], sizeof(small)) == 0;
        if (again)
            continue;
        seen[ran] = small;
        struct work *work;
        ck_assert_msg(probe_work_open(&work, &small, 2, 1, &err) == 0, "%s", err.text);
        ck_assert_int_eq(probe_work_poison(work, &err), 0);
        bool poisoned = small.kind != POINT_HBM_READ;
        ck_assert_int_eq(probe_work_verify(work, &err), poisoned ? -1 : 0);
        ck_assert_int_eq(probe_work_launch(work, 0, NULL), 0);
        ck_assert_int_eq(probe_work_verify(work, &err), poisoned ? -1 : 0);
        ck_assert_int_eq(probe_work_launch(work, 3, NULL), 0);
        ck_assert_msg(probe_work_verify(work, &err) == 0, "%s", err.text);
        probe_work_close(work);
        ran++;
    }
    printf("%zu kinds of work ran through the shim\n", ran);
    ck_assert_uint_ge(ran, 14);
    free(seen);
    probe_grid_close(&grid);
}
END_TEST

START_TEST(test_plan)
{
    const struct plan_sequence sequences[] = {{3, 7}, {40, 30}, {100, 0}};
    struct plan plan;
    probe_plan_open(&plan, sequences, 3, 32);
    ck_assert_uint_eq(plan.tokens, 143);
    ck_assert_uint_eq(plan.tile_count, 1 + 4 + 7);
    ck_assert_int_eq(plan.tiles[0].first_row, 7);
    ck_assert_int_eq(plan.tiles[0].end_row, 10);
    ck_assert_int_eq(plan.tiles[0].token, -7);
    ck_assert_int_eq(plan.tiles[1].first_row, 14); /* position 30 of tile 16 .. 32 */
    ck_assert_int_eq(plan.tiles[1].token, 3 - 14);
    ck_assert_int_eq(plan.tiles[1].snapshot, 0); /* at 32, after 2 tokens */
    ck_assert_uint_eq(plan.snapshots[0].count, 2);
    ck_assert_uint_eq(plan.snapshots[1].count, 34); /* at 64 */
    ck_assert_uint_eq(plan.snapshot_count, 2 + 3);
    uint32_t covered = 0;
    for (uint32_t t = 0; t < plan.tile_count; t++) {
        ck_assert_int_eq(plan.tiles[t].token + plan.tiles[t].first_row, (int)covered);
        covered += (uint32_t)(plan.tiles[t].end_row - plan.tiles[t].first_row);
    }
    ck_assert_uint_eq(covered, plan.tokens);
    probe_plan_close(&plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe_kernels");
    TCase *tests = tcase_create("kernels");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, test_kernel, 0, (int)probe_check_count() * SHIM_ORDERS);
    tcase_add_loop_test(tests, test_other_inputs, 0, (int)probe_check_count());
    tcase_add_test(tests, test_shim_notices);
    tcase_add_loop_test_raise_signal(tests, test_shim_aborts, SIGABRT, CANARY_HALF_BARRIER,
                                     CANARY_COUNT);
    tcase_add_test(tests, test_checks_can_fail);
    tcase_add_test(tests, test_faults_are_found);
    tcase_add_test(tests, test_work);
    tcase_add_test(tests, test_plan);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
