#include "sim/core/param.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"

static void *field_of(const struct param *entry, void *settings)
{
    return (char *)settings + entry->offset;
}

static const void *const_field_of(const struct param *entry, const void *settings)
{
    return (const char *)settings + entry->offset;
}

static size_t size_of(const struct param *entry)
{
    switch (entry->type) {
    case PARAM_U64:
    case PARAM_BYTES:
    case PARAM_DURATION:
        return sizeof(uint64_t);
    case PARAM_DOUBLE:
    case PARAM_LENGTH:
        return sizeof(double);
    case PARAM_BOOL:
        return sizeof(bool);
    case PARAM_CHOICE:
        return sizeof(unsigned);
    case PARAM_TEXT:
        return sizeof(char *);
    case PARAM_WORDS:
        return sizeof(struct words);
    }
    return 0;
}

void param_defaults(const struct param *table, void *settings)
{
    for (const struct param *entry = table; entry && entry->name; entry++) {
        memset(field_of(entry, settings), 0, size_of(entry));
        if (entry->default_text == NULL)
            continue;
        struct err err;
        int failed = param_set(entry, settings, entry->default_text, &err);
        assert(!failed && "a default must be in its own range");
        (void)failed;
    }
}

void param_free(const struct param *table, void *settings)
{
    for (const struct param *entry = table; entry && entry->name; entry++) {
        if (entry->type != PARAM_TEXT && entry->type != PARAM_WORDS)
            continue;
        free(*(void **)field_of(entry, settings)); /* the text, or the list */
        memset(field_of(entry, settings), 0, size_of(entry));
    }
}

void param_open(const struct param_table *tables, void *settings)
{
    for (const struct param_table *table = tables; table->params; table++)
        param_defaults(table->params, (char *)settings + table->offset);
}

void param_close(const struct param_table *tables, void *settings)
{
    for (const struct param_table *table = tables; table->params; table++)
        param_free(table->params, (char *)settings + table->offset);
}

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

const struct param *param_find(const struct param *table, const char *name)
{
    for (const struct param *entry = table; entry && entry->name; entry++)
        if (same_name(entry->name, name))
            return entry;
    return NULL;
}

const struct param *param_find_in(const struct param_table *tables, void *settings,
                                  const char *name, void **base)
{
    for (const struct param_table *table = tables; table->params; table++) {
        const struct param *entry = param_find(table->params, name);
        if (entry && base)
            *base = (char *)settings + table->offset;
        if (entry)
            return entry;
    }
    return NULL;
}

static const char *name_in(const void *tables, size_t index)
{
    for (const struct param_table *table = tables; table->params; table++)
        for (const struct param *entry = table->params; entry->name; entry++)
            if (index-- == 0)
                return entry->name;
    return NULL;
}

void param_suggest_in(const struct param_table *tables, const char *wrong, struct text *out)
{
    size_t dashes = strspn(wrong, "-"); /* one: a letter, to which nothing is near */
    const char *near = dashes != 1 ? text_nearest(wrong + dashes, name_in, tables) : NULL;
    if (near)
        text_printf(out, " (did you mean '%s'?)", near);
}

int param_unknown(const struct param_table *tables, const char *what, const char *name,
                  const char *otherwise, struct err *err)
{
    struct text hint = {0};
    param_suggest_in(tables, name, &hint);
    err_set(err, "%s '%s'%s", what, name, hint.length ? hint.data : otherwise);
    text_close(&hint);
    return -1;
}

static int set_u64(const struct param *entry, uint64_t *field, const char *text, struct err *err)
{
    uint64_t value = 0;
    if (units_parse_u64(text, &value, err) != 0 || (double)value < entry->min ||
        (double)value > entry->max)
        return err_set(err, "%s: a whole number from %.0f to %.0f was expected, found '%s'",
                       entry->name, entry->min, entry->max, text);
    *field = value;
    return 0;
}

