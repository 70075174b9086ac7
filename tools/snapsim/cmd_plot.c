/* snapsim plot - figures for papers: data by key, drawn by the gnuplot scripts of tools/plot. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/snapsim.h"
#include "tools/view/figure.h"
#include "tools/view/gnuplot.h"
#include "tools/view/layout.h"
#include "tools/view/where.h"

struct plot_flags {
    const char *output, *csv, *script, *width, *height, *font_size, *one_where, *aggregate;
    struct figure_request request;
    struct words where;
};

static void help(const struct flag *flags)
{
    fputs("usage: snapsim plot KIND RESULTS -o FILE.pdf|.svg|.png [options]\n\n"
          "Draws results of `snapsim sweep` with gnuplot. What is not said is chosen from the\n"
          "settings that vary. Kinds:\n\n",
          stdout);
    for (const struct figure_kind *kind = figure_kinds; kind->name; kind++)
        printf("  %-10s %s\n", kind->name, kind->summary);
    fputs("\n", stdout);
    options_print_flags(flags, stdout);
    printf(
        "\nA figure whose legend and names leave its plot less than %.0f %% of the width or the\n"
        "height is refused, with a size that is enough.\n",
        100 * LAYOUT_SHARE);
    fputs("\nexamples:\n"
          "  snapsim plot hit-rate out -o hit.pdf --where eviction=lru --range 0.5:1\n"
          "  snapsim plot misses out -o misses.pdf --where capacity=64GiB\n"
          "  snapsim plot heatmap out -o map.svg --by placement.interval\n"
          "  snapsim plot hit-rate out -o hit.png --x placement.interval --by capacity\n"
          "  snapsim plot hit-rate out -o column.pdf --width 3.4in --height 2.4in --font Times\n",
          stdout);
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

/* "3.4in", "8.5cm", "86mm"; a bare number is inches. */
static int parse_length(const char *flag, const char *word, double *inches, struct err *err)
{
    static const struct {
        const char *unit;
        double inches;
    } units[] = {{"in", 1}, {"cm", 1 / 2.54}, {"mm", 1 / 25.4}, {"pt", 1 / 72.0}};
    if (word == NULL)
        return 0;
    size_t length = strlen(word);
    double factor = 1;
    for (size_t i = 0; i < sizeof units / sizeof *units && length > 2; i++) {
        if (strcmp(word + length - 2, units[i].unit) == 0) {
            factor = units[i].inches;
            length -= 2;
            break;
        }
    }
    char *number = mem_strndup(word, length);
    struct err ignored;
    int result = units_parse_double(number, inches, &ignored);
    free(number);
    *inches *= factor;
    if (result != 0 || !(*inches >= 0.5 && *inches <= 50))
        return err_set(err, "%s: a length was expected, as in 5.5, 3.4in or 86mm, found '%s'", flag,
                       word);
    return 0;
}

static int parse_values(struct plot_flags *flags, struct err *err)
{
    struct figure_request *request = &flags->request;
    struct err ignored;
    if (parse_length("--width", flags->width, &request->width, err) != 0 ||
        parse_length("--height", flags->height, &request->height, err) != 0)
        return -1;
    if (flags->aggregate && pivot_parse_aggregate(&request->aggregate, flags->aggregate, err) != 0)
        return -1;
    if (flags->font_size && (units_parse_double(flags->font_size, &request->font_size, &ignored) ||
                             !(request->font_size >= 3 && request->font_size <= 72)))
        return err_set(err, "--font-size: points from 3 to 72 were expected, found '%s'",
                       flags->font_size);
    return 0;
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
                       const struct plot_flags *flags, struct err *err)
{
    const struct figure_request *request = &flags->request;
    if (kind->columns && (flags->where.count > 0 || request->x || request->by || request->value))
        return usage_error(err_set(err,
                                   "--where, --x, --by and --value choose among results; a %s is "
                                   "made of one run",
                                   kind->name));
    if (kind->columns)
        return figure_open_file(figure, kind, path, &flags->request, err);
    if (results_open(results, path, err) != 0)
        return -1;
    int result = where_apply(results, &flags->where, err);
    return result != 0 ? result : figure_open(figure, kind, results, &flags->request, err);
}

