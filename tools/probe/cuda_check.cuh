/* cuda_check.cuh - a CUDA call's result as a struct err. */
#ifndef SNAPSIM_PROBE_CUDA_CHECK_CUH
#define SNAPSIM_PROBE_CUDA_CHECK_CUH

#include <cuda_runtime.h>

#include "tools/probe/gpu.h"

/* 0, or -1 with "WHAT: text of the error". */
static inline int cuda_check(cudaError_t code, const char *what, struct err *err)
{
    return code == cudaSuccess
               ? 0
               : err_set(err, "%s: %s (CUDA error %d)", what, cudaGetErrorString(code), (int)code);
}

#endif