static int set_double(const struct param *entry, double *field, const char *text, struct err *err)
{
    double value = 0;
    if (units_parse_double(text, &value, err) != 0 || value < entry->min || value > entry->max)
        return err_set(err, "%s: a number from %g to %g was expected, found '%s'", entry->name,
                       entry->min, entry->max, text);
    *field = value;
    return 0;
}

static int set_bool(const struct param *entry, bool *field, const char *text, struct err *err)
{
    static const char *const yes[] = {"1", "yes", "true"}, *const no[] = {"0", "no", "false"};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *field = strcmp(text, yes[i]) == 0;
            return 0;
        }
    }
    return err_set(err, "%s: yes or no was expected, found '%s'", entry->name, text);
}

static int set_choice(const struct param *entry, unsigned *field, const char *text, struct err *err)
{
    struct text known = {0};
    for (unsigned i = 0; entry->choice[i]; i++) {
        if (strcmp(entry->choice[i], text) == 0) {
            *field = i;
            text_close(&known);
            return 0;
        }
        text_printf(&known, "%s%s",
                    i == 0                 ? ""
                    : entry->choice[i + 1] ? ", "
                                           : " or ",
                    entry->choice[i]);
    }
    err_set(err, "%s: %s was expected, found '%s'", entry->name, known.data, text);
    text_close(&known);
    return -1;
}

static void words_add(struct words *words, const char *word)
{
    words->items = mem_grow(words->items, &words->capacity, words->count + 1, sizeof *words->items);
    words->items[words->count++] = word;
}

static int set_length(const struct param *entry, double *field, const char *text, struct err *err)
{
    double value = 0;
    struct err ignored;
    if (units_parse_length(text, &value, &ignored) != 0 || value < entry->min || value > entry->max)
        return err_set(err,
                       "%s: a length was expected, as in 5.5, 3.4in or 86mm, from %g to %g inches, "
                       "found '%s'",
                       entry->name, entry->min, entry->max, text);
    *field = value;
    return 0;
}

int param_set(const struct param *entry, void *settings, const char *text, struct err *err)
{
    void *field = field_of(entry, settings);
    struct err reason = {""};
    switch (entry->type) {
    case PARAM_U64:
        return set_u64(entry, field, text, err);
    case PARAM_DOUBLE:
        return set_double(entry, field, text, err);
    case PARAM_BOOL:
        return set_bool(entry, field, text, err);
    case PARAM_CHOICE:
        return set_choice(entry, field, text, err);
    case PARAM_BYTES:
        if (units_parse_bytes(text, field, &reason) != 0)
            return err_set(err, "%s: %.900s", entry->name, reason.text);
        return 0;
    case PARAM_DURATION:
        if (units_parse_duration(text, field, &reason) != 0)
            return err_set(err, "%s: %.900s", entry->name, reason.text);
        return 0;
    case PARAM_LENGTH:
        return set_length(entry, field, text, err);
    case PARAM_TEXT:
        free(*(char **)field);
        *(char **)field = mem_strdup(text);
        return 0;
    case PARAM_WORDS:
        words_add(field, text);
        return 0;
    }
    return err_set(err, "%s: unknown parameter type", entry->name);
}

void param_suggest(const struct param *table, const char *wrong, struct text *out)
{
    const struct param_table tables[] = {{NULL, table, 0}, {NULL, NULL, 0}};
    param_suggest_in(tables, wrong, out);
}

static int unknown_key(const struct param *table, const char *key, const char *whose,
                       struct err *err)
{
    struct text hint = {0};
    text_add(&hint, "", 0);
    param_suggest(table, key, &hint);
    if (hint.length == 0 && table && table->name) {
        text_printf(&hint, "; known:");
        for (const struct param *entry = table; entry->name; entry++)
            text_printf(&hint, " %s", entry->name);
    }
    err_set(err, "%s has no parameter '%s'%.800s", whose, key, hint.data);
    text_close(&hint);
    return -1;
}

