/* html.h - the few pieces of HTML that a report is made of. */
#ifndef SNAPSIM_HTML_H
#define SNAPSIM_HTML_H

#include "sim/core/text.h"

/* Appends text with the characters that mean something to HTML written as entities. */
void html_text(const char *text, struct text *out);

/* "<dt>name</dt><dd>value</dd>" */
void html_entry(const char *name, const char *value, struct text *out);

/* An SVG picture that gnuplot made, fit to stand within a page: without the prologue, its title the
 * caption, and every id with a prefix of its own, since ids are unique in a page. */
void html_svg(const char *svg, const char *prefix, const char *caption, struct text *out);

#endif
