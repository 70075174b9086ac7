#include "traces/open.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "traces/compiled.h"
#include "traces/formats.h"
#include "traces/synth.h"

const char *trace_format_name(const void *table, size_t index)
{
    (void)table;
    for (size_t i = 0; trace_formats[i]; i++, index--)
        if (index == 0)
            return trace_formats[i]->name;
    return index == 0 ? COMPILED_NAME : NULL;
}

const char *trace_format_summary(size_t index)
{
    for (size_t i = 0; trace_formats[i]; i++, index--)
        if (index == 0)
            return trace_formats[i]->summary;
    return index == 0 ? COMPILED_SUMMARY : NULL;
}

static void print_format_names(struct text *out)
{
    const char *name = NULL;
    for (size_t i = 0; (name = trace_format_name(NULL, i)) != NULL; i++)
        text_printf(out, "%s%s", i > 0 ? ", " : "", name);
}

int trace_check_format(const char *name, struct err *err)
{
    const char *known = NULL;
    for (size_t i = 0; (known = trace_format_name(NULL, i)) != NULL; i++)
        if (strcmp(known, name) == 0)
            return 0;
    struct text names = {0};
    const char *near = text_nearest(name, trace_format_name, NULL);
    if (near)
        text_printf(&names, " (did you mean '%s'?)", near);
    text_printf(&names, "; known: ");
    print_format_names(&names);
    err_set(err, "there is no trace format '%.100s'%.800s", name, names.data);
    text_close(&names);
    return -1;
}

static const struct trace_format *find_format(const char *name, const char *start, size_t length)
{
    for (size_t i = 0; trace_formats[i]; i++) {
        const struct trace_format *format = trace_formats[i];
        if (name ? strcmp(format->name, name) == 0 : format->matches(start, length))
            return format;
    }
    return NULL;
}

/* Cuts one known ending off a name. Returns whether there was one. */
static bool cut_ending(char *name)
{
    static const char *const endings[] = {".zst", ".jsonl", ".json", ".csv", ".snapsim", NULL};
    const size_t length = strlen(name);
    for (size_t i = 0; endings[i]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) {
            name[length - ending] = '\0';
            return true;
        }
    }
    return false;
}

/* The file's name without directory and known endings. */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = mem_strdup(slash ? slash + 1 : path);
    while (cut_ending(name))
        continue;
    return name;
}

static int read_format(struct trace_lines *lines, const struct build_options *options,
                       const struct trace_format *format, struct record **out, struct err *err)
{
    struct build_options own = *options;
    own.link_by_prompt = format->link_by_prompt;
    struct build *build = build_open(&own);
    struct record *record = NULL;
    int result = format->read(lines, build, err);
    if (result == 0)
        result = build_finish(build, &record, err);
    build_close(build);
    if (result != 0)
        return -1;
    free(record->calls->name);
    record->calls->name = name_of(lines_path(lines));
    lines_sha256(lines, record->calls->sha256);
    *out = record;
    return 0;
}

/* No format fits. Where there is no content at all, the reason may be a damaged file. */
static int fail_format(struct trace_lines *lines, bool empty, struct err *err)
{
    char *line = NULL;
    size_t length = 0;
    int found = empty ? lines_next(lines, &line, &length, err) : 1;
    if (found < 0)
        return -1;
    if (found == 0)
        return err_set(err, "%.900s:1: expected a request, found an empty file", lines_path(lines));
    struct text names = {0};
    print_format_names(&names);
    err_set(err, "%.700s:1: expected a trace in one of the formats %.200s, found something else",
            lines_path(lines), names.data);
    text_close(&names);
    return -1;
}

/* Which format to read; NULL is the compiled form. */
static int choose(struct trace_lines *lines, const char *name, const struct trace_format **format,
                  struct err *err)
{
    size_t length = 0;
    const char *start = lines_peek(lines, &length);
    *format = NULL;
    if (name ? strcmp(name, COMPILED_NAME) == 0 : compiled_matches(start, length))
        return 0;
    while (length > 0 && (*start == ' ' || *start == '\t' || *start == '\r' || *start == '\n'))
        start++, length--;
    *format = find_format(name, start, length);
    return *format == NULL || length == 0 ? fail_format(lines, length == 0, err) : 0;
}

static int read_any(struct trace_lines *lines, const struct build_options *options,
                    const char *name, struct record **out, const char **found, struct err *err)
{
    const struct trace_format *format = NULL;
    if (name && trace_check_format(name, err) != 0)
        return -1;
    if (choose(lines, name, &format, err) != 0)
        return -1;
    *found = format ? format->name : COMPILED_NAME;
    return format ? read_format(lines, options, format, out, err)
                  : compiled_read(lines, options, out, err);
}

/* Through the reader of lines, so that the digest is that of what `snapsim trace generate` writes.
 */
static int open_generated(const char *name, const struct build_options *options,
                          struct record **out, const char **found, struct err *err)
{
    struct synth_options synth;
    struct text lines = {0};
    if (synth_parse_name(name, &synth, err) != 0 || synth_write(&synth, &lines, err) != 0)
        return -1;
    struct trace_lines *content = lines_open_memory(SYNTH_NAME, lines.data, lines.length);
    int result = read_any(content, options, NULL, out, found, err);
    lines_close(content);
    text_close(&lines);
    if (result == 0) {
        struct text canonical = {0};
        synth_print_name(&synth, &canonical);
        free((*out)->calls->name);
        (*out)->calls->name = canonical.data;
    }
    return result;
}

int trace_open_found(const char *path, const struct build_options *options, const char *format,
                     struct record **out, const char **found, struct err *err)
{
    struct trace_lines *lines = NULL;
    if (synth_is_name(path))
        return open_generated(path, options, out, found, err);
    if (lines_open_file(&lines, path, err) != 0)
        return -1;
    int result = read_any(lines, options, format, out, found, err);
    lines_close(lines);
    return result;
}

int trace_open(const char *path, const struct build_options *options, const char *format,
               struct record **out, struct err *err)
{
    const char *found = NULL;
    return trace_open_found(path, options, format, out, &found, err);
}

int trace_open_memory(const char *path, const void *bytes, size_t length,
                      const struct build_options *options, const char *format, struct record **out,
                      struct err *err)
{
    const char *found = NULL;
    struct trace_lines *lines = lines_open_memory(path, bytes, length);
    int result = read_any(lines, options, format, out, &found, err);
    lines_close(lines);
    return result;
}
