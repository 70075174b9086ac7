#include "tools/snapsim/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"

static const struct flag *find_flag(const struct flag *flags, const char *name, size_t length)
{
    for (const struct flag *flag = flags; flag && flag->name; flag++)
        if (strlen(flag->name) == length && strncmp(flag->name, name, length) == 0)
            return flag;
    return NULL;
}

static const char *flag_name(const void *table, size_t index)
{
    return ((const struct flag *)table)[index].name;
}

static int unknown(const struct options *options, const char *name, struct err *err)
{
    const char *near = options->flags ? text_nearest(name, flag_name, options->flags) : NULL;
    const struct param *entry = NULL;
    if (near)
        return err_set(err, "unknown option '%s' (did you mean '%s'?)", name, near);
    if (options->config && strncmp(name, "--", 2) == 0) {
        struct err reason;
        if (config_check_name(name + 2, &entry, &reason) != 0)
            return err_set(err, "unknown option '%s': %.800s", name, reason.text);
    }
    struct text hint = {0};
    text_add(&hint, "", 0);
    for (const struct option_group *group = options->groups;
         group && group->table && hint.length == 0 && strlen(name) > 2; group++)
        param_suggest(group->table, name + 2, &hint);
    err_set(err, "unknown option '%s'%s", name, hint.data);
    text_close(&hint);
    return -1;
}

/* The setting that "--name", or -o, stands for, and the struct that holds it. */
static const struct param *find_setting(const struct options *options, const char *name,
                                        void **settings)
{
    const struct param *entry = NULL;
    const char *key = strncmp(name, "--", 2) == 0 ? name + 2
                      : strcmp(name, "-o") == 0   ? options->o_means
                                                  : NULL;
    if (key == NULL || *key == '\0')
        return NULL;
    for (const struct config_table *table = config_tables; options->config && table->params;
         table++) {
        *settings = config_base(options->config, table);
        if ((entry = param_find(table->params, key)) != NULL)
            return entry;
    }
    for (const struct option_group *group = options->groups; group && group->table; group++) {
        *settings = group->settings;
        if ((entry = param_find(group->table, key)) != NULL)
            return entry;
    }
    return NULL;
}

static bool is_bool(const char *text)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true"};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Takes one option; *used is how many words it took. */
static int take_option(struct options *options, int left, char **argv, int *used, struct err *err)
{
    const char *word = argv[0];
    bool is_short = word[1] != '-'; /* -j 2 or -j2 */
    const char *equals = is_short ? NULL : strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : is_short ? 2 : strlen(word);
    const struct flag *flag = find_flag(options->flags, word, length);
    const char *attached = equals ? equals + 1 : is_short && word[2] ? word + 2 : NULL;
    char *name = mem_strndup(word, length);
    void *settings = NULL;
    const struct param *entry = flag ? NULL : find_setting(options, name, &settings);
    int result = 0;
    *used = attached ? 1 : 2;
    const char *value = attached ? attached : left > 1 ? argv[1] : NULL;
    if (entry && entry->type == PARAM_BOOL && !attached && !is_bool(value)) {
        value = "1"; /* "--share-system" alone */
        *used = 1;
    }
    if (flag && flag->is_set) {
        *used = 1;
        *flag->is_set = true;
        if (attached)
            result = err_set(err, "%s takes no value", name);
    } else if (!flag && !entry) {
        result = unknown(options, name, err);
    } else if (value == NULL) {
        result = err_set(err, "%s needs a value", name);
    } else if (flag) {
        *flag->value = value;
    } else {
        struct err reason;
        if (param_set(entry, settings, value, &reason) != 0)
            result = err_set(err, "--%.900s", reason.text);
    }
    free(name);
    return result;
}

int options_parse(struct options *options, int argc, char **argv, struct err *err)
{
    bool only_words = false; /* behind "--" */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            options->help = true;
    for (int i = 1; i < argc && !options->help;) {
        int used = 1;
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (take_option(options, argc - i, argv + i, &used, err) != 0)
                return -1;
        } else if (options->count == options->most) {
            return err_set(err, "one argument too many: '%s'", argv[i]);
        } else {
            options->positional[options->count++] = argv[i];
        }
        i += used;
    }
    return 0;
}

int options_parse_count(const char *text, const char *what, uint64_t most, uint64_t *value,
                        struct err *err)
{
    struct err ignored;
    if (units_parse_u64(text, value, &ignored) != 0 || *value == 0 || *value > most)
        return err_set(err, "%s: a number from 1 to %" PRIu64 " was expected, found '%s'", what,
                       most, text);
    return 0;
}

int options_parse_choice(const char *text, const char *what, const char *const *words,
                         unsigned *index, struct err *err)
{
    struct text known = {0};
    for (*index = 0; words[*index] && strcmp(words[*index], text) != 0; ++*index)
        text_printf(&known, "%s%s",
                    *index == 0         ? ""
                    : words[*index + 1] ? ", "
                                        : " or ",
                    words[*index]);
    int result =
        words[*index] ? 0 : err_set(err, "%s: %s was expected, found '%s'", what, known.data, text);
    text_close(&known);
    return result;
}

int options_parse_json(const char *text, bool *as_json, struct err *err)
{
    static const char *const words[] = {"table", "json", NULL};
    unsigned index = 0;
    int result = options_parse_choice(text, "--format", words, &index, err);
    *as_json = index == 1;
    return result;
}

void options_add_word(const char *word, struct text *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    text_add(out, " ", 1);
    if (*word && strspn(word, plain) == strlen(word)) {
        text_printf(out, "%s", word);
        return;
    }
    text_add(out, "'", 1);
    for (const char *c = word; *c; c++)
        text_printf(out, *c == '\'' ? "'\\''" : "%c", *c);
    text_add(out, "'", 1);
}

void options_print_flags(const struct flag *flags, FILE *out)
{
    for (const struct flag *flag = flags; flag->name; flag++)
        fprintf(out, "  %s %-*s %s\n", flag->name, (int)(24 - strlen(flag->name)),
                flag->metavar ? flag->metavar : "", flag->help);
}

static void print_entry(const struct param *entry, FILE *out)
{
    struct text value = {0};
    if (entry->metavar && entry->type != PARAM_CHOICE)
        text_printf(&value, "%s", entry->metavar);
    for (size_t i = 0; entry->type == PARAM_CHOICE && entry->choice[i]; i++)
        text_printf(&value, "%s%s", i ? "|" : "", entry->choice[i]);
    fprintf(out, "  --%s %-*s %s [%s]\n", entry->name, (int)(22 - strlen(entry->name)), value.data,
            entry->help, entry->default_text);
    text_close(&value);
}

void options_print_settings(FILE *out)
{
    for (const struct config_table *table = config_tables; table->params; table++) {
        fprintf(out, "\n%s [default]:\n", table->heading);
        for (const struct param *entry = table->params; entry->name; entry++)
            print_entry(entry, out);
    }
}
