/* json.h - strict reading and exact writing of JSON, over cJSON.
 *
 * cJSON keeps numbers as doubles, accepts duplicate keys and trailing text, and prints 2^53 with
 * 15 digits. This file is the only one that sees it, and closes those holes: counters are written
 * from their digits, duplicate and unknown keys are refused, numbers are range-checked, and an
 * error names the file and the line. For traces, which are large, see traces/scan.h instead.
 *
 * A struct json is one value of a document. Values belong to the document they were read from or
 * added to; json_close() on the top value frees everything. */
#ifndef SNAPSIM_JSON_H
#define SNAPSIM_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/core/text.h"

struct json;

/* A document together with its source, so that errors can name a line. */
struct json_document {
    char *path;
    struct text source;
    struct json *top;
};

/* Settings, models, sweeps and calibrations are small: a longer file is none of them. */
#define JSON_FILE_MIB 64

/* Makes the library that reads and writes JSON take its memory from mem.h. For main(), before
 * anything else. */
void json_start(void);

/* err: also for a file of more than JSON_FILE_MIB. */
int json_open_file(struct json_document *out, const char *path, struct err *err) MUST_CHECK;
int json_open_text(struct json_document *out, const char *name, const char *source,
                   struct err *err) MUST_CHECK;
void json_close_document(struct json_document *document);

/* Reading. The key'd getters take NULL for "absent" and say so with *found (which may be NULL if
 * the key is required). err gets "file:line: key: what was expected, what was found". */
const struct json *json_get(const struct json *object, const char *key); /* NULL if absent */
const char *json_key(const struct json *value);    /* the key under which it stands, or NULL */
const char *json_string(const struct json *value); /* NULL if it is no string */
bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_number(const struct json *value);
bool json_is_bool(const struct json *value, bool *is_true);
double json_double(const struct json *value);             /* 0 if it is no number */
const struct json *json_first(const struct json *parent); /* of an object or array, or NULL */
const struct json *json_next(const struct json *value);   /* its next sibling, or NULL */

/* A scalar as the text that a command line would have held: 64, 0.5, "lru", true -> "1". Returns
 * -1 (nothing said) for null, objects and arrays. */
int json_scalar_text(const struct json *value, struct text *out) MUST_CHECK;

/* The whole number that a value holds, if it is one of 0 .. 2^53; -1 if not (nothing said). */
int json_u64(const struct json *value, uint64_t *out) MUST_CHECK;

/* err_set with "path:line: " of the value in front. Returns -1. */
int json_fail(const struct json_document *document, const struct json *value, struct err *err,
              const char *format, ...) PRINTF_LIKE(4, 5);

/* Writing: build a tree, print it once. Keys are copied. */
struct json *json_new_object(void);
struct json *json_add_object(struct json *parent, const char *key); /* key NULL in an array */
struct json *json_add_array(struct json *parent, const char *key);
void json_add_u64(struct json *parent, const char *key, uint64_t value);
void json_add_double(struct json *parent, const char *key, double value); /* finite */
void json_add_bool(struct json *parent, const char *key, bool value);
void json_add_string(struct json *parent, const char *key, const char *value);
void json_add_hex(struct json *parent, const char *key, uint64_t value); /* "0x0123456789abcdef" */
void json_print(const struct json *value, bool pretty, struct text *out);
void json_close(struct json *top);

#endif
