/* snapsim compare - the regression gate: which cells of a sweep moved, and by how much. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/snapsim/snapsim.h"
#include "tools/view/compare.h"

#define COMPARE_SCHEMA 1
#define KEYS_SHOWN 8 /* of one cell, to people; the other formats have all */

static const char *state_word(enum compare_state state)
{
    static const char *const words[] = {
        [COMPARE_EQUAL] = "equal",        [COMPARE_MOVED] = "moved",
        [COMPARE_FAILS] = "fails now",    [COMPARE_WORKS] = "failed before",
        [COMPARE_MISSING] = "not in NEW", [COMPARE_EXTRA] = "not in BASE",
    };
    return words[state];
}

static bool differs(const struct compare *compare)
{
    return compare->in_state[COMPARE_EQUAL] != compare->cell_count;
}

/* "2 of 70 cells moved, 1 not in NEW", or "70 cells, all equal". */
static void add_summary(const struct compare *compare, struct text *out)
{
    static const enum compare_state order[] = {COMPARE_FAILS, COMPARE_MOVED, COMPARE_MISSING,
                                               COMPARE_EXTRA, COMPARE_WORKS};
    if (!differs(compare)) {
        text_printf(out, "%zu %s, all equal", compare->cell_count,
                    compare->cell_count == 1 ? "cell" : "cells");
        return;
    }
    text_printf(out, "of %zu cells", compare->cell_count);
    const char *separator = "";
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (compare->in_state[order[i]] == 0)
            continue;
        text_printf(out, "%s %zu %s", separator, compare->in_state[order[i]], state_word(order[i]));
        separator = ",";
    }
}

static void add_change(const struct compare_moved *moved, struct text *out)
{
    if (moved->column == NULL) {
        text_printf(out, "differs");
        return;
    }
    column_print(moved->column, moved->base, false, out);
    text_printf(out, " -> ");
    if (moved->is_gone) {
        text_printf(out, "none");
        return;
    }
    column_print(moved->column, moved->now, false, out);
    if (isfinite(moved->relative))
        text_printf(out, " (%+.3g %%)", 100 * moved->relative);
}

/* One line for logs: "hit_ratio 0.8763 -> 0.8701 (-0.71 %); ...". */
static void add_details(const struct compare_cell *cell, size_t most, struct text *out)
{
    if (cell->state == COMPARE_FAILS)
        text_printf(out, "fails now: %s", cell->now->error);
    else if (cell->state != COMPARE_MOVED)
        text_printf(out, "%s", state_word(cell->state));
    for (size_t i = 0; i < cell->moved_count && i < most; i++) {
        text_printf(out, "%s%s ", i ? "; " : "", cell->moved[i].key);
        add_change(&cell->moved[i], out);
    }
    if (cell->moved_count > most)
        text_printf(out, "; and %zu more", cell->moved_count - most);
}

/* ---- formats ---- */

static void print_table(const struct compare *compare, struct text *out)
{
    add_summary(compare, out);
    text_add(out, "\n", 1);
    for (size_t i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        if (cell->state == COMPARE_EQUAL)
            continue;
        text_add(out, "\n", 1);
        compare_name(compare, cell, out);
        if (cell->state != COMPARE_MOVED)
            text_add(out, ": ", 2);
        if (cell->state != COMPARE_MOVED)
            add_details(cell, 0, out);
        else if (cell->hit_ratio_change != 0)
            text_printf(out, ": hit_ratio %+.6f", cell->hit_ratio_change);
        text_add(out, "\n", 1);
        for (size_t j = 0; j < cell->moved_count && j < KEYS_SHOWN; j++) {
            text_printf(out, "  %-26s ", cell->moved[j].key);
            add_change(&cell->moved[j], out);
            text_add(out, "\n", 1);
        }
        if (cell->moved_count > KEYS_SHOWN)
            text_printf(out, "  and %zu more (--format json has all)\n",
                        cell->moved_count - KEYS_SHOWN);
    }
}

