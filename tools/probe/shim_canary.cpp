#include "tools/probe/shim_canary.h"

#include "tools/probe/device.cuh"

#define THREADS 64

struct canary_arguments {
    enum canary fault;
    const float *from; /* [THREADS], thread i holds i */
    float *to;         /* [THREADS]: expected i + 0.5 */
};

struct canary_shared {
    float copied[THREADS], written[THREADS];
};

static __global__ void canary_kernel(struct canary_arguments p)
{
    struct canary_shared *s = reinterpret_cast<struct canary_shared *>(block_memory());
    unsigned i = thread_index(), other = (i + THREADS / 2) % THREADS;
    if (i < THREADS / 4)
        copy_async(&s->copied[4 * i], &p.from[4 * i], true);
    copy_async_commit();
    if (p.fault != CANARY_NO_WAIT)
        copy_async_wait<0>();
    if (p.fault == CANARY_HALF_BARRIER && i >= THREADS / 2)
        return;
    s->written[i] = 0.5f;
    if (p.fault == CANARY_NO_BARRIER)
        warp_barrier(); /* orders the lanes of a warp, not the warps */
    else if (p.fault == CANARY_NO_WARP_BARRIER)
        other = i ^ 1u;
    else
        block_barrier();
    if (p.fault == CANARY_HALF_SHUFFLE && i % 32 < 16)
        shuffle_xor(1.0f, 1);
    if (p.fault == CANARY_MISALIGNED) {
        uint32_t matrix[4];
        load_matrix(matrix, reinterpret_cast<unsigned char *>(s) + 2 * (i % 32));
    }
    p.to[i] = s->copied[i] + s->written[other];
}

extern "C" bool shim_canary_run(enum canary fault)
{
    alignas(16) float from[THREADS], to[THREADS];
    for (int i = 0; i < THREADS; i++) {
        from[i] = static_cast<float>(i);
        to[i] = -1.0f;
    }
    struct canary_arguments arguments = {fault, from, to};
    struct launch_shape shape = {1, 1, 1, THREADS, sizeof(struct canary_shared)};
    launch_kernel(canary_kernel, &shape, nullptr, &arguments);
    for (int i = 0; i < THREADS; i++)
        if (to[i] != static_cast<float>(i) + 0.5f)
            return false;
    return true;
}
