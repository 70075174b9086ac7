#include "tools/view/compare.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/view/axis.h"
#include "tools/view/compare_keys.h"

/* ---- which cells are the same ---- */

#define NO_ROW SIZE_MAX

struct side {
    const struct results *results;
    bool says_models;        /* both sides give the digest of the model in each result */
    struct column *settings; /* a setting that only the other side has is told by its keys */
    size_t setting_count;
    char **signatures;
    size_t *partner; /* for each row, the row of the other side, or NO_ROW */
};

/* All settings, and the digests of trace and model, as one text. Loose: without what a failed cell
 * does not know. */
static char *cell_signature(const struct side *side, const struct results_row *row, bool loose)
{
    struct text text = {0};
    for (size_t i = 0; i < side->setting_count; i++) {
        const struct column *column = &side->settings[i];
        if (loose && strcmp(column->key, "arrival") == 0)
            continue; /* it is resolved late */
        text_printf(&text, "%s=", column->key);
        column_text_long(column, row, &text);
        text_add(&text, "\x1f", 1);
    }
    const struct json *trace = row->part[RESULTS_TRACE];
    const char *sha256 = trace ? json_string(json_get(trace, "sha256")) : NULL;
    if (!loose)
        text_printf(&text, "trace=%s", sha256 ? sha256 : "");
    const char *model = results_model(row, "sha256");
    if (!loose && side->says_models)
        text_printf(&text, "\x1fmodel=%s", model ? model : "");
    return text.data;
}

static void side_open(struct side *side, const struct results *results)
{
    struct column column;
    const char *help = NULL;
    size_t capacity = 0;
    *side = (struct side){.results = results};
    for (size_t i = 0; column_at(results, i, &column, &help); i++) {
        if (column.source != COLUMN_SETTING)
            continue;
        side->settings =
            mem_grow(side->settings, &capacity, side->setting_count + 1, sizeof column);
        side->settings[side->setting_count++] = column;
    }
    side->signatures = mem_array(results->count, sizeof *side->signatures);
    side->partner = mem_array(results->count, sizeof *side->partner);
    for (size_t i = 0; i < results->count; i++)
        side->partner[i] = NO_ROW;
}

static void side_sign(struct side *side, bool loose)
{
    for (size_t i = 0; i < side->results->count; i++) {
        free(side->signatures[i]);
        side->signatures[i] = cell_signature(side, &side->results->rows[i], loose);
    }
}

static void side_close(struct side *side)
{
    for (size_t i = 0; i < side->results->count; i++)
        free(side->signatures[i]);
    free(side->settings);
    free(side->signatures);
    free(side->partner);
}

struct signed_row {
    const char *signature;
    size_t row;
};

