/* KDA decode: one token per sequence, state in place, fp32 throughout. The state is read and
 * written once, 131,072 bytes per head, and nothing else matters.
 *
 * One block has 4 warps and 32 value channels of one head; a warp has 8 of them, and of each its
 * lanes hold 4 key channels, so that a row of the state is one 512-byte access of the warp. Both
 * products with the state are formed from the decayed old one, S^T q = (D S)^T q + u (k . q), so
 * that a row is reduced over the lanes once. */
#include "tools/probe/device.cuh"
#include "tools/probe/gates.cuh"

#define WARPS 4
#define ROWS 8 /* value channels of a warp */
#define SLICES (KERNEL_HEAD / (WARPS * ROWS))

struct lane_inputs {
    float query[4], key[4], decay[4];
    float beta, key_query; /* of the head: the same in all lanes */
};

/* 4 neighbouring bf16 values. */
static __device__ inline void load4(float to[4], const struct bf16 *from)
{
    uint2 packed = *(const uint2 *)from;
    to[0] = bf16_low(packed.x);
    to[1] = bf16_high(packed.x);
    to[2] = bf16_low(packed.y);
    to[3] = bf16_high(packed.y);
}

static __device__ struct lane_inputs decode_inputs(const struct kda_decode *p, size_t sequence,
                                                   unsigned head)
{
    struct lane_inputs in;
    unsigned channel = thread_index() % 32 * 4;
    size_t own = sequence * p->heads + head;
    size_t source = sequence * p->key_heads + head / (p->heads / p->key_heads);
    float gate[4], rate = gate_rate(p->a_log[head]), q_sum = 0.0f, k_sum = 0.0f;
    load4(in.query, &p->query[source * KERNEL_HEAD + channel]);
    load4(in.key, &p->key[source * KERNEL_HEAD + channel]);
    if (!p->scalar)
        load4(gate, &p->raw_gate[own * KERNEL_HEAD + channel]);
    for (unsigned i = 0; i < 4; i++) {
        q_sum += in.query[i] * in.query[i];
        k_sum += in.key[i] * in.key[i];
        float x = p->scalar ? bf16_to_float(p->raw_gate[own]) + p->bias[head]
                            : gate[i] + p->bias[head * KERNEL_HEAD + channel + i];
        in.decay[i] = exp2_fast(gate_log2_decay(p->gate, p->lower_bound, rate, x));
    }
    float q_scale =
        reciprocal_root(reduce_lanes(q_sum, 32) + 1e-6f) * reciprocal_root((float)KERNEL_HEAD);
    float k_scale = reciprocal_root(reduce_lanes(k_sum, 32) + 1e-6f);
    float product = 0.0f;
    for (unsigned i = 0; i < 4; i++) {
        in.query[i] *= q_scale;
        in.key[i] *= k_scale;
        product += in.query[i] * in.key[i];
    }
    in.key_query = reduce_lanes(product, 32);
    in.beta = gate_sigmoid(bf16_to_float(p->raw_beta[own]));
    return in;
}

static __global__ void kda_decode_kernel(struct kda_decode p)
{
    unsigned head = block_x() % p.heads, lane = thread_index() % 32;
    size_t sequence = block_x() / p.heads;
    unsigned first = (block_y() * WARPS + thread_index() / 32) * ROWS;
    size_t base = ((size_t)p.slot[sequence] * p.heads + head) * KERNEL_HEAD;
    float4 *state = (float4 *)(p.state + (base + first) * KERNEL_HEAD) + lane;
    float4 rows[ROWS];
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        rows[r] = state[r * 32];
    struct lane_inputs in = decode_inputs(&p, sequence, head);
    size_t own = (sequence * p.heads + head) * KERNEL_HEAD + first;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        float4 s = rows[r];
        s.x *= in.decay[0];
        s.y *= in.decay[1];
        s.z *= in.decay[2];
        s.w *= in.decay[3];
        float seen = s.x * in.key[0] + s.y * in.key[1] + s.z * in.key[2] + s.w * in.key[3];
        float out = s.x * in.query[0] + s.y * in.query[1] + s.z * in.query[2] + s.w * in.query[3];
        seen = reduce_lanes(seen, 32);
        out = reduce_lanes(out, 32);
        float update = in.beta * (bf16_to_float(p.value[own + r]) - seen);
        s.x += in.key[0] * update;
        s.y += in.key[1] * update;
        s.z += in.key[2] * update;
        s.w += in.key[3] * update;
        state[r * 32] = s;
        if (lane == r)
            p.output[own + r] = bf16_from_float(out + update * in.key_query);
    }
}

extern "C" int kernel_kda_decode(void *stream, const struct kda_decode *p)
{
    struct launch_shape shape = {p->batch * p->heads, SLICES, 1, 32 * WARPS, 0};
    return launch_kernel(kda_decode_kernel, &shape, stream, p);
}
