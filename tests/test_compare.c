/* Comparing results: which cells are the same, what moved, and the arithmetic of tolerances. The
 * numbers that are expected were computed on paper. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/inputs.h"
#include "tests/result_lines.h"
#include "tests/suite.h"
#include "tools/view/compare_keys.h"

static const struct {
    const char *tolerance; /* NULL: none */
    double base, now;
    bool allowed;
} changes[] = {
    {NULL, 1000, 1000, true},
    {NULL, 1000, 1001, false},
    {"k=0", 1000, 1001, false},
    {"k=0%", 1000, 1001, false},
    {"k=1", 1000, 1001, true},
    {"k=1", 1000, 999, true},
    {"k=1", 1000, 1002, false},
    {"k=1%", 1000, 1010, true}, /* 1 % of 1000 is 10 */
    {"k=1%", 1000, 1011, false},
    {"k=1%", 1000, 990, true},
    {"k=1%", 1000, 989, false},
    {"k=0.1%", 1000, 1001, true},
    {"k=0.1%", 1000, 1002, false},
    {"k=50%", 0, 1, false}, /* half of nothing is nothing */
    {"k=50%", 0, 0, true},
    {"k=100%", 5, 0, true},
    {"k=0.001", 0.8472, 0.8462, true},
    {"k=0.001", 0.8472, 0.8461, false},
    {"k=0.001", 0.8462, 0.8472, true},
    {"k=1KiB", 4096, 5120, true},
    {"k=1KiB", 4096, 5121, false},
    /* rounding does not soften a counter: 2^52 and one more */
    {"k=1", 4503599627370496.0, 4503599627370498.0, false},
};

START_TEST(tolerances)
{
    struct tolerance tolerance;
    struct err err = {""};
    if (changes[_i].tolerance)
        ck_assert_msg(tolerance_parse(&tolerance, changes[_i].tolerance, &err) == 0, "%s",
                      err.text);
    ck_assert_int_eq(tolerance_allows(changes[_i].tolerance ? &tolerance : NULL, changes[_i].base,
                                      changes[_i].now),
                     changes[_i].allowed);
}
END_TEST

START_TEST(bad_tolerances)
{
    static const char *const words[] = {"k", "=1", "k=", "k=%", "k=x", "k=-1", "k=1%%", "k=1KiB%"};
    struct tolerance tolerance;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct err err = {""};
        ck_assert_msg(tolerance_parse(&tolerance, words[i], &err) == USAGE_ERROR, "%s", words[i]);
    }
}
END_TEST

struct files {
    char base[32], now[32];
};

static void write_files(struct files *files, const char *base, const char *now)
{
    strcpy(files->base, "/tmp/snapsim-base-XXXXXX");
    strcpy(files->now, "/tmp/snapsim-now-XXXXXX");
    char *paths[] = {files->base, files->now}, *texts[] = {input_unquote(base), input_unquote(now)};
    for (int i = 0; i < 2; i++) {
        int file = mkstemp(paths[i]);
        ck_assert_int_ge(file, 0);
        ck_assert_int_eq(write(file, texts[i], strlen(texts[i])), (ssize_t)strlen(texts[i]));
        close(file);
        free(texts[i]);
    }
}

static void open_compare(struct compare *compare, const char *base, const char *now,
                         const char *tolerance, const char *only)
{
    struct files files;
    struct err err = {""};
    const char *words[] = {tolerance};
    struct words list = {.items = words, .count = tolerance != NULL};
    write_files(&files, base, now);
    struct compare_request request = {
        .base = files.base, .now = files.now, .tolerances = &list, .only = only};
    int result = compare_open(compare, &request, &err);
    unlink(files.base);
    unlink(files.now);
    ck_assert_msg(result == 0, "%s", err.text);
}

