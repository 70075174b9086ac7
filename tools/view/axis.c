#include "tools/view/axis.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"

/* What tells values apart: the texts of all keys. A unit separator stands in none of them. */
static char *signature(const struct column *keys, size_t key_count, const struct results_row *row)
{
    struct text text = {0};
    text_add(&text, "", 0);
    for (size_t i = 0; i < key_count; i++) {
        column_text(&keys[i], row, &text);
        text_add(&text, "\x1f", 1);
    }
    return text.data;
}

/* The texts that were seen, numbered in order of first appearance, and a hash table of the numbers:
 * a sweep may have as many values as rows. */
struct seen {
    char **texts;
    size_t count, slot_count; /* a power of two, at least twice the texts */
    size_t *slots;            /* a number plus one, or 0 */
};

static void seen_open(struct seen *seen, size_t most)
{
    *seen = (struct seen){.texts = mem_array(most + 1, sizeof *seen->texts), .slot_count = 2};
    while (seen->slot_count < 2 * most)
        seen->slot_count *= 2;
    seen->slots = mem_array(seen->slot_count, sizeof *seen->slots);
}

static void seen_close(struct seen *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        free(seen->texts[i]);
    free(seen->texts);
    free(seen->slots);
}

/* The number of a text, which is taken over. */
static size_t seen_number(struct seen *seen, char *text)
{
    uint64_t at = digest_bytes(DIGEST_START, text, strlen(text));
    size_t *slot = &seen->slots[at & (seen->slot_count - 1)];
    while (*slot && strcmp(seen->texts[*slot - 1], text) != 0)
        slot = &seen->slots[++at & (seen->slot_count - 1)];
    if (*slot) {
        free(text);
        return *slot - 1;
    }
    seen->texts[seen->count++] = text;
    *slot = seen->count;
    return seen->count - 1;
}

void axis_open(struct axis *out, const struct results *results, const struct column *keys,
               size_t key_count)
{
    struct seen seen;
    *out = (struct axis){.key_count = key_count};
    out->keys = mem_array(key_count + 1, sizeof *keys);
    if (key_count > 0)
        memcpy(out->keys, keys, key_count * sizeof *keys);
    out->of_row = mem_array(results->count + 1, sizeof *out->of_row);
    out->example = mem_array(results->count + 1, sizeof *out->example);
    seen_open(&seen, results->count);
    for (size_t i = 0; i < results->count; i++) {
        size_t value = seen_number(&seen, signature(keys, key_count, &results->rows[i]));
        out->of_row[i] = value;
        if (value == out->count)
            out->example[out->count++] = i;
    }
    seen_close(&seen);
}

void axis_close(struct axis *axis)
{
    free(axis->keys);
    free(axis->of_row);
    free(axis->example);
    *axis = (struct axis){0};
}

void axis_raw_text(const struct axis *axis, const struct results *results, size_t value, size_t key,
                   struct text *out)
{
    column_text(&axis->keys[key], &results->rows[axis->example[value]], out);
}

void axis_text(const struct axis *axis, const struct results *results, size_t value, size_t key,
               struct text *out)
{
    struct text name = {0};
    axis_raw_text(axis, results, value, key, &name);
    text_add_visible(out, name.data, name.length, "");
    text_close(&name);
}

void axis_label(const struct axis *axis, const struct results *results, size_t value,
                struct text *out)
{
    text_add(out, "", 0);
    for (size_t key = 0; key < axis->key_count; key++) {
        if (key > 0)
            text_add(out, " ", 1);
        axis_text(axis, results, value, key, out);
    }
}

int axis_parse(const struct results *results, const char *list, enum column_place place,
               const char *flag, struct column **keys, size_t *count, struct err *err)
{
    char *copy = mem_strdup(list), *rest = NULL;
    size_t capacity = *count;
    int result = 0;
    for (char *key = strtok_r(copy, ",", &rest); key && result == 0;
         key = strtok_r(NULL, ",", &rest)) {
        struct column column;
        struct err reason;
        result = column_find(&column, results, key, place, &reason);
        if (result != 0) {
            result = usage_error(err_set(err, "%s: %.900s", flag, reason.text));
            break;
        }
        *keys = mem_grow(*keys, &capacity, *count + 1, sizeof **keys);
        (*keys)[(*count)++] = column;
    }
    free(copy);
    if (result == 0 && *count == 0)
        return usage_error(err_set(err, "%s: a key was expected, or several with commas", flag));
    return result;
}

/* ---- what varies ---- */

/* Each row's class: rows of one class agree in all settings that were kept so far. */
struct classes {
    size_t *rows, row_count; /* the rows that are looked at */
    uint64_t *of_row;
    uint64_t count;
};

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Splits the classes by a key's values. Returns false, and changes nothing, if each class agrees
 * in it already. */
static bool split(struct classes *classes, const struct axis *axis)
{
    size_t n = classes->row_count;
    uint64_t *codes = mem_array(2 * n + 1, sizeof *codes), *sorted = codes + n;
    for (size_t i = 0; i < n; i++)
        codes[i] = classes->of_row[i] * axis->count + axis->of_row[classes->rows[i]];
    memcpy(sorted, codes, n * sizeof *codes);
    qsort(sorted, n, sizeof *sorted, compare_u64);
    size_t unique = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[unique - 1])
            sorted[unique++] = sorted[i];
    bool splits = unique > classes->count;
    for (size_t i = 0; i < n && splits; i++) {
        const uint64_t *at = bsearch(&codes[i], sorted, unique, sizeof *sorted, compare_u64);
        classes->of_row[i] = (uint64_t)(at - sorted);
    }
    if (splits)
        classes->count = unique;
    free(codes);
    return splits;
}

static bool all_have(const struct results *results, const struct classes *classes,
                     const struct column *column)
{
    struct text text = {0};
    bool all = true;
    for (size_t i = 0; i < classes->row_count && all; i++) {
        text_clear(&text);
        column_text(column, &results->rows[classes->rows[i]], &text);
        all = text.length > 0;
    }
    text_close(&text);
    return all;
}

static bool can_vary(const struct results *results, const struct classes *classes,
                     const struct column *column, bool labels)
{
    if (labels)
        return column->source == COLUMN_SWEEP && strcmp(column->key, "label") == 0 &&
               all_have(results, classes, column);
    return column->source == COLUMN_TRACE || column->source == COLUMN_SETTING;
}

size_t axis_varying(const struct results *results, const bool *use, struct column **out)
{
    struct classes classes = {.count = 1};
    classes.rows = mem_array(results->count + 1, sizeof *classes.rows);
    classes.of_row = mem_array(results->count + 1, sizeof *classes.of_row);
    for (size_t i = 0; i < results->count; i++)
        if (!results->rows[i].error && (!use || use[i]))
            classes.rows[classes.row_count++] = i;
    size_t count = 0, capacity = 0;
    *out = NULL;
    for (int pass = 0; pass < 2 && classes.row_count > 1; pass++) {
        struct column column;
        const char *help = NULL;
        for (size_t i = 0; column_at(results, i, &column, &help); i++) {
            if (!can_vary(results, &classes, &column, pass == 0))
                continue;
            struct axis axis;
            axis_open(&axis, results, &column, 1);
            if (axis.count > 1 && split(&classes, &axis)) {
                *out = mem_grow(*out, &capacity, count + 1, sizeof **out);
                (*out)[count++] = column;
            }
            axis_close(&axis);
        }
    }
    free(classes.rows);
    free(classes.of_row);
    return count;
}
