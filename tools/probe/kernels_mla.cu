/* Multi-head latent attention with tensor cores, in the form of decode (absorbed: all heads share
 * one cached row per token) and of prefill (expanded: each head has its keys and values). Both keep
 * a running maximum and sum per query row, in base 2, as flash attention does. */
#include "tools/probe/device.cuh"
#include "tools/probe/fragments.cuh"
#include "tools/probe/gates.cuh"

#define WARPS 8
#define TOKENS 64 /* of a tile; 4 threads fetch each */
#define CACHE_STRIDE (KERNEL_CACHED + 8)
#define SCORE_STRIDE (TOKENS + 8)
#define KEY_STRIDE (KERNEL_KEY + 8)
#define VALUE_STRIDE (KERNEL_VALUE + 8)
#define KEY_STEPS (KERNEL_KEY / 16)
#define QUERY_ROWS 128 /* of a prefill block, 16 per warp */

/* Decode. A block has 16 * groups heads of one sequence and one split of its context. Each warp
 * scores 8 tokens of a tile for all heads; then each warp sums 64 of the 512 latent columns. */
template <unsigned groups> struct decode_shared {
    struct bf16 cache[2][TOKENS][CACHE_STRIDE];
    struct bf16 query[16 * groups][CACHE_STRIDE];
    struct bf16 score[16 * groups][SCORE_STRIDE];
    float maximum[WARPS][16 * groups], sum[WARPS][16 * groups];
};

/* Per lane: rows l/4 and l/4 + 8 of each group. */
template <unsigned groups> struct decode_rows {
    float maximum[groups][2], sum[groups][2];
    float output[groups][8][4];
};

/* Four threads to a token, so that each looks up one page only: a look-up before every copy would
 * make the copies wait for one another. */
static __device__ void decode_fetch(const struct mla_decode *p, struct bf16 (*to)[CACHE_STRIDE],
                                    size_t sequence, unsigned first, unsigned end)
{
    unsigned row = thread_index() / 4, token = first + row;
    bool valid = token < end;
    unsigned safe = valid ? token : first;
    size_t page = (size_t)p->pages[sequence * p->pages_per_sequence + safe / p->page_tokens];
    const struct bf16 *from =
        &p->cache[(page * p->page_tokens + safe % p->page_tokens) * KERNEL_CACHED];
#pragma unroll
    for (unsigned column = thread_index() % 4 * 8; column < KERNEL_CACHED; column += 32)
        copy_async(&to[row][column], &from[column], valid);
}

template <unsigned groups>
static __device__ void decode_fetch_query(const struct mla_decode *p,
                                          struct decode_shared<groups> *s, size_t sequence,
                                          unsigned first_head)
{
    const unsigned segments = KERNEL_CACHED / 8;
    for (unsigned i = thread_index(); i < 16 * groups * segments; i += 32 * WARPS) {
        unsigned head = first_head + i / segments, column = i % segments * 8;
        bool valid = head < p->heads;
        size_t row = sequence * p->heads + (valid ? head : 0);
        copy_async(&s->query[i / segments][column], &p->query[row * KERNEL_CACHED + column], valid);
    }
}

/* Scores of this warp's 8 tokens, scaled to base 2, -inf beyond the context. */
template <unsigned groups>
static __device__ void decode_score(const struct mla_decode *p, struct decode_shared<groups> *s,
                                    unsigned buffer, unsigned first, unsigned end,
                                    float score[groups][4])
{
    unsigned lane = thread_index() % 32, warp = thread_index() / 32;
    float odd[groups][4] = {};
#pragma unroll 6
    for (unsigned k = 0; k < KERNEL_CACHED; k += 32) {
        uint32_t b[4], a[4];
        load_matrix(b, &s->cache[buffer][8 * warp + lane % 8][k + lane / 8 * 8]);
#pragma unroll
        for (unsigned g = 0; g < groups; g++) {
            unsigned row = 16 * g + fragment_row_transposed();
            load_matrix(a, &s->query[row][k + fragment_column_transposed()]);
            multiply_accumulate(score[g], a, b[0], b[1]);
            load_matrix(a, &s->query[row][k + 16 + fragment_column_transposed()]);
            multiply_accumulate(odd[g], a, b[2], b[3]);
        }
    }
    unsigned token = first + 8 * warp + 2 * (lane % 4);
#pragma unroll
    for (unsigned g = 0; g < groups; g++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            score[g][i] = (score[g][i] + odd[g][i]) * p->scale * LOG2_E;
            if (token + i % 2 >= end)
                score[g][i] = -INFINITY;
        }
}

