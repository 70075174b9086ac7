/* layout.h - whether a figure leaves its plot enough room.
 *
 * gnuplot gives a legend and the names at an axis what they ask for and the plot the rest, be that
 * nothing, or less than nothing: then it draws the axis from right to left. So no figure is given
 * out whose plot has less than LAYOUT_SHARE of its width or of its height, or whose legend did not
 * fit. What gnuplot says it drew is what counts (measure.gp), since each of its terminals has its
 * own idea of how wide a text is. */
#ifndef SNAPSIM_LAYOUT_H
#define SNAPSIM_LAYOUT_H

#include <stdbool.h>

#include "sim/core/text.h"

#define LAYOUT_SHARE 0.35
#define LAYOUT_INCHES_MOST 50 /* of a figure, either way */

struct layout {
    double width, height;             /* of the figure, inches */
    double width_share, height_share; /* of it, for the plot; below 0 if an axis is mirrored */
    double legend_lines;              /* 0: not known, or none */
    bool has_legend;                  /* as a whole */
};

/* Reads what measure.gp printed, and what gnuplot complained about. */
int layout_read(struct layout *out, const char *measures, const char *messages,
                struct err *err) MUST_CHECK;

bool layout_fits(const struct layout *layout);

/* A larger size that should fit, if what is not the plot takes as many inches there as here. False
 * if there is none up to the most. */
bool layout_enlarge(const struct layout *layout, double *width, double *height);

/* err: what is wrong, and that a figure of this size would do; 0 if none is known. Returns -1. */
int layout_refuse(const struct layout *layout, double width, double height, struct err *err);

#endif