static int order_signed(const void *first, const void *second)
{
    const struct signed_row *a = first, *b = second;
    int order = strcmp(a->signature, b->signature);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

struct signed_rows {
    struct signed_row *items;
    size_t count;
};

/* Those that have no partner yet; equal ones in the order in which they were read. */
static struct signed_rows sorted_rows(const struct side *side)
{
    struct signed_rows rows = {.items = mem_array(side->results->count, sizeof *rows.items)};
    for (size_t i = 0; i < side->results->count; i++)
        if (side->partner[i] == NO_ROW)
            rows.items[rows.count++] = (struct signed_row){side->signatures[i], i};
    qsort(rows.items, rows.count, sizeof *rows.items, order_signed);
    return rows;
}

static void pair(struct side *base, size_t base_row, struct side *now, size_t now_row)
{
    base->partner[base_row] = now_row;
    now->partner[now_row] = base_row;
}

/* Cells whose whole signature is the same: the first of several with the first, and so on. */
static void pair_equal(struct side *base, struct side *now)
{
    struct signed_rows bases = sorted_rows(base), nows = sorted_rows(now);
    for (size_t i = 0, j = 0; i < bases.count && j < nows.count;) {
        int order = strcmp(bases.items[i].signature, nows.items[j].signature);
        if (order == 0)
            pair(base, bases.items[i].row, now, nows.items[j].row);
        i += order <= 0;
        j += order >= 0;
    }
    free(bases.items);
    free(nows.items);
}

/* From *at on, the first row that has the signature, no partner, and, if asked for, failed. Those
 * that are passed by are of no use to a later signature either. */
static bool find_partner(const struct side *now, const struct signed_rows *rows, size_t *at,
                         const char *signature, bool must_fail)
{
    for (; *at < rows->count; (*at)++) {
        const struct signed_row *one = &rows->items[*at];
        int order = strcmp(one->signature, signature);
        bool is_usable =
            now->partner[one->row] == NO_ROW && (!must_fail || now->results->rows[one->row].error);
        if (order > 0 || (order == 0 && is_usable))
            return order == 0;
    }
    return false;
}

/* Cells of which at least one failed, by what it says of itself: each of BASE with the first that
 * is left of NEW. Two that did not fail are no pair, so the search for a partner that failed is one
 * of its own. */
static void pair_failed(struct side *base, struct side *now)
{
    struct signed_rows bases = sorted_rows(base), nows = sorted_rows(now);
    size_t any = 0, failed = 0;
    for (size_t i = 0; i < bases.count; i++) {
        const struct signed_row *one = &bases.items[i];
        bool must_fail = base->results->rows[one->row].error == NULL;
        size_t *at = must_fail ? &failed : &any;
        if (find_partner(now, &nows, at, one->signature, must_fail))
            pair(base, one->row, now, nows.items[*at].row);
    }
    free(bases.items);
    free(nows.items);
}

static void add_cell(struct compare *compare, const struct results_row *base,
                     const struct results_row *now)
{
    struct compare_cell *cell = &compare->cells[compare->cell_count];
    *cell = (struct compare_cell){.base = base, .now = now, .order = compare->cell_count};
    compare->cell_count++;
}

static void match(struct compare *compare)
{
    struct side base, now;
    side_open(&base, &compare->base);
    side_open(&now, &compare->now);
    base.says_models = now.says_models =
        results_say_models(&compare->base) && results_say_models(&compare->now);
    compare->cells = mem_array(compare->base.count + compare->now.count, sizeof *compare->cells);
    side_sign(&base, false);
    side_sign(&now, false);
    pair_equal(&base, &now);
    if (compare->base.failed + compare->now.failed > 0) {
        side_sign(&base, true);
        side_sign(&now, true);
        pair_failed(&base, &now);
    }
    for (size_t i = 0; i < compare->base.count; i++)
        add_cell(compare, &compare->base.rows[i],
                 base.partner[i] == NO_ROW ? NULL : &compare->now.rows[base.partner[i]]);
    for (size_t i = 0; i < compare->now.count; i++)
        if (now.partner[i] == NO_ROW)
            add_cell(compare, NULL, &compare->now.rows[i]);
    side_close(&base);
    side_close(&now);
}

/* ---- what moved ---- */

static void add_moved(struct compare_cell *cell, struct compare_moved moved)
{
    size_t capacity = cell->moved_count;
    cell->moved = mem_grow(cell->moved, &capacity, cell->moved_count + 1, sizeof *cell->moved);
    cell->moved[cell->moved_count++] = moved;
}

static double relative_change(double base, double now)
{
    if (base == 0)
        return now > 0 ? (double)INFINITY : -(double)INFINITY;
    return (now - base) / fabs(base);
}

/* The two numbers of a key in a cell, or false if there is nothing to hold against each other.
 *
 * A derived value follows from its counters, so where nobody asked for it and these differ, they
 * say so themselves, each with its own tolerance. But a value that was written beside its counters
 * may have moved without them: then the written ones are the pair. */
static bool find_pair(const struct compare_cell *cell, const struct compare_key *key, double *base,
                      double *now, bool *is_gone)
{
    const struct column *column = &key->column;
    double a = 0, b = 0;
    *is_gone = false;
    if (!column_number(column, cell->base, base))
        return false;
    if (!column_number(column, cell->now, now)) {
        *is_gone = true;
        return key->is_wanted || !column_computed(column, cell->base, base);
    }
    if (!column_computed(column, cell->base, base) || !column_computed(column, cell->now, now))
        return true;
    if (!key->is_wanted && *base != *now)
        return false;
    if (tolerance_allows(key->tolerance, *base, *now) && column_written(column, cell->base, &a) &&
        column_written(column, cell->now, &b)) {
        *base = a;
        *now = b;
    }
    return true;
}

static void compare_key(struct compare_cell *cell, struct compare_key *key)
{
    double base = 0, now = 0;
    bool is_gone = false;
    if (!find_pair(cell, key, &base, &now, &is_gone))
        return;
    key->compared++;
    cell->compared += key->column.source != COLUMN_MODEL;
    struct compare_moved moved = {.key = key->column.name, .column = &key->column, .base = base};
    if (is_gone) {
        moved.is_gone = true;
        moved.relative = -(double)INFINITY;
        add_moved(cell, moved);
    } else if (!tolerance_allows(key->tolerance, base, now)) {
        moved.now = now;
        moved.relative = relative_change(base, now);
        add_moved(cell, moved);
    }
}

/* The digest is of every request: it tells what no number shows. */
static void compare_digests(struct compare_cell *cell)
{
    const char *base = json_string(json_get(cell->base->document.top, "digest"));
    const char *now = json_string(json_get(cell->now->document.top, "digest"));
    if (base == NULL)
        return;
    cell->compared++;
    if (cell->moved_count == 0 && (now == NULL || strcmp(base, now) != 0))
        add_moved(cell, (struct compare_moved){.key = "digest", .is_gone = now == NULL});
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_moved(const void *first, const void *second)
{
    const struct compare_moved *a = first, *b = second;
    double x = fabs(a->relative), y = fabs(b->relative);
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(a->key, b->key);
}

static int compare_rows(const struct compare *compare, struct compare_cell *cell, struct err *err)
{
    struct column ratio;
    struct err ignored;
    double base = 0, now = 0;
    if (column_find(&ratio, &compare->base, "hit_ratio", PLACE_VALUE, &ignored) == 0 &&
        column_number(&ratio, cell->base, &base) && column_number(&ratio, cell->now, &now))
        cell->hit_ratio_change = now - base;
    for (size_t i = 0; i < compare->key_count; i++) {
        if (compare_key_check(&compare->keys[i], cell, err) != 0)
            return USAGE_ERROR;
        compare_key(cell, &compare->keys[i]);
    }
    if (cell->moved_count > 1)
        qsort(cell->moved, cell->moved_count, sizeof *cell->moved, order_moved);
    if (compare->checks_digest)
        compare_digests(cell);
    cell->state = cell->moved_count > 0 ? COMPARE_MOVED : COMPARE_EQUAL;
    if (cell->compared == 0)
        return err_set(err,
                       "nothing can be compared: a number of 'result' was expected in both, found "
                       "none in %.400s that %.400s has too",
                       cell->base->document.path, cell->now->document.path);
    return 0;
}

static int compare_cell(const struct compare *compare, struct compare_cell *cell, struct err *err)
{
    if (!cell->now)
        cell->state = COMPARE_MISSING;
    else if (!cell->base)
        cell->state = COMPARE_EXTRA;
    else if (cell->base->error && cell->now->error)
        cell->state = COMPARE_EQUAL;
    else if (cell->now->error)
        cell->state = COMPARE_FAILS;
    else if (cell->base->error)
        cell->state = COMPARE_WORKS;
    else
        return compare_rows(compare, cell, err);
    return 0;
}

static int compare_cells(struct compare *compare, struct err *err)
{
    for (size_t i = 0; i < compare->cell_count; i++) {
        int result = compare_cell(compare, &compare->cells[i], err);
        if (result != 0)
            return result;
        compare->in_state[compare->cells[i].state]++;
    }
    return compare_keys_were_used(compare, err);
}

/* Worst first: what fails now, then what is missing, then what moved: the hit ratio that fell most
 * first, and if it did not move, the largest change of anything. */
static int order_cells(const void *first, const void *second)
{
    static const int rank[] = {
        [COMPARE_FAILS] = 0, [COMPARE_MISSING] = 1, [COMPARE_MOVED] = 2,
        [COMPARE_EXTRA] = 3, [COMPARE_WORKS] = 4,   [COMPARE_EQUAL] = 5,
    };
    const struct compare_cell *a = first, *b = second;
    if (rank[a->state] != rank[b->state])
        return rank[a->state] - rank[b->state];
    if (a->hit_ratio_change != b->hit_ratio_change)
        return a->hit_ratio_change < b->hit_ratio_change ? -1 : 1;
    double x = a->moved_count > 0 ? fabs(a->moved[0].relative) : 0;
    double y = b->moved_count > 0 ? fabs(b->moved[0].relative) : 0;
    if (x != y)
        return x > y ? -1 : 1;
    return compare_u64(a->order, b->order);
}

/* ---- opening ---- */

static void add_column(struct column **list, size_t *count, const struct column *column)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*list)[i].name, column->name) == 0)
            return;
    size_t capacity = *count;
    *list = mem_grow(*list, &capacity, *count + 1, sizeof **list);
    (*list)[(*count)++] = *column;
}