/* Turns scores into weights in shared memory and brings the running values to the new maximum. */
template <unsigned groups>
static __device__ void decode_softmax(struct decode_shared<groups> *s,
                                      struct decode_rows<groups> *rows, float score[groups][4])
{
    unsigned lane = thread_index() % 32, warp = thread_index() / 32;
#pragma unroll
    for (unsigned g = 0; g < groups; g++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            float top = fmaxf(score[g][2 * half], score[g][2 * half + 1]);
            top = fmaxf(top, shuffle_xor(top, 1));
            top = fmaxf(top, shuffle_xor(top, 2));
            if (lane % 4 == 0)
                s->maximum[warp][16 * g + 8 * half + lane / 4] = top;
        }
    block_barrier();
#pragma unroll
    for (unsigned g = 0; g < groups; g++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            unsigned row = 16 * g + 8 * half + lane / 4;
            float top = rows->maximum[g][half];
#pragma unroll
            for (unsigned w = 0; w < WARPS; w++)
                top = fmaxf(top, s->maximum[w][row]);
            float shrink = exp2_fast(rows->maximum[g][half] - top);
            float even = exp2_fast(score[g][2 * half] - top);
            float odd = exp2_fast(score[g][2 * half + 1] - top);
            rows->maximum[g][half] = top;
            rows->sum[g][half] = rows->sum[g][half] * shrink + even + odd;
            *(uint32_t *)&s->score[row][8 * warp + 2 * (lane % 4)] = bf16_pack(even, odd);
#pragma unroll
            for (unsigned n = 0; n < 8; n++) {
                rows->output[g][n][2 * half] *= shrink;
                rows->output[g][n][2 * half + 1] *= shrink;
            }
        }
    block_barrier();
}

template <unsigned groups>
static __device__ void decode_sum(const struct decode_shared<groups> *s, unsigned buffer,
                                  struct decode_rows<groups> *rows)
{
    unsigned column = thread_index() / 32 * 64 + fragment_column_transposed();
#pragma unroll
    for (unsigned k = 0; k < TOKENS; k += 16) {
        uint32_t a[groups][4], b[4];
#pragma unroll
        for (unsigned g = 0; g < groups; g++)
            load_matrix(
                a[g],
                &s->score[16 * g + fragment_row_transposed()][k + fragment_column_transposed()]);
#pragma unroll
        for (unsigned n = 0; n < 8; n += 2) {
            load_matrix_transposed(
                b, &s->cache[buffer][k + fragment_row_transposed()][column + 8 * n]);
#pragma unroll
            for (unsigned g = 0; g < groups; g++) {
                multiply_accumulate(rows->output[g][n], a[g], b[0], b[1]);
                multiply_accumulate(rows->output[g][n + 1], a[g], b[2], b[3]);
            }
        }
    }
}

/* Adds the sums of all warps and leaves the block's result as one split. */
template <unsigned groups>
static __device__ void decode_store(const struct mla_decode *p, struct decode_shared<groups> *s,
                                    struct decode_rows<groups> *rows, size_t sequence,
                                    unsigned split, unsigned first_head)
{
    unsigned lane = thread_index() % 32, warp = thread_index() / 32;
#pragma unroll
    for (unsigned g = 0; g < groups; g++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            float sum = reduce_lanes(rows->sum[g][half], 4);
            if (lane % 4 == 0)
                s->sum[warp][16 * g + 8 * half + lane / 4] = sum;
        }
    block_barrier();
#pragma unroll
    for (unsigned g = 0; g < groups; g++)
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            unsigned row = 16 * g + 8 * half + lane / 4, head = first_head + row;
            float sum = 0.0f;
            for (unsigned w = 0; w < WARPS; w++)
                sum += s->sum[w][row];
            if (head >= p->heads)
                continue;
            size_t place = (sequence * p->splits + split) * p->heads + head;
            float *to = p->partial + place * KERNEL_LATENT + 64 * warp + 2 * (lane % 4);
#pragma unroll
            for (unsigned n = 0; n < 8; n++)
                *(float2 *)(to + 8 * n) = make_float2(rows->output[g][n][2 * half] / sum,
                                                      rows->output[g][n][2 * half + 1] / sum);
            if (warp == 0 && lane % 4 == 0) {
                p->partial_weight[2 * place] = rows->maximum[g][half];
                p->partial_weight[2 * place + 1] = sum;
            }
        }
}

