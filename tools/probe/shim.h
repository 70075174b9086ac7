/* shim.h - device.cuh for a CPU: runs kernels of the probe as ordinary C++.
 *
 * Each thread of a block is a fiber (its own stack, one runs at a time). A fiber runs until it
 * meets a barrier or a warp-wide operation; when all lanes of its warp have arrived there, the
 * operation is done for all of them at once. Blocks run one after another. Shared memory is
 * allocated to the byte and filled with NaN before each block, so that an address sanitizer sees
 * overruns and the checks see reads before writes.
 *
 * What the hardware leaves open is varied by a schedule: the order of blocks, warps and lanes, and
 * whether an asynchronous copy happens at once or only when it is waited for. A kernel with a
 * missing barrier or wait gives different results under different schedules. Divergent warp
 * operations, barriers that not all threads reach, and misaligned addresses print one line and
 * abort: they are faults of the kernel. */
#ifndef SNAPSIM_PROBE_SHIM_H
#define SNAPSIM_PROBE_SHIM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tools/probe/shim_schedule.h"

#define __global__
#define __device__
#define __launch_bounds__(...)

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};

static inline struct float2 make_float2(float x, float y)
{
    struct float2 pair = {x, y};
    return pair;
}

struct shim_place {
    unsigned thread, threads;
    unsigned block[3], blocks[3];
    unsigned char *shared;
};

/* Where the running fiber stands. */
const struct shim_place *shim_here(void);

typedef void (*shim_body)(const void *kernel, const void *arguments);
int shim_run(const struct launch_shape *shape, shim_body body, const void *kernel,
             const void *arguments);

/* Waits for all lanes of the warp; the last to arrive calls `operation` with what each lane gave,
 * in lane order. It must be the same operation for all. */
typedef void (*shim_operation)(void *const lanes[32]);
void shim_warp(shim_operation operation, void *own);

void shim_block_barrier(void);
void shim_copy(void *to, const void *from, bool valid);
void shim_copy_commit(void);
void shim_copy_wait(int pending);
void shim_require(bool holds, const char *what);

void shim_do_nothing(void *const lanes[32]);
void shim_do_shuffle(void *const lanes[32]);
void shim_do_load(void *const lanes[32]);
void shim_do_load_transposed(void *const lanes[32]);
void shim_do_multiply(void *const lanes[32]);

struct shim_shuffle {
    float in, out;
    unsigned lanes;
};
struct shim_load {
    const void *row;
    uint32_t *to;
};
struct shim_multiply {
    float *c;
    const uint32_t *a;
    uint32_t b[2];
};

static inline unsigned char *block_memory(void)
{
    return shim_here()->shared;
}
static inline unsigned thread_index(void)
{
    return shim_here()->thread;
}
static inline unsigned thread_count(void)
{
    return shim_here()->threads;
}
static inline unsigned block_x(void)
{
    return shim_here()->block[0];
}
static inline unsigned block_y(void)
{
    return shim_here()->block[1];
}
static inline unsigned block_z(void)
{
    return shim_here()->block[2];
}
static inline unsigned blocks_x(void)
{
    return shim_here()->blocks[0];
}

static inline void block_barrier(void)
{
    shim_block_barrier();
}
static inline void warp_barrier(void)
{
    shim_warp(shim_do_nothing, nullptr);
}
static inline float shuffle_xor(float value, unsigned lanes)
{
    struct shim_shuffle own = {value, 0.0f, lanes};
    shim_warp(shim_do_shuffle, &own);
    return own.out;
}
static inline void atomic_add(unsigned *where, unsigned value)
{
    *where += value;
}

static inline float exp2_fast(float x)
{
    return exp2f(x);
}
static inline float reciprocal_root(float x)
{
    return 1.0f / sqrtf(x);
}

static inline float bf16_low(uint32_t packed)
{
    uint32_t bits = packed << 16;
    float result;
    memcpy(&result, &bits, sizeof(result));
    return result;
}
static inline float bf16_high(uint32_t packed)
{
    return bf16_low(packed >> 16);
}
static inline float bf16_to_float(struct bf16 x)
{
    return bf16_low(x.bits);
}
static inline struct bf16 bf16_from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        bits |= 0x00400000u; /* a NaN stays one when its low half goes */
    else
        bits += 0x7fffu + ((bits >> 16) & 1u);
    struct bf16 result = {static_cast<uint16_t>(bits >> 16)};
    return result;
}
static inline uint32_t bf16_pack(float low, float high)
{
    return bf16_from_float(low).bits | static_cast<uint32_t>(bf16_from_float(high).bits) << 16;
}

static inline void copy_async(void *shared, const void *global, bool valid)
{
    shim_copy(shared, global, valid);
}
static inline void copy_async_commit(void)
{
    shim_copy_commit();
}
template <int pending> static inline void copy_async_wait(void)
{
    shim_copy_wait(pending);
}

static inline void load_matrix(uint32_t to[4], const void *row)
{
    struct shim_load own = {row, to};
    shim_warp(shim_do_load, &own);
}
static inline void load_matrix_transposed(uint32_t to[4], const void *row)
{
    struct shim_load own = {row, to};
    shim_warp(shim_do_load_transposed, &own);
}
static inline void multiply_accumulate(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    struct shim_multiply own = {c, a, {b0, b1}};
    shim_warp(shim_do_multiply, &own);
}

template <typename arguments> struct shim_call {
    void (*kernel)(arguments);
};
template <typename arguments> static void shim_invoke(const void *kernel, const void *given)
{
    static_cast<const struct shim_call<arguments> *>(kernel)->kernel(
        *static_cast<const arguments *>(given));
}
template <typename arguments>
static int launch_kernel(void (*kernel)(arguments), const struct launch_shape *shape, void *stream,
                         const arguments *given)
{
    (void)stream;
    struct shim_call<arguments> call = {
        kernel
    };
    return shim_run(shape, shim_invoke<arguments>, &call, given);
}

#endif
