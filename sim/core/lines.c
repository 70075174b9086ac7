#include "sim/core/lines.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "sim/core/mem.h"
#include "sim/core/sha256.h"

/* Content is read and unpacked in pieces that fit in the second-level cache, hashed there, and
 * cut into lines there. */
enum { PIECE = 256 << 10 };

/* Of the window of a zstd frame: what `zstd --long=31` writes, and no more memory than that. */
enum { WINDOW_LOG_MAX = 31 };

struct trace_lines {
    char *path;
    uint32_t number; /* of the last line given */

    /* Where raw bytes come from: a file, or memory. */
    int file;          /* -1: memory */
    uint64_t raw_left; /* bytes not yet read, UINT64_MAX if not known */
    const char *memory;

    /* zstd: raw bytes wait in packed[packed_used .. packed_length). */
    ZSTD_DStream *unpack; /* NULL: the content is plain */
    char *packed;
    size_t packed_used, packed_length;
    bool inside_frame;

    /* content[used .. length) has been read and not yet given. content[hashed .. length) has not
     * been hashed. There is always room for a '\0' after the last byte. */
    char *content;
    size_t capacity, used, length, hashed;

    bool ended;          /* no more content will come */
    struct err fault;    /* why it ended too early; "" if it did not */
    bool fault_has_path; /* the fault is a whole sentence, without a line */
    bool raw;            /* lines_read() was used */
    EVP_MD_CTX *hash; /* NULL until something is hashed: opening it costs more than small files */
};

/* Reads up to length raw bytes. 0 at the end, or at a fault. */
static size_t read_raw(struct trace_lines *lines, char *bytes, size_t length)
{
    if (lines->file < 0) {
        size_t take = lines->raw_left < length ? (size_t)lines->raw_left : length;
        if (take == 0)
            return 0;
        memcpy(bytes, lines->memory, take);
        lines->memory += take;
        lines->raw_left -= take;
        return take;
    }
    size_t total = 0;
    while (total < length) {
        ssize_t got = read(lines->file, bytes + total, length - total);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            err_set_errno(&lines->fault, "read '%s'", lines->path);
            lines->fault_has_path = true;
        }
        if (got <= 0)
            break;
        total += (size_t)got;
    }
    if (lines->raw_left != UINT64_MAX)
        lines->raw_left = lines->raw_left > total ? lines->raw_left - total : 0;
    return total;
}

/* Reads up to length bytes of plain content, and sets ended when fewer came. */
static size_t read_plain(struct trace_lines *lines, char *bytes, size_t length)
{
    size_t got = read_raw(lines, bytes, length);
    if (got < length)
        lines->ended = true;
    return got;
}

/* What unpacking failed with: not always is the data to blame. */
static void packed_fault(size_t code, struct err *fault)
{
    ZSTD_ErrorCode reason = ZSTD_getErrorCode(code);
    if (reason == ZSTD_error_frameParameter_windowTooLarge)
        err_set(fault,
                "expected a zstd window of at most 2 GiB, found a larger one; compress it again "
                "with --long=%d or less",
                WINDOW_LOG_MAX);
    else if (reason == ZSTD_error_memory_allocation)
        err_set(fault, "not enough memory for the zstd window, which may have 2 GiB; compress it "
                       "again without --long or --ultra");
    else
        err_set(fault, "damaged zstd data: %s", ZSTD_getErrorName(code));
}

