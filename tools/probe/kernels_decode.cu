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

static __device__ inline float dot4(float4 a, const float b[4])
{
    return a.x * b[0] + a.y * b[1] + a.z * b[2] + a.w * b[3];
}

/* Decays the rows and forms both products of each with this token. All rows go through each step
 * of the reduction together, so that no shuffle waits for the one before. */
static __device__ void decode_products(const struct lane_inputs *in, float4 rows[ROWS],
                                       float seen[ROWS], float out[ROWS])
{
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        rows[r].x *= in->decay[0];
        rows[r].y *= in->decay[1];
        rows[r].z *= in->decay[2];
        rows[r].w *= in->decay[3];
        seen[r] = dot4(rows[r], in->key);
        out[r] = dot4(rows[r], in->query);
    }
#pragma unroll
    for (unsigned lanes = 16; lanes > 0; lanes /= 2)
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            seen[r] += shuffle_xor(seen[r], lanes);
            out[r] += shuffle_xor(out[r], lanes);
        }
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
    float value[ROWS], seen[ROWS], out[ROWS], mine = 0.0f;
    load4(value, &p.value[own]);
    load4(value + 4, &p.value[own + 4]);
    decode_products(&in, rows, seen, out);
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        float update = in.beta * (value[r] - seen[r]);
        rows[r].x += in.key[0] * update;
        rows[r].y += in.key[1] * update;
        rows[r].z += in.key[2] * update;
        rows[r].w += in.key[3] * update;
        state[r * 32] = rows[r];
        if (lane == r)
            mine = out[r] + update * in.key_query;
    }
    if (lane < ROWS)
        p.output[own + lane] = bf16_from_float(mine);
}

extern "C" int kernel_kda_decode(void *stream, const struct kda_decode *p)
{
    struct launch_shape shape = {p->batch * p->heads, SLICES, 1, 32 * WARPS, 0};
    return launch_kernel(kda_decode_kernel, &shape, stream, p);
}
