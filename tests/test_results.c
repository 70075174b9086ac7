/* Results: reading them, what a key means, and tables. The numbers that are expected were computed
 * on paper. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies/list.h"
#include "sim/core/mem.h"
#include "tests/inputs.h"
#include "tests/result_lines.h"
#include "tests/suite.h"
#include "tools/view/html.h"
#include "tools/view/pivot.h"
#include "tools/view/plugin_text.h"
#include "tools/view/replay_file.h"
#include "tools/view/where.h"

static const char grid[] = LINE("turn:bounds=0", "64GiB", "1", "500")
    LINE("turn:bounds=0", "128GiB", "1", "600") LINE("fixed:interval=64", "64GiB", "1", "300")
        LINE("fixed:interval=64", "128GiB", "1", "700");

static int open_text(struct results *results, const char *text, struct err *err)
{
    char *content = input_unquote(text);
    int result = results_open_memory(results, "r.jsonl", content, strlen(content), err);
    free(content);
    return result;
}

static void must_open(struct results *results, const char *text)
{
    struct err err = {""};
    ck_assert_msg(open_text(results, text, &err) == 0, "%s", err.text);
}

/* ---- reading ---- */

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "r.jsonl: there are no results in it"},
    {" \n\n", "r.jsonl: there are no results in it"},
    {"{'schema':1}\n", "r.jsonl:1: 'config' and one of 'result' and 'error' were expected"},
    {"{'schema':1,'config':{},'result':{},'error':'x'}\n",
     "r.jsonl:1: 'config' and one of 'result' and 'error' were expected"},
    {"{'schema':1,'config':3,'result':{}}\n", "r.jsonl:1: 'config': an object was expected"},
    {"{'schema':9,'config':{},'result':{}}\n",
     "r.jsonl:1: results of schema 9 are not known to this program, which reads 1"},
    {"{'a':1}\n", "r.jsonl:1: a result was expected, an object with 'schema', as `snapsim run "
                  "--format json` and `snapsim sweep` write it"},
    {"{'schema':1,'config':{},'result':{}}\n\n{'schema':1,}\n",
     "r.jsonl:3: JSON was expected, found 'end of file'"},
    {"{'schema':1,'config':{'a':1,'a':2},'result':{}}\n", "r.jsonl:1: key 'a' appears twice"},
    {"{\n'schema':1,\n'config':{},,\n'result':{}}\n", "r.jsonl:3: JSON was expected, found '"},
};

START_TEST(refuses)
{
    struct results results;
    struct err err = {""};
    ck_assert_int_eq(open_text(&results, bad[_i].text, &err), -1);
    const char *message = bad[_i].message;
    ck_assert_msg(strncmp(err.text, message, strlen(message)) == 0, "'%s' expected, found '%s'",
                  message, err.text);
    results_close(&results);
}
END_TEST

START_TEST(reads_lines_and_documents)
{
    struct results results;
    must_open(&results, grid);
    ck_assert_uint_eq(results.count, 4);
    ck_assert_uint_eq(results.failed, 0);
    ck_assert_str_eq(results.rows[2].document.path, "r.jsonl:3");
    results_close(&results);
    must_open(&results, FAILED("turn", "1GiB") LINE("turn", "1GiB", "1", "5"));
    ck_assert_uint_eq(results.count, 2);
    ck_assert_uint_eq(results.failed, 1);
    ck_assert_str_eq(results.rows[0].error, "it broke");
    results_close(&results);
    /* What `run` prints for people: one object over many lines; and a line without its end. */
    must_open(&results, "{\n 'schema': 1,\n 'config': {},\n 'result': {\n }\n}\n");
    ck_assert_uint_eq(results.count, 1);
    results_close(&results);
    must_open(&results, "{'schema':1,'config':{},'result':{}}");
    ck_assert_uint_eq(results.count, 1);
    results_close(&results);
}
END_TEST