/* The status and the message with which it is refused. */
static void refused(const char *base, const char *now, const char *tolerance, const char *only,
                    int status, const char *message)
{
    struct compare compare;
    struct files files;
    struct err err = {""};
    const char *words[] = {tolerance};
    struct words list = {.items = words, .count = tolerance != NULL};
    write_files(&files, base, now);
    struct compare_request request = {
        .base = files.base, .now = files.now, .tolerances = &list, .only = only};
    int result = compare_open(&compare, &request, &err);
    compare_close(&compare);
    unlink(files.base);
    unlink(files.now);
    struct text expected = {0};
    const char *rest = message + strcspn(message, "@");
    text_add(&expected, message, (size_t)(rest - message));
    if (*rest)
        text_printf(&expected, "%s%s", rest[1] == 'B' ? files.base : files.now, rest + 2);
    ck_assert_int_eq(result, status);
    ck_assert_msg(strstr(err.text, expected.data) != NULL, "'%s', not '%s'", err.text,
                  expected.data);
    text_close(&expected);
}

static size_t differences(const char *base, const char *now, const char *tolerance,
                          const char *only)
{
    struct compare compare;
    open_compare(&compare, base, now, tolerance, only);
    size_t count = compare.cell_count - compare.in_state[COMPARE_EQUAL];
    compare_close(&compare);
    return count;
}

#define A LINE("turn:bounds=0", "1GiB", "1", "500")
#define A_SHORT LINE("turn", "1024MiB", "1", "500")
#define A_LESS LINE("turn:bounds=0", "1GiB", "1", "499")
#define B LINE("none", "1GiB", "1", "0")
#define C LINE("fixed:interval=64", "1GiB", "1", "300")
#define C_LESS LINE("fixed:interval=64", "1GiB", "1", "200")

START_TEST(compares)
{
    ck_assert_uint_eq(differences(A B, A B, NULL, NULL), 0);
    ck_assert_uint_eq(differences(A B, B A, NULL, NULL), 0);
    ck_assert_uint_eq(differences(A B, A_SHORT B, NULL, NULL), 0);
    ck_assert_uint_eq(differences(A B, A_LESS B, NULL, NULL), 1);
    ck_assert_uint_eq(differences(A B, A_LESS B, "hit_tokens=1", NULL), 0);
    ck_assert_uint_eq(differences(A B, A_LESS B, "hit_tokens=0.1%", NULL), 1); /* 0.5 of 500 */
    ck_assert_uint_eq(differences(A B, A_LESS B, "hit_tokens=0.2%", NULL), 0);
    ck_assert_uint_eq(differences(A B, A_LESS B, "all=1", NULL), 0);
    ck_assert_uint_eq(differences(A B, A_LESS B, "hit_ratio=0.001", NULL), 1); /* hit_tokens too */
    ck_assert_uint_eq(differences(A B, A_LESS B, "hit_ratio=0.001", "hit_ratio"), 0);
    ck_assert_uint_eq(differences(A B, A_LESS B, "hit_ratio=0.0009", "hit_ratio"), 1);
    ck_assert_uint_eq(differences(A B, A_LESS B, NULL, "requests"), 0);
    ck_assert_uint_eq(differences(A B, A, NULL, NULL), 1);
    ck_assert_uint_eq(differences(A, A B, NULL, NULL), 1);
    ck_assert_uint_eq(differences(A B, FAILED("turn", "1GiB") B, NULL, NULL), 1);
    ck_assert_uint_eq(differences(FAILED("turn", "1GiB") B, A B, NULL, NULL), 1);
    ck_assert_uint_eq(differences(FAILED("turn", "1GiB"), FAILED("turn", "1GiB"), NULL, NULL), 0);
}
END_TEST

#define PLAIN(result, rest)                                                                        \
    "{'schema':1,'config':{'placement':'turn'},'result':{'hit_tokens':1" result "}" rest "}\n"

START_TEST(compares_programs)
{
    /* A newer program counts more, and knows more settings: no difference. One that no longer has
     * a number, or has another digest: a difference. */
    ck_assert_uint_eq(differences(PLAIN("", ""), PLAIN(",'new':3", ""), NULL, NULL), 0);
    ck_assert_uint_eq(differences(PLAIN(",'old':3", ""), PLAIN("", ""), NULL, NULL), 1);
    ck_assert_uint_eq(
        differences(PLAIN("", ",'program':{'version':'1'}"), PLAIN("", ""), NULL, NULL), 0);
    ck_assert_uint_eq(
        differences(PLAIN("", ",'digest':'0x1'"), PLAIN("", ",'digest':'0x2'"), NULL, NULL), 1);
    ck_assert_uint_eq(
        differences(PLAIN("", ",'digest':'0x1'"), PLAIN("", ",'digest':'0x2'"), "all=0", NULL), 0);
    ck_assert_uint_eq(differences(PLAIN("", ",'digest':'0x1'"), PLAIN("", ""), NULL, NULL), 1);
    ck_assert_uint_eq(differences(PLAIN("", ""), PLAIN("", ",'digest':'0x1'"), NULL, NULL), 0);
}
END_TEST

