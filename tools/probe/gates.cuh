/* gates.cuh - the gates of a recurrent layer on the device, in fp32. */
#ifndef SNAPSIM_PROBE_GATES_CUH
#define SNAPSIM_PROBE_GATES_CUH

#include "tools/probe/device.cuh"

#define LOG2_E 1.4426950408889634f

static __device__ inline float gate_sigmoid(float x)
{
    return 1.0f / (1.0f + exp2_fast(-x * LOG2_E));
}

/* A log decay in base 2, so that exponentials need no further factor. rate = exp(a_log), x = raw
 * gate + bias. */
static __device__ inline float gate_log2_decay(enum kernel_gate kind, float lower_bound, float rate,
                                               float x)
{
    if (kind == KERNEL_GATE_BOUNDED)
        return lower_bound * LOG2_E * gate_sigmoid(rate * x);
    float softplus = x > 20.0f ? x : log1pf(exp2_fast(x * LOG2_E));
    return -rate * softplus * LOG2_E;
}

static __device__ inline float gate_rate(float a_log)
{
    return exp2_fast(a_log * LOG2_E);
}

#endif
