#include "tools/view/results.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "sim/vocabulary.h"

static void close_row(struct results_row *row)
{
    json_close_document(&row->document);
    *row = (struct results_row){0};
}

static const char *const part_names[RESULTS_PARTS] = {"config", "result", "model", "trace",
                                                      "sweep"};

static int take_parts(struct results_row *row, struct err *err)
{
    for (int part = 0; part < RESULTS_PARTS; part++) {
        const struct json *value = json_get(row->document.top, part_names[part]);
        if (value && !json_is_object(value))
            return err_set(err, "%s: '%s': an object was expected", row->document.path,
                           part_names[part]);
        row->part[part] = value;
    }
    row->error = json_string(json_get(row->document.top, "error"));
    if (!row->part[RESULTS_CONFIG] || !row->part[RESULTS_RESULT] == !row->error)
        return err_set(err, "%s: 'config' and one of 'result' and 'error' were expected",
                       row->document.path);
    return 0;
}

static void add_key(struct results *results, enum results_part part, const struct json *value)
{
    const char *name = json_key(value);
    for (size_t i = 0; i < results->key_count; i++)
        if (results->keys[i].part == part && strcmp(results->keys[i].name, name) == 0) {
            results->keys[i].is_number |= json_is_number(value);
            return;
        }
    results->keys = mem_grow(results->keys, &results->key_capacity, results->key_count + 1,
                             sizeof *results->keys);
    results->keys[results->key_count++] = (struct results_key){
        .part = part, .name = mem_strdup(name), .is_number = json_is_number(value)};
}

static int check_schema(const struct results_row *row, struct err *err)
{
    uint64_t schema = 0;
    const struct json *top = row->document.top;
    if (!json_is_object(top) || !json_get(top, "schema"))
        return err_set(err,
                       "%s: a result was expected, an object with 'schema', as `snapsim run "
                       "--format json` and `snapsim sweep` write it",
                       row->document.path);
    if (json_u64(json_get(top, "schema"), &schema) != 0 || schema != RESULT_SCHEMA) {
        struct text found = {0};
        json_print(json_get(top, "schema"), false, &found);
        err_set(err, "%s: results of schema %.40s are not known to this program, which reads %d",
                row->document.path, found.data, RESULT_SCHEMA);
        text_close(&found);
        return -1;
    }
    return 0;
}

/* Takes over the document. On failure it is closed. */
static int add_row(struct results *results, struct json_document *document, struct err *err)
{
    struct results_row row = {.document = *document};
    if (check_schema(&row, err) != 0 || take_parts(&row, err) != 0) {
        close_row(&row);
        return -1;
    }
    for (enum results_part part = 0; part < RESULTS_PARTS; part++)
        for (const struct json *item = json_first(row.part[part]); item; item = json_next(item))
            add_key(results, part, item);
    results->rows = mem_grow(results->rows, &results->capacity, results->count + 1, sizeof row);
    results->rows[results->count++] = row;
    results->failed += row.error != NULL;
    return 0;
}

/* json.c counts lines within what it was given: an empty name makes its messages ":1: ...", of
 * which the rest goes behind the place in the file. */
static int read_line(struct results *results, const char *line, uint32_t number, struct err *err)
{
    struct json_document document;
    struct err reason = {""};
    struct text place = {0};
    text_printf(&place, "%s:%" PRIu32, results->path, number);
    int result = json_open_text(&document, "", line, &reason);
    if (result != 0) {
        const char *rest = strstr(reason.text, ": ");
        err_set(err, "%.500s: %.500s", place.data, rest ? rest + 2 : reason.text);
    } else {
        free(document.path);
        document.path = mem_strdup(place.data);
        result = add_row(results, &document, err);
    }
    text_close(&place);
    return result;
}

static int read_lines(struct results *results, struct trace_lines *lines, struct err *err)
{
    char *line = NULL;
    size_t length = 0;
    int more = 0;
    while ((more = lines_next(lines, &line, &length, err)) == 1)
        if (read_line(results, line, lines_number(lines), err) != 0)
            return -1;
    return more;
}

