/* embedded.h - the files of tools/plot, which the Makefile makes a part of the program: so it draws
 * from any directory, installed or not, and what it draws belongs to its version. */
#ifndef SNAPSIM_EMBEDDED_H
#define SNAPSIM_EMBEDDED_H

#include "sim/core/embed.h"

extern const struct embedded_file embedded[];

#endif
