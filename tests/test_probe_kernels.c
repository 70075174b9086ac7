/* Every kernel of the CUDA probe, run through the host shim and compared with the double-precision
 * reference: each check of the table under each schedule of the shim, and proof that both the shim
 * and the checks can fail. */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/probe/probe_check.h"
#include "tools/probe/shim_canary.h"
#include "tools/probe/shim_schedule.h"

/* Test number _i is check _i / SHIM_ORDERS under order _i % SHIM_ORDERS. */
START_TEST(test_kernel)
{
    const struct check *check = check_at((size_t)_i / SHIM_ORDERS);
    enum shim_order order = (enum shim_order)(_i % SHIM_ORDERS);
    struct check_outcome outcome;
    struct err err;
    bool passed;
    shim_set_order(order, (uint64_t)_i);
    ck_assert_msg(check_run(check, 1, &outcome, &passed, &err) == 0, "%s: %s", check->name,
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
    const struct check *check = check_at((size_t)_i);
    struct check_outcome outcome;
    struct err err;
    bool passed;
    shim_set_order(SHIM_RANDOM, 99);
    ck_assert_int_eq(check_run(check, 1000 + (uint64_t)_i, &outcome, &passed, &err), 0);
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
    check_compare(&outcome, "near", near, want, 2, 1e-2);
    ck_assert_double_eq_tol(outcome.error, 0.01 / 5, 1e-9);
    check_compare(&outcome, "better", want, want, 2, 1e-2);
    ck_assert_str_eq(outcome.what, "near");
    check_equal(&outcome, "unequal", "ab", "ac", 2);
    ck_assert_str_eq(outcome.what, "unequal");
    ck_assert_double_gt(outcome.error, outcome.bound);
    outcome = (struct check_outcome){0};
    check_compare(&outcome, "broken", broken, want, 2, 1e-2);
    ck_assert(isnan(outcome.error));
}
END_TEST

/* A kernel that is right, told the wrong thing: the check must see it. */
static void check_wrong_bound(struct lab *lab, const struct check_shape *shape,
                              struct check_outcome *outcome)
{
    check_kda_prefill(lab, shape, outcome);
    outcome->bound /= 1000;
}

static void check_writes_nothing(struct lab *lab, const struct check_shape *shape,
                                 struct check_outcome *outcome)
{
    double *got = lab_read_fp32(lab, lab_device(lab, 4 * shape->channels), shape->channels);
    double *want = lab_host(lab, shape->channels, sizeof(double));
    check_compare(outcome, "never written", got, want, shape->channels, 1);
}

static void check_writes_behind(struct lab *lab, const struct check_shape *shape,
                                struct check_outcome *outcome)
{
    /* Ten values into room for eight: within the guard, so also fine for an address sanitizer. */
    struct random_fill fill = {lab_device(lab, 32), shape->channels, 0, 1, 1, true};
    double one = 1;
    lab_finish(lab, kernel_random_fill(NULL, &fill), "random_fill");
    check_compare(outcome, "fine", &one, &one, 1, 0);
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
        ck_assert_int_eq(check_run(&faults[i], 1, &outcome, &passed, &err), 0);
        ck_assert_msg(!passed, "%s", faults[i].name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe_kernels");
    TCase *tests = tcase_create("kernels");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, test_kernel, 0, (int)check_count() * SHIM_ORDERS);
    tcase_add_loop_test(tests, test_other_inputs, 0, (int)check_count());
    tcase_add_test(tests, test_shim_notices);
    tcase_add_loop_test_raise_signal(tests, test_shim_aborts, SIGABRT, CANARY_HALF_BARRIER,
                                     CANARY_COUNT);
    tcase_add_test(tests, test_checks_can_fail);
    tcase_add_test(tests, test_faults_are_found);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