/* A line with these members of `result`, and nothing else that could be compared. */
#define BARE(placement, result)                                                                    \
    "{'schema':1,'config':{'placement':'" placement "'},'result':{" result "}}\n"
#define RATIO(ratio) BARE("turn", "'hit_ratio':" ratio)

/* A ratio is compared whether it is written or follows from counters: 350 of 500 is 0.7. */
static const struct {
    const char *base, *now, *tolerance, *only;
    size_t differences;
} ratios[] = {
    {RATIO("0.91"), RATIO("0.70"), NULL, "hit_ratio", 1},
    {RATIO("0.91"), RATIO("0.91"), NULL, "hit_ratio", 0},
    {RATIO("0.91"), RATIO("0.70"), NULL, NULL, 1},
    {RATIO("0.91"), RATIO("0.91"), NULL, NULL, 0},
    {RATIO("0.91"), RATIO("0.70"), "hit_ratio=0.2", NULL, 1},
    {RATIO("0.91"), RATIO("0.70"), "hit_ratio=0.22", NULL, 0},
    {RATIO("0.91"), RATIO("0.70"), "all=0.2", NULL, 1},
    {RATIO("0.91"), RATIO("0.70"), "all=0.22", NULL, 0},
    {RATIO("0.70"), BARE("turn", "'hit_tokens':350,'prompt_tokens':500"), NULL, "hit_ratio", 0},
    {RATIO("0.71"), BARE("turn", "'hit_tokens':350,'prompt_tokens':500"), NULL, "hit_ratio", 1},
    {BARE("turn", "'hit_tokens':350,'prompt_tokens':500"), RATIO("0.71"), NULL, "hit_ratio", 1},
    /* one with half of its counters is as good as one with none of them */
    {BARE("turn", "'hit_tokens':350,'hit_ratio':0.91"),
     BARE("turn", "'hit_tokens':350,'hit_ratio':0.70"), NULL, "hit_ratio", 1},
    {BARE("turn", "'hit_tokens':350,'hit_ratio':0.91"),
     BARE("turn", "'hit_tokens':350,'hit_ratio':0.70"), NULL, NULL, 1},
    /* what is written moved, and the counters did not */
    {BARE("turn", "'hit_tokens':350,'prompt_tokens':500,'hit_ratio':0.7"),
     BARE("turn", "'hit_tokens':350,'prompt_tokens':500,'hit_ratio':0.6"), NULL, NULL, 1},
    {BARE("turn", "'hit_tokens':350,'prompt_tokens':500,'hit_ratio':0.7"),
     BARE("turn", "'hit_tokens':350,'prompt_tokens':500,'hit_ratio':0.6"), NULL, "hit_ratio", 1},
    /* in one of two cells only */
    {RATIO("0.91") BARE("none", "'hit_ratio':0.5"), BARE("none", "'hit_ratio':0.5") RATIO("0.70"),
     NULL, "hit_ratio", 1},
    /* a number that the first line has as a text is one all the same */
    {BARE("none", "'x':'-','y':1") BARE("turn", "'x':1,'y':1"),
     BARE("none", "'x':'-','y':1") BARE("turn", "'x':2,'y':1"), NULL, NULL, 1},
};

START_TEST(compares_ratios)
{
    ck_assert_uint_eq(
        differences(ratios[_i].base, ratios[_i].now, ratios[_i].tolerance, ratios[_i].only),
        ratios[_i].differences);
}
END_TEST

