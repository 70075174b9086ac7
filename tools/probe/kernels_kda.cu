/* KDA prefill in chunk form with tensor cores, in two kernels; Gated DeltaNet is the same with one
 * decay per head and token.
 *
 * prepare, one block per tile of 16 tokens and head, all tiles at once:
 *   1. normalise q and k, form the log decays (base 2) and their sums G within the tile;
 *   2. one thread per pair (r, c): A and P with exp(G_r - G_c) formed from the difference, so that
 *      no gate, bounded or not, overflows;
 *   3. (I + L)^-1 diag(beta) by substitution, which does not cancel when keys repeat;
 *   4. k exp(G), q exp(G), k exp(G_last - G), all exponents at most 0, rounded to bf16.
 *
 * scan, serial over the tiles of a sequence. Value channels do not mix, so each warp carries 16 of
 * them, transposed: S^T is 16 x 128 in fp32 accumulators, 64 registers per lane. Rounded and
 * packed, the accumulators are the A operand of the next product, so the state never leaves the
 * registers and warps share nothing but the tile, which is fetched three tiles ahead:
 *
 *     X^T = V^T - S^T (k exp(G))^T        V'^T = X^T solve^T
 *     O^T = S^T (q exp(G))^T + V'^T P^T   S^T  = S^T diag(exp(G_last)) + V'^T rest
 *
 * Splitting the 8 warps of a head over more blocks is what fills the GPU when heads are few. */
#include "tools/probe/device.cuh"
#include "tools/probe/fragments.cuh"
#include "tools/probe/gates.cuh"

#define ROW (KERNEL_HEAD + 4) /* floats; the padding spreads rows over the banks */
#define PREPARE_THREADS 256
#define TILE_STRIDE (KERNEL_HEAD + 8) /* bf16; rows 16 bytes apart modulo 128 */
#define PAIR_STRIDE (KERNEL_TILE + 8)
#define STAGES 4

struct prepare_shared {
    float key[KERNEL_TILE][ROW], query[KERNEL_TILE][ROW], sum[KERNEL_TILE][ROW];
    float lower[KERNEL_TILE][KERNEL_TILE + 1];
    float beta[KERNEL_TILE];
};

/* 8 neighbouring bf16 values in one access. */
static __device__ inline void load8(float to[8], const struct bf16 *from)
{
    uint4 packed = *(const uint4 *)from;
    const uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        to[2 * i] = bf16_low(words[i]);
        to[2 * i + 1] = bf16_high(words[i]);
    }
}

static __device__ inline void store8(struct bf16 *to, const float from[8])
{
    uint4 packed = {bf16_pack(from[0], from[1]), bf16_pack(from[2], from[3]),
                    bf16_pack(from[4], from[5]), bf16_pack(from[6], from[7])};
    *(uint4 *)to = packed;
}

/* The log decays of 8 channels of one token and head; all the same for GDN. */
static __device__ void load_decay(const struct kda_prefill *p, float g[8], size_t own,
                                  unsigned head, unsigned first)
{
    float rate = gate_rate(p->a_log[head]);
    if (p->scalar) {
        float x = bf16_to_float(p->raw_gate[own]) + p->bias[head];
        float only = gate_log2_decay(p->gate, p->lower_bound, rate, x);
#pragma unroll
        for (unsigned i = 0; i < 8; i++)
            g[i] = only;
        return;
    }
    load8(g, &p->raw_gate[own * KERNEL_HEAD + first]);
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        g[i] = gate_log2_decay(p->gate, p->lower_bound, rate,
                               g[i] + p->bias[head * KERNEL_HEAD + first + i]);
}