static int read_document(struct results *results, struct trace_lines *lines, struct err *err)
{
    char chunk[16384];
    struct text source = {0};
    struct json_document document;
    int result = -1;
    int64_t got = 0;
    while ((got = lines_read(lines, chunk, sizeof chunk, err)) > 0) {
        text_add(&source, chunk, (size_t)got);
        if (source.length > LINES_LENGTH_MAX) {
            err_set(err, "%.900s: expected a result of at most 64 MiB, found a longer one",
                    results->path);
            goto out;
        }
    }
    if (got < 0)
        goto out;
    result = json_open_text(&document, results->path, source.data, err);
    if (result != 0)
        goto out;
    struct text place = {0};
    text_printf(&place, "%s:1", results->path);
    free(document.path);
    document.path = place.data;
    result = add_row(results, &document, err);
out:
    text_close(&source);
    return result;
}

/* JSON lines if the first line is a whole object: it ends in '}', or does not end within what is
 * looked at. A result that `run` printed for people starts with a lone '{'. */
static bool has_lines(const char *start, size_t length)
{
    size_t at = 0;
    while (at < length && isspace((unsigned char)start[at]))
        at++;
    const char *end = memchr(start + at, '\n', length - at);
    if (!end)
        return length >= LINES_PEEK || (length > at && start[length - 1] == '}');
    while (end > start + at && isspace((unsigned char)end[-1]))
        end--;
    return end > start + at + 1 && end[-1] == '}';
}

static int read_all(struct results *results, struct trace_lines *lines, struct err *err)
{
    size_t length = 0;
    const char *start = lines_peek(lines, &length);
    size_t blank = 0;
    while (blank < length && isspace((unsigned char)start[blank]))
        blank++;
    int result = 0;
    if (blank < length || length >= LINES_PEEK)
        result = has_lines(start, length) ? read_lines(results, lines, err)
                                          : read_document(results, lines, err);
    if (result == 0 && results->count == 0)
        result = err_set(err, "%s: there are no results in it", results->path);
    return result;
}

int results_find(const char *path, char **out, struct err *err)
{
    static const char *const names[] = {"results.jsonl", "results.jsonl.zst"};
    struct stat status;
    *out = NULL;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        *out = mem_strdup(path);
        return 0;
    }
    for (size_t i = 0; i < 2; i++) {
        struct text candidate = {0};
        text_printf(&candidate, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", names[i]);
        if (stat(candidate.data, &status) != 0) {
            text_close(&candidate);
        } else if (*out) {
            text_close(&candidate);
            return err_set(err, "%s: holds both %s and %s; name one of them", path, names[0],
                           names[1]);
        } else {
            *out = candidate.data;
        }
    }
    if (*out)
        return 0;
    return err_set(err, "%s: a directory with %s or %s was expected", path, names[0], names[1]);
}

int results_open(struct results *out, const char *path, struct err *err)
{
    *out = (struct results){0};
    struct trace_lines *lines = NULL;
    if (results_find(path, &out->path, err) != 0 || lines_open_file(&lines, out->path, err) != 0)
        return -1;
    int result = read_all(out, lines, err);
    lines_close(lines);
    return result;
}

int results_open_memory(struct results *out, const char *path, const void *bytes, size_t length,
                        struct err *err)
{
    *out = (struct results){.path = mem_strdup(path)};
    struct trace_lines *lines = lines_open_memory(path, bytes, length);
    int result = read_all(out, lines, err);
    lines_close(lines);
    return result;
}

void results_keep(struct results *results, const bool *keep)
{
    size_t kept = 0;
    results->failed = 0;
    for (size_t i = 0; i < results->count; i++) {
        if (!keep[i]) {
            close_row(&results->rows[i]);
            continue;
        }
        results->failed += results->rows[i].error != NULL;
        results->rows[kept++] = results->rows[i];
    }
    results->count = kept;
}

const char *results_model(const struct results_row *row, const char *key)
{
    const struct json *model = row->part[RESULTS_MODEL];
    return model ? json_string(json_get(model, key)) : NULL;
}

bool results_say_models(const struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (!results->rows[i].error && !results_model(&results->rows[i], "sha256"))
            return false;
    return true;
}

void results_close(struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        close_row(&results->rows[i]);
    for (size_t i = 0; i < results->key_count; i++)
        free(results->keys[i].name);
    free(results->keys);
    free(results->rows);
    free(results->path);
    *results = (struct results){0};
}