/* What is asked for and cannot be compared never passes for equal. @B and @N are the two files. */
#define X(members) BARE("turn", members)
static const struct {
    const char *base, *now, *tolerance, *only;
    int status;
    const char *message;
} gates[] = {
    {X("'x':1"), X("'x':1"), NULL, "hit_ratio", USAGE_ERROR,
     "@B:1: --only: a number 'hit_ratio' or 'hit_tokens' and 'prompt_tokens' was expected"},
    {X("'x':1"), RATIO("0.7"), NULL, "hit_ratio", USAGE_ERROR,
     "@B:1: --only: a number 'hit_ratio'"},
    {RATIO("0.7"), X("'x':1"), NULL, "hit_ratio", USAGE_ERROR,
     "@N:1: --only: a number 'hit_ratio'"},
    {X("'x':1,'y':2"), X("'x':1"), NULL, "x,y", USAGE_ERROR, "@N:1: --only: a number 'y'"},
    {X("'x':1"), X("'x':1,'y':2"), NULL, "x,y", USAGE_ERROR, "@B:1: --only: a number 'y'"},
    {X("'x':1,'y':'2'"), X("'x':1,'y':'2'"), NULL, "x,y", USAGE_ERROR, "there is no key 'y'"},
    {X("'x':null"), X("'x':null"), NULL, NULL, -1, "nothing can be compared"},
    {RATIO("0.7") BARE("none", "'x':1"), RATIO("0.7") BARE("none", "'x':1"), NULL, "hit_ratio",
     USAGE_ERROR, "@B:2: --only: a number 'hit_ratio'"},
    {RATIO("0.7") BARE("none", "'x':1"), BARE("none", "'hit_ratio':1") RATIO("0.7"), NULL,
     "hit_ratio", USAGE_ERROR, "@B:2: --only: a number 'hit_ratio'"},
    {RATIO("0.7"), RATIO("0.7"), NULL, "hit_ration", USAGE_ERROR, "did you mean 'hit_ratio'?"},
    {RATIO("0.7"), RATIO("0.7"), NULL, "", USAGE_ERROR, "--only: a key was expected"},
    {RATIO("0.7"), RATIO("0.7"), NULL, ",", USAGE_ERROR, "--only: a key was expected"},
    {RATIO("0.7"), RATIO("0.7"), NULL, "placement", USAGE_ERROR, "found 'placement'"},
    {RATIO("0.7"), RATIO("0.7"), NULL, "capacity", USAGE_ERROR, "found 'capacity'"},
    {RATIO("0.7"), RATIO("0.7"), NULL, "digest", USAGE_ERROR, "found 'digest'"},
    {RATIO("0.7"), RATIO("0.7"), "capacity=1GiB", NULL, USAGE_ERROR, "found 'capacity'"},
    {RATIO("0.7"), RATIO("0.7"), "dual_ratio=1", NULL, USAGE_ERROR,
     "@B:1: --tolerance: a number 'dual_ratio' or 'dual_tokens' and 'prompt_tokens'"},
    {X("'x':1,'y':1"), X("'x':1,'y':1"), "y=1", "x", USAGE_ERROR, "--only leaves it out"},
    {X("'x':1"), X("'x':1,'y':1"), "y=1", NULL, USAGE_ERROR, "@B:1: --tolerance: a number 'y'"},
    {X(""), X(""), NULL, NULL, -1, "nothing can be compared"},
    {X("'x':1"), X("'y':1") BARE("none", ""), "z=1", NULL, USAGE_ERROR, "there is no key 'z'"},
    {X("'x':1"), "", NULL, NULL, -1, "there are no results in it"},
    {"", X("'x':1"), NULL, "x", -1, "there are no results in it"},
};

START_TEST(refuses_to_pass)
{
    refused(gates[_i].base, gates[_i].now, gates[_i].tolerance, gates[_i].only, gates[_i].status,
            gates[_i].message);
}
END_TEST

/* A parameter that a plug-in got later has its default where it is not written. */
START_TEST(knows_later_parameters)
{
#define LADDER(parameters) LINE("ladder:" parameters, "1GiB", "1", "500")
    ck_assert_uint_eq(differences(LADDER("ratio=2"), LADDER("ratio=2,from=start"), NULL, NULL), 0);
    ck_assert_uint_eq(differences(LADDER("from=start,ratio=2"), LADDER("ratio=2"), NULL, NULL), 0);
    ck_assert_uint_eq(differences(LADDER("ratio=2"), LADDER("ratio=2,from=end"), NULL, NULL), 2);
}
END_TEST

