/* text.h - a growing string, for output that is built in memory and written at once. */
#ifndef SNAPSIM_TEXT_H
#define SNAPSIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/core/err.h"

struct text {
    char *data; /* ends in '\0' once anything, be it nothing, was added or printed; NULL before */
    size_t length, capacity;
};

void text_add(struct text *text, const char *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
/* The shortest decimal that reads back as the same number; plain: without an exponent. */
void text_add_number(struct text *text, double number, bool is_plain);
void text_clear(struct text *text); /* keeps the memory */
void text_close(struct text *text); /* frees it */

/* Reads a whole file. On failure says so in err and leaves text as it was. */
int text_read_file(struct text *text, const char *path, struct err *err) MUST_CHECK;

/* Writes a file by temporary name and rename, so that a reader sees the old one or all of the new
 * one. On any failure the temporary file is removed and the old file is untouched. What is there
 * and is no regular file, as /dev/stdout, a pipe or a link, is written to: to rename a file over
 * it would destroy it. */
int text_write_file(const char *path, const void *bytes, size_t length, struct err *err) MUST_CHECK;

/* True if word is one of the words of a text, which spaces divide; letters of either case. */
bool text_has_word(const char *words, const char *word);

/* The name in a table of strings that is nearest to a misspelt one, or NULL if none is near.
 * names(i) returns NULL after the last. */
const char *text_nearest(const char *wrong, const char *(*name)(const void *table, size_t index),
                         const void *table);

#endif
