/* Settings that describe themselves: what each type reads, prints and refuses. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/param.h"

struct settings {
    struct words where;
    double width;
    unsigned aggregate;
    char *title;
};

static const char *const aggregates[] = {"none", "mean", "max", NULL};

static const struct param table[] = {
    {"where", PARAM_WORDS, offsetof(struct settings, where), NULL, 0, 0, NULL, "KEY=VALUE",
     "picks"},
    {"width", PARAM_LENGTH, offsetof(struct settings, width), NULL, 0.5, 50, NULL, NULL, "wide"},
    PARAM_CHOICES(struct settings, aggregate, "none", aggregates, "of several"),
    {"title", PARAM_TEXT, offsetof(struct settings, title), NULL, 0, 0, NULL, NULL, "heading"},
    PARAM_END};

static void set(struct settings *settings, const char *name, const char *text)
{
    struct err err = {""};
    ck_assert_msg(param_set(param_find(table, name), settings, text, &err) == 0, "%s", err.text);
}

static void refuses(struct settings *settings, const char *name, const char *text, const char *said)
{
    struct err err = {""};
    ck_assert_int_eq(param_set(param_find(table, name), settings, text, &err), -1);
    ck_assert_str_eq(err.text, said);
}

START_TEST(words_come_in_order)
{
    struct settings settings;
    struct text text = {0};
    memset(&settings, 0xff, sizeof settings); /* defaults leave nothing of it */
    param_defaults(table, &settings);
    ck_assert_uint_eq(settings.where.count, 0);
    ck_assert_ptr_null(settings.title);
    ck_assert_double_eq(settings.width, 0);
    set(&settings, "where", "a=1");
    set(&settings, "where", "b=2");
    ck_assert_uint_eq(settings.where.count, 2);
    ck_assert_str_eq(settings.where.items[0], "a=1");
    ck_assert_str_eq(settings.where.items[1], "b=2");
    param_print_value(param_find(table, "where"), &settings, &text);
    ck_assert_str_eq(text.data, "a=1,b=2");
    set(&settings, "title", "one");
    set(&settings, "title", "two"); /* the last one counts, and no memory is lost */
    ck_assert_str_eq(settings.title, "two");
    text_close(&text);
    param_free(table, &settings);
    ck_assert_uint_eq(settings.where.count, 0);
}
END_TEST

/* An inch is 2.54 cm, and 72 points. */
START_TEST(lengths)
{
    struct settings settings;
    struct text text = {0};
    param_defaults(table, &settings);
    set(&settings, "width", "5.5");
    ck_assert_double_eq(settings.width, 5.5);
    set(&settings, "width", "254mm");
    ck_assert_double_eq_tol(settings.width, 10, 1e-12);
    set(&settings, "width", "5.08cm");
    ck_assert_double_eq_tol(settings.width, 2, 1e-12);
    set(&settings, "width", "36pt");
    ck_assert_double_eq(settings.width, 0.5);
    set(&settings, "width", "3.4in");
    param_print_value(param_find(table, "width"), &settings, &text);
    ck_assert_str_eq(text.data, "3.4in");
    static const char *const bad[] = {"wide",  "",    "in",   "35pt",  "51",
                                      "1e1in", "0x2", "-3in", "3 inch"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char said[200];
        snprintf(said, sizeof said,
                 "width: a length was expected, as in 5.5, 3.4in or 86mm, from 0.5 to 50 inches, "
                 "found '%s'",
                 bad[i]);
        refuses(&settings, "width", bad[i], said);
        ck_assert_double_eq(settings.width, 3.4);
    }
    text_close(&text);
    param_free(table, &settings);
}
END_TEST

START_TEST(choices)
{
    struct settings settings;
    struct text text = {0};
    param_defaults(table, &settings);
    set(&settings, "aggregate", "max");
    ck_assert_uint_eq(settings.aggregate, 2);
    refuses(&settings, "aggregate", "sum",
            "aggregate: none, mean or max was expected, found 'sum'");
    ck_assert_uint_eq(settings.aggregate, 2);
    param_print_metavar(param_find(table, "aggregate"), &text);
    ck_assert_str_eq(text.data, "none|mean|max");
    text_clear(&text);
    param_print_metavar(param_find(table, "where"), &text);
    ck_assert_str_eq(text.data, "KEY=VALUE");
    text_clear(&text);
    param_print_metavar(param_find(table, "width"), &text);
    ck_assert_str_eq(text.data, "LENGTH");
    text_close(&text);
    param_free(table, &settings);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("param");
    TCase *tcase = tcase_create("param");
    tcase_add_test(tcase, words_come_in_order);
    tcase_add_test(tcase, lengths);
    tcase_add_test(tcase, choices);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
