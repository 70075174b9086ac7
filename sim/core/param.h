/* param.h - settings that describe themselves.
 *
 * A plug-in or a command declares its settings as one constant table: name, type, place in a
 * struct, default, range, help. From that table come parsing of "name:key=value,key=value" and of
 * "--key value", range checks, "did you mean", --help, `snapsim list`, the keys of JSON files, the
 * option parts of the man pages, and the `config` object of a result.
 *
 *     struct fixed { uint64_t interval; };
 *     static const struct param fixed_params[] = {
 *         PARAM(struct fixed, interval, PARAM_U64, "64", 1, 1 << 20, "tokens between snapshots"),
 *         PARAM_END
 *     };
 *
 * The first parameter of a table is the main one: "fixed:64" means "fixed:interval=64". */
#ifndef SNAPSIM_PARAM_H
#define SNAPSIM_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/core/text.h"

enum param_type {
    PARAM_U64,      /* uint64_t, min..max */
    PARAM_BYTES,    /* uint64_t, a size with unit or "unlimited" */
    PARAM_DURATION, /* uint64_t nanoseconds, a time with unit */
    PARAM_DOUBLE,   /* double, min..max */
    PARAM_LENGTH,   /* double, inches, min..max: a length with unit */
    PARAM_BOOL,     /* bool: 0/1, no/yes, false/true */
    PARAM_CHOICE,   /* unsigned: index into the choices */
    PARAM_TEXT,     /* char *: owned by the struct, freed by param_free; NULL if no default */
    PARAM_WORDS     /* struct words: each value that is given is one more */
};

/* The texts are borrowed, as from argv; the list is freed by param_free. */
struct words {
    const char **items;
    size_t count, capacity;
};

struct param {
    const char *name; /* NULL ends a table */
    enum param_type type;
    size_t offset;             /* of the field in the struct of settings */
    const char *default_text;  /* run through the same parser as what users type; or NULL: zero */
    double min, max;           /* for PARAM_U64, PARAM_DOUBLE and PARAM_LENGTH */
    const char *const *choice; /* for PARAM_CHOICE, NULL-ended */
    const char *metavar;       /* what --help shows for the value, as in "--capacity SIZE" */
    const char *help;
};

#define PARAM(type_, field, kind, default_, min_, max_, help_)                                     \
    {                                                                                              \
#field, kind, offsetof(type_, field), default_, min_, max_, NULL, NULL, help_              \
    }
#define PARAM_CHOICES(type_, field, default_, choices_, help_)                                     \
    {                                                                                              \
#field, PARAM_CHOICE, offsetof(type_, field), default_, 0, 0, choices_, NULL, help_        \
    }
#define PARAM_END                                                                                  \
    {                                                                                              \
        NULL, PARAM_U64, 0, NULL, 0, 0, NULL, NULL, NULL                                           \
    }

/* A table with a heading, for a struct that lies at some offset in a larger one. Lists of them end
 * with params NULL. */
struct param_table {
    const char *heading; /* or NULL */
    const struct param *params;
    size_t offset;
};

/* Sets every field to its default. table may be NULL (no settings). */
void param_defaults(const struct param *table, void *settings);

/* Frees what PARAM_TEXT and PARAM_WORDS fields own. */
void param_free(const struct param *table, void *settings);

/* Both over several tables. */
void param_open(const struct param_table *tables, void *settings);
void param_close(const struct param_table *tables, void *settings);

/* The entry of that name, or NULL. '-' and '_' are the same in names. */
const struct param *param_find(const struct param *table, const char *name);

/* The same over several tables; *base is the struct that the entry's table describes, unless both
 * settings and base are NULL. */
const struct param *param_find_in(const struct param_table *tables, void *settings,
                                  const char *name, void **base);

/* "WHAT 'name'", with the nearest name of the tables, or `otherwise`. Returns -1. */
int param_unknown(const struct param_table *tables, const char *what, const char *name,
                  const char *otherwise, struct err *err);

/* Sets one field from text. On failure err is "KEY: what is wrong". */
int param_set(const struct param *entry, void *settings, const char *text,
              struct err *err) MUST_CHECK;

/* Parses "key=value,key=value" (what follows the ':' of a plug-in's name; a value without a key
 * belongs to the first parameter). Defaults must have been set before. whose names the plug-in in
 * errors, as in "placement 'fixed'". */
int param_parse_list(const struct param *table, void *settings, const char *list, const char *whose,
                     struct err *err) MUST_CHECK;

/* Appends the value of a field in the form that param_set reads back. */
void param_print_value(const struct param *entry, const void *settings, struct text *out);

/* Appends "name:key=value,..." with every parameter, defaults included; "name" if there is none. */
void param_print_list(const char *name, const struct param *table, const void *settings,
                      struct text *out);

/* Appends what stands for a value in help: its choices ("keep|drop"), its metavar, or what its type
 * says; nothing for a switch. */
void param_print_metavar(const struct param *entry, struct text *out);

/* Appends " (did you mean 'x'?)" if a name of the table is near to wrong, "--" in front left out.
 */
void param_suggest(const struct param *table, const char *wrong, struct text *out);
void param_suggest_in(const struct param_table *tables, const char *wrong, struct text *out);

#endif
