#include "tools/sweep/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/core/packed.h"
#include "sim/core/text.h"

#define HEADER "snapsim-journal 1 0x%016" PRIx64 " %zu\n"

struct journal {
    char *target, *path;
    int file; /* -1: in memory only */
    off_t length;
    size_t cells;
    char **lines; /* by cell; NULL while it is missing */
};

static uint64_t line_digest(size_t cell, const char *line, size_t length)
{
    return digest_bytes(digest_u64(DIGEST_START, cell), line, length);
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* One journal line; false if it is damaged, as the last one may be after a crash. */
static bool take_line(struct journal *journal, const char *start, const char *end)
{
    size_t cell = 0;
    uint64_t digest = 0;
    int used = 0;
    if (sscanf(start, "%zu 0x%16" SCNx64 " %n", &cell, &digest, &used) != 2 || used == 0 ||
        cell >= journal->cells || start + used > end)
        return false;
    const char *line = start + used;
    size_t length = (size_t)(end - line);
    if (line_digest(cell, line, length) != digest || journal->lines[cell])
        return false;
    journal->lines[cell] = mem_strndup(line, length);
    return true;
}

/* Why a journal is of another identity: a model that changed, if its lines say so. */
static int refuse(const struct journal *journal, const char *lines,
                  const struct known_models *models, struct err *err)
{
    struct err reason;
    for (const char *at = lines; at && *at;) {
        const char *end = strchr(at, '\n');
        const char *object = strchr(at, '{');
        char *line =
            object && end && object < end ? mem_strndup(object, (size_t)(end - object)) : NULL;
        int same = line ? known_models_check_line(models, line, &reason) : 0;
        free(line);
        if (same != 0)
            return err_set(err, "'%.300s': %.600s; --force starts anew", journal->path,
                           reason.text);
        at = end ? end + 1 : NULL;
    }
    return err_set(
        err, "'%s' is of another sweep, trace, model or version of snapsim; --force starts anew",
        journal->path);
}

/* Reads what an earlier process left; *good is the length of the undamaged part, 0 if a crash cut
 * off the header. */
static int take_journal(struct journal *journal, uint64_t identity,
                        const struct known_models *models, off_t *good, struct err *err)
{
    struct text content = {0};
    char header[80];
    if (text_read_file(&content, journal->path, err) != 0)
        return -1;
    size_t length = (size_t)snprintf(header, sizeof header, HEADER, identity, journal->cells);
    size_t there = content.length < length ? content.length : length;
    if (memcmp(content.data, header, there) != 0) {
        int refused = refuse(journal, content.data, models, err);
        text_close(&content);
        return refused;
    }
    const char *at = content.data + (there == length ? length : 0);
    const char *newline = NULL;
    while ((newline = strchr(at, '\n')) != NULL && take_line(journal, at, newline))
        at = newline + 1;
    *good = at - content.data;
    text_close(&content);
    return 0;
}

static int write_all(struct journal *journal, const char *bytes, size_t length, struct err *err)
{
    size_t done = 0;
    while (done < length) {
        ssize_t wrote = write(journal->file, bytes + done, length - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            err_set_errno(err, "write '%s'", journal->path);
            if (ftruncate(journal->file, journal->length) != 0)
                return -1; /* the cut-off line will be thrown away when it is read */
            return -1;
        }
        done += (size_t)wrote;
    }
    journal->length += (off_t)length;
    return 0;
}

static int open_file(struct journal *journal, uint64_t identity, const struct known_models *models,
                     bool resume, bool force, bool *complete, struct err *err)
{
    bool there = exists(journal->path);
    *complete = resume && !there && exists(journal->target);
    if (*complete)
        return 0;
    if (!resume && !force && (there || exists(journal->target)))
        return err_set(err, "'%s' exists; --resume goes on with it, --force starts anew",
                       there ? journal->path : journal->target);
    off_t good = 0;
    if (resume && there && take_journal(journal, identity, models, &good, err) != 0)
        return -1;
    journal->file = open(journal->path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (journal->file < 0)
        return err_set_errno(err, "create '%s'", journal->path);
    if (ftruncate(journal->file, good) != 0)
        return err_set_errno(err, "truncate '%s'", journal->path);
    journal->length = good;
    if (good > 0)
        return 0;
    char header[80];
    int length = snprintf(header, sizeof header, HEADER, identity, journal->cells);
    return write_all(journal, header, (size_t)length, err);
}

int journal_open(struct journal **out, const char *target, uint64_t identity,
                 const struct known_models *models, size_t cells, bool resume, bool force,
                 bool *complete, struct err *err)
{
    struct journal *journal = mem_zalloc(sizeof *journal);
    journal->file = -1;
    journal->cells = cells;
    journal->lines = mem_array(cells, sizeof *journal->lines);
    *complete = false;
    *out = journal;
    if (target == NULL)
        return 0;
    struct text path = {0};
    text_printf(&path, "%s.journal", target);
    journal->target = mem_strdup(target);
    journal->path = path.data;
    if (open_file(journal, identity, models, resume, force, complete, err) == 0)
        return 0;
    journal_close(journal);
    *out = NULL;
    return -1;
}

bool journal_has(const struct journal *journal, size_t cell)
{
    return journal->lines[cell] != NULL;
}

int journal_add(struct journal *journal, size_t cell, const char *line, size_t length,
                struct err *err)
{
    int result = 0;
    if (journal->file >= 0) {
        struct text record = {0};
        text_printf(&record, "%zu 0x%016" PRIx64 " ", cell, line_digest(cell, line, length));
        text_add(&record, line, length);
        text_add(&record, "\n", 1);
        result = write_all(journal, record.data, record.length, err);
        text_close(&record);
    }
    if (result == 0)
        journal->lines[cell] = mem_strndup(line, length);
    return result;
}

int journal_finish(struct journal *journal, struct err *err)
{
    struct text all = {0};
    text_add(&all, "", 0);
    for (size_t i = 0; i < journal->cells; i++) {
        if (journal->lines[i]) {
            text_add(&all, journal->lines[i], strlen(journal->lines[i]));
            text_add(&all, "\n", 1);
        }
    }
    int result = 0;
    if (journal->target)
        result = packed_write(journal->target, all.data, all.length, err);
    else if (fwrite(all.data, 1, all.length, stdout) != all.length || fflush(stdout) != 0)
        result = err_set_errno(err, "write results to stdout");
    if (result == 0 && journal->target)
        unlink(journal->path);
    text_close(&all);
    return result;
}

void journal_close(struct journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->file >= 0)
        close(journal->file);
    for (size_t i = 0; i < journal->cells; i++)
        free(journal->lines[i]);
    free(journal->lines);
    free(journal->target);
    free(journal->path);
    free(journal);
}
