#include "tools/view/compare_keys.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"

int tolerance_parse(struct tolerance *out, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : 0;
    if (length == 0 || length >= sizeof out->key)
        return usage_error(err_set(
            err, "--tolerance: KEY=AMOUNT or KEY=PERCENT%% was expected, found '%s'", word));
    *out = (struct tolerance){0};
    memcpy(out->key, word, length);
    char *amount = mem_strdup(equals + 1);
    size_t digits = strlen(amount);
    if (digits > 0 && amount[digits - 1] == '%') {
        out->is_relative = true;
        amount[digits - 1] = '\0';
    }
    struct err reason;
    uint64_t bytes = 0;
    int result = units_parse_double(amount, &out->amount, &reason);
    if (result != 0 && !out->is_relative && units_parse_bytes(amount, &bytes, &reason) == 0) {
        out->amount = (double)bytes; /* peak_bytes=1MiB */
        result = 0;
    }
    free(amount);
    if (result != 0 || out->amount < 0)
        return usage_error(
            err_set(err, "--tolerance %s: a number, or one with '%%', was expected, found '%s'",
                    out->key, equals + 1));
    return 0;
}

/* Counters are exact. The change of a ratio is rounded, as is the product with a percentage: 0.8472
 * - 0.8462 comes out a little above 0.001. What rounding can have done is allowed too. */
bool tolerance_allows(const struct tolerance *tolerance, double base, double now)
{
    if (base == now)
        return true;
    if (!tolerance || tolerance->amount == 0)
        return false;
    bool is_exact = base == floor(base) && now == floor(now);
    double rounding = is_exact ? 0 : 4 * DBL_EPSILON * (fabs(base) + fabs(now));
    double change = fabs(now - base) - rounding;
    if (tolerance->is_relative)
        return 100 * change <= tolerance->amount * fabs(base) * (1 + 4 * DBL_EPSILON);
    return change <= tolerance->amount;
}

static struct compare_key *find_key(const struct compare *compare, const struct column *column)
{
    for (size_t i = 0; i < compare->key_count; i++)
        if (compare->keys[i].column.source == column->source &&
            strcmp(compare->keys[i].column.name, column->name) == 0)
            return &compare->keys[i];
    return NULL;
}

static struct compare_key *add_key(struct compare *compare, const struct column *column)
{
    struct compare_key *known = find_key(compare, column);
    if (known)
        return known;
    compare->keys = mem_grow_zeroed(compare->keys, &compare->key_capacity, compare->key_count + 1,
                                    sizeof *compare->keys);
    compare->keys[compare->key_count].column = *column;
    return &compare->keys[compare->key_count++];
}

static bool is_number_of_result(const struct column *column)
{
    return column->source == COLUMN_COUNTER || column->source == COLUMN_MODEL ||
           column->source == COLUMN_DERIVED;
}

/* A key that a flag names: of BASE, or if that has none, of NEW. Where neither has one that this
 * program counts, the first cell will say so, with its place. */
static int find_named(const struct compare *compare, const char *flag, const char *name,
                      struct column *out, struct err *err)
{
    struct err reason, ignored;
    if (column_find(out, &compare->base, name, PLACE_VALUE, &reason) != 0 &&
        column_find(out, &compare->now, name, PLACE_VALUE, &ignored) != 0 &&
        !column_counter(out, name))
        return usage_error(err_set(err, "%s: %.900s", flag, reason.text));
    if (!is_number_of_result(out))
        return usage_error(err_set(err,
                                   "%s: a number of 'result' or 'model' was expected, found '%s', "
                                   "by which cells are told apart",
                                   flag, name));
    return 0;
}

/* The keys that --only names. */
static int read_only(struct compare *compare, const char *only, struct err *err)
{
    char *copy = mem_strdup(only), *rest = NULL;
    int result = 0;
    for (char *name = strtok_r(copy, ",", &rest); name && result == 0;
         name = strtok_r(NULL, ",", &rest)) {
        struct column column;
        result = find_named(compare, "--only", name, &column, err);
        if (result == 0) {
            struct compare_key *key = add_key(compare, &column);
            key->is_wanted = key->is_required = true;
        }
    }
    free(copy);
    if (result == 0 && compare->key_count == 0)
        return usage_error(err_set(err, "--only: a key was expected, or several with commas"));
    return result;
}

