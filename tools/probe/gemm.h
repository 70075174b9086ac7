/* gemm.h - bf16 matrix products through cuBLAS, where the build found it (PROBE_CUBLAS).
 *
 * Y [m][n] = X [m][k] W [n][k]^T, as the projections of a layer do it. */
#ifndef SNAPSIM_PROBE_GEMM_H
#define SNAPSIM_PROBE_GEMM_H

#include <cuda_runtime.h>

#include "tools/probe/probe_clock.h"

struct gemm;

enum clock_answer gemm_open(struct gemm **out, const struct point *point, uint32_t sets,
                            cudaStream_t stream, struct err *err);
void gemm_close(struct gemm *gemm); /* NULL allowed */
int gemm_start(struct gemm *gemm, uint32_t index, struct err *err) MUST_CHECK;

/* A few elements of set 0 against a sum in double precision. */
int gemm_verify(struct gemm *gemm, struct err *err) MUST_CHECK;

#endif
