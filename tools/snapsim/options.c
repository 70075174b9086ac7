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

/* The setting that a name stands for; empty if there can be none. */
static const char *key_of(const char *name)
{
    for (size_t i = 0; name[1] != '-' && i < sizeof letters / sizeof *letters; i++)
        if (name[1] == letters[i].letter)
            return letters[i].name;
    return name[1] == '-' ? name + 2 : "";
}

bool options_have(const struct param_table *tables, const char *word)
{
    struct given given = read_name(word);
    bool found = param_find_in(tables, NULL, key_of(given.name), NULL) != NULL;
    free(given.name);
    return found;
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
    const char *key = key_of(given.name);
    const struct param *entry = param_find_in(options->tables, options->settings, key, &settings);
    const char *value = given.value ? given.value : left > 1 ? argv[1] : NULL;
    int result = 0;
    *used = given.value ? 1 : 2;
    if (entry && entry->type == PARAM_BOOL && !given.value && !is_bool(value)) {
        value = "1"; /* "--share-system" alone */
        *used = 1;
    }
    if (!entry) {
        options->unknown = argv[0];
        result = param_unknown(options->tables, "unknown option", given.name, "", err);
    } else if (value == NULL) {
        result = err_set(err, "%s needs a value", given.name);
    } else if (param_set(entry, settings, value, &reason) != 0) {
        result = err_set(err, "--%.900s", reason.text);
    }
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
