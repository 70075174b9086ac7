/* Device memory of the host shim: ordinary memory, so that an address sanitizer guards it. */
#include <stdlib.h>
#include <string.h>

#include "tools/probe/gpu.h"

int gpu_alloc(void **out, size_t bytes, struct err *err)
{
    if (posix_memalign(out, 256, bytes > 0 ? bytes : 1) != 0)
        return err_set(err, "allocate %zu bytes: out of memory", bytes);
    return 0;
}

void gpu_free(void *memory)
{
    free(memory);
}

int gpu_upload(void *to, const void *from, size_t bytes, struct err *err)
{
    (void)err;
    memcpy(to, from, bytes);
    return 0;
}

int gpu_download(void *to, const void *from, size_t bytes, struct err *err)
{
    (void)err;
    memcpy(to, from, bytes);
    return 0;
}

int gpu_fill(void *to, unsigned char byte, size_t bytes, struct err *err)
{
    (void)err;
    memset(to, byte, bytes);
    return 0;
}

int gpu_finish(int code, const char *kernel, struct err *err)
{
    return code == 0 ? 0 : err_set(err, "kernel %s: the shim returned %d", kernel, code);
}