static void print_json(const struct compare *compare, struct text *out)
{
    static const char *const keys[] = {"equal", "moved", "fails", "works", "missing", "extra"};
    struct json *top = json_new_object();
    json_add_u64(top, "schema", COMPARE_SCHEMA);
    json_add_string(top, "base", compare->base.path);
    json_add_string(top, "new", compare->now.path);
    json_add_u64(top, "cells", compare->cell_count);
    for (size_t state = 0; state <= COMPARE_EXTRA; state++)
        json_add_u64(top, keys[state], compare->in_state[state]);
    struct json *list = json_add_array(top, "differences");
    for (size_t i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        if (cell->state == COMPARE_EQUAL)
            continue;
        struct json *item = json_add_object(list, NULL);
        struct text name = {0};
        compare_name(compare, cell, &name);
        json_add_string(item, "cell", name.data);
        json_add_string(item, "state", keys[cell->state]);
        if (cell->state == COMPARE_FAILS)
            json_add_string(item, "error", cell->now->error);
        struct json *moved = json_add_object(item, "moved");
        for (size_t j = 0; j < cell->moved_count; j++) {
            struct json *pair = json_add_object(moved, cell->moved[j].key);
            if (cell->moved[j].column)
                json_add_double(pair, "base", cell->moved[j].base);
            if (cell->moved[j].column && !cell->moved[j].is_gone)
                json_add_double(pair, "new", cell->moved[j].now);
        }
        text_close(&name);
    }
    json_print(top, true, out);
    text_add(out, "\n", 1);
    json_close(top);
}

static void add_xml(const char *text, struct text *out)
{
    for (const char *c = text; *c; c++) {
        if (*c == '&')
            text_printf(out, "&amp;");
        else if (*c == '<')
            text_printf(out, "&lt;");
        else if (*c == '"')
            text_printf(out, "&quot;");
        else if ((unsigned char)*c >= ' ')
            text_add(out, c, 1);
    }
}

static void print_junit(const struct compare *compare, struct text *out)
{
    struct text text = {0};
    size_t failures = compare->cell_count - compare->in_state[COMPARE_EQUAL];
    text_printf(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<testsuites tests=\"%zu\" failures=\"%zu\">\n"
                "  <testsuite name=\"snapsim compare\" tests=\"%zu\" failures=\"%zu\" "
                "errors=\"0\">\n",
                compare->cell_count, failures, compare->cell_count, failures);
    for (size_t i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        text_clear(&text);
        compare_name(compare, cell, &text);
        text_printf(out, "    <testcase classname=\"snapsim.compare\" name=\"");
        add_xml(text.data, out);
        if (cell->state == COMPARE_EQUAL) {
            text_printf(out, "\"/>\n");
            continue;
        }
        text_clear(&text);
        add_details(cell, SIZE_MAX, &text);
        text_printf(out, "\">\n      <failure message=\"");
        add_xml(text.data, out);
        text_printf(out, "\"/>\n    </testcase>\n");
    }
    text_printf(out, "  </testsuite>\n</testsuites>\n");
    text_close(&text);
}

static void print_tap(const struct compare *compare, struct text *out)
{
    text_printf(out, "TAP version 13\n1..%zu\n", compare->cell_count);
    for (size_t i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        text_printf(out, "%s %zu - ", cell->state == COMPARE_EQUAL ? "ok" : "not ok", i + 1);
        compare_name(compare, cell, out);
        text_add(out, "\n", 1);
        if (cell->state == COMPARE_EQUAL)
            continue;
        struct text details = {0};
        add_details(cell, SIZE_MAX, &details);
        text_printf(out, "# %s\n", details.data);
        text_close(&details);
    }
}

/* The data of a workflow command: per cent and line ends are escaped, in properties also ':' and
 * ','. https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts */
