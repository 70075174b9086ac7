#include "tools/snapsim/options.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/vocabulary.h"

const char *const options_table_or_json[] = {"table", "json", NULL};

static const struct {
    char letter;
    const char *name;
} letters[] = {{'j', "threads"}, {'o', "output"}};

char options_letter(const struct param *entry)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(letters[i].name, entry->name) == 0)
            return letters[i].letter;
    return '\0';
}

const struct param_table *options_table(const struct options *options, size_t index)
{
    const struct param_table *table = options->tables;
    for (; table->params && index > 0; table++)
        index--;
    if (table->params)
        return table;
    for (table = config_tables; options->takes_config && table->params; table++)
        if (index-- == 0)
            return table;
    return NULL;
}

static void *struct_of(const struct options *options, const struct param_table *table)
{
    return (char *)options->settings + table->offset;
}

void options_open(struct options *options)
{
    const struct param_table *table = NULL;
    for (size_t i = 0; (table = options_table(options, i)) != NULL; i++)
        param_defaults(table->params, struct_of(options, table));
}

void options_close(struct options *options)
{
    const struct param_table *table = NULL;
    for (size_t i = 0; (table = options_table(options, i)) != NULL; i++)
        param_free(table->params, struct_of(options, table));
}

/* One option of argv. */
struct given {
    char *name;        /* "--name" or "-n", without a value */
    const char *value; /* that is part of the same word, or NULL */
};

static struct given read_name(const char *word)
{
    bool is_short = word[1] != '-'; /* -j 2 or -j2 */
    const char *equals = is_short ? NULL : strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : is_short ? 2 : strlen(word);
    return (struct given){.name = mem_strndup(word, length),
                          .value = equals              ? equals + 1
                                   : word[length] != 0 ? word + length
                                                       : NULL};
}

static const struct param *find(const struct options *options, const char *name, void **settings)
{
    const struct param_table *table = NULL;
    const struct param *entry = NULL;
    const char *key = name + 2;
    for (size_t i = 0; name[1] != '-' && i < sizeof letters / sizeof *letters; i++)
        if (name[1] == letters[i].letter)
            key = letters[i].name;
    for (size_t i = 0; *key && !entry && (table = options_table(options, i)) != NULL; i++) {
        entry = param_find(table->params, key);
        *settings = struct_of(options, table);
    }
    return entry;
}

const struct param *options_find(const struct options *options, const char *word)
{
    struct given given = read_name(word);
    void *ignored = NULL;
    const struct param *entry = find(options, given.name, &ignored);
    free(given.name);
    return entry;
}

static const char *name_at(const void *user, size_t index)
{
    const struct param_table *table = NULL;
    for (size_t i = 0; (table = options_table(user, i)) != NULL; i++)
        for (const struct param *entry = table->params; entry->name; entry++)
            if (index-- == 0)
                return entry->name;
    return NULL;
}

static int unknown(const struct options *options, const char *name, struct err *err)
{
    const char *near = strlen(name) > 2 ? text_nearest(name + 2, name_at, options) : NULL;
    return err_set(err, "unknown option '%s'%s%s%s", name, near ? " (did you mean '" : "",
                   near ? near : "", near ? "'?)" : "");
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
    struct given given = read_name(argv[0]);
    struct err reason;
    void *settings = NULL;
    const struct param *entry = find(options, given.name, &settings);
    const char *value = given.value ? given.value : left > 1 ? argv[1] : NULL;
    int result = 0;
    *used = given.value ? 1 : 2;
    if (entry && entry->type == PARAM_BOOL && !given.value && !is_bool(value)) {
        value = "1"; /* "--share-system" alone */
        *used = 1;
    }
    if (!entry) {
        options->unknown = argv[0];
        result = unknown(options, given.name, err);
    } else if (value == NULL)
        result = err_set(err, "%s needs a value", given.name);
    else if (param_set(entry, settings, value, &reason) != 0)
        result = err_set(err, "--%.900s", reason.text);
    free(given.name);
    return result;
}

int options_parse(struct options *options, int argc, char **argv, struct err *err)
{
    bool only_words = false; /* behind "--" */
    options->word_count = 0;
    for (int i = 1; i < argc;) {
        int used = 1;
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (take_option(options, argc - i, argv + i, &used, err) != 0)
                return -1;
        } else if (options->word_count == options->word_most) {
            return err_set(err, "one argument too many: '%s'", argv[i]);
        } else {
            options->words[options->word_count++] = argv[i];
        }
        i += used;
    }
    return 0;
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