/* What varies within either side names the cells. */
static void choose_names(struct compare *compare)
{
    const struct results *sides[] = {&compare->base, &compare->now};
    for (size_t side = 0; side < 2; side++) {
        struct column *varying = NULL;
        size_t count = axis_varying(sides[side], NULL, &varying);
        for (size_t i = 0; i < count; i++)
            add_column(&compare->named, &compare->named_count, &varying[i]);
        free(varying);
    }
}

/* Whether some row of results has the value that a row has. */
static bool is_known(const struct results *results, const struct column *column,
                     const struct results_row *row)
{
    struct text wanted = {0}, found = {0};
    bool known = false;
    column_text_long(column, row, &wanted);
    for (size_t i = 0; i < results->count && !known; i++) {
        text_clear(&found);
        column_text_long(column, &results->rows[i], &found);
        known = strcmp(wanted.data, found.data) == 0;
    }
    text_close(&wanted);
    text_close(&found);
    return known;
}

/* Few values differ within a side without naming cells, so that only those few are looked for. */
static bool *find_strange(const struct results *results, const struct results *elsewhere,
                          const struct column *column)
{
    struct axis axis;
    axis_open(&axis, results, column, 1);
    bool *known = mem_array(axis.count + 1, sizeof *known);
    bool *is_strange = mem_array(results->count + 1, sizeof *is_strange);
    for (size_t i = 0; i < axis.count; i++)
        known[i] = is_known(elsewhere, column, &results->rows[axis.example[i]]);
    for (size_t i = 0; i < results->count; i++)
        is_strange[i] = !known[axis.of_row[i]];
    free(known);
    axis_close(&axis);
    return is_strange;
}

