#include "tools/snapsim/output.h"

#include <stdio.h>
#include <sys/stat.h>

static int write_through(const char *path, const struct text *content, struct err *err)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return err_set_errno(err, "open '%s'", path);
    int result = 0;
    if (fwrite(content->data, 1, content->length, file) != content->length || fflush(file) != 0)
        result = err_set_errno(err, "write '%s'", path);
    if (fclose(file) != 0 && result == 0)
        result = err_set_errno(err, "write '%s'", path);
    return result;
}

int output_write(const char *path, const struct text *content, struct err *err)
{
    struct stat status;
    /* lstat: a symbolic link, as /dev/stdout is, must not be replaced by a file either. */
    if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return write_through(path, content, err);
    return text_write_file(path, content->data, content->length, err);
}
