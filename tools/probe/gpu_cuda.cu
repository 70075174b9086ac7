/* Device memory on a GPU. */
#include <cuda_runtime.h>

#include "tools/probe/gpu.h"

/* Copies from pageable memory and fills may return before they have happened, and streams that do
 * not wait for the default one would overtake them. */
static cudaError_t settled(cudaError_t code)
{
    return code == cudaSuccess ? cudaDeviceSynchronize() : code;
}

static int failed(cudaError_t code, const char *what, struct err *err)
{
    return err_set(err, "%s: %s (CUDA error %d)", what, cudaGetErrorString(code), (int)code);
}

extern "C" int gpu_alloc(void **out, size_t bytes, struct err *err)
{
    cudaError_t code = cudaMalloc(out, bytes > 0 ? bytes : 1);
    if (code == cudaSuccess)
        return 0;
    *out = nullptr;
    return err_set(err, "allocate %zu bytes on the device: %s", bytes, cudaGetErrorString(code));
}

/* Only a broken context makes this fail, and then the next call says so. */
extern "C" void gpu_free(void *memory)
{
    if (memory != nullptr)
        (void)cudaFree(memory);
}

extern "C" int gpu_upload(void *to, const void *from, size_t bytes, struct err *err)
{
    cudaError_t code = settled(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return code == cudaSuccess ? 0 : failed(code, "copy to the device", err);
}

extern "C" int gpu_download(void *to, const void *from, size_t bytes, struct err *err)
{
    cudaError_t code = cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
    return code == cudaSuccess ? 0 : failed(code, "copy from the device", err);
}

extern "C" int gpu_fill(void *to, unsigned char byte, size_t bytes, struct err *err)
{
    cudaError_t code = settled(cudaMemset(to, byte, bytes));
    return code == cudaSuccess ? 0 : failed(code, "fill device memory", err);
}

extern "C" int gpu_finish(int code, const char *kernel, struct err *err)
{
    if (code != 0)
        return failed(static_cast<cudaError_t>(code), kernel, err);
    cudaError_t after = cudaDeviceSynchronize();
    return after == cudaSuccess ? 0 : failed(after, kernel, err);
}
