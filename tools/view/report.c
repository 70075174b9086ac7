#include "tools/view/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/view/figure.h"
#include "tools/view/gnuplot.h"
#include "tools/view/html.h"
#include "tools/view/replay_file.h"

/* More bars or lines than this are no figure any more; the page says how to draw a part. */
#define LINES_MOST 16
#define BARS_MOST 60

struct report {
    const struct results *results;
    const struct report_request *request;
    struct column *varying;
    size_t varying_count;
    bool has_seeds; /* several: figures show means */
    struct text *out;
};

static char *text_of(const struct results *results, const char *key, size_t row)
{
    struct column column;
    struct text text = {0};
    struct err ignored;
    text_add(&text, "", 0);
    if (column_find(&column, results, key, PLACE_SETTING, &ignored) == 0)
        column_text(&column, &results->rows[row], &text);
    return text.data;
}

/* ---- the head ---- */

static void write_head(const struct report *report)
{
    const struct results *results = report->results;
    char *sweep = text_of(results, "sweep", 0), *trace = text_of(results, "trace", 0);
    const char *title = report->request->title;
    if (!title)
        title = sweep[0] ? sweep : trace[0] ? trace : "snapsim";
    struct text *out = report->out;
    text_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    html_text(title, out);
    text_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>",
                gnuplot_embedded("report.css"));
    html_text(title, out);
    text_printf(out, "</h1>\n<p class=\"lead\">%zu result%s", results->count,
                results->count == 1 ? "" : "s");
    if (results->failed > 0)
        text_printf(out, ", of which %zu failed", results->failed);
    text_printf(out, "</p>\n");
    free(sweep);
    free(trace);
}

/* ---- figures ---- */

static void write_figure(const struct report *report, const struct results *results,
                         const char *kind_name, const struct figure_request *request,
                         const char *caption)
{
    const struct figure_kind *kind = figure_kinds;
    while (strcmp(kind->name, kind_name) != 0)
        kind++;
    struct figure figure = {0};
    struct text picture = {0}, prefix = {0};
    struct err err;
    text_printf(&prefix, "%s-", kind_name);
    struct gnuplot_job job = {.script = kind->script,
                              .terminal = "svg",
                              .may_grow = true,
                              .settings = &figure.settings,
                              .csv = &figure.csv};
    text_printf(report->out, "<figure id=\"figure-%s\">\n", kind_name);
    if (figure_open(&figure, kind, results, request, &err) != 0 ||
        gnuplot_draw(&job, &picture, &err) != 0) {
        text_printf(report->out, "<p>This figure could not be drawn: ");
        html_text(err.text, report->out);
        text_printf(report->out, "</p>\n");
    } else {
        html_svg(picture.data, prefix.data, caption, report->out);
    }
    text_printf(report->out, "<figcaption>");
    html_text(caption, report->out);
    text_printf(report->out, "</figcaption>\n</figure>\n");
    figure_close(&figure);
    text_close(&picture);
    text_close(&prefix);
}

/* How many values one axis of a figure would have: all that varies, but the capacity and seeds. */
static size_t count_lines(const struct report *report, size_t *capacities)
{
    struct column *keys = mem_array(report->varying_count + 1, sizeof *keys);
    size_t count = 0;
    struct axis axis;
    *capacities = 1;
    for (size_t i = 0; i < report->varying_count; i++) {
        if (strcmp(report->varying[i].name, "capacity") == 0) {
            axis_open(&axis, report->results, &report->varying[i], 1);
            *capacities = axis.count;
            axis_close(&axis);
        } else if (strcmp(report->varying[i].name, "seed") != 0) {
            keys[count++] = report->varying[i];
        }
    }
    axis_open(&axis, report->results, keys, count);
    size_t lines = axis.count;
    axis_close(&axis);
    free(keys);
    return lines;
}

/* The results at the middle one of all capacities. The rows stay the owner's: free only rows. */
static struct results middle_capacity(const struct report *report, struct text *name)
{
    const struct results *results = report->results;
    struct results part = *results;
    struct column capacity;
    struct axis axis;
    struct err ignored;
    part.rows = mem_array(results->count, sizeof *part.rows);
    part.count = 0;
    if (column_find(&capacity, results, "capacity", PLACE_SETTING, &ignored) != 0)
        return part;
    axis_open(&axis, results, &capacity, 1);
    axis_label(&axis, results, axis.count / 2, name);
    for (size_t i = 0; i < results->count; i++)
        if (axis.of_row[i] == axis.count / 2)
            part.rows[part.count++] = results->rows[i];
    axis_close(&axis);
    return part;
}