static void add_workflow(const char *text, bool is_property, struct text *out)
{
    for (const char *c = text; *c; c++) {
        bool escape =
            *c == '%' || *c == '\n' || *c == '\r' || (is_property && (*c == ':' || *c == ','));
        if (escape)
            text_printf(out, "%%%02X", (unsigned)(unsigned char)*c);
        else
            text_add(out, c, 1);
    }
}

static void print_github(const struct compare *compare, struct text *out)
{
    struct text text = {0};
    for (size_t i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        if (cell->state == COMPARE_EQUAL)
            continue;
        text_clear(&text);
        compare_name(compare, cell, &text);
        text_printf(out, "::error title=");
        add_workflow(text.data, true, out);
        text_clear(&text);
        add_details(cell, KEYS_SHOWN, &text);
        text_printf(out, "::");
        add_workflow(text.data, false, out);
        text_add(out, "\n", 1);
    }
    text_clear(&text);
    add_summary(compare, &text);
    text_printf(out, "::notice title=snapsim compare::");
    add_workflow(text.data, false, out);
    text_add(out, "\n", 1);
    text_close(&text);
}

/* ---- the command ---- */

static const char *const formats[] = {"table", "json", "junit", "tap", "github", NULL};
static void (*const printers[])(const struct compare *compare, struct text *out) = {
    print_table, print_json, print_junit, print_tap, print_github};

struct compare_options {
    struct words tolerances;
    char *only;
    unsigned format;
};

static const struct param compare_params[] = {
    {"tolerance", PARAM_WORDS, offsetof(struct compare_options, tolerances), NULL, 0, 0, NULL,
     "KEY=N|KEY=N%", "how far a key may move; 'all' for the rest; may be repeated"},
    OPTION_TEXT(struct compare_options, "only", only, "KEY,...", "compare nothing but these"),
    OPTION_FORMAT(struct compare_options, formats),
    PARAM_END,
};

static int run(const struct call *call)
{
    const struct compare_options *options = call->settings;
    const struct compare_request request = {.base = call->words[0],
                                            .now = call->words[1],
                                            .tolerances = &options->tolerances,
                                            .only = options->only};
    struct compare compare;
    struct text out = {0};
    struct err err;
    int status = EXIT_GOOD, result = compare_open(&compare, &request, &err);
    if (result != 0) {
        status = say(failed_status(result), "%s", err.text);
    } else {
        printers[options->format](&compare, &out);
        status = print_result(&out);
        if (status == EXIT_GOOD && differs(&compare))
            status = EXIT_DIFFERS;
        if (status == EXIT_GOOD && compare.now.failed == compare.now.count)
            status = say(EXIT_FAILED, "every cell failed, before and now: nothing was compared");
    }
    compare_close(&compare);
    text_close(&out);
    return status;
}

const struct command cmd_compare = {
    .name = "compare",
    .summary = "what moved between two sets of results",
    .text = "Compares results cell by cell (a cell is its settings, trace and model) and prints "
            "what moved, worst first. Exit 0: equal; 3: they differ; 1: a file cannot be read; 2: "
            "usage.\n",
    .notes = "Every number of `result` and `model` must be equal, and the digest; a counter that "
             "only NEW has is no difference, nor is the program's version. With --tolerance or "
             "--only the digest does not count, as it tells any two runs apart.\n",
    .examples = "  snapsim compare results/v8.jsonl.zst new\n"
                "  snapsim compare base new --only hit_ratio --tolerance hit_ratio=0.001\n"
                "  snapsim compare base new --tolerance all=1% --tolerance peak_bytes=64MiB\n"
                "  snapsim compare base new --format github    annotations in a workflow\n",
    .options_size = sizeof(struct compare_options),
    .ways = {{.words = "BASE NEW",
              .missing = "BASE and NEW were",
              .least = 2,
              .most = 2,
              .tables = {{NULL, compare_params, 0}},
              .run = run}},
};