/* Step 1 for one row of 8 channels; 16 neighbouring lanes hold a row. */
static __device__ void prepare_row(const struct kda_prefill *p, struct prepare_shared *s,
                                   const struct kda_tile *tile, unsigned head)
{
    unsigned row = thread_index() / 16, first = thread_index() % 16 * 8;
    bool valid = (int)row >= tile->first_row && (int)row < tile->end_row;
    float q[8] = {}, k[8] = {}, g[8] = {}, beta = 0.0f, q_sum = 0.0f, k_sum = 0.0f;
    if (valid) {
        size_t token = (size_t)(tile->token + (int)row);
        size_t source = token * p->key_heads + head / (p->heads / p->key_heads);
        size_t own = token * p->heads + head;
        load8(q, &p->query[source * KERNEL_HEAD + first]);
        load8(k, &p->key[source * KERNEL_HEAD + first]);
        load_decay(p, g, own, head, first);
        beta = gate_sigmoid(bf16_to_float(p->raw_beta[own]));
    }
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        q_sum += q[i] * q[i];
        k_sum += k[i] * k[i];
    }
    q_sum = reduce_lanes(q_sum, 16);
    k_sum = reduce_lanes(k_sum, 16);
    float q_scale = reciprocal_root(q_sum + 1e-6f) * reciprocal_root((float)KERNEL_HEAD);
    float k_scale = reciprocal_root(k_sum + 1e-6f);
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        s->query[row][first + i] = q[i] * q_scale;
        s->key[row][first + i] = k[i] * k_scale;
        s->sum[row][first + i] = g[i];
    }
    if (first == 0)
        s->beta[row] = beta;
}

/* Step 2 for the pair (row, column) of this thread. */
static __device__ void prepare_pair(const struct kda_prefill *p, struct prepare_shared *s,
                                    struct kda_prepared *out)
{
    unsigned r = thread_index() / KERNEL_TILE, c = thread_index() % KERNEL_TILE;
    float a = 0.0f, pair = 0.0f;
    /* One exponential for all channels if they decay alike. */
    float common = exp2_fast(p->scalar && c <= r ? s->sum[r][0] - s->sum[c][0] : 0.0f);
    for (unsigned i = 0; i < KERNEL_HEAD && c <= r; i += 4) {
        float4 key_r = *(const float4 *)&s->key[r][i], key_c = *(const float4 *)&s->key[c][i];
        float4 query_r = *(const float4 *)&s->query[r][i];
        if (!p->scalar) {
            float4 sum_r = *(const float4 *)&s->sum[r][i], sum_c = *(const float4 *)&s->sum[c][i];
            key_c.x *= exp2_fast(sum_r.x - sum_c.x);
            key_c.y *= exp2_fast(sum_r.y - sum_c.y);
            key_c.z *= exp2_fast(sum_r.z - sum_c.z);
            key_c.w *= exp2_fast(sum_r.w - sum_c.w);
        }
        a += key_r.x * key_c.x + key_r.y * key_c.y + key_r.z * key_c.z + key_r.w * key_c.w;
        pair +=
            query_r.x * key_c.x + query_r.y * key_c.y + query_r.z * key_c.z + query_r.w * key_c.w;
    }
    a *= common;
    pair *= common;
    s->lower[r][c] = c < r ? s->beta[r] * a : 0.0f;
    out->pair[r][c] = bf16_from_float(pair);
}

/* Step 3: lane c of the first warp solves for column c. */
static __device__ void prepare_solve(const struct prepare_shared *s, struct kda_prepared *out)
{
    unsigned column = thread_index();
    float x[KERNEL_TILE];
#pragma unroll
    for (unsigned r = 0; r < KERNEL_TILE; r++) {
        x[r] = r == column ? 1.0f : 0.0f;
#pragma unroll
        for (unsigned c = 0; c < r; c++)
            x[r] -= s->lower[r][c] * x[c];
    }
#pragma unroll
    for (unsigned r = 0; r < KERNEL_TILE; r++)
        out->solve[r][column] = bf16_from_float(x[r] * s->beta[column]);
}

/* Step 4 for 8 channels of one row. */
static __device__ void prepare_decayed(const struct prepare_shared *s, struct kda_prepared *out)
{
    unsigned row = thread_index() / 16, first = thread_index() % 16 * 8;
    float key[8], query[8], rest[8];
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        float sum = s->sum[row][first + i], last = s->sum[KERNEL_TILE - 1][first + i];
        float decay = exp2_fast(sum), k = s->key[row][first + i];
        key[i] = k * decay;
        query[i] = s->query[row][first + i] * decay;
        rest[i] = k * exp2_fast(last - sum);
    }
    store8(&out->key[row][first], key);
    store8(&out->query[row][first], query);
    store8(&out->rest[row][first], rest);
}