static int plot(const struct figure_kind *kind, const char *path, const struct plot_flags *flags)
{
    struct results results = {0};
    struct figure figure = {0};
    struct text picture = {0};
    struct err err;
    int status = EXIT_GOOD, result = make_figure(&figure, &results, kind, path, flags, &err);
    if (result != 0) {
        status = say(failed_status(result), "%s", err.text);
        goto out;
    }
    if (figure.left_out > 0)
        say(EXIT_GOOD, "left out, because x is no number there: %zu of its values",
            figure.left_out);
    const struct gnuplot_job job = {.script = figure.script,
                                    .script_path = flags->script,
                                    .terminal = flags->output ? terminal_of(flags->output) : NULL,
                                    .settings = &figure.settings,
                                    .csv = &figure.csv};
    if ((flags->output && gnuplot_draw(&job, &picture, &err) != 0) ||
        (flags->csv &&
         text_write_file(flags->csv, figure.csv.data, figure.csv.length, &err) != 0) ||
        (flags->output && text_write_file(flags->output, picture.data, picture.length, &err) != 0))
        status = say(EXIT_FAILED, "%s", err.text);
out:
    text_close(&picture);
    figure_close(&figure);
    results_close(&results);
    return status;
}

static int check(const struct options *options, const struct plot_flags *flags)
{
    if (options->count < 2)
        return say(EXIT_USAGE, "plot: KIND and RESULTS were expected (snapsim plot --help)");
    if (!flags->output && !flags->csv)
        return say(EXIT_USAGE, "plot: -o FILE.pdf, .svg or .png was expected, or --csv FILE");
    if (flags->output && !terminal_of(flags->output))
        return say(EXIT_USAGE,
                   "-o: a name that ends in .pdf, .svg or .png was expected, found '%s'",
                   flags->output);
    return EXIT_GOOD;
}

int cmd_plot(int argc, char **argv)
{
    struct plot_flags flags = {0};
    struct figure_request *request = &flags.request;
    const struct flag table[] = {
        {"-o", "FILE", "the picture; .pdf, .svg or .png", &flags.output, NULL},
        {"--x", "KEY", "what runs along x, or makes groups of bars [capacity]", &request->x, NULL},
        {"--by", "KEY,...", "what makes lines, bars or rows [what varies]", &request->by, NULL},
        {"--value", "KEY", "what is shown [hit_ratio]", &request->value, NULL},
        {"--where", "KEY=VALUE", "only these results; may be repeated; != leaves out",
         &flags.one_where, NULL},
        {"--aggregate", "mean|min|max", "of several results at one place, as over seeds",
         &flags.aggregate, NULL},
        {"--range", "LOW:HIGH", "of the value's axis [0:*]", &request->range, NULL},
        {"--title", "TEXT", "a heading; papers have captions instead", &request->title, NULL},
        {"--x-label", "TEXT", "instead of the chosen one", &request->x_label, NULL},
        {"--y-label", "TEXT", "instead of the chosen one", &request->y_label, NULL},
        {"--width", "LENGTH", "in, cm, mm or pt [5.5in]", &flags.width, NULL},
        {"--height", "LENGTH", "[3.2in, or as many bars need]", &flags.height, NULL},
        {"--font", "NAME", "[Helvetica]", &request->font, NULL},
        {"--font-size", "POINTS", "[9]", &flags.font_size, NULL},
        {"--csv", "FILE", "also write the data of the figure", &flags.csv, NULL},
        {"--script", "FILE.gp", "draw with this instead of the script of tools/plot", &flags.script,
         NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    const char *words[2] = {NULL, NULL};
    struct options options = {.flags = table, .positional = words, .most = 2};
    struct err err;
    int status = EXIT_GOOD;
    const struct figure_kind *kind = NULL;
    if (words_take(&flags.where, "--where", &argc, argv, &err) != 0 ||
        options_parse(&options, argc, argv, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (options.help)
        help(table);
    else if ((status = check(&options, &flags)) != EXIT_GOOD)
        ;
    else if (parse_values(&flags, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if ((kind = find_kind(words[0])) == NULL)
        status = EXIT_USAGE;
    else
        status = plot(kind, words[1], &flags);
    words_close(&flags.where);
    return status;
}