template <unsigned groups>
static __global__ void __launch_bounds__(32 * WARPS, 1) mla_decode_kernel(struct mla_decode p)
{
    struct decode_shared<groups> *s = (struct decode_shared<groups> *)block_memory();
    size_t sequence = block_z();
    unsigned split = block_x(), first_head = block_y() * 16 * groups;
    unsigned begin = split * p.split_tokens, end = begin + p.split_tokens;
    unsigned context = (unsigned)p.context[sequence];
    end = end < context ? end : context;
    if (begin >= end) { /* nothing here: a weight of zero for each head */
        for (unsigned h = thread_index(); h < 16 * groups; h += 32 * WARPS)
            if (first_head + h < p.heads) {
                size_t place = (sequence * p.splits + split) * p.heads + first_head + h;
                p.partial_weight[2 * place] = -INFINITY;
                p.partial_weight[2 * place + 1] = 0.0f;
            }
        return;
    }
    struct decode_rows<groups> rows = {
    };
    for (unsigned g = 0; g < groups; g++)
        rows.maximum[g][0] = rows.maximum[g][1] = -INFINITY;
    decode_fetch_query<groups>(&p, s, sequence, first_head);
    decode_fetch(&p, s->cache[0], sequence, begin, end);
    copy_async_commit();
    unsigned buffer = 0;
    for (unsigned first = begin; first < end; first += TOKENS) {
        copy_async_wait<0>();
        block_barrier(); /* this tile is there, and all are done with the other buffer */
        if (first + TOKENS < end)
            decode_fetch(&p, s->cache[1 - buffer], sequence, first + TOKENS, end);
        copy_async_commit();
        float score[groups][4] = {};
        decode_score<groups>(&p, s, buffer, first, end, score);
        decode_softmax<groups>(s, &rows, score);
        decode_sum<groups>(s, buffer, &rows);
        buffer = 1 - buffer;
    }
    decode_store<groups>(&p, s, &rows, sequence, split, first_head);
}

/* Joins the splits of one head: each is weighted by its sum at the common maximum. */
static __global__ void mla_combine_kernel(struct mla_decode p)
{
    unsigned head = block_x(), column = thread_index() * 4;
    size_t sequence = block_y();
    float top = -INFINITY, total = 0.0f;
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (unsigned split = 0; split < p.splits; split++) {
        size_t place = (sequence * p.splits + split) * p.heads + head;
        top = fmaxf(top, p.partial_weight[2 * place]);
    }
    for (unsigned split = 0; split < p.splits; split++) {
        size_t place = (sequence * p.splits + split) * p.heads + head;
        if (!(p.partial_weight[2 * place + 1] > 0.0f))
            continue;
        float weight =
            exp2_fast(p.partial_weight[2 * place] - top) * p.partial_weight[2 * place + 1];
        float4 part = *(const float4 *)(p.partial + place * KERNEL_LATENT + column);
        total += weight;
        sum.x += weight * part.x;
        sum.y += weight * part.y;
        sum.z += weight * part.z;
        sum.w += weight * part.w;
    }
    uint2 packed = {bf16_pack(sum.x / total, sum.y / total),
                    bf16_pack(sum.z / total, sum.w / total)};
    *(uint2 *)(p.output + (sequence * p.heads + head) * KERNEL_LATENT + column) = packed;
}

/* Prefill. A block has 128 query tokens of one head, a warp 16 of them, with the queries, the
 * scores of a tile and the output in registers. */
struct prefill_stage {
    struct bf16 key[TOKENS][KEY_STRIDE], value[TOKENS][VALUE_STRIDE];
};