/* The same, unpacking. A fault gets its "path:line: " when it is reported. */
static size_t read_packed(struct trace_lines *lines, char *bytes, size_t length)
{
    ZSTD_outBuffer out = {bytes, length, 0};
    while (out.pos < out.size && !lines->ended) {
        if (lines->packed_used == lines->packed_length) {
            lines->packed_used = 0;
            lines->packed_length = read_raw(lines, lines->packed, PIECE);
        }
        /* At the end of the file, what the unpacker still holds may fill several pieces. */
        ZSTD_inBuffer in = {lines->packed, lines->packed_length, lines->packed_used};
        size_t before = out.pos;
        bool at_end = lines->packed_length == 0;
        if (at_end && !lines->inside_frame) {
            lines->ended = true;
            break;
        }
        size_t left = ZSTD_decompressStream(lines->unpack, &out, &in);
        if (ZSTD_isError(left)) {
            lines->ended = true;
            packed_fault(left, &lines->fault);
            break;
        }
        lines->packed_used = in.pos;
        lines->inside_frame = left != 0;
        if (at_end && left != 0 && out.pos == before) {
            lines->ended = true;
            if (lines->fault.text[0] == '\0')
                err_set(&lines->fault, "truncated zstd data: the file ends inside a frame");
        }
    }
    return out.pos;
}

static size_t read_content(struct trace_lines *lines, char *bytes, size_t length)
{
    return lines->unpack ? read_packed(lines, bytes, length) : read_plain(lines, bytes, length);
}

static void hash_pending(struct trace_lines *lines)
{
    if (lines->raw || (lines->hash && lines->hashed == lines->length))
        return;
    if (lines->hash == NULL) {
        lines->hash = EVP_MD_CTX_new();
        if (lines->hash == NULL || EVP_DigestInit_ex(lines->hash, EVP_sha256(), NULL) != 1)
            mem_exhausted(0); /* fails for nothing else */
    }
    EVP_DigestUpdate(lines->hash, lines->content + lines->hashed, lines->length - lines->hashed);
    lines->hashed = lines->length;
}

/* Reads one more piece behind what is there, after moving that to the front. */
static void refill(struct trace_lines *lines)
{
    if (lines->used > 0) {
        hash_pending(lines);
        lines->length -= lines->used;
        lines->hashed = lines->length;
        memmove(lines->content, lines->content + lines->used, lines->length);
        lines->used = 0;
    }
    lines->content = mem_grow(lines->content, &lines->capacity, lines->length + PIECE + 1, 1);
    lines->length += read_content(lines, lines->content + lines->length, PIECE);
}

/* A frame of data or a skippable one; parallel compressors start with the latter. */
static bool is_zstd(const char *bytes, size_t length)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (length < 4)
        return false;
    return (b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd) ||
           ((b[0] & 0xf0) == 0x50 && b[1] == 0x2a && b[2] == 0x4d && b[3] == 0x18);
}

