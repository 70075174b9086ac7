/* The short convolution: causal, depthwise, width 4, then SiLU. A thread has two neighbouring
 * channels, reads each input once and keeps the last three in registers. */
#include "tools/probe/device.cuh"
#include "tools/probe/gates.cuh"

#define THREADS 128
#define AHEAD 8 /* tokens loaded at once */

struct channel_pair {
    float a, b;
};

static __device__ inline struct channel_pair unpack(uint32_t packed)
{
    struct channel_pair pair = {bf16_low(packed), bf16_high(packed)};
    return pair;
}

static __device__ inline uint32_t load_pair(const struct bf16 *from)
{
    return *(const uint32_t *)from;
}

static __device__ inline void store_pair(struct bf16 *to, uint32_t packed)
{
    *(uint32_t *)to = packed;
}

/* The input `back` tokens before the sequence's token number `position`, from the packed inputs or,
 * before their begin, from the window. */
static __device__ inline uint32_t earlier(const struct conv_prefill *p, int sequence, int position,
                                          int back, unsigned channel)
{
    int at = position - back;
    if (at >= 0) {
        size_t token = (size_t)(p->sequence_token[sequence] + at);
        return load_pair(&p->input[token * p->channels + channel]);
    }
    if (p->windows == NULL)
        return 0;
    size_t row = (size_t)sequence * KERNEL_WINDOW + (size_t)(at + KERNEL_WINDOW);
    return load_pair(&p->windows[row * p->channels + channel]);
}

struct taps {
    struct channel_pair weight[KERNEL_WINDOW + 1];
};

static __device__ inline struct taps load_taps(const float *weight, unsigned channels,
                                               unsigned channel)
{
    struct taps taps;
    for (unsigned j = 0; j <= KERNEL_WINDOW; j++) {
        taps.weight[j].a = weight[(size_t)j * channels + channel];
        taps.weight[j].b = weight[(size_t)j * channels + channel + 1];
    }
    return taps;
}

/* Convolution and SiLU of the inputs x[0..2] and the new one x[3]. */
static __device__ inline uint32_t convolve(const struct taps *taps, const uint32_t x[4])
{
    float a = 0.0f, b = 0.0f;
#pragma unroll
    for (unsigned j = 0; j <= KERNEL_WINDOW; j++) {
        struct channel_pair pair = unpack(x[j]);
        a += taps->weight[j].a * pair.a;
        b += taps->weight[j].b * pair.b;
    }
    return bf16_pack(a * gate_sigmoid(a), b * gate_sigmoid(b));
}

static __global__ void conv_prefill_kernel(struct conv_prefill p)
{
    unsigned channel = (block_y() * THREADS + thread_index()) * 2;
    if (channel >= p.channels)
        return;
    struct conv_run run = p.runs[block_x()];
    struct taps taps = load_taps(p.weight, p.channels, channel);
    uint32_t x[4];
#pragma unroll
    for (int j = 0; j < KERNEL_WINDOW; j++)
        x[j] = earlier(&p, run.sequence, run.behind, KERNEL_WINDOW - j, channel);
    for (int t = 0; t < run.count; t += AHEAD) {
        size_t at = (size_t)(run.token + t) * p.channels + channel;
        uint32_t fresh[AHEAD];
        /* All loads before the first store: the compiler must assume that they could meet. */
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            fresh[j] = t + j < run.count ? load_pair(&p.input[at + (size_t)j * p.channels]) : 0;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            x[3] = fresh[j];
            if (t + j < run.count)
                store_pair(&p.output[at + (size_t)j * p.channels], convolve(&taps, x));
            x[0] = x[1];
            x[1] = x[2];
            x[2] = x[3];
        }
    }
}

static __global__ void conv_windows_kernel(struct conv_prefill p)
{
    unsigned channel = (block_y() * THREADS + thread_index()) * 2;
    if (channel >= p.channels)
        return;
    struct conv_emit emit = p.emits[block_x()];
#pragma unroll
    for (int j = 0; j < KERNEL_WINDOW; j++)
        store_pair(
            &p.windows_out[((size_t)emit.row * KERNEL_WINDOW + (size_t)j) * p.channels + channel],
            earlier(&p, emit.sequence, emit.count, KERNEL_WINDOW - j, channel));
}

static __global__ void conv_update_kernel(struct conv_update p)
{
    unsigned channel = (block_y() * THREADS + thread_index()) * 2;
    if (channel >= p.channels)
        return;
    size_t sequence = block_x();
    struct bf16 *window =
        p.windows + (size_t)p.slot[sequence] * KERNEL_WINDOW * p.channels + channel;
    struct taps taps = load_taps(p.weight, p.channels, channel);
    uint32_t x[4];
#pragma unroll
    for (unsigned j = 0; j < KERNEL_WINDOW; j++)
        x[j] = load_pair(&window[(size_t)j * p.channels]);
    x[3] = load_pair(&p.input[sequence * p.channels + channel]);
    store_pair(&p.output[sequence * p.channels + channel], convolve(&taps, x));
#pragma unroll
    for (unsigned j = 0; j < KERNEL_WINDOW; j++)
        store_pair(&window[(size_t)j * p.channels], x[j + 1]);
}

static unsigned channel_blocks(uint32_t channels)
{
    return (channels / 2 + THREADS - 1) / THREADS;
}

extern "C" int kernel_conv_prefill(void *stream, const struct conv_prefill *p)
{
    struct launch_shape shape = {p->run_count, channel_blocks(p->channels), 1, THREADS, 0};
    int code = launch_kernel(conv_prefill_kernel, &shape, stream, p);
    if (code != 0 || p->emit_count == 0)
        return code;
    shape.blocks_x = p->emit_count;
    return launch_kernel(conv_windows_kernel, &shape, stream, p);
}

extern "C" int kernel_conv_update(void *stream, const struct conv_update *p)
{
    struct launch_shape shape = {p->batch, channel_blocks(p->channels), 1, THREADS, 0};
    return launch_kernel(conv_update_kernel, &shape, stream, p);
}
