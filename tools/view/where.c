#include "tools/view/where.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/view/axis.h"

struct condition {
    struct column column;
    const char *value; /* behind the '=' of the word */
    bool is_not;
};

static int parse_condition(struct condition *out, const struct results *results, const char *word,
                           struct err *err)
{
    const char *equals = strchr(word, '=');
    struct err reason;
    if (!equals || equals == word)
        return usage_error(err_set(err, "--where: key=value was expected, found '%s'", word));
    out->is_not = equals[-1] == '!';
    out->value = equals + 1;
    char *key = mem_strndup(word, (size_t)(equals - word) - out->is_not);
    int result = column_find(&out->column, results, key, PLACE_SETTING, &reason);
    if (result != 0)
        result = usage_error(err_set(err, "--where: %.900s", reason.text));
    free(key);
    return result;
}

/* Whether a row fits a condition, alternatives for the same key included. */
static bool holds(const struct condition *conditions, size_t count, size_t index,
                  const struct results_row *row)
{
    const struct condition *one = &conditions[index];
    if (one->is_not)
        return !column_is(&one->column, row, one->value);
    for (size_t i = 0; i < count; i++)
        if (!conditions[i].is_not && strcmp(conditions[i].column.name, one->column.name) == 0 &&
            column_is(&conditions[i].column, row, conditions[i].value))
            return true;
    return false;
}

/* A condition that not even one row meets is a slip of the keyboard: say what there is. */
static int nothing_left(const struct results *results, const char *word,
                        const struct column *column, struct err *err)
{
    struct axis axis;
    struct text known = {0};
    axis_open(&axis, results, column, 1);
    for (size_t i = 0; i < axis.count && known.length < 600; i++) {
        text_printf(&known, "%s", i ? ", " : "");
        axis_label(&axis, results, i, &known);
    }
    err_set(err, "--where %.100s: no result fits; %s has: %.700s", word, column->name, known.data);
    axis_close(&axis);
    text_close(&known);
    return USAGE_ERROR;
}

int where_apply(struct results *results, const struct words *words, struct err *err)
{
    struct condition *conditions = mem_array(words->count + 1, sizeof *conditions);
    bool *keep = mem_array(results->count + 1, sizeof *keep);
    int result = 0;
    size_t left = 0;
    for (size_t i = 0; i < words->count && result == 0; i++)
        result = parse_condition(&conditions[i], results, words->items[i], err);
    for (size_t i = 0; i < words->count && result == 0; i++) {
        bool any = false;
        for (size_t row = 0; row < results->count && !any; row++)
            any = conditions[i].is_not ||
                  column_is(&conditions[i].column, &results->rows[row], conditions[i].value);
        if (!any)
            result = nothing_left(results, words->items[i], &conditions[i].column, err);
    }
    for (size_t row = 0; row < results->count && result == 0; row++) {
        keep[row] = true;
        for (size_t i = 0; i < words->count && keep[row]; i++)
            keep[row] = holds(conditions, words->count, i, &results->rows[row]);
        left += keep[row];
    }
    if (result == 0 && left == 0)
        result = usage_error(err_set(err, "--where: no result fits all conditions"));
    if (result == 0)
        results_keep(results, keep);
    free(conditions);
    free(keep);
    return result;
}
