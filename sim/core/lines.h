/* lines.h - the lines of a text, from a file or from memory, plain or compressed by zstd.
 *
 * Which of the two it is, is told by the content, never by the name. Reading streams: memory is
 * bounded by the longest line, which may have LINES_LENGTH_MAX bytes, and by the window of zstd,
 * which has 8 MiB unless a user chose otherwise, and at most 2 GiB. Several zstd frames one
 * after another are one content, as for `zstd -d`. While lines are read, the SHA-256 of the
 * uncompressed content is computed.
 *
 * Damage is reported where it is reached, not before: all whole lines ahead of it are given first,
 * so that "path:line: " names the right line. */
#ifndef SNAPSIM_LINES_H
#define SNAPSIM_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"

#define LINES_LENGTH_MAX ((size_t)64 << 20)
#define LINES_PEEK ((size_t)64 << 10)

struct trace_lines;

/* path is for messages as well; it is copied. bytes are borrowed until lines_close(). */
int lines_open_file(struct trace_lines **out, const char *path, struct err *err) MUST_CHECK;
struct trace_lines *lines_open_memory(const char *path, const void *bytes, size_t length);
void lines_close(struct trace_lines *lines); /* NULL is allowed */

/* The start of the content: LINES_PEEK bytes, or all if there are fewer. Valid until the next
 * call. Only before anything was read. */
const char *lines_peek(struct trace_lines *lines, size_t *length);

/* The next line that is not blank, without its LF or CR LF, and followed by a '\0' that *length
 * does not count. Valid until the next call. Returns 1, or 0 at the end of the content, or -1. */
int lines_next(struct trace_lines *lines, char **line, size_t *length, struct err *err) MUST_CHECK;

/* The other way to read: up to length bytes of the content. Returns how many came, fewer only at
 * the end; or -1. Nothing is hashed. lines_next() may not be used on the same content. */
int64_t lines_read(struct trace_lines *lines, void *bytes, size_t length,
                   struct err *err) MUST_CHECK;

/* How many bytes of content are left; UINT64_MAX if that is not known (compressed, or a pipe). */
uint64_t lines_left(const struct trace_lines *lines);

const char *lines_path(const struct trace_lines *lines);
uint32_t lines_number(const struct trace_lines *lines); /* of the last line given, from 1 */

/* The digest of everything, once lines_next() has returned 0. */
void lines_sha256(struct trace_lines *lines, char hex[65]);

#endif
