/* gnuplot.h - draws a figure with gnuplot from one of the scripts of tools/plot.
 *
 * A script gets its data as CSV, by column name, and everything else as variables. gnuplot runs in
 * a directory of its own under TMPDIR, without the user's start-up files, and is given no name that
 * a user chose: nothing has to be quoted for it except the values of variables. */
#ifndef SNAPSIM_GNUPLOT_H
#define SNAPSIM_GNUPLOT_H

#include <stdbool.h>

#include "sim/core/text.h"

struct gnuplot_job {
    const char *script;      /* name of an embedded one: "hit-rate.gp" */
    const char *script_path; /* a file to use instead, or NULL */
    const char *terminal;    /* "pdf", "svg" or "png" */
    bool may_grow;           /* a larger figure will do where its size leaves no room */
    const struct text *settings, *csv;
};

/* Add "name = value" to settings. */
void gnuplot_set(struct text *settings, const char *name, const char *value);
void gnuplot_set_number(struct text *settings, const char *name, double value);

/* Appends the picture's bytes. err: gnuplot is not there, or what it complained about, or that the
 * plot has too little room (layout.h), which is asked of our own scripts only. */
int gnuplot_draw(const struct gnuplot_job *job, struct text *picture, struct err *err) MUST_CHECK;

/* The text of an embedded file; asserts that it exists. */
const char *gnuplot_embedded(const char *name);

#endif