/* All bars if they fit, otherwise those of one capacity. */
static void write_misses(const struct report *report, const struct figure_request *request,
                         size_t lines, size_t capacities)
{
    struct text caption = {0};
    bool is_part = capacities > 1 && lines * capacities > LINES_MOST;
    struct results part = *report->results;
    if (lines > BARS_MOST)
        return;
    text_printf(&caption, "Where the tokens of all prompts went");
    if (is_part) {
        text_printf(&caption, " at ");
        part = middle_capacity(report, &caption);
    }
    text_printf(&caption,
                "%s. Hatched: seen before, and its KV may be there, but no snapshot "
                "that could use it.",
                report->has_seeds ? ", the mean over all seeds" : "");
    write_figure(report, &part, "misses", request, caption.data);
    if (is_part)
        free(part.rows);
    text_close(&caption);
}

static void write_figures(const struct report *report)
{
    const char *over = report->has_seeds ? ", the mean over all seeds" : "";
    struct figure_request request = {.aggregate = report->has_seeds ? PIVOT_MEAN : PIVOT_ONE,
                                     .width = 7};
    struct text caption = {0};
    size_t capacities = 1, lines = count_lines(report, &capacities);
    text_printf(report->out, "<h2>Figures</h2>\n");
    if (capacities > 1 && lines <= LINES_MOST) {
        text_printf(&caption, "Share of prompt tokens that need not be computed, over capacity%s.",
                    over);
        write_figure(report, report->results, "hit-rate", &request, caption.data);
    }
    if (capacities > 1 && lines > 1 && lines <= BARS_MOST) {
        text_clear(&caption);
        text_printf(&caption, "The same as numbers%s.", over);
        write_figure(report, report->results, "heatmap", &request, caption.data);
    }
    write_misses(report, &request, lines, capacities);
    if (lines > LINES_MOST)
        text_printf(report->out, "<p>There are too many settings for one figure of each kind; "
                                 "<code>snapsim plot --where KEY=VALUE</code> draws a part.</p>\n");
    text_close(&caption);
}

/* ---- the table ---- */

/* The keys of the table: what varies, then values that at least one row has. */
static int choose_values(const struct report *report, struct column **values, size_t *count,
                         struct err *err)
{
    static const char usual[] = "hit_ratio,missed_no_snapshot_ratio,missed_evicted_ratio,"
                                "missed_new_ratio,hit_request_ratio,snapshots_taken,"
                                "snapshots_evicted,peak_bytes";
    const char *list = report->request->values ? report->request->values : usual;
    char *copy = mem_strdup(list), *rest = NULL;
    int result = 0;
    for (char *key = strtok_r(copy, ",", &rest); key && result == 0;
         key = strtok_r(NULL, ",", &rest)) {
        struct err reason;
        int found =
            axis_parse(report->results, key, PLACE_VALUE, "--value", values, count, &reason);
        if (found != 0 && report->request->values) {
            result = found;
            *err = reason;
        }
    }
    free(copy);
    return result;
}

static void write_name_cell(const struct column *column, const struct results_row *row,
                            struct text *out)
{
    struct text text = {0};
    double number = 0;
    column_text(column, row, &text);
    text_printf(out, "<td class=\"name\"");
    if (column_number(column, row, &number)) {
        text_printf(out, " data-value=\"");
        column_print(column, number, true, out);
        text_printf(out, "\"");
    }
    text_printf(out, ">");
    html_text(text.data, out);
    text_printf(out, "</td>");
    text_close(&text);
}

static void write_value_cell(const struct column *column, const struct results_row *row,
                             struct text *out)
{
    double number = 0;
    struct text text = {0};
    if (!column_number(column, row, &number)) {
        text_printf(out, "<td%s</td>", row->error ? " class=\"failed\">failed" : ">");
        return;
    }
    column_print(column, number, true, &text);
    text_printf(out, "<td data-value=\"%s\">", text.data);
    text_clear(&text);
    column_print(column, number, false, &text);
    html_text(text.data, out);
    text_printf(out, "</td>");
    text_close(&text);
}

static void write_header(const struct column *column, const char *class, struct text *out)
{
    text_printf(out, "<th scope=\"col\"%s>", class);
    for (const char *c = column->name; *c; c++) {
        char letter[2] = {*c, '\0'};
        html_text(letter, out);
        text_printf(out, "%s", *c == '_' ? "<wbr>" : ""); /* a long name may take two lines */
    }
    text_printf(out, "</th>");
}

static int write_table(const struct report *report, struct err *err)
{
    struct column *values = NULL;
    size_t count = 0;
    const struct results *results = report->results;
    struct text *out = report->out;
    int result = choose_values(report, &values, &count, err);
    if (result != 0) {
        free(values);
        return result;
    }
    text_printf(out, "<h2>Results</h2>\n<div class=\"scroll\">\n<table id=\"results\">\n"
                     "<thead><tr>");
    for (size_t i = 0; i < report->varying_count; i++)
        write_header(&report->varying[i], " class=\"name\"", out);
    for (size_t i = 0; i < count; i++)
        write_header(&values[i], "", out);
    text_printf(out, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < results->count; row++) {
        text_printf(out, "<tr>");
        for (size_t i = 0; i < report->varying_count; i++)
            write_name_cell(&report->varying[i], &results->rows[row], out);
        for (size_t i = 0; i < count; i++)
            write_value_cell(&values[i], &results->rows[row], out);
        text_printf(out, "</tr>\n");
    }
    text_printf(out, "</tbody>\n</table>\n</div>\n");
    free(values);
    return 0;
}

