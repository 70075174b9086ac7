/* options.h - the command line of all commands.
 *
 * "--key value" and "--key=value" are the same; "--key" alone is yes where yes or no is expected. A
 * command may take the settings of a run (config.h), other tables of settings, and flags of its
 * own. Everything else that does not start with '-', or stands behind "--", is a positional
 * argument. */
#ifndef SNAPSIM_OPTIONS_H
#define SNAPSIM_OPTIONS_H

#include <stdio.h>

#include "sim/engine/config.h"

/* A flag of one command. Exactly one of the two targets is set. */
struct flag {
    const char *name;    /* "--format" or "-o" */
    const char *metavar; /* NULL for a flag without a value */
    const char *help;
    const char **value; /* where the value's text goes; it is argv's */
    bool *is_set;       /* for a flag without a value */
};

/* A table of settings, and the struct that it describes. */
struct option_group {
    const struct param *table;
    void *settings;
};

struct options {
    const struct flag *flags;          /* ends with a NULL name; may be NULL */
    struct config *config;             /* NULL: the command takes no settings of a run */
    const struct option_group *groups; /* ends with a NULL table; may be NULL */
    const char *o_means;               /* the setting of a group for which -o stands, or NULL */
    const char **positional;           /* room for `most` */
    size_t most, count;
    bool help; /* --help was given: nothing else counts */
};

/* err: an unknown option (with the nearest one), a missing or bad value, too many arguments. */
int options_parse(struct options *options, int argc, char **argv, struct err *err) MUST_CHECK;

/* A whole number from 1 to most; what names the option in err. */
int options_parse_count(const char *text, const char *what, uint64_t most, uint64_t *value,
                        struct err *err) MUST_CHECK;

/* Which of a list of words, ended by NULL, a text is; what names the option in err. */
int options_parse_choice(const char *text, const char *what, const char *const *words,
                         unsigned *index, struct err *err) MUST_CHECK;

/* The same for the two formats that most commands have. */
int options_parse_json(const char *text, bool *as_json, struct err *err) MUST_CHECK;

/* Appends a blank and a word, quoted where a shell would read it as something else. */
void options_add_word(const char *word, struct text *out);

/* The option parts of --help. */
void options_print_flags(const struct flag *flags, FILE *out);
void options_print_settings(FILE *out);

#endif