/* One "key=value", or the value alone of the first parameter. *entry is the parameter. */
static int parse_item(const struct param *table, void *settings, char *item, bool first,
                      const char *whose, const struct param **entry, struct err *err)
{
    char *equals = strchr(item, '=');
    struct err reason;
    if (equals)
        *equals = '\0';
    *entry = equals ? param_find(table, item) : table;
    if (*item == '\0' || (!equals && (!first || !table || !table->name)))
        return err_set(err, "%s: 'key=value' was expected, found '%s'", whose, item);
    if (!*entry)
        return unknown_key(table, item, whose, err);
    if (param_set(*entry, settings, equals ? equals + 1 : item, &reason) != 0)
        return err_set(err, "%s: %.900s", whose, reason.text);
    return 0;
}

int param_parse_list(const struct param *table, void *settings, const char *list, const char *whose,
                     struct err *err)
{
    uint64_t seen = 0; /* one bit for each parameter; no table has as many as 64 */
    int result = 0;
    for (const char *rest = *list ? list : NULL; rest && result == 0;) {
        size_t length = strcspn(rest, ",");
        char *item = mem_strndup(rest, length);
        const struct param *entry = NULL;
        result = parse_item(table, settings, item, rest == list, whose, &entry, err);
        uint64_t bit = result == 0 ? 1ull << ((entry - table) & 63) : 0;
        if (seen & bit)
            result = err_set(err, "%s: '%s' is given twice", whose, entry->name);
        seen |= bit;
        free(item);
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
    }
    return result;
}

void param_print_value(const struct param *entry, const void *settings, struct text *out)
{
    const void *field = const_field_of(entry, settings);
    char unit_text[UNITS_TEXT];
    switch (entry->type) {
    case PARAM_U64:
        text_printf(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case PARAM_DOUBLE:
        /* '+' and ',' of exponents have other meanings where settings are joined */
        text_add_number(out, *(const double *)field, true);
        break;
    case PARAM_BOOL:
        text_printf(out, "%d", *(const bool *)field);
        break;
    case PARAM_CHOICE:
        text_printf(out, "%s", entry->choice[*(const unsigned *)field]);
        break;
    case PARAM_BYTES:
        text_printf(out, "%s", units_bytes_exact(*(const uint64_t *)field, unit_text));
        break;
    case PARAM_DURATION:
        text_printf(out, "%" PRIu64 "ns", *(const uint64_t *)field);
        break;
    case PARAM_LENGTH:
        text_add_number(out, *(const double *)field, true);
        text_printf(out, "in");
        break;
    case PARAM_TEXT:
        text_printf(out, "%s", *(char *const *)field ? *(char *const *)field : "");
        break;
    case PARAM_WORDS:
        for (size_t i = 0; i < ((const struct words *)field)->count; i++)
            text_printf(out, "%s%s", i ? "," : "", ((const struct words *)field)->items[i]);
        break;
    }
}

void param_print_list(const char *name, const struct param *table, const void *settings,
                      struct text *out)
{
    text_printf(out, "%s", name);
    for (const struct param *entry = table; entry && entry->name; entry++) {
        text_printf(out, "%c%s=", entry == table ? ':' : ',', entry->name);
        param_print_value(entry, settings, out);
    }
}

void param_print_metavar(const struct param *entry, struct text *out)
{
    static const char *const usual[] = {
        [PARAM_U64] = "N",    [PARAM_BYTES] = "SIZE",    [PARAM_DURATION] = "TIME",
        [PARAM_DOUBLE] = "N", [PARAM_LENGTH] = "LENGTH", [PARAM_BOOL] = "",
        [PARAM_CHOICE] = "",  [PARAM_TEXT] = "TEXT",     [PARAM_WORDS] = "TEXT",
    };
    for (size_t i = 0; entry->type == PARAM_CHOICE && entry->choice[i]; i++)
        text_printf(out, "%s%s", i ? "|" : "", entry->choice[i]);
    if (entry->type != PARAM_CHOICE)
        text_printf(out, "%s", entry->metavar ? entry->metavar : usual[entry->type]);
}
