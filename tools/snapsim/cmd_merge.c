/* snapsim merge - the parts of a sweep, put together as if they had been run at once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/json.h"
#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "sim/core/packed.h"
#include "tools/snapsim/snapsim.h"
#include "tools/sweep/cells.h"
#include "tools/sweep/known_models.h"
#include "tools/view/results.h"

/* What all parts must agree on, and the lines by cell. */
struct merge {
    char *digest, *version; /* of the sweep, of the program; version NULL: no cell was run yet */
    struct known_models models;
    size_t cells, failed;
    char **lines;
};

/* The sweep that a line belongs to must be that of the lines before it. */
static int check_sweep(struct merge *merge, const struct json *top, uint64_t *cell, struct err *err)
{
    const struct json *sweep = json_get(top, "sweep");
    const char *digest = sweep ? json_string(json_get(sweep, "digest")) : NULL;
    uint64_t cells = 0;
    if (!digest || json_u64(json_get(sweep, "cell"), cell) != 0 ||
        json_u64(json_get(sweep, "cells"), &cells) != 0 || *cell >= cells)
        return err_set(err, "a line of a sweep was expected");
    if (cells > CELLS_MAX)
        return err_set(err, "at most %u cells were expected, found %" PRIu64, CELLS_MAX, cells);
    if (!merge->digest) {
        merge->digest = mem_strdup(digest);
        merge->cells = (size_t)cells;
        merge->lines = mem_array(merge->cells, sizeof *merge->lines);
    }
    if (strcmp(merge->digest, digest) != 0 || merge->cells != cells)
        return err_set(err,
                       "a line of sweep %s was expected, found one of %s: settings, traces or "
                       "models differ",
                       merge->digest, digest);
    return 0;
}

/* Results of two versions of the program need not agree. A cell that failed names none. */
static int check_version(struct merge *merge, const struct json *top, struct err *err)
{
    const struct json *program = json_get(top, "program");
    const char *version = program ? json_string(json_get(program, "version")) : NULL;
    if (!version)
        return 0;
    if (!merge->version)
        merge->version = mem_strdup(version);
    if (strcmp(merge->version, version) == 0)
        return 0;
    return err_set(err, "a result of snapsim %s was expected, found one of %s", merge->version,
                   version);
}

static int take_document(struct merge *merge, const struct json *top, const char *line,
                         struct err *err)
{
    uint64_t cell = 0;
    if (known_models_add_result(&merge->models, top, err) != 0 ||
        check_sweep(merge, top, &cell, err) != 0 || check_version(merge, top, err) != 0)
        return -1;
    char **place = &merge->lines[cell];
    if (*place)
        return strcmp(*place, line) == 0
                   ? 0
                   : err_set(err, "cell %" PRIu64 " is there twice, with different results", cell);
    *place = mem_strdup(line);
    merge->failed += json_get(top, "error") != NULL;
    return 0;
}

static int take_line(struct merge *merge, const char *path, uint32_t number, const char *line,
                     struct err *err)
{
    struct json_document document;
    struct err reason;
    if (json_open_text(&document, path, line, &reason) != 0)
        return err_set(err, "%s:%u: a result was expected, found something else", path, number);
    int result = take_document(merge, document.top, line, &reason);
    if (result != 0)
        err_set(err, "%s:%u: %.900s", path, number, reason.text);
    json_close_document(&document);
    return result;
}

static int take_part(struct merge *merge, const char *argument, struct err *err)
{
    struct trace_lines *lines = NULL;
    char *path = NULL, *line = NULL;
    size_t length = 0;
    int more = results_find(argument, &path, err);
    if (more == 0)
        more = lines_open_file(&lines, path, err);
    if (more == 0)
        while ((more = lines_next(lines, &line, &length, err)) == 1)
            if ((more = take_line(merge, path, lines_number(lines), line, err)) != 0)
                break;
    lines_close(lines);
    free(path);
    return more;
}

static int finish(const struct merge *merge, const char *output)
{
    struct text all = {0};
    struct err err;
    size_t missing = 0;
    for (size_t i = 0; i < merge->cells; i++) {
        missing += merge->lines[i] == NULL;
        if (merge->lines[i])
            text_printf(&all, "%s\n", merge->lines[i]);
    }
    int status = EXIT_GOOD;
    if (missing > 0)
        status = say(EXIT_FAILED, "%zu of %zu cells are missing", missing, merge->cells);
    else if (output && packed_write(output, all.data, all.length, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else if (!output)
        status = print_result(&all);
    if (status == EXIT_GOOD && merge->failed > 0)
        status = say(EXIT_FAILED, "%zu of %zu cells failed; their lines say why", merge->failed,
                     merge->cells);
    text_close(&all);
    return status;
}

struct merge_options {
    char *output;
};

static const struct param merge_params[] = {
    OPTION_OUTPUT(struct merge_options, "FILE", "a .jsonl or .zst file instead of stdout"),
    PARAM_END,
};

static int merge_parts(const struct call *call)
{
    const struct merge_options *options = call->settings;
    struct merge merge = {0};
    struct err err;
    int status = EXIT_GOOD;
    for (size_t i = 0; i < call->word_count && status == EXIT_GOOD; i++)
        if (take_part(&merge, call->words[i], &err) != 0)
            status = say(EXIT_FAILED, "%s", err.text);
    if (status == EXIT_GOOD)
        status = finish(&merge, options->output);
    for (size_t i = 0; i < merge.cells; i++)
        free(merge.lines[i]);
    free(merge.lines);
    known_models_close(&merge.models);
    free(merge.digest);
    free(merge.version);
    return status;
}

const struct command cmd_merge = {
    .name = "merge",
    .summary = "put the parts of a sweep together",
    .text = "Puts the parts of a sweep together (snapsim sweep --shard); the same bytes as one "
            "run.\n",
    .examples = "  snapsim merge part-1 part-2 --output all.jsonl.zst\n",
    .options_size = sizeof(struct merge_options),
    .ways = {{.words = "DIR|FILE...",
              .missing = "results were",
              .least = 1,
              .most = ANY_NUMBER,
              .tables = {{NULL, merge_params, 0}},
              .run = merge_parts}},
};