static void find_strangers(struct compare *compare)
{
    const struct results *sides[] = {&compare->base, &compare->now};
    for (size_t side = 0; side < 2; side++) {
        struct column column;
        const char *help = NULL;
        size_t capacity = 0, *count = &compare->stranger_count[side];
        for (size_t i = 0; column_at(sides[side], i, &column, &help); i++) {
            bool is_named = false;
            for (size_t j = 0; j < compare->named_count; j++)
                is_named = is_named || strcmp(compare->named[j].name, column.name) == 0;
            if (is_named || column.source != COLUMN_SETTING)
                continue;
            struct compare_stranger **list = &compare->strangers[side];
            *list = mem_grow(*list, &capacity, *count + 1, sizeof **list);
            (*list)[(*count)++] = (struct compare_stranger){
                .column = column, .is_strange = find_strange(sides[side], sides[!side], &column)};
        }
    }
}

int compare_open(struct compare *out, const struct compare_request *request, struct err *err)
{
    *out = (struct compare){0};
    if (results_open(&out->base, request->base, err) != 0 ||
        results_open(&out->now, request->now, err) != 0)
        return -1;
    int result = compare_keys_open(out, request, err);
    if (result != 0)
        return result;
    out->checks_digest = !request->only && request->tolerances->count == 0;
    choose_names(out);
    match(out);
    result = compare_cells(out, err);
    if (result != 0)
        return result;
    qsort(out->cells, out->cell_count, sizeof *out->cells, order_cells);
    if (out->in_state[COMPARE_MISSING] + out->in_state[COMPARE_EXTRA] > 0)
        find_strangers(out);
    return 0;
}

