#include "sim/core/packed.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "sim/core/mem.h"
#include "sim/core/text.h"

#define ZSTD_LEVEL 12 /* such files are written once and kept */

int packed_write(const char *path, const void *bytes, size_t length, struct err *err)
{
    size_t name = strlen(path);
    if (name < 4 || strcmp(path + name - 4, ".zst") != 0)
        return text_write_file(path, bytes, length, err);
    size_t bound = ZSTD_compressBound(length);
    void *packed = mem_alloc(bound);
    size_t size = ZSTD_compress(packed, bound, bytes, length, ZSTD_LEVEL);
    int result = ZSTD_isError(size)
                     ? err_set(err, "compress '%s': %s", path, ZSTD_getErrorName(size))
                     : text_write_file(path, packed, size, err);
    free(packed);
    return result;
}