/* Every counter, size and derived value of BASE. */
static void add_all(struct compare *compare)
{
    struct column column;
    const char *help = NULL;
    for (size_t i = 0; column_at(&compare->base, i, &column, &help); i++)
        if (is_number_of_result(&column))
            add_key(compare, &column);
}

static void set_tolerance(struct compare_key *key, const struct tolerance *tolerance)
{
    key->tolerance = mem_alloc(sizeof *tolerance);
    *key->tolerance = *tolerance;
}

/* A derived value that has a tolerance is compared for itself, beside its counters. */
static int take_tolerance(struct compare *compare, const struct tolerance *tolerance,
                          bool is_closed, struct err *err)
{
    struct column column;
    int result = find_named(compare, "--tolerance", tolerance->key, &column, err);
    if (result != 0)
        return result;
    struct compare_key *key = is_closed ? find_key(compare, &column) : add_key(compare, &column);
    if (key == NULL)
        return usage_error(err_set(err, "--tolerance %s: --only leaves it out", tolerance->key));
    if (key->tolerance)
        return usage_error(err_set(err, "--tolerance %s: it was given twice", tolerance->key));
    key->is_wanted = true;
    set_tolerance(key, tolerance);
    return 0;
}

int compare_keys_open(struct compare *compare, const struct compare_request *request,
                      struct err *err)
{
    struct tolerance all = {.key = ""};
    int result = 0;
    if (request->only)
        result = read_only(compare, request->only, err);
    else
        add_all(compare);
    for (size_t i = 0; i < request->tolerances->count && result == 0; i++) {
        struct tolerance one;
        result = tolerance_parse(&one, request->tolerances->items[i], err);
        if (result == 0 && strcmp(one.key, "all") != 0)
            result = take_tolerance(compare, &one, request->only != NULL, err);
        else if (result == 0 && all.key[0] != '\0')
            result = usage_error(err_set(err, "--tolerance all: it was given twice"));
        else if (result == 0)
            all = one;
    }
    for (size_t i = 0; i < compare->key_count && all.key[0] != '\0'; i++)
        if (!compare->keys[i].tolerance)
            set_tolerance(&compare->keys[i], &all);
    return result;
}

void compare_keys_close(struct compare *compare)
{
    for (size_t i = 0; i < compare->key_count; i++)
        free(compare->keys[i].tolerance);
    free(compare->keys);
}

/* A derived value could also have been made of its counters. */
static int lacks(const struct results_row *row, const struct column *column, const char *flag,
                 struct err *err)
{
    struct text sources = {0};
    text_add(&sources, "", 0);
    column_add_sources(column, &sources);
    err_set(err, "%.500s: %s: a number '%s'%s was expected, found none", row->document.path, flag,
            column->name, sources.data);
    text_close(&sources);
    return USAGE_ERROR;
}

int compare_key_check(const struct compare_key *key, const struct compare_cell *cell,
                      struct err *err)
{
    double ignored = 0;
    if (key->is_required && !column_number(&key->column, cell->base, &ignored))
        return lacks(cell->base, &key->column, "--only", err);
    if (key->is_required && !column_number(&key->column, cell->now, &ignored))
        return lacks(cell->now, &key->column, "--only", err);
    return 0;
}

int compare_keys_were_used(const struct compare *compare, struct err *err)
{
    const struct compare_cell *example = NULL;
    for (size_t i = 0; i < compare->cell_count && !example; i++)
        if (compare->cells[i].compared > 0)
            example = &compare->cells[i];
    for (size_t i = 0; i < compare->key_count && example; i++)
        if (compare->keys[i].is_wanted && compare->keys[i].compared == 0)
            return lacks(example->base, &compare->keys[i].column, "--tolerance", err);
    return 0;
}