static void write_failures(const struct report *report)
{
    const struct results *results = report->results;
    if (results->failed == 0)
        return;
    text_printf(report->out, "<h2>Failed</h2>\n<dl>\n");
    for (size_t row = 0; row < results->count; row++) {
        if (!results->rows[row].error)
            continue;
        struct text name = {0};
        text_add(&name, "", 0);
        for (size_t i = 0; i < report->varying_count; i++) {
            text_printf(&name, "%s", i ? " " : "");
            column_text(&report->varying[i], &results->rows[row], &name);
        }
        html_entry(name.data, results->rows[row].error, report->out);
        text_close(&name);
    }
    text_printf(report->out, "</dl>\n");
}

/* ---- where it comes from ---- */

/* Every trace and every version of the program, once. */
static void write_sources(const struct report *report)
{
    const struct results *results = report->results;
    struct text seen = {0}, line = {0};
    text_add(&seen, "\n", 1);
    for (size_t row = 0; row < results->count; row++) {
        const struct json *parts[] = {results->rows[row].part[RESULTS_TRACE],
                                      json_get(results->rows[row].document.top, "program")};
        for (size_t i = 0; i < 2; i++) {
            const char *name = parts[i] ? json_string(json_get(parts[i], "name")) : NULL;
            const char *more =
                parts[i] ? json_string(json_get(parts[i], i == 0 ? "sha256" : "version")) : NULL;
            uint64_t requests = 0;
            text_clear(&line);
            text_printf(&line, "%s %s", name ? name : "?", more ? more : "?");
            if (!name || strstr(seen.data, line.data))
                continue;
            text_printf(&seen, "%s\n", line.data);
            text_clear(&line);
            if (i == 0 && json_u64(json_get(parts[i], "requests"), &requests) == 0)
                text_printf(&line, "%s, %" PRIu64 " requests, sha256 %s", name, requests,
                            more ? more : "unknown");
            else
                text_printf(&line, "%s %s", name, more ? more : "");
            html_entry(i == 0 ? "trace" : "program", line.data, report->out);
        }
    }
    text_close(&seen);
    text_close(&line);
}

/* The settings that no result varies, and those that it does with their values. */
static void write_settings(const struct report *report)
{
    struct column column;
    const char *help = NULL;
    text_printf(report->out, "<h2>Configuration</h2>\n<dl>\n");
    write_sources(report);
    for (size_t i = 0; column_at(report->results, i, &column, &help); i++) {
        if (column.source != COLUMN_SETTING)
            continue;
        struct axis axis;
        struct text values = {0};
        axis_open(&axis, report->results, &column, 1);
        for (size_t value = 0; value < axis.count; value++) {
            text_printf(&values, "%s", value ? ", " : "");
            axis_label(&axis, report->results, value, &values);
        }
        html_entry(column.name, values.data, report->out);
        text_close(&values);
        axis_close(&axis);
    }
    text_printf(report->out, "</dl>\n");
}

static void write_again(const struct report *report)
{
    struct text sweep = {0};
    replay_file_write(report->results, &sweep);
    text_printf(report->out,
                "<h2>Make it again</h2>\n<p>Save this as <code>sweep.json</code>, with the traces "
                "above beside it under these names; the digests say whether they are the same."
                "</p>\n<pre id=\"sweep\">");
    html_text(sweep.data, report->out);
    text_printf(report->out, "</pre>\n<pre>snapsim sweep sweep.json --output out\n");
    html_text(report->request->command, report->out);
    text_printf(report->out, "</pre>\n");
    text_close(&sweep);
}

int report_write(const struct results *results, const struct report_request *request,
                 struct text *out, struct err *err)
{
    struct report report = {.results = results, .request = request, .out = out};
    report.varying_count = axis_varying(results, NULL, &report.varying);
    if (report.varying_count == 0) {
        report.varying = mem_array(1, sizeof *report.varying);
        if (column_find(&report.varying[0], results, "trace", PLACE_SETTING, err) != 0)
            return -1;
        report.varying_count = 1;
    }
    for (size_t i = 0; i < report.varying_count; i++)
        report.has_seeds = report.has_seeds || strcmp(report.varying[i].name, "seed") == 0;
    write_head(&report);
    write_figures(&report);
    int result = write_table(&report, err);
    if (result == 0) {
        write_failures(&report);
        write_settings(&report);
        write_again(&report);
        text_printf(out, "<script>\n%s</script>\n</body>\n</html>\n",
                    gnuplot_embedded("report.js"));
    }
    free(report.varying);
    return result;
}
