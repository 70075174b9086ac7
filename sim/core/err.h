/* err.h - how a function says that the world is at fault.
 *
 * A function that can fail for an outside reason (a file, a flag, a trace) takes a struct err,
 * returns -1 and leaves one complete sentence in it: what, where, what was expected and what was
 * found. The lowest layer that knows writes the sentence; the layers above pass it on unchanged.
 * Programming errors are assertions, and running out of memory ends the program in mem.c. */
#ifndef SNAPSIM_ERR_H
#define SNAPSIM_ERR_H

#define ERR_TEXT_SIZE 1024

struct err {
    char text[ERR_TEXT_SIZE]; /* without the program's name and without a newline */
};

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(__printf__, text, first)))

/* Writes the sentence and returns -1, so that "return err_set(...)" is the whole error path. */
int err_set(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same with the text of errno at the end: "open 'x': No such file or directory". */
int err_set_errno(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* What a function returns, in place of err_set()'s -1, if the command line is to blame:
 * return usage_error(err_set(...)). */
#define USAGE_ERROR (-2)

static inline int usage_error(int failed)
{
    return failed == 0 ? 0 : USAGE_ERROR;
}

#endif
