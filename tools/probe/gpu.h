/* gpu.h - device memory as C sees it; gpu_cuda.cu on a GPU, gpu_host.c with the host shim.
 *
 * Everything that fails leaves a sentence in err. Device memory is freed with gpu_free. */
#ifndef SNAPSIM_PROBE_GPU_H
#define SNAPSIM_PROBE_GPU_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "sim/core/err.h"

int gpu_alloc(void **out, size_t bytes, struct err *err) MUST_CHECK; /* aligned to 256 bytes */
void gpu_free(void *memory);                                         /* NULL allowed */
int gpu_upload(void *to, const void *from, size_t bytes, struct err *err) MUST_CHECK;
int gpu_download(void *to, const void *from, size_t bytes, struct err *err) MUST_CHECK;
int gpu_fill(void *to, unsigned char byte, size_t bytes, struct err *err) MUST_CHECK;

/* What a launch returned, as an err naming the kernel; then waits for it and asks again. */
int gpu_finish(int code, const char *kernel, struct err *err) MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
