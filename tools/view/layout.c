#include "tools/view/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int layout_read(struct layout *out, const char *measures, const char *messages, struct err *err)
{
    *out = (struct layout){.has_legend = strstr(messages, "fitting plot titles into key") == NULL};
    if (sscanf(measures, "%lf %lf %lf %lf %lf", &out->width, &out->height, &out->width_share,
               &out->height_share, &out->legend_lines) != 5)
        return err_set(err, "gnuplot, measure.gp: five numbers were expected, found '%.100s'",
                       measures);
    return 0;
}

bool layout_fits(const struct layout *layout)
{
    return layout->has_legend && layout->width_share >= LAYOUT_SHARE &&
           layout->height_share >= LAYOUT_SHARE;
}

/* With t inches taken, a plot has the share s of t / (1 - s) inches. Up to the next tenth, and at
 * least one more. */
static double enough(double inches, double share, double share_least)
{
    double taken = inches * (1 - share), wanted = taken / (1 - share_least);
    double larger = inches * 1.1;
    return ceil(10 * (wanted > larger ? wanted : larger)) / 10;
}

bool layout_enlarge(const struct layout *layout, double *width, double *height)
{
    *width = layout->width;
    *height = layout->height;
    if (layout->width_share < LAYOUT_SHARE)
        *width = enough(*width, layout->width_share, LAYOUT_SHARE);
    if (layout->height_share < LAYOUT_SHARE)
        *height = enough(*height, layout->height_share, LAYOUT_SHARE);
    else if (!layout->has_legend && layout->width_share >= LAYOUT_SHARE)
        *height = enough(*height, layout->height_share, layout->height_share);
    return *width <= LAYOUT_INCHES_MOST && *height <= LAYOUT_INCHES_MOST;
}

static void add_advice(const struct layout *layout, double width, double height, struct text *out)
{
    text_printf(out, "; use ");
    if (width <= 0)
        text_printf(out, "a larger --width");
    if (width > layout->width)
        text_printf(out, "--width %gin", width);
    if (height > layout->height)
        text_printf(out, "%s--height %gin", width > layout->width ? " " : "", height);
    text_printf(out, ", or fewer series with --where");
}

int layout_refuse(const struct layout *layout, double width, double height, struct err *err)
{
    struct text advice = {0}, legend = {0};
    bool is_wide = layout->width_share >= LAYOUT_SHARE;
    double share = is_wide ? layout->height_share : layout->width_share;
    add_advice(layout, width, height, &advice);
    text_printf(&legend, layout->legend_lines > 0 ? "the legend of %g lines" : "the legend",
                layout->legend_lines);
    if (is_wide && layout->height_share >= LAYOUT_SHARE)
        err_set(err, "%s does not fit into a figure of %gin by %gin%s", legend.data, layout->width,
                layout->height, advice.data);
    else
        err_set(err,
                "%s and the names at the axes leave %.0f %% of the %s of %gin for the plot, at "
                "least %.0f %% was expected%s",
                legend.data, 100 * (share > 0 ? share : 0), is_wide ? "height" : "width",
                is_wide ? layout->height : layout->width, 100 * LAYOUT_SHARE, advice.data);
    text_close(&advice);
    text_close(&legend);
    return -1;
}
