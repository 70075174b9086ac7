#include "sim/core/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/core/mem.h"

void text_add(struct text *text, const char *bytes, size_t length)
{
    text->data = mem_grow(text->data, &text->capacity, text->length + length + 1, 1);
    if (length > 0)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0 && "a format of ours");
    size_t need = text->length + (size_t)length + 1;
    text->data = mem_grow(text->data, &text->capacity, need, 1);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
    va_end(again);
}

void text_add_number(struct text *text, double number, bool is_plain)
{
    char digits[400];
    for (int count = is_plain ? 0 : 1; count <= (is_plain ? 330 : 17); count++) {
        snprintf(digits, sizeof digits, is_plain ? "%.*f" : "%.*g", count, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    text_printf(text, "%s", digits);
}

void text_clear(struct text *text)
{
    text->length = 0;
    if (text->data)
        text->data[0] = '\0';
}

void text_close(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

int text_read_file(struct text *text, const char *path, struct err *err)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return err_set_errno(err, "open '%s'", path);
    char chunk[16384];
    size_t got = 0, before = text->length;
    text_add(text, "", 0);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        text_add(text, chunk, got);
    int failed = ferror(file);
    if (failed) {
        err_set_errno(err, "read '%s'", path);
        text->length = before;
        text->data[before] = '\0';
    }
    fclose(file);
    return failed ? -1 : 0;
}

/* Writes to an open file and closes it. */
static int write_and_close(FILE *file, const char *path, const void *bytes, size_t length,
                           struct err *err)
{
    size_t written = length > 0 ? fwrite(bytes, 1, length, file) : 0;
    bool failed = written != length || fflush(file) != 0;
    if (failed)
        err_set_errno(err, "write '%s'", path);
    if (fclose(file) != 0 && !failed) {
        failed = true;
        err_set_errno(err, "write '%s'", path);
    }
    return failed ? -1 : 0;
}

static int write_by_rename(const char *path, const void *bytes, size_t length, struct err *err)
{
    struct text name = {0};
    text_printf(&name, "%s.tmp.%ld", path, (long)getpid());
    FILE *file = fopen(name.data, "wb");
    int result = 0;
    if (file == NULL) {
        result = err_set_errno(err, "create '%s'", path);
    } else {
        result = write_and_close(file, path, bytes, length, err);
        if (result == 0 && rename(name.data, path) != 0)
            result = err_set_errno(err, "rename to '%s'", path);
        if (result != 0)
            remove(name.data);
    }
    text_close(&name);
    return result;
}

int text_write_file(const char *path, const void *bytes, size_t length, struct err *err)
{
    struct stat status;
    /* lstat: a symbolic link, as /dev/stdout is, must not be replaced by a file either. */
    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode))
        return write_by_rename(path, bytes, length, err);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return err_set_errno(err, "open '%s'", path);
    return write_and_close(file, path, bytes, length, err);
}

/* Edits (insertions, deletions, changes) between two short words, by the usual table of rows. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t row[LONGEST + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > LONGEST || b_length > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t insert = row[j - 1] + 1, drop = row[j] + 1;
            row[j] = insert < drop ? insert : drop;
            if (change < row[j])
                row[j] = change;
        }
    }
    return row[b_length];
}

bool text_has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    while (*words != '\0') {
        size_t next = strcspn(words, " ");
        if (next == length && strncasecmp(words, word, length) == 0)
            return true;
        words += next + (words[next] == ' ');
    }
    return false;
}

const char *text_nearest(const char *wrong, const char *(*name)(const void *table, size_t index),
                         const void *table)
{
    const char *best = NULL;
    size_t best_distance = strlen(wrong) / 3 + 2; /* farther than this is no help */
    const char *candidate = NULL;
    for (size_t i = 0; (candidate = name(table, i)) != NULL; i++) {
        size_t distance = edit_distance(wrong, candidate);
        int prefix = strlen(wrong) >= 2 && strncmp(wrong, candidate, strlen(wrong)) == 0;
        if (prefix && distance > 1)
            distance = 1;
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}