static __global__ void kda_prepare(struct kda_prefill p)
{
    struct prepare_shared *s = (struct prepare_shared *)block_memory();
    unsigned head = block_y(), t = block_x();
    struct kda_tile tile = p.tiles[t];
    struct kda_prepared *out = &p.prepared[(size_t)head * p.tile_count + t];
    prepare_row(&p, s, &tile, head);
    block_barrier();
    if (thread_index() < KERNEL_HEAD)
        for (unsigned r = 1; r < KERNEL_TILE; r++)
            s->sum[r][thread_index()] += s->sum[r - 1][thread_index()];
    block_barrier();
    prepare_pair(&p, s, out);
    if (thread_index() < KERNEL_HEAD)
        out->decay[thread_index()] = exp2_fast(s->sum[KERNEL_TILE - 1][thread_index()]);
    block_barrier();
    if (thread_index() < KERNEL_TILE)
        prepare_solve(s, out);
    prepare_decayed(s, out);
}

template <unsigned warps> struct scan_stage {
    struct bf16 key[KERNEL_TILE][TILE_STRIDE];
    struct bf16 query[KERNEL_TILE][TILE_STRIDE];
    struct bf16 rest[KERNEL_TILE][TILE_STRIDE];
    struct bf16 solve[KERNEL_TILE][PAIR_STRIDE], pair[KERNEL_TILE][PAIR_STRIDE];
    float decay[KERNEL_HEAD];
    struct bf16 value[KERNEL_TILE][16 * warps + 8];
};

template <unsigned warps> struct scan_shared {
    struct scan_stage<warps> stage[STAGES];
    struct bf16 output[warps][KERNEL_TILE][PAIR_STRIDE]; /* each warp turns its own */
};

/* Starts the copies of one tile: 16 bytes per thread and step. */
template <unsigned warps>
static __device__ void scan_fetch(const struct kda_prefill *p, struct scan_stage<warps> *s,
                                  unsigned tile_index, const struct kda_tile *tile, unsigned head,
                                  unsigned slice)
{
    const struct kda_prepared *in = &p->prepared[(size_t)head * p->tile_count + tile_index];
    for (unsigned i = thread_index(); i < KERNEL_TILE * 16; i += 32 * warps) {
        unsigned row = i / 16, column = i % 16 * 8;
        copy_async(&s->key[row][column], &in->key[row][column], true);
        copy_async(&s->query[row][column], &in->query[row][column], true);
        copy_async(&s->rest[row][column], &in->rest[row][column], true);
    }
    for (unsigned i = thread_index(); i < KERNEL_TILE * 2; i += 32 * warps) {
        copy_async(&s->solve[i / 2][i % 2 * 8], &in->solve[i / 2][i % 2 * 8], true);
        copy_async(&s->pair[i / 2][i % 2 * 8], &in->pair[i / 2][i % 2 * 8], true);
        copy_async(&s->decay[i * 4], &in->decay[i * 4], true);
    }
    for (unsigned i = thread_index(); i < KERNEL_TILE * 2 * warps; i += 32 * warps) {
        unsigned row = i / (2 * warps), column = i % (2 * warps) * 8;
        bool valid = (int)row >= tile->first_row && (int)row < tile->end_row;
        size_t token = valid ? (size_t)(tile->token + (int)row) : 0;
        copy_async(&s->value[row][column],
                   &p->value[(token * p->heads + head) * KERNEL_HEAD + slice * 16 * warps + column],
                   valid);
    }
}

