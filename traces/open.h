/* open.h - opens a trace of any format, from a file or from memory.
 *
 * The format is told by the content unless it is named. The name of the trace is that of the
 * file, without its directory and without .zst, .jsonl, .json, .csv and .snapsim; a compiled trace
 * keeps the name and the SHA-256 of its original. A path that is the name of a generated load
 * (traces/synth.h) opens that, and is its name. Close the record with record_close(). */
#ifndef SNAPSIM_OPEN_H
#define SNAPSIM_OPEN_H

#include "sim/load/build.h"

/* format NULL: by the content. link_by_prompt of options is overridden by the format. */
int trace_open(const char *path, const struct build_options *options, const char *format,
               struct record **out, struct err *err) MUST_CHECK;
int trace_open_memory(const char *path, const void *bytes, size_t length,
                      const struct build_options *options, const char *format, struct record **out,
                      struct err *err) MUST_CHECK;

/* trace_open() that also says in *found which format it was. */
int trace_open_found(const char *path, const struct build_options *options, const char *format,
                     struct record **out, const char **found, struct err *err) MUST_CHECK;

/* Whether a name is that of a format; err suggests the nearest. */
int trace_check_format(const char *name, struct err *err) MUST_CHECK;

/* The names of all formats, compiled included; NULL behind the last. table is ignored: the shape is
 * that of text_nearest(). */
const char *trace_format_name(const void *table, size_t index);
const char *trace_format_summary(size_t index); /* one line about it */

#endif