START_TEST(reads_directories)
{
    char directory[] = "/tmp/snapsim-test-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(directory));
    struct results results;
    struct err err = {""};
    struct text plain = {0}, packed = {0};
    text_printf(&plain, "%s/results.jsonl", directory);
    text_printf(&packed, "%s/results.jsonl.zst", directory);
    char *content = input_unquote(grid);
    ck_assert_int_eq(results_open(&results, directory, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "a directory with results.jsonl or"));
    results_close(&results);
    /* The content tells, not the name. */
    ck_assert_int_eq(text_write_file(packed.data, content, strlen(content), &err), 0);
    ck_assert_msg(results_open(&results, directory, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(results.count, 4);
    results_close(&results);
    ck_assert_int_eq(text_write_file(plain.data, content, strlen(content), &err), 0);
    ck_assert_int_eq(results_open(&results, directory, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "holds both"));
    results_close(&results);
    unlink(plain.data);
    unlink(packed.data);
    rmdir(directory);
    text_close(&plain);
    text_close(&packed);
    free(content);
}
END_TEST

/* ---- plug-ins' texts ---- */

static const struct {
    const char *given, *long_form, *short_form;
} forms[] = {
    {"turn", "turn:bounds=0", "turn"},
    {"turn:bounds=1", "turn:bounds=1", "turn:1"},
    {"fixed", "fixed:interval=64", "fixed:64"},
    {"fixed:4096", "fixed:interval=4096", "fixed:4096"},
    {"turn:0+fixed:interval=512", "turn:bounds=0+fixed:interval=512", "turn+fixed:512"},
    {"ladder", "ladder:ratio=2,from=start", "ladder"},
    {"ladder:from=end", "ladder:ratio=2,from=end", "ladder:from=end"},
    {"ladder:3,from=end", "ladder:ratio=3,from=end", "ladder:3,from=end"},
    {"balanced", "balanced:count=16", "balanced:16"},
    {"none", "none", "none"},
    {"none+unheard-of:x=1", "none+unheard-of:x=1", "none+unheard-of:x=1"},
    {"fixed:interval=none", "fixed:interval=none", "fixed:interval=none"},
};

START_TEST(long_and_short)
{
    struct text text = {0};
    plugin_text_long(placement_list, forms[_i].given, &text);
    ck_assert_str_eq(text.data, forms[_i].long_form);
    text_clear(&text);
    plugin_text_short(placement_list, forms[_i].given, &text);
    ck_assert_str_eq(text.data, forms[_i].short_form);
    /* The short form means the same. */
    char *again = mem_strdup(text.data);
    text_clear(&text);
    plugin_text_long(placement_list, again, &text);
    ck_assert_str_eq(text.data, forms[_i].long_form);
    free(again);
    text_close(&text);
}
END_TEST

/* ---- keys ---- */

static double number_of(const struct results *results, const char *key)
{
    struct column column;
    struct err err = {""};
    double number = -1;
    ck_assert_msg(column_find(&column, results, key, PLACE_VALUE, &err) == 0, "%s", err.text);
    ck_assert_msg(column_number(&column, &results->rows[0], &number), "%s has no number", key);
    return number;
}

static char *text_of(const struct results *results, const char *key)
{
    struct column column;
    struct err err = {""};
    struct text text = {0};
    ck_assert_msg(column_find(&column, results, key, PLACE_SETTING, &err) == 0, "%s", err.text);
    column_text(&column, &results->rows[0], &text);
    return text.data;
}

START_TEST(keys)
{
    struct results results;
    must_open(&results, LINE("turn:bounds=0+fixed:interval=512", "65536MiB", "1", "250"));
    ck_assert(number_of(&results, "hit_ratio") == 0.25); /* from the integers: 250 of 1000 */
    ck_assert(number_of(&results, "missed-new-ratio") == 0.2);
    ck_assert(number_of(&results, "snapshot_taken_bytes") == 700);
    ck_assert(number_of(&results, "hit_request_ratio") == 0.4);
    ck_assert(number_of(&results, "requests") == 10);
    ck_assert(number_of(&results, "config.requests") == 0); /* not in the file: its default */
    ck_assert(number_of(&results, "capacity") == 68719476736.0);
    ck_assert(number_of(&results, "placement.interval") == 512);
    static const char *const texts[][2] = {
        {"placement", "turn+fixed:512"},
        {"capacity", "64GiB"},
        {"trace", "t"},
        {"requests", "0"},
        {"label", ""},
        {"snapshot_grain", "0"},
        {"digest", "0x250"},
        {"eviction", "lru"},
        {"placement.bounds", "0"},
        {"placement.ratio", ""},
        {"eviction.refresh", "hit"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = text_of(&results, texts[i][0]);
        ck_assert_str_eq(text, texts[i][1]);
        free(text);
    }
    results_close(&results);
}
END_TEST

static const struct {
    const char *key, *message;
} wrong_keys[] = {
    {"hit_ration", "there is no key 'hit_ration' (did you mean 'hit_ratio'?)"},
    {"placment", "there is no key 'placment' (did you mean 'placement'?)"},
    {"placement.intervall", "no placement has a parameter 'intervall' (did you mean 'interval'?)"},
    {"zzzzzzzzzzzz", "there is no key 'zzzzzzzzzzzz' (snapsim table r.jsonl --keys lists them)"},
};

START_TEST(unknown_keys)
{
    struct results results;
    struct column column;
    struct err err = {""};
    must_open(&results, grid);
    ck_assert_int_eq(column_find(&column, &results, wrong_keys[_i].key, PLACE_VALUE, &err), -1);
    ck_assert_str_eq(err.text, wrong_keys[_i].message);
    results_close(&results);
}
END_TEST

static const struct {
    const char *words[3];
    size_t left; /* 0: nothing fits, which is an error */
} conditions[] = {
    {{"placement=turn"}, 2},
    {{"placement=turn:bounds=0"}, 2},
    {{"placement=fixed"}, 2},
    {{"placement=fixed:64", "capacity=65536MiB"}, 1},
    {{"placement=turn", "placement=fixed:interval=64"}, 4},
    {{"placement!=turn"}, 2},
    {{"capacity=64GiB", "capacity!=64GiB"}, 0},
    {{"hit_tokens=500"}, 1},
    {{"config.seed=1.0"}, 4},
    {{"share-system=no"}, 4},
    {{"placement=trun"}, 0},
};

START_TEST(where)
{
    struct results results;
    struct err err = {""};
    const char *words[3];
    memcpy(words, conditions[_i].words, sizeof words);
    struct words list = {.items = words};
    while (list.count < 3 && words[list.count])
        list.count++;
    must_open(&results, grid);
    int result = where_apply(&results, &list, &err);
    if (conditions[_i].left > 0) {
        ck_assert_msg(result == 0, "%s", err.text);
        ck_assert_uint_eq(results.count, conditions[_i].left);
    } else {
        ck_assert_int_eq(result, USAGE_ERROR);
    }
    results_close(&results);
}
END_TEST

/* ---- what varies, tables ---- */

static void check_varying(const char *text, const char *expected)
{
    struct results results;
    struct column *varying = NULL;
    struct text names = {0};
    must_open(&results, text);
    size_t count = axis_varying(&results, NULL, &varying);
    text_add(&names, "", 0);
    for (size_t i = 0; i < count; i++)
        text_printf(&names, "%s%s", i ? " " : "", varying[i].name);
    ck_assert_str_eq(names.data, expected);
    free(varying);
    text_close(&names);
    results_close(&results);
}

#define NAMED(label, capacity)                                                                     \
    "{'schema':1,'sweep':{'label':'" label "'},'config':{'capacity':'" capacity                    \
    "'},'result':{'hit_tokens':1,'prompt_tokens':2}}\n"

START_TEST(varying)
{
    check_varying(grid, "placement capacity");
    check_varying(LINE("turn", "1GiB", "1", "5"), "");
    /* both forms of a placement are one value */
    check_varying(LINE("turn", "1GiB", "1", "5") LINE("turn:bounds=0", "2GiB", "1", "5"),
                  "capacity");
    /* the seed follows from the capacity */
    check_varying(LINE("turn", "1GiB", "1", "5") LINE("turn", "2GiB", "2", "5"), "capacity");
    check_varying(LINE("turn", "1GiB", "1", "5") LINE("turn", "2GiB", "2", "5")
                      LINE("turn", "2GiB", "1", "5"),
                  "capacity seed");
    /* failed cells do not count; labels of all cells come first */
    check_varying(FAILED("none", "1GiB") LINE("turn", "1GiB", "1", "5"), "");
    check_varying(NAMED("a", "1GiB") NAMED("b", "1GiB") NAMED("b", "2GiB"), "label capacity");
    check_varying(NAMED("a", "1GiB") NAMED("b", "2GiB"), "label");
}
END_TEST

static void check_cell(const struct pivot *pivot, size_t row, size_t column, double expected)
{
    const struct pivot_cell *cell = pivot_at(pivot, row, column, 0);
    ck_assert_int_eq(cell->state, PIVOT_VALUE);
    ck_assert_msg(cell->value == expected, "%.17g expected, found %.17g", expected, cell->value);
}

#define COST(placement, capacity, evicted)                                                         \
    "{'schema':1,'config':{'placement':'" placement "','capacity':'" capacity                      \
    "'},'result':{'snapshots_evicted':" evicted "}}\n"

/* Values are numbered as they appear, also when there are as many as rows. */
START_TEST(axis_of_many)
{
    enum { ROWS = 3000, VALUES = 2500 };
    struct text lines = {0};
    for (unsigned i = 0; i < ROWS; i++)
        text_printf(&lines, "{'schema':1,'config':{'seed':%u},'result':{}}\n",
                    i * 7919 % VALUES); /* 7919 is a prime: all values come before one repeats */
    struct results results;
    struct column seed;
    struct axis axis;
    struct err err;
    must_open(&results, lines.data);
    ck_assert_int_eq(column_find(&seed, &results, "seed", PLACE_SETTING, &err), 0);
    axis_open(&axis, &results, &seed, 1);
    ck_assert_uint_eq(axis.count, VALUES);
    for (size_t i = 0; i < ROWS; i++)
        ck_assert_uint_eq(axis.of_row[i], i % VALUES);
    for (size_t i = 0; i < VALUES; i++)
        ck_assert_uint_eq(axis.example[i], i);
    axis_close(&axis);
    axis_open(&axis, &results, NULL, 0);
    ck_assert_uint_eq(axis.count, 1);
    axis_close(&axis);
    results_close(&results);
    text_close(&lines);
}
END_TEST

START_TEST(pivot_chooses)
{
    struct results results;
    struct pivot pivot;
    struct err err = {""};
    must_open(&results, grid);
    struct pivot_request request = {0};
    ck_assert_msg(pivot_open(&pivot, &results, &request, &err) == 0, "%s", err.text);
    ck_assert_str_eq(pivot.rows.keys[0].name, "placement");
    ck_assert_str_eq(pivot.columns.keys[0].name, "capacity");
    ck_assert_uint_eq(pivot.rows.count, 2);
    ck_assert_uint_eq(pivot.columns.count, 2);
    check_cell(&pivot, 0, 0, 0.5);
    check_cell(&pivot, 0, 1, 0.6);
    check_cell(&pivot, 1, 0, 0.3);
    check_cell(&pivot, 1, 1, 0.7);
    ck_assert(pivot_is_best(&pivot, 0, 0, 0));
    ck_assert(!pivot_is_best(&pivot, 0, 1, 0));
    ck_assert(pivot_is_best(&pivot, 1, 1, 0));
    pivot_close(&pivot);
    results_close(&results);
    must_open(&results, COST("turn", "1GiB", "5") COST("turn", "2GiB", "2")
                            COST("none", "1GiB", "4") COST("none", "2GiB", "3"));
    request = (struct pivot_request){.rows = "capacity", .values = "snapshots_evicted"};
    ck_assert_msg(pivot_open(&pivot, &results, &request, &err) == 0, "%s", err.text);
    ck_assert_str_eq(pivot.columns.keys[0].name, "placement");
    check_cell(&pivot, 1, 0, 2);
    ck_assert(!pivot_is_best(&pivot, 0, 0, 0)); /* fewer are better: 5 against 2 */
    ck_assert(pivot_is_best(&pivot, 1, 0, 0));
    ck_assert(!pivot_is_best(&pivot, 0, 1, 0)); /* 4 against 3 */
    ck_assert(pivot_is_best(&pivot, 1, 1, 0));
    pivot_close(&pivot);
    results_close(&results);
}
END_TEST

#define THREE_SEEDS                                                                                \
    LINE("turn", "1GiB", "1", "100")                                                               \
    LINE("turn", "1GiB", "2", "200") LINE("turn", "1GiB", "3", "600")

START_TEST(pivot_refuses_and_aggregates)
{
    struct results results;
    struct pivot pivot;
    struct err err = {""};
    must_open(&results, THREE_SEEDS);
    struct pivot_request request = {.rows = "placement", .columns = "capacity"};
    ck_assert_int_eq(pivot_open(&pivot, &results, &request, &err), -1);
    ck_assert_str_eq(err.text,
                     "turn, 1GiB: several results differ in hit_ratio, and in seed: name that with "
                     "--rows or --columns, pick with --where, or use --aggregate mean, min or max");
    pivot_close(&pivot);
    static const double expected[] = {[PIVOT_MEAN] = 0.3, [PIVOT_MIN] = 0.1, [PIVOT_MAX] = 0.6};
    for (int aggregate = PIVOT_MEAN; aggregate <= PIVOT_MAX; aggregate++) {
        request = (struct pivot_request){.aggregate = (enum pivot_aggregate)aggregate};
        ck_assert_msg(pivot_open(&pivot, &results, &request, &err) == 0, "%s", err.text);
        ck_assert_uint_eq(pivot.rows.count, 1); /* seeds are not made rows */
        ck_assert_double_eq_tol(pivot_at(&pivot, 0, 0, 0)->value, expected[aggregate], 1e-15);
        ck_assert_uint_eq(pivot_at(&pivot, 0, 0, 0)->count, 3);
        pivot_close(&pivot);
    }
    results_close(&results);
    /* The same result twice is no contradiction; a failed cell is shown as failed. */
    must_open(&results, LINE("turn", "1GiB", "1", "100") LINE("turn", "1GiB", "1", "100")
                            FAILED("none", "1GiB"));
    request = (struct pivot_request){.rows = "placement", .columns = "capacity"};
    ck_assert_msg(pivot_open(&pivot, &results, &request, &err) == 0, "%s", err.text);
    check_cell(&pivot, 0, 0, 0.1);
    ck_assert_int_eq(pivot_at(&pivot, 1, 0, 0)->state, PIVOT_FAILED);
    pivot_close(&pivot);
    results_close(&results);
}
END_TEST

/* ---- making again, HTML ---- */

static void check_again(const char *text, const char *expected)
{
    struct results results;
    struct text out = {0};
    must_open(&results, text);
    replay_file_write(&results, &out);
    char *found = mem_alloc(out.length + 1), *to = found;
    for (const char *c = out.data; *c; c++)
        if (!strchr(" \t\n", *c))
            *to++ = *c == '"' ? '\'' : *c;
    *to = '\0';
    ck_assert_str_eq(found, expected);
    free(found);
    text_close(&out);
    results_close(&results);
}

START_TEST(makes_again)
{
    check_again(grid,
                "{'trace':'t','placement':['turn','fixed:64'],'capacity':['64GiB','128GiB']}");
    check_again(LINE("turn", "1GiB", "7", "5"), "{'trace':'t','capacity':'1GiB','seed':7}");
    /* three corners of a square are no grid */
    check_again(LINE("turn", "1GiB", "1", "5") LINE("none", "1GiB", "1", "5")
                    LINE("turn", "64GiB", "1", "5"),
                "{'trace':'t','cells':[{'label':'cell1','capacity':'1GiB'},"
                "{'label':'cell2','placement':'none','capacity':'1GiB'},{'label':'cell3'}]}");
}
END_TEST

START_TEST(html)
{
    struct text out = {0};
    html_text("a<b> & \"c\" 'd'", &out);
    ck_assert_str_eq(out.data, "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    text_clear(&out);
    html_svg("<?xml?>\n<svg w=\"1\"><title>Gnuplot</title><g id='p'/><use xlink:href='#p'/>"
             "<a f='url(#p)'/></svg>",
             "x-", "a < b", &out);
    ck_assert_str_eq(out.data, "<svg role=\"img\"  w=\"1\"><title>a &lt; b</title><g id='x-p'/>"
                               "<use xlink:href='#x-p'/><a f='url(#x-p)'/></svg>");
    text_close(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("results");
    TCase *tcase = tcase_create("all");
    SUITE_LOOP(tcase, refuses, bad);
    tcase_add_test(tcase, reads_lines_and_documents);
    tcase_add_test(tcase, reads_directories);
    SUITE_LOOP(tcase, long_and_short, forms);
    tcase_add_test(tcase, keys);
    SUITE_LOOP(tcase, unknown_keys, wrong_keys);
    SUITE_LOOP(tcase, where, conditions);
    tcase_add_test(tcase, varying);
    tcase_add_test(tcase, axis_of_many);
    tcase_add_test(tcase, pivot_chooses);
    tcase_add_test(tcase, pivot_refuses_and_aggregates);
    tcase_add_test(tcase, makes_again);
    tcase_add_test(tcase, html);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