struct prefill_rows {
    uint32_t query[KEY_STEPS][4];
    float maximum[2], sum[2];
    float output[16][4];
};

static __device__ void prefill_fetch(const struct mla_prefill *p, struct prefill_stage *s,
                                     unsigned head, unsigned first)
{
    unsigned end = p->prefix + p->tokens;
    for (unsigned i = thread_index(); i < TOKENS * KERNEL_KEY / 8; i += 32 * WARPS) {
        unsigned row = i / (KERNEL_KEY / 8), column = i % (KERNEL_KEY / 8) * 8;
        bool valid = first + row < end;
        size_t token = valid ? first + row : 0;
        copy_async(&s->key[row][column], &p->key[(token * p->heads + head) * KERNEL_KEY + column],
                   valid);
    }
    for (unsigned i = thread_index(); i < TOKENS * KERNEL_VALUE / 8; i += 32 * WARPS) {
        unsigned row = i / (KERNEL_VALUE / 8), column = i % (KERNEL_VALUE / 8) * 8;
        bool valid = first + row < end;
        size_t token = valid ? first + row : 0;
        copy_async(&s->value[row][column],
                   &p->value[(token * p->heads + head) * KERNEL_VALUE + column], valid);
    }
}

/* The A fragments of 16 query rows, straight from global memory; once per block. */
static __device__ void prefill_load_query(const struct mla_prefill *p, struct prefill_rows *rows,
                                          unsigned head, unsigned first_row)
{
    unsigned lane = thread_index() % 32;
#pragma unroll
    for (unsigned k = 0; k < KEY_STEPS; k++)
#pragma unroll
        for (unsigned part = 0; part < 4; part++) {
            size_t row = first_row + lane / 4 + part % 2 * 8;
            unsigned column = 16 * k + part / 2 * 8 + 2 * (lane % 4);
            rows->query[k][part] =
                row < p->tokens
                    ? *(const uint32_t *)&p->query[(row * p->heads + head) * KERNEL_KEY + column]
                    : 0;
        }
}

static __device__ void prefill_score(const struct mla_prefill *p, const struct prefill_stage *s,
                                     const struct prefill_rows *rows, unsigned first_row,
                                     unsigned first, float score[8][4])
{
    unsigned lane = thread_index() % 32;
#pragma unroll
    for (unsigned k = 0; k < KEY_STEPS; k++)
#pragma unroll
        for (unsigned n = 0; n < 8; n += 2) {
            uint32_t b[4];
            load_matrix(b, &s->key[8 * n + fragment_row()][16 * k + fragment_column()]);
            multiply_accumulate(score[n], rows->query[k], b[0], b[1]);
            multiply_accumulate(score[n + 1], rows->query[k], b[2], b[3]);
        }
#pragma unroll
    for (unsigned n = 0; n < 8; n++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            unsigned token = first + 8 * n + 2 * (lane % 4) + i % 2;
            unsigned last = p->prefix + first_row + lane / 4 + i / 2 * 8;
            score[n][i] = token <= last ? score[n][i] * p->scale * LOG2_E : -INFINITY;
        }
}

static __device__ void prefill_softmax(struct prefill_rows *rows, float score[8][4])
{
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        float top = rows->maximum[half];
#pragma unroll
        for (unsigned n = 0; n < 8; n++)
            top = fmaxf(top, fmaxf(score[n][2 * half], score[n][2 * half + 1]));
        top = fmaxf(top, shuffle_xor(top, 1));
        top = fmaxf(top, shuffle_xor(top, 2));
        float shrink = exp2_fast(rows->maximum[half] - top);
        rows->maximum[half] = top;
        rows->sum[half] *= shrink;
#pragma unroll
        for (unsigned n = 0; n < 8; n++)
#pragma unroll
            for (unsigned i = 2 * half; i < 2 * half + 2; i++) {
                score[n][i] = exp2_fast(score[n][i] - top);
                rows->sum[half] += score[n][i];
            }
#pragma unroll
        for (unsigned n = 0; n < 16; n++) {
            rows->output[n][2 * half] *= shrink;
            rows->output[n][2 * half + 1] *= shrink;
        }
    }
}

