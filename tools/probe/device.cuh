/* device.cuh - everything that a kernel of the probe may use, the same on a GPU and on a CPU.
 *
 * nvcc compiles the first half, a host C++ compiler takes shim.h instead, which emulates it: so the
 * same kernel source is checked against the reference on machines without a GPU. Kernels use no
 * CUDA name except __global__ and __device__; what is not here is not emulated.
 *
 * Warp-wide operations (shuffle_*, load_matrix*, multiply_accumulate) need all 32 lanes of a warp.
 * Fragment layouts are those of PTX mma.sync.m16n8k16, lane l of the warp, each register two bf16:
 *
 *     A (16 x 16): a0 row l/4, columns 2(l%4), +1;  a1 row l/4+8;  a2 columns +8;  a3 both
 *     B (16 x 8):  b0 rows 2(l%4), +1, column l/4;  b1 rows +8
 *     C (16 x 8), fp32: c0, c1 row l/4, columns 2(l%4), +1;  c2, c3 row l/4+8
 *
 * so that two C fragments side by side, rounded and packed, are the A fragment of a next product.
 */
#ifndef SNAPSIM_PROBE_DEVICE_CUH
#define SNAPSIM_PROBE_DEVICE_CUH

#include <stddef.h>
#include <stdint.h>

#include "tools/probe/kernels.h"

struct launch_shape {
    unsigned blocks_x, blocks_y, blocks_z, threads;
    size_t shared_bytes;
};

#ifdef __CUDACC__

#include <cuda_runtime.h>

/* All shared memory is dynamic: one block of bytes, laid out by the kernel as a struct. */
static __device__ inline unsigned char *block_memory(void)
{
    extern __shared__ __align__(128) unsigned char memory[];
    return memory;
}

static __device__ inline unsigned thread_index(void)
{
    return threadIdx.x;
}
static __device__ inline unsigned thread_count(void)
{
    return blockDim.x;
}
static __device__ inline unsigned block_x(void)
{
    return blockIdx.x;
}
static __device__ inline unsigned block_y(void)
{
    return blockIdx.y;
}
static __device__ inline unsigned block_z(void)
{
    return blockIdx.z;
}
static __device__ inline unsigned blocks_x(void)
{
    return gridDim.x;
}

static __device__ inline void block_barrier(void)
{
    __syncthreads();
}
static __device__ inline void warp_barrier(void)
{
    __syncwarp();
}
static __device__ inline float shuffle_xor(float value, unsigned lanes)
{
    return __shfl_xor_sync(0xffffffffu, value, (int)lanes);
}
static __device__ inline void atomic_add(unsigned *where, unsigned value)
{
    atomicAdd(where, value);
}

static __device__ inline float exp2_fast(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
static __device__ inline float reciprocal_root(float x)
{
    return rsqrtf(x);
}

static __device__ inline float bf16_to_float(struct bf16 x)
{
    return __uint_as_float((unsigned)x.bits << 16);
}
/* Two values rounded to bf16, the first in the low half. */
static __device__ inline uint32_t bf16_pack(float low, float high)
{
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
static __device__ inline struct bf16 bf16_from_float(float x)
{
    struct bf16 result = {(uint16_t)bf16_pack(x, 0.0f)};
    return result;
}
static __device__ inline float bf16_low(uint32_t packed)
{
    return __uint_as_float(packed << 16);
}
static __device__ inline float bf16_high(uint32_t packed)
{
    return __uint_as_float(packed & 0xffff0000u);
}

/* 16 bytes from global to shared memory, asynchronously; zeros if !valid (`global` must still be
 * an address that could be formed). Both addresses are multiples of 16. */
static __device__ inline void copy_async(void *shared, const void *global, bool valid)
{
    unsigned target = (unsigned)__cvta_generic_to_shared(shared);
    int size = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(global),
                 "r"(size)
                 : "memory");
}
static __device__ inline void copy_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Waits until at most `pending` of this thread's groups are under way. */
template <int pending> static __device__ inline void copy_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/* Four 8 x 8 matrices of bf16. Lane l gives the address of row l%8 of matrix l/8 and receives of
 * matrix m in to[m] the elements 2(l%4), +1 of row l/4; transposed, of column l/4. */
static __device__ inline void load_matrix(uint32_t to[4], const void *row)
{
    unsigned from = (unsigned)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}
static __device__ inline void load_matrix_transposed(uint32_t to[4], const void *row)
{
    unsigned from = (unsigned)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}

/* c += A B for one 16 x 16 by 16 x 8 product. */
static __device__ inline void multiply_accumulate(float c[4], const uint32_t a[4], uint32_t b0,
                                                  uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 0, or the number of a CUDA error. The launch itself is asynchronous. */
template <typename arguments>
static int launch_kernel(void (*kernel)(arguments), const struct launch_shape *shape, void *stream,
                         const arguments *given)
{
    if (shape->shared_bytes > 48 * 1024) {
        cudaError_t code = cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                (int)shape->shared_bytes);
        if (code != cudaSuccess)
            return (int)code;
    }
    kernel<<<dim3(shape->blocks_x, shape->blocks_y, shape->blocks_z), shape->threads,
             shape->shared_bytes, static_cast<cudaStream_t>(stream)>>>(*given);
    return (int)cudaGetLastError();
}

#else
#include "tools/probe/shim.h"
#endif

/* Sum over the lanes of a warp whose numbers differ in the bits of `width` - 1. */
static __device__ inline float reduce_lanes(float value, unsigned width)
{
    for (unsigned lanes = width / 2; lanes > 0; lanes /= 2)
        value += shuffle_xor(value, lanes);
    return value;
}

#endif