void compare_close(struct compare *compare)
{
    for (size_t i = 0; i < compare->cell_count; i++)
        free(compare->cells[i].moved);
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < compare->stranger_count[side]; i++)
            free(compare->strangers[side][i].is_strange);
        free(compare->strangers[side]);
    }
    free(compare->cells);
    compare_keys_close(compare);
    free(compare->named);
    results_close(&compare->base);
    results_close(&compare->now);
    *compare = (struct compare){0};
}

/* The other side's model of that name, if it is of another content. */
static void add_other_model(const struct results *others, const struct results_row *row,
                            struct text *out)
{
    const char *name = results_model(row, "name"), *here = results_model(row, "sha256");
    for (size_t i = 0; name && here && i < others->count; i++) {
        const char *its_name = results_model(&others->rows[i], "name");
        const char *there = results_model(&others->rows[i], "sha256");
        if (!its_name || !there || strcmp(its_name, name) != 0 || strcmp(there, here) == 0)
            continue;
        text_printf(out, " (model '%s' of sha256 %s, there %s)", name, here, there);
        return;
    }
}

static void add_setting(const struct column *column, const struct results_row *row, size_t start,
                        struct text *out)
{
    struct text value = {0};
    column_text(column, row, &value);
    if (value.length > 0) {
        text_printf(out, "%s%s=", out->length > start ? " " : "", column->name);
        text_add_visible(out, value.data, value.length, "");
    }
    text_close(&value);
}

/* A cell that only one side has: what the other has nowhere is why. */
static void add_strangers(const struct compare *compare, const struct compare_cell *cell,
                          size_t start, struct text *out)
{
    const struct results_row *row = cell->base ? cell->base : cell->now;
    size_t side = cell->base ? 0 : 1;
    size_t index = (size_t)(row - (side == 0 ? &compare->base : &compare->now)->rows);
    for (size_t i = 0; i < compare->stranger_count[side]; i++) {
        const struct compare_stranger *one = &compare->strangers[side][i];
        if (one->is_strange[index])
            add_setting(&one->column, row, start, out);
    }
}

void compare_name(const struct compare *compare, const struct compare_cell *cell, struct text *out)
{
    const struct results_row *row = cell->base ? cell->base : cell->now;
    const struct json *trace = row->part[RESULTS_TRACE];
    const char *name = trace ? json_string(json_get(trace, "name")) : NULL;
    bool has_partner = cell->base && cell->now;
    size_t start = out->length;
    text_add(out, "", 0);
    for (size_t i = 0; i < compare->named_count; i++)
        add_setting(&compare->named[i], row, start, out);
    if (!has_partner)
        add_strangers(compare, cell, start, out);
    if (out->length == start) {
        name = name ? name : "the only cell";
        text_add_visible(out, name, strlen(name), "");
    }
    if (!has_partner)
        add_other_model(cell->base ? &compare->now : &compare->base, row, out);
}
