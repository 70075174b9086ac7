/* figure.h - the figures that can be made of results: their data as CSV, and the variables of the
 * gnuplot script that draws them. What is not asked for is chosen from what varies. */
#ifndef SNAPSIM_FIGURE_H
#define SNAPSIM_FIGURE_H

#include "tools/view/pivot.h"

/* The first lines of CSV files that have figures of their own. */
extern const char figure_timeline_columns[]; /* run --timeline */
extern const char figure_reuse_columns[];    /* reuse */

struct figure_request {
    const char *x;     /* key along x; NULL: capacity */
    const char *by;    /* keys with commas that make lines, bars or rows; NULL: what varies */
    const char *value; /* key; NULL: hit_ratio */
    const char *title, *x_label, *y_label; /* NULL: chosen, and no title */
    const char *range;                     /* "LOW:HIGH" of the value, each may be '*'; or NULL */
    const char *font;
    enum pivot_aggregate aggregate;  /* of several results at one place: usually over seeds */
    double width, height, font_size; /* inches and points; 0: chosen */
};

struct figure {
    struct text csv, settings;
    const char *script; /* of gnuplot.h */
    size_t left_out;    /* values of x that are no number, as an unlimited capacity */
};

struct figure_kind {
    const char *name, *summary;
    const char *columns; /* of the CSV file that it takes in place of results, or NULL */
    const char *script;
    int (*make)(struct figure *out, const struct results *results,
                const struct figure_request *request, struct err *err);
};
extern const struct figure_kind figure_kinds[]; /* ends with a NULL name */

/* Close it in either case. */
int figure_open(struct figure *out, const struct figure_kind *kind, const struct results *results,
                const struct figure_request *request, struct err *err) MUST_CHECK;

/* For the kinds that take a file: the CSV is its content. err: other columns, too few rows. */
int figure_open_file(struct figure *out, const struct figure_kind *kind, const char *path,
                     const struct figure_request *request, struct err *err) MUST_CHECK;
void figure_close(struct figure *figure);

#endif
