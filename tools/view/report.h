/* report.h - results as one HTML page that needs nothing else: figures inline, the style and the
 * script of tools/plot in it, and a rule for browsers that forbids every request. Without
 * JavaScript it shows the same; with it the table can be sorted and filtered. */
#ifndef SNAPSIM_REPORT_H
#define SNAPSIM_REPORT_H

#include "tools/view/results.h"

struct report_request {
    const char *title;   /* NULL: the sweep's name, or the trace's */
    const char *values;  /* keys with commas for the table; NULL: the usual ones */
    const char *command; /* the command that makes the page */
};

/* Appends the page. */
int report_write(const struct results *results, const struct report_request *request,
                 struct text *out, struct err *err) MUST_CHECK;

#endif
