/* scan.h - pulls values out of one line of JSON, strictly and without building a tree.
 *
 *     scan_open(&scan, path, number, line, length, err);
 *     scan_enter(&scan, '{');
 *     while (scan_key(&scan, &key))
 *         if (scan_is(key, "in")) in = scan_u64(&scan, "\"in\"", 1, limit);
 *         else scan_skip(&scan);
 *     return scan_close(&scan);
 *
 * The first mistake is kept: err gets "path:line: column N: expected ..., found ...", from then on
 * every function returns at once with some value, loops end, and scan_close() returns -1. So a
 * reader checks once, at the end.
 *
 * Strings are compared as they stand in the line: one that is written with an escape is no known
 * key or word. Numbers of the trace never pass through floating point. */
#ifndef SNAPSIM_SCAN_H
#define SNAPSIM_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"

/* Values that are skipped may be nested this deep. */
#define SCAN_DEPTH_MAX 64

struct scan {
    const char *cursor, *start, *end; /* *end is '\0' */
    const char *path;
    uint32_t line;
    bool fresh; /* an object or array was entered, and nothing of it read yet */
    bool failed;
    struct err *err;
};

/* A string of the line, without its quotes. */
struct scan_text {
    const char *data;
    size_t length;
};

/* line[length] must be '\0'. Everything is borrowed until the end of the scan. */
void scan_open(struct scan *scan, const char *path, uint32_t line_number, const char *line,
               size_t length, struct err *err);

/* -1 if there was a mistake, or if something follows the value that was read. */
int scan_close(struct scan *scan) MUST_CHECK;

/* Goes into an object ('{') or array ('['), which is then read until scan_key() or scan_item()
 * returns false: at its end, or after a mistake. */
void scan_enter(struct scan *scan, char open);
bool scan_key(struct scan *scan, struct scan_text *key); /* the value comes next */
bool scan_item(struct scan *scan);                       /* the value comes next */

/* For arrays of a fixed number of items: there must be one more; there must be no more. */
void scan_next(struct scan *scan);
void scan_leave(struct scan *scan);

/* One value. what names it in messages: "\"in\"", "a block number". */
uint64_t scan_u64(struct scan *scan, const char *what, uint64_t min, uint64_t max);
struct scan_text scan_string(struct scan *scan, const char *what);
struct scan_text scan_name(struct scan *scan, const char *what); /* a string or a number */
unsigned scan_word(struct scan *scan, const char *what, const char *const *words); /* its index */
void scan_skip(struct scan *scan);
bool scan_null(struct scan *scan); /* skips null; false, and nothing skipped, if it is not null */

/* A number of seconds (decimals = 9) or milliseconds (6), in nanoseconds, rounded to the nearest,
 * halves up. From 0 to SCAN_TIME_MAX_NS. */
#define SCAN_TIME_MAX_NS 4000000000000000000u
uint64_t scan_time(struct scan *scan, const char *what, unsigned decimals);

/* The shortest text that scan_time() reads back: "12.5". out must hold SCAN_TIME_TEXT bytes. */
#define SCAN_TIME_TEXT 32
const char *scan_time_text(uint64_t ns, unsigned decimals, char out[SCAN_TIME_TEXT]);

/* Where the next value starts, from 1: for a message about it after it was read. */
unsigned scan_column(struct scan *scan);

/* A mistake that only the reader can see. Does nothing if there was one before. */
void scan_fail(struct scan *scan, unsigned column, const char *format, ...) PRINTF_LIKE(3, 4);

/* As scan_fail, about the value that comes next: "expected ..., found" and what stands there. */
void scan_expected(struct scan *scan, const char *expected);

/* Here for speed: most comparisons end at the first byte. */
static inline bool scan_is(struct scan_text text, const char *word)
{
    size_t i = 0;
    while (i < text.length && text.data[i] == word[i] && word[i] != '\0')
        i++;
    return i == text.length && word[i] == '\0';
}

/* Whether the first line of a content has this key, at any depth. For telling formats apart. */
bool scan_line_has_key(const char *start, size_t length, const char *key);

#endif
