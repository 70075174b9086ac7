/* output.h - files that a user names for output.
 *
 * A regular file is replaced as a whole (text_write_file). Anything else that is there already, as
 * /dev/stdout, /dev/null or a pipe, is written to: to rename a file over it would destroy it. */
#ifndef SNAPSIM_OUTPUT_H
#define SNAPSIM_OUTPUT_H

#include "sim/core/text.h"

int output_write(const char *path, const struct text *content, struct err *err) MUST_CHECK;

#endif
