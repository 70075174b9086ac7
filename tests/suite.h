/* suite.h - what the main() of every test program does. */
#ifndef SNAPSIM_SUITE_H
#define SNAPSIM_SUITE_H

#include <check.h>
#include <stdint.h>

/* Adds a loop test over every entry of an array. */
#define SUITE_LOOP(tcase, test, table)                                                             \
    tcase_add_loop_test(tcase, test, 0, sizeof(table) / sizeof *(table))

/* Runs a suite, prints Check's closing line and returns main()'s status. */
int suite_run(Suite *suite);

/* The number in an environment variable, or another one if it is not set. */
uint64_t suite_number(const char *name, uint64_t otherwise);

/* The folder of shared traces ($SNAPSIM_SHARED, by default ../shared), or NULL if it is missing:
 * then it says "skipped" and why, and the test should return. */
const char *suite_shared(void);

#endif
