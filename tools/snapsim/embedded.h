/* embedded.h - the files of tools/plot, which the Makefile makes a part of the program: so it draws
 * from any directory, installed or not, and what it draws belongs to its version. */
#ifndef SNAPSIM_EMBEDDED_H
#define SNAPSIM_EMBEDDED_H

struct embedded {
    const char *name, *text;
};
extern const struct embedded embedded[]; /* ends with a NULL name */

#endif