static __device__ void prefill_sum(const struct prefill_stage *s, struct prefill_rows *rows,
                                   const float score[8][4])
{
#pragma unroll
    for (unsigned k = 0; k < TOKENS / 16; k++) {
        uint32_t a[4], b[4];
        fragment_pack(a, score[2 * k], score[2 * k + 1]);
#pragma unroll
        for (unsigned n = 0; n < 16; n += 2) {
            load_matrix_transposed(b, &s->value[16 * k + fragment_row_transposed()]
                                               [8 * n + fragment_column_transposed()]);
            multiply_accumulate(rows->output[n], a, b[0], b[1]);
            multiply_accumulate(rows->output[n + 1], a, b[2], b[3]);
        }
    }
}

static __device__ void prefill_store(const struct mla_prefill *p, const struct prefill_rows *rows,
                                     unsigned head, unsigned first_row)
{
    unsigned lane = thread_index() % 32;
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        float sum = reduce_lanes(rows->sum[half], 4);
        size_t row = first_row + lane / 4 + 8 * half;
        if (row >= p->tokens)
            continue;
#pragma unroll
        for (unsigned n = 0; n < 16; n++)
            *(uint32_t *)&p
                 ->output[(row * p->heads + head) * KERNEL_VALUE + 8 * n + 2 * (lane % 4)] =
                bf16_pack(rows->output[n][2 * half] / sum, rows->output[n][2 * half + 1] / sum);
    }
}

static __global__ void __launch_bounds__(32 * WARPS, 1) mla_prefill_kernel(struct mla_prefill p)
{
    struct prefill_stage *s = (struct prefill_stage *)block_memory();
    /* The last rows see the longest context: they start first. */
    unsigned block = blocks_x() - 1 - block_x(), head = block_y();
    unsigned last_row = (block + 1) * QUERY_ROWS < p.tokens ? (block + 1) * QUERY_ROWS : p.tokens;
    unsigned first_row = block * QUERY_ROWS + thread_index() / 32 * 16;
    unsigned end = p.prefix + last_row;
    struct prefill_rows rows = {};
    rows.maximum[0] = rows.maximum[1] = -INFINITY;
    prefill_fetch(&p, &s[0], head, 0);
    copy_async_commit();
    prefill_load_query(&p, &rows, head, first_row);
    unsigned buffer = 0;
    for (unsigned first = 0; first < end; first += TOKENS) {
        copy_async_wait<0>();
        block_barrier();
        if (first + TOKENS < end)
            prefill_fetch(&p, &s[1 - buffer], head, first + TOKENS);
        copy_async_commit();
        if (first <= p.prefix + first_row + 15) { /* else no row of this warp sees the tile */
            float score[8][4] = {};
            prefill_score(&p, &s[buffer], &rows, first_row, first, score);
            prefill_softmax(&rows, score);
            prefill_sum(&s[buffer], &rows, score);
        }
        buffer = 1 - buffer;
    }
    prefill_store(&p, &rows, head, first_row);
}

template <unsigned groups> static int launch_decode(void *stream, const struct mla_decode *p)
{
    unsigned heads = 16 * groups;
    struct launch_shape shape = {p->splits, (p->heads + heads - 1) / heads, p->batch, 32 * WARPS,
                                 sizeof(struct decode_shared<groups>)};
    return launch_kernel(mla_decode_kernel<groups>, &shape, stream, p);
}

extern "C" int kernel_mla_decode(void *stream, const struct mla_decode *p)
{
    /* Three groups share a tile between 48 heads; fewer heads need fewer. */
    int code = p->heads <= 16   ? launch_decode<1>(stream, p)
               : p->heads <= 32 ? launch_decode<2>(stream, p)
                                : launch_decode<3>(stream, p);
    struct launch_shape shape = {p->heads, p->batch, 1, KERNEL_LATENT / 4, 0};
    return code != 0 ? code : launch_kernel(mla_combine_kernel, &shape, stream, p);
}

extern "C" int kernel_mla_prefill(void *stream, const struct mla_prefill *p)
{
    struct launch_shape shape = {(p->tokens + QUERY_ROWS - 1) / QUERY_ROWS, p->heads, 1, 32 * WARPS,
                                 2 * sizeof(struct prefill_stage)};
    return launch_kernel(mla_prefill_kernel, &shape, stream, p);
}
