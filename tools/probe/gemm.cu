#include "tools/probe/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/cuda_check.cuh"
#include "tools/probe/kernels.h"

#ifdef PROBE_CUBLAS

#include <cublas_v2.h>

#define WORKSPACE_BYTES (32u << 20)
#define VERIFIED 64 /* elements that are summed again */

struct gemm {
    const struct point *point;
    uint32_t sets;
    cublasHandle_t handle;
    void *x, *w, *y, *workspace;
};

static int cublas_check(cublasStatus_t status, const char *what, struct err *err)
{
    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : err_set(err, "%s: %s", what, cublasGetStatusString(status));
}

static int fill(void *to, size_t count, uint32_t seed, struct err *err)
{
    struct random_fill random = {to, count, -1, 1, seed, false};
    return gpu_finish(kernel_random_fill(nullptr, &random), "random_fill", err);
}

/* Elements of one set's X, W and Y. */
static size_t x_size(const struct point *p)
{
    return (size_t)p->m * p->k;
}
static size_t w_size(const struct point *p)
{
    return (size_t)p->n * p->k;
}
static size_t y_size(const struct point *p)
{
    return (size_t)p->m * p->n;
}

enum clock_answer gemm_open(struct gemm **out, const struct point *point, uint32_t sets,
                            cudaStream_t stream, struct err *err)
{
    struct gemm *gemm = static_cast<struct gemm *>(calloc(1, sizeof(*gemm)));
    if (gemm == nullptr) {
        err_set(err, "out of memory");
        return CLOCK_FAILED;
    }
    gemm->point = point;
    gemm->sets = sets;
    if (cublas_check(cublasCreate(&gemm->handle), "cublasCreate", err) != 0 ||
        gpu_alloc(&gemm->x, 2 * sets * x_size(point), err) != 0 ||
        gpu_alloc(&gemm->w, 2 * sets * w_size(point), err) != 0 ||
        gpu_alloc(&gemm->y, 2 * sets * y_size(point), err) != 0 ||
        gpu_alloc(&gemm->workspace, WORKSPACE_BYTES, err) != 0 ||
        fill(gemm->x, sets * x_size(point), 1, err) != 0 ||
        fill(gemm->w, sets * w_size(point), 2, err) != 0 ||
        gpu_fill(gemm->y, 0xff, 2 * sets * y_size(point), err) != 0 ||
        cublas_check(cublasSetStream(gemm->handle, stream), "cublasSetStream", err) != 0 ||
        /* Its own memory, since it may not allocate while a graph is captured. */
        cublas_check(cublasSetWorkspace(gemm->handle, gemm->workspace, WORKSPACE_BYTES),
                     "cublasSetWorkspace", err) != 0) {
        gemm_close(gemm);
        return CLOCK_FAILED;
    }
    *out = gemm;
    return CLOCK_READY;
}

void gemm_close(struct gemm *gemm)
{
    if (gemm == nullptr)
        return;
    if (gemm->handle != nullptr)
        (void)cublasDestroy(gemm->handle);
    gpu_free(gemm->x);
    gpu_free(gemm->w);
    gpu_free(gemm->y);
    gpu_free(gemm->workspace);
    free(gemm);
}

/* cuBLAS stores by column: Y^T [n][m] = (W^T)^T X^T. */
int gemm_start(struct gemm *gemm, uint32_t index, struct err *err)
{
    const struct point *p = gemm->point;
    size_t set = index % gemm->sets;
    const struct bf16 *x = static_cast<const struct bf16 *>(gemm->x) + set * x_size(p);
    const struct bf16 *w = static_cast<const struct bf16 *>(gemm->w) + set * w_size(p);
    struct bf16 *y = static_cast<struct bf16 *>(gemm->y) + set * y_size(p);
    float one = 1, zero = 0;
    return cublas_check(cublasGemmEx(gemm->handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)p->n, (int)p->m,
                                     (int)p->k, &one, w, CUDA_R_16BF, (int)p->k, x, CUDA_R_16BF,
                                     (int)p->k, &zero, y, CUDA_R_16BF, (int)p->n,
                                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                        "cublasGemmEx", err);
}

static double value_of(struct bf16 x)
{
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

int gemm_verify(struct gemm *gemm, struct err *err)
{
    const struct point *p = gemm->point;
    struct bf16 *x = static_cast<struct bf16 *>(calloc(p->k, sizeof(*x)));
    struct bf16 *w = static_cast<struct bf16 *>(calloc(p->k, sizeof(*w)));
    double miss = 0, norm = 0;
    int result = x == nullptr || w == nullptr ? err_set(err, "out of memory") : 0;
    for (size_t i = 0; i < VERIFIED && result == 0; i++) {
        size_t row = i * 7919 % p->m, column = i * 104729 % p->n;
        struct bf16 got;
        double sum = 0;
        if (gpu_download(x, (struct bf16 *)gemm->x + row * p->k, 2 * (size_t)p->k, err) != 0 ||
            gpu_download(w, (struct bf16 *)gemm->w + column * p->k, 2 * (size_t)p->k, err) != 0 ||
            gpu_download(&got, (struct bf16 *)gemm->y + row * p->n + column, 2, err) != 0)
            result = -1;
        for (uint32_t j = 0; j < p->k && result == 0; j++)
            sum += value_of(x[j]) * value_of(w[j]);
        miss += (value_of(got) - sum) * (value_of(got) - sum);
        norm += sum * sum;
    }
    free(x);
    free(w);
    if (result == 0 && !(sqrt(miss / norm) <= 1e-2))
        return err_set(err, "gemm: off by %g", sqrt(miss / norm));
    return result;
}

#else

enum clock_answer gemm_open(struct gemm **out, const struct point *point, uint32_t sets,
                            cudaStream_t stream, struct err *err)
{
    (void)out;
    (void)point;
    (void)sets;
    (void)stream;
    err_set(err, "built without cuBLAS");
    return CLOCK_ABSENT;
}

void gemm_close(struct gemm *gemm)
{
    (void)gemm;
}

int gemm_start(struct gemm *gemm, uint32_t index, struct err *err)
{
    (void)gemm;
    (void)index;
    return err_set(err, "built without cuBLAS");
}

int gemm_verify(struct gemm *gemm, struct err *err)
{
    return gemm_start(gemm, 0, err);
}

#endif
