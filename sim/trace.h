/* trace.h - the interface of trace formats: what a reader gives, and what it may use.
 *
 * A format is one file under traces/ with one constant struct trace_format, and one line in
 * traces/formats.c. It recognises its own content, and turns lines into calls of build.h. */
#ifndef SNAPSIM_TRACE_H
#define SNAPSIM_TRACE_H

#include <stddef.h>

#include "sim/load/build.h"

struct trace_lines; /* sim/core/lines.h: bounded lines from a file, plain or zstd, or from memory */

struct trace_format {
    const char *name, *summary; /* --format's word; one line for `snapsim list formats` */
    bool link_by_prompt;        /* requests have no conversations: build links them */
    /* Whether a file that starts like this is of this format. length is at least the first line or
     * 64 KiB, whichever is less. */
    bool (*matches)(const char *start, size_t length);
    /* Reads all lines into build. err gets "file:line: what was expected, what was found". */
    int (*read)(struct trace_lines *lines, struct build *build, struct err *err);
};

#endif
