/* frame.h - what all commands have in common.
 *
 * A command is one constant table: its name, what --help says, and its ways. Most have one way;
 * others start with a word that picks it, as `snapsim model show`. A way has tables of options and
 * a function that gets them parsed. The frame parses, prints --help, counts words, and names what
 * is near to a misspelt word; the function does the command's own work and returns the status. */
#ifndef SNAPSIM_FRAME_H
#define SNAPSIM_FRAME_H

#include "tools/snapsim/options.h"

#define WAYS_MAX 6
#define WAY_TABLES_MAX 4
#define ANY_NUMBER SIZE_MAX

struct call;

struct way {
    const char *name;    /* the word that picks it; NULL if the command has only one */
    const char *summary; /* one line; NULL for none */
    const char *words;   /* what stands there beside options, for the usage: "KIND RESULTS" */
    const char *missing; /* if there are fewer words than `least`: "a trace was" (expected) */
    size_t least, most;  /* words */
    struct param_table tables[WAY_TABLES_MAX];
    int (*run)(const struct call *call);
};

struct command {
    const char *name, *summary;
    const char *text; /* lines for --help: a paragraph each, or "  name  what it is" */
    void (*add_text)(struct text *out); /* lines that are made of a table; or NULL */
    const char *notes;                  /* more lines, behind the options; or NULL */
    const char *examples;               /* lines as they are typed */
    size_t options_size;                /* of the struct of options, 0 if there are none */
    bool takes_config;                  /* that struct starts with a struct config */
    struct way ways[WAYS_MAX];          /* ends with one without a function */
};

/* One use of a command. */
struct call {
    const struct command *command;
    const struct way *way;
    int argc;
    char **argv; /* of the way: argv[0] is the word before its own words */
    struct options *options;
    const void *settings; /* the command's struct, parsed */
    const char *const *words;
    size_t word_count;
};

/* Runs a command; argv[0] is its name. */
int frame_run(const struct command *command, int argc, char **argv);

/* The command line once more, over what the struct holds by now. */
int frame_parse_again(const struct call *call, struct err *err) MUST_CHECK;

/* Says what is missing, and returns EXIT_USAGE. */
int frame_say_missing(const struct call *call);

/* Each table that the command has, once, and the ways that take it: " (show, fit)", or nothing if
 * all do. False after the last. */
bool frame_table(const struct command *command, size_t index, const struct param_table **table,
                 struct text *ways);

/* The line of the usage for a way, without "usage: ". */
void frame_add_usage(const struct command *command, const struct way *way, struct text *out);

/* Takes the next line off the lines of a text: a paragraph, or an item "  name  what it is", of
 * which *name is then the name (not ended) and *line what it is. False at the end. */
struct frame_line {
    const char *name, *text; /* name NULL: a paragraph */
    size_t name_length, length;
};
bool frame_next_line(const char **rest, struct frame_line *line);

#endif