/* One tile for the 16 value channels of this warp. output: O^T in two C fragments. */
template <unsigned warps>
static __device__ void scan_tile(const struct scan_stage<warps> *s, float state[16][4],
                                 float output[2][4])
{
    unsigned lane = thread_index() % 32, channel = thread_index() / 32 * 16;
    /* Two sums of the longest chain of products, which is what the next tile waits for. */
    float miss[2][4] = {}, other[2][4] = {}, update[2][4] = {};
    uint32_t a[4], b[4];
#pragma unroll
    for (unsigned k = 0; k < 8; k++) {
        fragment_pack(a, state[2 * k], state[2 * k + 1]);
        load_matrix(b, &s->key[fragment_row()][16 * k + fragment_column()]);
        multiply_accumulate(k % 2 == 0 ? miss[0] : other[0], a, b[0], b[1]);
        multiply_accumulate(k % 2 == 0 ? miss[1] : other[1], a, b[2], b[3]);
        load_matrix(b, &s->query[fragment_row()][16 * k + fragment_column()]);
        multiply_accumulate(output[0], a, b[0], b[1]);
        multiply_accumulate(output[1], a, b[2], b[3]);
    }
    /* V^T as C fragments: matrices (tokens 0-7, channels 0-7), (0-7, 8-15), (8-15, 0-7), ... */
    load_matrix_transposed(b, &s->value[fragment_row()][channel + fragment_column()]);
#pragma unroll
    for (unsigned n = 0; n < 2; n++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            uint32_t v = b[2 * n + half];
            unsigned i = 2 * half;
            miss[n][i] = bf16_low(v) - (miss[n][i] + other[n][i]);
            miss[n][i + 1] = bf16_high(v) - (miss[n][i + 1] + other[n][i + 1]);
        }
    fragment_pack(a, miss[0], miss[1]);
    load_matrix(b, &s->solve[fragment_row()][fragment_column()]);
    multiply_accumulate(update[0], a, b[0], b[1]);
    multiply_accumulate(update[1], a, b[2], b[3]);
    fragment_pack(a, update[0], update[1]);
    load_matrix(b, &s->pair[fragment_row()][fragment_column()]);
    multiply_accumulate(output[0], a, b[0], b[1]);
    multiply_accumulate(output[1], a, b[2], b[3]);
#pragma unroll
    for (unsigned j = 0; j < 16; j += 2) {
#pragma unroll
        for (unsigned n = j; n < j + 2; n++) {
            float2 decay = *(const float2 *)&s->decay[8 * n + 2 * (lane % 4)];
            state[n][0] *= decay.x;
            state[n][1] *= decay.y;
            state[n][2] *= decay.x;
            state[n][3] *= decay.y;
        }
        load_matrix_transposed(
            b, &s->rest[fragment_row_transposed()][8 * j + fragment_column_transposed()]);
        multiply_accumulate(state[j], a, b[0], b[1]);
        multiply_accumulate(state[j + 1], a, b[2], b[3]);
    }
}

/* O^T fragments to O in global memory, 16 bytes per lane, by way of the warp's own corner. */
static __device__ void scan_store(const struct kda_prefill *p, struct bf16 (*corner)[PAIR_STRIDE],
                                  const struct kda_tile *tile, const float output[2][4],
                                  unsigned head, unsigned channel)
{
    unsigned lane = thread_index() % 32;
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = i / 4, part = i % 4;
        corner[8 * n + 2 * (lane % 4) + part % 2][lane / 4 + part / 2 * 8] =
            bf16_from_float(output[n][part]);
    }
    warp_barrier();
    int row = (int)(lane / 2);
    if (row >= tile->first_row && row < tile->end_row) {
        size_t token = (size_t)(tile->token + row);
        struct bf16 *to =
            &p->output[(token * p->heads + head) * KERNEL_HEAD + channel + lane % 2 * 8];
        const uint4 *from = (const uint4 *)&corner[row][lane % 2 * 8];
        *(uint4 *)to = *from;
    }
    /* The barrier before the next tile keeps the corner until it has been read. */
}

/* Index of the first of two neighbouring key channels that a state fragment holds. */
static __device__ inline size_t state_index(unsigned channel, unsigned n, unsigned half)
{
    unsigned lane = thread_index() % 32;
    return (size_t)(channel + lane / 4 + half * 8) * KERNEL_HEAD + 8 * n + 2 * (lane % 4);
}

static __device__ void scan_keep(const struct kda_prefill *p, const float state[16][4], size_t row,
                                 unsigned head, unsigned channel)
{
    size_t base = (row * p->heads + head) * KERNEL_HEAD * KERNEL_HEAD;
#pragma unroll
    for (unsigned n = 0; n < 16; n++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            size_t at = base + state_index(channel, n, half);
            float even = state[n][2 * half], odd = state[n][2 * half + 1];
            if (p->snapshot_bf16)
                *(uint32_t *)((struct bf16 *)p->snapshots + at) = bf16_pack(even, odd);
            else
                *(float2 *)((float *)p->snapshots + at) = make_float2(even, odd);
        }
}

