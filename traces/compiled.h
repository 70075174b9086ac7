/* compiled.h - snapsim's own form of a trace: a finished workload, to be loaded at memory speed.
 *
 *     header          magic, version, digest, counts, options of the build, SHA-256 of the original
 *     name            of the original, padded with zeros to a multiple of 8 bytes
 *     arrival         the setting for whose order the tree holds, padded too; empty: any order
 *     nodes, requests, conversations, bounds        the arrays of sim/load/workload.h as they are
 *
 * All numbers are little-endian. The digest covers everything behind it. A file from outside is
 * believed nothing: sizes are checked against its length before memory is taken for them, then the
 * digest, then every invariant of the workload. */
#ifndef SNAPSIM_COMPILED_H
#define SNAPSIM_COMPILED_H

#include "sim/core/lines.h"
#include "sim/load/build.h"

#define COMPILED_NAME "compiled"
#define COMPILED_SUMMARY "a finished workload, from `snapsim trace convert`"

bool compiled_matches(const char *start, size_t length);

/* The compiled form, in memory and as a file (by temporary name and rename). */
void compiled_print(const struct workload *workload, struct text *out);
int compiled_write(const struct workload *workload, const char *path, struct err *err) MUST_CHECK;

/* Reads it from the start of lines. err if the options it was built with are not the wanted ones;
 * link_by_prompt does not count, it belongs to the original's format. The record has a tree: a load
 * of another order than the tree was made for is refused (record.h). */
int compiled_read(struct trace_lines *lines, const struct build_options *wanted,
                  struct record **out, struct err *err) MUST_CHECK;

/* Puts the right digest into bytes that hold a compiled form, for tests that change one. Returns
 * false if the length is not the one that its header tells. */
bool compiled_seal(char *bytes, size_t length);

#endif