/* Cells that say the same of themselves: first those of which both sides know as much, then a
 * failed one with any that is left, and a good one with a failed one only. */
static const struct {
    const char *base, *now;
    size_t cells, fails, works, missing, extra;
} pairings[] = {
#define F FAILED("turn", "1GiB")
    {F F, F F, 2, 0, 0, 0, 0},
    {F F, A A_LESS, 2, 0, 2, 0, 0},
    {A A_LESS, F F, 2, 2, 0, 0, 0},
    {F A, A F, 2, 0, 0, 0, 0},
    {F F A, A F A, 3, 0, 1, 0, 0},
    {F F F, A, 3, 0, 1, 2, 0},
    {A, F F F, 3, 1, 0, 0, 2},
    {F B F C, C A B A, 4, 0, 2, 0, 0},
    {A B, FAILED("none", "1GiB") F F, 3, 2, 0, 0, 1},
    {F, FAILED("turn", "2GiB"), 2, 0, 0, 1, 1},
};

START_TEST(pairs_failed)
{
    struct compare compare;
    open_compare(&compare, pairings[_i].base, pairings[_i].now, NULL, NULL);
    ck_assert_uint_eq(compare.cell_count, pairings[_i].cells);
    ck_assert_uint_eq(compare.in_state[COMPARE_FAILS], pairings[_i].fails);
    ck_assert_uint_eq(compare.in_state[COMPARE_WORKS], pairings[_i].works);
    ck_assert_uint_eq(compare.in_state[COMPARE_MISSING], pairings[_i].missing);
    ck_assert_uint_eq(compare.in_state[COMPARE_EXTRA], pairings[_i].extra);
    compare_close(&compare);
}
END_TEST

START_TEST(worst_first)
{
    static const struct {
        enum compare_state state;
        const char *name;
    } expected[] = {
        {COMPARE_FAILS, "placement=none"}, /* it knows neither its trace nor its eviction */
        {COMPARE_MISSING, "placement=last"},
        {COMPARE_MOVED, "placement=fixed:64"}, /* 0.1 of the hit ratio lost */
        {COMPARE_MOVED, "placement=turn"},     /* 0.001 */
        {COMPARE_EXTRA, "placement=sqrt"},
    };
    struct compare compare;
    open_compare(&compare, A B C LINE("last", "1GiB", "1", "9"),
                 LINE("sqrt", "1GiB", "1", "9") FAILED("none", "1GiB") A_LESS C_LESS, NULL, NULL);
    ck_assert_uint_eq(compare.cell_count, 5);
    for (size_t i = 0; i < 5; i++) {
        struct text name = {0};
        compare_name(&compare, &compare.cells[i], &name);
        ck_assert_int_eq(compare.cells[i].state, expected[i].state);
        ck_assert_str_eq(name.data, expected[i].name);
        text_close(&name);
    }
    ck_assert_str_eq(compare.cells[2].moved[0].key, "hit_tokens");
    ck_assert(compare.cells[2].moved[0].base == 300 && compare.cells[2].moved[0].now == 200);
    ck_assert_double_eq_tol(compare.cells[2].hit_ratio_change, -0.1, 1e-12);
    ck_assert_double_eq_tol(compare.cells[3].hit_ratio_change, -0.001, 1e-12);
    compare_close(&compare);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *tcase = tcase_create("all");
    SUITE_LOOP(tcase, tolerances, changes);
    tcase_add_test(tcase, bad_tolerances);
    tcase_add_test(tcase, compares);
    tcase_add_test(tcase, compares_programs);
    SUITE_LOOP(tcase, compares_ratios, ratios);
    SUITE_LOOP(tcase, refuses_to_pass, gates);
    tcase_add_test(tcase, knows_later_parameters);
    SUITE_LOOP(tcase, pairs_failed, pairings);
    tcase_add_test(tcase, worst_first);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