/* 16 warps per SM, as far as registers decide. */
template <unsigned warps>
static __global__ void __launch_bounds__(32 * warps, 16 / warps) kda_scan(struct kda_prefill p)
{
    struct scan_shared<warps> *s = (struct scan_shared<warps> *)block_memory();
    unsigned sequence = block_x() / p.heads, head = block_x() % p.heads, slice = block_y();
    unsigned warp = thread_index() / 32, channel = (slice * warps + warp) * 16;
    unsigned begin = (unsigned)p.tile_first[sequence], end = (unsigned)p.tile_first[sequence + 1];
    float *own = p.state + ((size_t)p.slot[sequence] * p.heads + head) * KERNEL_HEAD * KERNEL_HEAD;
    float state[16][4];
#pragma unroll
    for (unsigned n = 0; n < 16; n++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            float2 pair = make_float2(0.0f, 0.0f);
            if (!p.fresh)
                pair = *(const float2 *)(own + state_index(channel, n, half));
            state[n][2 * half] = pair.x;
            state[n][2 * half + 1] = pair.y;
        }
    struct kda_tile ahead = {};
    for (unsigned t = begin; t < begin + STAGES - 1; t++) {
        if (t < end) {
            ahead = p.tiles[t];
            scan_fetch<warps>(&p, &s->stage[t % STAGES], t, &ahead, head, slice);
        }
        copy_async_commit();
    }
    /* The next tile to fetch is known one step early, so that no copy waits for its description. */
    if (begin + STAGES - 1 < end)
        ahead = p.tiles[begin + STAGES - 1];
    for (unsigned t = begin; t < end; t++) {
        unsigned fetched = t + STAGES - 1;
        copy_async_wait<STAGES - 2>();
        block_barrier(); /* tile t is there for all, and all are done with tile t - 1 */
        if (fetched < end)
            scan_fetch<warps>(&p, &s->stage[fetched % STAGES], fetched, &ahead, head, slice);
        copy_async_commit();
        if (fetched + 1 < end)
            ahead = p.tiles[fetched + 1];
        struct kda_tile tile = p.tiles[t];
        float output[2][4] = {};
        scan_tile<warps>(&s->stage[t % STAGES], state, output);
        scan_store(&p, s->output[warp], &tile, output, head, channel);
        if (tile.snapshot >= 0)
            scan_keep(&p, state, (size_t)tile.snapshot, head, channel);
    }
#pragma unroll
    for (unsigned n = 0; n < 16; n++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++)
            *(float2 *)(own + state_index(channel, n, half)) =
                make_float2(state[n][2 * half], state[n][2 * half + 1]);
}

extern "C" int kernel_kda_prepare(void *stream, const struct kda_prefill *p)
{
    struct launch_shape shape = {p->tile_count, p->heads, 1, PREPARE_THREADS,
                                 sizeof(struct prepare_shared)};
    return launch_kernel(kda_prepare, &shape, stream, p);
}

template <unsigned warps> static int launch_scan(void *stream, const struct kda_prefill *p)
{
    struct launch_shape shape = {p->sequences * p->heads, 8 / warps, 1, 32 * warps,
                                 sizeof(struct scan_shared<warps>)};
    return launch_kernel(kda_scan<warps>, &shape, stream, p);
}

extern "C" int kernel_kda_scan(void *stream, const struct kda_prefill *p)
{
    switch (p->warps) {
    case 1:
        return launch_scan<1>(stream, p);
    case 2:
        return launch_scan<2>(stream, p);
    case 4:
        return launch_scan<4>(stream, p);
    default:
        return launch_scan<8>(stream, p);
    }
}

extern "C" int kernel_kda_prefill(void *stream, const struct kda_prefill *p)
{
    int code = kernel_kda_prepare(stream, p);
    return code != 0 ? code : kernel_kda_scan(stream, p);
}
