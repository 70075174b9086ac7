/* results.h - reads what `snapsim run --format json` and `snapsim sweep` wrote.
 *
 * RESULTS on a command line is one of
 *
 *     FILE    one result of `run --format json`, or one result per line (JSON lines); plain or
 *             compressed by zstd, told by the content
 *     DIR     a directory that holds results.jsonl or results.jsonl.zst
 *
 * Each result becomes a row. A cell that failed has `error` and no `result`; it is a row too, so
 * that nothing disappears silently. What the values of a row mean is columns.h's matter. */
#ifndef SNAPSIM_RESULTS_H
#define SNAPSIM_RESULTS_H

#include <stddef.h>

#include "sim/core/json.h"

enum results_part {
    RESULTS_CONFIG, /* always there */
    RESULTS_RESULT, /* NULL if the cell failed */
    RESULTS_MODEL,  /* this and the rest: NULL if there is none */
    RESULTS_TRACE,
    RESULTS_SWEEP,
    RESULTS_PARTS
};

struct results_row {
    struct json_document document; /* path is "FILE:LINE" where the row starts */
    const struct json *part[RESULTS_PARTS];
    const char *error; /* why the cell failed, otherwise NULL */
};

/* A key that at least one row has, in order of first appearance. */
struct results_key {
    enum results_part part;
    char *name;
    bool is_number; /* in at least one row */
};

struct results {
    char *path; /* of the file that was read */
    struct results_row *rows;
    size_t count, capacity;
    size_t failed; /* rows with an error */
    struct results_key *keys;
    size_t key_count, key_capacity;
};

/* err: "file:line: ..." for what is no result, or of a schema that this program does not know. A
 * file without results is an error as well. Close it in either case. */
int results_open(struct results *out, const char *path, struct err *err) MUST_CHECK;

/* The same from memory; path is for messages. */
int results_open_memory(struct results *out, const char *path, const void *bytes, size_t length,
                        struct err *err) MUST_CHECK;

/* The file that a path names: itself, or one of two in a directory. Free it in either case. */
int results_find(const char *path, char **out, struct err *err) MUST_CHECK;

/* Drops rows: keep[i] says whether row i stays. */
void results_keep(struct results *results, const bool *keep);

/* A text of a row's `model`, or NULL. */
const char *results_model(const struct results_row *row, const char *key);

/* Whether each result gives the digest of its model; older programs gave none. */
bool results_say_models(const struct results *results);

void results_close(struct results *results);

#endif
