/* snapsim plot - figures for papers: data by key, drawn by the gnuplot scripts of tools/plot. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/snapsim/snapsim.h"
#include "tools/view/figure.h"
#include "tools/view/gnuplot.h"
#include "tools/view/where.h"

struct plot_options {
    char *x, *by, *value, *title, *x_label, *y_label, *range, *font, *csv, *script, *output;
    struct words where;
    unsigned aggregate;
    double width, height, font_size;
};

#define TEXT(name, field, metavar, help)                                                           \
    OPTION_TEXT(struct plot_options, name, field, metavar, help)
#define NUMBER(name, field, type, low, high, metavar, help)                                        \
    {                                                                                              \
        name, type, offsetof(struct plot_options, field), NULL, low, high, NULL, metavar, help     \
    }
static const struct param plot_params[] = {
    OPTION_OUTPUT(struct plot_options, "FILE", "the picture; .pdf, .svg or .png"),
    TEXT("x", x, "KEY", "what runs along x, or makes groups of bars [capacity]"),
    TEXT("by", by, "KEY,...", "what makes lines, bars or rows [what varies]"),
    TEXT("value", value, "KEY", "what is shown [hit_ratio]"),
    OPTION_WHERE(struct plot_options),
    OPTION_AGGREGATE(struct plot_options),
    TEXT("range", range, "LOW:HIGH", "of the value's axis [0:*]"),
    TEXT("title", title, "TEXT", "a heading; papers have captions instead"),
    TEXT("x-label", x_label, "TEXT", "instead of the chosen one"),
    TEXT("y-label", y_label, "TEXT", "instead of the chosen one"),
    NUMBER("width", width, PARAM_LENGTH, 0.5, 50, NULL, "in, cm, mm or pt [5.5in]"),
    NUMBER("height", height, PARAM_LENGTH, 0.5, 50, NULL, "likewise [3.2in, or as bars need]"),
    TEXT("font", font, "NAME", "of all text [Helvetica]"),
    NUMBER("font-size", font_size, PARAM_DOUBLE, 3, 72, "POINTS", "of all text [9]"),
    TEXT("csv", csv, "FILE", "also write the data of the figure"),
    TEXT("script", script, "FILE.gp", "draw with this instead of the script of tools/plot"),
    PARAM_END,
};

static void add_kinds(struct text *out)
{
    for (const struct figure_kind *kind = figure_kinds; kind->name; kind++)
        text_printf(out, "  %s %s\n", kind->name, kind->summary);
}

static const char *kind_name(const void *table, size_t index)
{
    return ((const struct figure_kind *)table)[index].name;
}

static const struct figure_kind *find_kind(const char *name)
{
    for (const struct figure_kind *kind = figure_kinds; kind->name; kind++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    const char *near = text_nearest(name, kind_name, figure_kinds);
    say(EXIT_USAGE, "plot: there is no kind '%s'%s%s%s", name, near ? " (did you mean '" : "",
        near ? near : "", near ? "'?)" : "; snapsim plot --help lists them");
    return NULL;
}

/* The terminal by the ending of the file's name, or NULL. */
static const char *terminal_of(const char *path)
{
    static const char *const terminals[] = {"pdf", "svg", "png"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof terminals / sizeof *terminals; i++)
        if (strcmp(dot + 1, terminals[i]) == 0)
            return terminals[i];
    return NULL;
}

static int make_figure(struct figure *figure, struct results *results,
                       const struct figure_kind *kind, const char *path,
                       const struct figure_request *request, const struct words *where,
                       struct err *err)
{
    if (kind->columns && (where->count > 0 || request->x || request->by || request->value))
        return usage_error(err_set(err,
                                   "--where, --x, --by and --value choose among results; a %s is "
                                   "made of one run",
                                   kind->name));
    if (kind->columns)
        return figure_open_file(figure, kind, path, request, err);
    if (results_open(results, path, err) != 0)
        return -1;
    int result = where_apply(results, where, err);
    return result != 0 ? result : figure_open(figure, kind, results, request, err);
}

static int plot(const struct figure_kind *kind, const char *path,
                const struct plot_options *options)
{
    const struct figure_request request = {.x = options->x,
                                           .by = options->by,
                                           .value = options->value,
                                           .title = options->title,
                                           .x_label = options->x_label,
                                           .y_label = options->y_label,
                                           .range = options->range,
                                           .font = options->font,
                                           .aggregate = (enum pivot_aggregate)options->aggregate,
                                           .width = options->width,
                                           .height = options->height,
                                           .font_size = options->font_size};
    struct results results = {0};
    struct figure figure = {0};
    struct text picture = {0};
    struct err err;
    int status = EXIT_GOOD,
        result = make_figure(&figure, &results, kind, path, &request, &options->where, &err);
    if (result != 0) {
        status = say(failed_status(result), "%s", err.text);
        goto out;
    }
    if (figure.left_out > 0)
        fprintf(stderr, "snapsim: left out, because x is no number there: %zu of its values\n",
                figure.left_out);
    const struct gnuplot_job job = {.script = figure.script,
                                    .script_path = options->script,
                                    .terminal =
                                        options->output ? terminal_of(options->output) : NULL,
                                    .settings = &figure.settings,
                                    .csv = &figure.csv};
    if (options->csv &&
        text_write_file(options->csv, figure.csv.data, figure.csv.length, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else if (options->output &&
             (gnuplot_draw(&job, &picture, &err) != 0 ||
              text_write_file(options->output, picture.data, picture.length, &err) != 0))
        status = say(EXIT_FAILED, "%s", err.text);
out:
    text_close(&picture);
    figure_close(&figure);
    results_close(&results);
    return status;
}

static int check_and_plot(const struct call *call)
{
    const struct plot_options *options = call->settings;
    if (!options->output && !options->csv)
        return say(EXIT_USAGE, "plot: -o FILE.pdf, .svg or .png was expected, or --csv FILE");
    if (options->output && !terminal_of(options->output))
        return say(EXIT_USAGE,
                   "-o: a name that ends in .pdf, .svg or .png was expected, found '%s'",
                   options->output);
    const struct figure_kind *kind = find_kind(call->words[0]);
    return kind ? plot(kind, call->words[1], options) : EXIT_USAGE;
}

const struct command cmd_plot = {
    .name = "plot",
    .summary = "figures of results, as PDF, SVG or PNG",
    .text = "Draws results of `snapsim sweep` with gnuplot. What is not said is chosen from the "
            "settings that vary. Kinds:\n\n",
    .add_text = add_kinds,
    .examples = "  snapsim plot hit-rate out -o hit.pdf --where eviction=lru --range 0.5:1\n"
                "  snapsim plot misses out -o misses.pdf --where capacity=64GiB\n"
                "  snapsim plot heatmap out -o map.svg --by placement.interval\n"
                "  snapsim plot hit-rate out -o hit.png --x placement.interval --by capacity\n"
                "  snapsim plot hit-rate out -o column.pdf --width 3.4in --font Times\n",
    .options_size = sizeof(struct plot_options),
    .ways = {{.words = "KIND RESULTS -o FILE.pdf|.svg|.png",
              .missing = "KIND and RESULTS were",
              .least = 2,
              .most = 2,
              .tables = {{NULL, plot_params, 0}},
              .run = check_and_plot}},
};