/* Reads the first piece of raw bytes and decides by it. */
static void start(struct trace_lines *lines)
{
    char *first = mem_alloc(PIECE + 1);
    size_t length = read_raw(lines, first, PIECE);
    if (is_zstd(first, length)) {
        lines->packed = first;
        lines->packed_length = length;
        lines->unpack = ZSTD_createDStream();
        if (lines->unpack == NULL)
            mem_exhausted(0);
        size_t set = ZSTD_DCtx_setParameter(lines->unpack, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
        assert(!ZSTD_isError(set) && "a window that the library knows");
        (void)set;
        refill(lines);
    } else {
        lines->content = first;
        lines->capacity = PIECE + 1;
        lines->length = length;
        lines->ended = length < PIECE;
    }
    while (!lines->ended && lines->length < LINES_PEEK)
        refill(lines);
}

int lines_open_file(struct trace_lines **out, const char *path, struct err *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return err_set_errno(err, "open '%s'", path);
    struct stat status;
    if (fstat(file, &status) != 0) {
        err_set_errno(err, "read '%s'", path);
        close(file);
        return -1;
    }
    struct trace_lines *lines = mem_zalloc(sizeof *lines);
    lines->path = mem_strdup(path);
    lines->file = file;
    lines->raw_left = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : UINT64_MAX;
    start(lines);
    *out = lines;
    return 0;
}

struct trace_lines *lines_open_memory(const char *path, const void *bytes, size_t length)
{
    struct trace_lines *lines = mem_zalloc(sizeof *lines);
    lines->path = mem_strdup(path);
    lines->file = -1;
    lines->memory = bytes;
    lines->raw_left = length;
    start(lines);
    return lines;
}

void lines_close(struct trace_lines *lines)
{
    if (lines == NULL)
        return;
    if (lines->file >= 0)
        close(lines->file);
    ZSTD_freeDStream(lines->unpack);
    EVP_MD_CTX_free(lines->hash);
    free(lines->packed);
    free(lines->content);
    free(lines->path);
    free(lines);
}

const char *lines_peek(struct trace_lines *lines, size_t *length)
{
    assert(lines->used == 0 && lines->number == 0);
    *length = lines->length < LINES_PEEK ? lines->length : LINES_PEEK;
    return lines->content;
}

/* The fault that ended the content, as of the line after the last one given. */
static int report_fault(const struct trace_lines *lines, struct err *err)
{
    if (lines->fault_has_path)
        return err_set(err, "%s", lines->fault.text);
    return err_set(err, "%.800s:%u: %.160s", lines->path, lines->number + 1, lines->fault.text);
}

/* Finds the end of the line that starts at content[used], reading more as needed. Returns 1 with
 * the number of bytes before the LF or the end of the content, 0 if nothing is left, or -1. */
static int find_end(struct trace_lines *lines, size_t *length, struct err *err)
{
    size_t searched = 0;
    for (;;) {
        const char *from = lines->content + lines->used;
        size_t held = lines->length - lines->used;
        const char *lf = held > searched ? memchr(from + searched, '\n', held - searched) : NULL;
        *length = lf ? (size_t)(lf - from) : held;
        if (*length > LINES_LENGTH_MAX)
            return err_set(err, "%.900s:%u: expected a line of at most 64 MiB, found a longer one",
                           lines->path, lines->number + 1);
        if (lf)
            return 1;
        if (lines->ended && lines->fault.text[0] != '\0')
            return report_fault(lines, err);
        if (lines->ended)
            return held > 0;
        searched = held;
        refill(lines);
    }
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t')
            return false;
    return true;
}

int lines_next(struct trace_lines *lines, char **line, size_t *length, struct err *err)
{
    assert(!lines->raw);
    int found = 0;
    while ((found = find_end(lines, length, err)) == 1) {
        hash_pending(lines); /* before the '\0' is put over the LF */
        *line = lines->content + lines->used;
        lines->used += *length + (lines->used + *length < lines->length);
        lines->number++;
        if (*length > 0 && (*line)[*length - 1] == '\r')
            --*length;
        (*line)[*length] = '\0';
        if (!is_blank(*line, *length))
            return 1;
    }
    hash_pending(lines);
    return found;
}

int64_t lines_read(struct trace_lines *lines, void *bytes, size_t length, struct err *err)
{
    assert(lines->number == 0);
    lines->raw = true;
    size_t held = lines->length - lines->used;
    size_t total = held < length ? held : length;
    if (total > 0)
        memcpy(bytes, lines->content + lines->used, total);
    lines->used += total;
    if (total < length && !lines->ended)
        total += read_content(lines, (char *)bytes + total, length - total);
    if (total < length && lines->fault.text[0] != '\0')
        return report_fault(lines, err);
    return (int64_t)total;
}

uint64_t lines_left(const struct trace_lines *lines)
{
    if (lines->unpack || lines->raw_left == UINT64_MAX)
        return UINT64_MAX;
    return lines->raw_left + (lines->length - lines->used);
}

const char *lines_path(const struct trace_lines *lines)
{
    return lines->path;
}

uint32_t lines_number(const struct trace_lines *lines)
{
    return lines->number;
}

void lines_sha256(struct trace_lines *lines, char hex[65])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    assert(lines->ended && lines->used == lines->length && !lines->raw);
    EVP_DigestFinal_ex(lines->hash, bytes, NULL);
    sha256_print(bytes, hex);
}
