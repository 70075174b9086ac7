/* options.h - the command line of all commands.
 *
 * Every option is an entry of a table of settings (param.h). "--key value" and "--key=value" are
 * the same; "--key" alone is yes where yes or no is expected. Some have a letter of their own:
 * "-j 2" and "-j2" are "--threads 2". Everything else that does not start with '-', or stands
 * behind "--", is a word. */
#ifndef SNAPSIM_OPTIONS_H
#define SNAPSIM_OPTIONS_H

#include "sim/core/param.h"

struct options {
    const struct param_table *tables; /* for the struct of settings */
    void *settings;
    const char **words; /* room for all of argv */
    size_t word_count, word_most;
    const char
        *unknown; /* the word of argv that no option answers to, if that failed the parsing */
};

/* The letter that stands for an option, or '\0'. */
char options_letter(const struct param *entry);

/* Takes argv[1] and on; may be called again, then what is given counts once more. err: an unknown
 * option (with the nearest one), a missing or bad value, a word too many. */
int options_parse(struct options *options, int argc, char **argv, struct err *err) MUST_CHECK;

/* Whether tables have the option that a word as "--name", "--name=value" or "-o" names. */
bool options_have(const struct param_table *tables, const char *word);

/* Appends a blank and a word, quoted where a shell would read it as something else. */
void options_add_word(const char *word, struct text *out);

/* What several commands have, declared once; the field in the command's struct has the same name.
 */
#define OPTION_FORMAT(type_, words_)                                                               \
    {                                                                                              \
        "format", PARAM_CHOICE, offsetof(type_, format), "table", 0, 0, words_, NULL,              \
            "how to print the result"                                                              \
    }
#define OPTION_TRACE_FORMAT(type_)                                                                 \
    {                                                                                              \
        "trace-format", PARAM_TEXT, offsetof(type_, trace_format), NULL, 0, 0, NULL, "FORMAT",     \
            "the trace's format (snapsim list formats); by its content if not given"               \
    }
#define OPTION_THREADS(type_)                                                                      \
    {                                                                                              \
        "threads", PARAM_U64, offsetof(type_, threads), "1", 1, 1024, NULL, "N", "threads"         \
    }
#define OPTION_OUTPUT(type_, metavar_, help_)                                                      \
    {                                                                                              \
        "output", PARAM_TEXT, offsetof(type_, output), NULL, 0, 0, NULL, metavar_, help_           \
    }
#define OPTION_WHERE(type_)                                                                        \
    {                                                                                              \
        "where", PARAM_WORDS, offsetof(type_, where), NULL, 0, 0, NULL, "KEY=VALUE",               \
            "only these results; may be repeated; != leaves out"                                   \
    }
#define OPTION_AGGREGATE(type_)                                                                    \
    {                                                                                              \
        "aggregate", PARAM_CHOICE, offsetof(type_, aggregate), "none", 0, 0, pivot_aggregates,     \
            NULL, "what to show of several results at one place, as over seeds"                    \
    }
/* An option of text, NULL if not given; and one that is on or off. */
#define OPTION_TEXT(type_, name_, field_, metavar_, help_)                                         \
    {                                                                                              \
        name_, PARAM_TEXT, offsetof(type_, field_), NULL, 0, 0, NULL, metavar_, help_              \
    }
#define OPTION_SWITCH(type_, name_, field_, help_)                                                 \
    {                                                                                              \
        name_, PARAM_BOOL, offsetof(type_, field_), NULL, 0, 0, NULL, NULL, help_                  \
    }

extern const char *const options_table_or_json[]; /* the formats that most commands have */
enum { PRINT_TABLE, PRINT_JSON };

#endif
