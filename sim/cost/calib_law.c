#include "sim/cost/calib_law.h"

#include <assert.h>

#include "sim/model/flops.h"

#define MATRIX 16384.0      /* elements of the 128 x 128 matrix that the chain laws are about */
#define CONV_CHAIN 384.0    /* channels of one head's q, k and v: the unit of the conv laws */
#define WINDOW_ROWS 3       /* inputs that a convolution of four taps keeps */
#define MLA_TOKEN 1152.0    /* bytes of one cached token, to which the MLA decode law belongs */
#define MLA_PAIR 1088.0     /* 512 + 64 + 512: what a pair costs a head in the absorbed form */
#define MLA_WIDE_HEADS 96.0 /* heads to which mla_decode_wide belongs */

static const char *const kernels[CALIB_KERNELS] = {
    [CALIB_LAUNCH_STREAM] = "launch_stream",
    [CALIB_LAUNCH_GRAPH] = "launch_graph",
    [CALIB_HBM_COPY] = "hbm_copy",
    [CALIB_HBM_READ] = "hbm_read",
    [CALIB_KDA_PREFILL] = "kda_prefill",
    [CALIB_KDA_PREFILL_FLA] = "kda_prefill_fla",
    [CALIB_SNAPSHOT_EMIT] = "snapshot_emit",
    [CALIB_GDN_PREFILL] = "gdn_prefill",
    [CALIB_MAMBA_PREFILL] = "mamba_prefill",
    [CALIB_KDA_DECODE] = "kda_decode",
    [CALIB_KDA_DECODE_FUSED] = "kda_decode_fused",
    [CALIB_GDN_DECODE] = "gdn_decode",
    [CALIB_MAMBA_DECODE] = "mamba_decode",
    [CALIB_CONV_PREFILL] = "conv_prefill",
    [CALIB_CONV_UPDATE] = "conv_update",
    [CALIB_MLA_DECODE] = "mla_decode",
    [CALIB_MLA_PREFILL] = "mla_prefill",
    [CALIB_GQA_DECODE] = "gqa_decode",
    [CALIB_GQA_PREFILL] = "gqa_prefill",
    [CALIB_SNAPSHOT_COPY] = "snapshot_copy",
    [CALIB_KV_GATHER] = "kv_gather",
    [CALIB_HOST_COPY] = "host_copy",
    [CALIB_GEMM] = "gemm",
    [CALIB_GEMM_FP8] = "gemm_fp8",
};

/* Which points a law is about. Short ones follow the launch floor and other regimes. */
static bool takes_all(const struct calib_shape *one)
{
    return !one->variant;
}

static bool takes_chain(const struct calib_shape *one)
{
    return !one->variant && one->tokens >= 256;
}

static bool takes_narrow(const struct calib_shape *one)
{
    return one->heads <= 64 && one->context >= 4096;
}

static bool takes_wide(const struct calib_shape *one)
{
    return one->heads > 64 && one->context >= 4096;
}

static bool takes_long_context(const struct calib_shape *one)
{
    return one->context >= 4096;
}

static bool takes_long_prefill(const struct calib_shape *one)
{
    return one->tokens >= 1024;
}

static bool takes_long_pages(const struct calib_shape *one)
{
    return one->page_tokens >= 64;
}

static bool takes_to_device(const struct calib_shape *one)
{
    return !one->to_host && !one->batched;
}

static bool takes_to_host(const struct calib_shape *one)
{
    return one->to_host && !one->batched;
}

/* Where states and windows are pieces of their own, they stand on both sides of the cliff. */
static bool takes_to_device_batched(const struct calib_shape *one)
{
    return !one->to_host && one->batched && one->layer_parts != 2;
}

static bool takes_to_host_batched(const struct calib_shape *one)
{
    return one->to_host && one->batched && one->layer_parts != 2;
}

static bool takes_large_gemm(const struct calib_shape *one)
{
    return one->m >= 1024;
}

static bool takes_small_gemm(const struct calib_shape *one)
{
    return one->m <= 128;
}

static void factors_bytes(enum calib_kernel kernel, const struct calib_shape *shape,
                          uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)sm_count;
    factor[0] = 1;
    factor[1] = calib_shape_bytes(kernel, shape);
}

static void factors_flops(enum calib_kernel kernel, const struct calib_shape *shape,
                          uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)sm_count;
    factor[0] = 1;
    factor[1] = calib_shape_flops(kernel, shape);
}

/* A serial chain per sequence and head, in waves over the SMs, and a token-parallel part. */
static void factors_chains(enum calib_kernel kernel, const struct calib_shape *shape,
                           uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)kernel;
    uint64_t chains = calib_shape_chains(shape);
    double tokens = (double)shape->tokens;
    factor[0] = 1;
    factor[1] = (double)chains;
    factor[2] = tokens * (double)((chains + sm_count - 1) / sm_count);
    factor[3] = tokens * (double)chains;
}

/* The pipeline of many kernels: it never waits for a wave of chains. */
static void factors_pipeline(enum calib_kernel kernel, const struct calib_shape *shape,
                             uint64_t sm_count, double factor[CALIB_TERMS])
{
    factors_chains(kernel, shape, sm_count, factor);
    factor[2] = (double)shape->tokens;
}

/* What a prefill's snapshots hold, without the convolution's window. */
static double snapshot_bytes(const struct calib_shape *shape)
{
    uint64_t kept = shape->interval > 0 ? shape->tokens / shape->interval : 0;
    double bytes = (double)shape->sequences * (double)kept * (double)calib_shape_state_bytes(shape);
    return shape->snapshot_bf16 ? bytes / 2 : bytes;
}

static void factors_emit(enum calib_kernel kernel, const struct calib_shape *shape,
                         uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)kernel;
    (void)sm_count;
    factor[0] = snapshot_bytes(shape);
}

static void factors_conv(enum calib_kernel kernel, const struct calib_shape *shape,
                         uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)kernel;
    (void)sm_count;
    factor[0] = 1;
    factor[1] = (double)shape->sequences * (double)shape->tokens *
                (double)calib_shape_channels(shape) / CONV_CHAIN;
}

static void factors_mla_decode(enum calib_kernel kernel, const struct calib_shape *shape,
                               uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)kernel;
    (void)sm_count;
    double all = (double)shape->context + (double)(shape->tokens > 1 ? shape->tokens : 0);
    factor[0] = 1;
    factor[1] = (double)shape->sequences;
    factor[2] = (double)shape->sequences * all * ((double)shape->kv_token_bytes / MLA_TOKEN);
}

/* The same kernel where its arithmetic is what takes the time. */
static void factors_mla_wide(enum calib_kernel kernel, const struct calib_shape *shape,
                             uint64_t sm_count, double factor[CALIB_TERMS])
{
    factors_mla_decode(kernel, shape, sm_count, factor);
    factor[2] = calib_shape_flops(kernel, shape) / (2 * MLA_PAIR * MLA_WIDE_HEADS);
}

static void factors_attention(enum calib_kernel kernel, const struct calib_shape *shape,
                              uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)sm_count;
    factor[0] = 1;
    factor[1] = (double)shape->heads;
    factor[2] = calib_shape_flops(kernel, shape);
}

static void factors_gqa_decode(enum calib_kernel kernel, const struct calib_shape *shape,
                               uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)sm_count;
    factor[0] = 1;
    factor[1] = (double)shape->sequences;
    factor[2] = calib_shape_bytes(kernel, shape);
}

static void factors_pieces(enum calib_kernel kernel, const struct calib_shape *shape,
                           uint64_t sm_count, double factor[CALIB_TERMS])
{
    (void)kernel;
    (void)sm_count;
    factor[HOST_PER_PIECE] = (double)calib_shape_pieces(shape);
    factor[HOST_RATE] = (double)shape->payload_bytes;
}

#define CHAIN_FORM "t0 + per_chain * C + L * (per_token_wave * ceil(C / SMs) + per_token_chain * C)"
#define BYTE_FORM "t0 + bytes read and written / rate"
#define HOST_FORM "per_piece * pieces + bytes / rate; pieces below small_below: bytes / small_rate"
#define T0                                                                                         \
    {                                                                                              \
        "t0", "us", 0, false                                                                       \
    }
#define PER(name_)                                                                                 \
    {                                                                                              \
        name_, "us", 0, false                                                                      \
    }
#define RATE                                                                                       \
    {                                                                                              \
        "rate", "TB/s", 1e-6, false                                                                \
    }
#define PEAK                                                                                       \
    {                                                                                              \
        "peak", "TFLOPS", 1e-6, false                                                              \
    }
#define CHAIN_TERMS                                                                                \
    {                                                                                              \
        T0, PER("per_chain"), PER("per_token_wave"), PER("per_token_chain")                        \
    }
#define HOST_TERMS                                                                                 \
    {                                                                                              \
        PER("per_piece"), {"rate", "GB/s", 1e-3, false}, {"small_rate", "GB/s", 1e-3, true},       \
        {                                                                                          \
            "small_below", "B", 0, true                                                            \
        }                                                                                          \
    }
#define MLA_TERMS                                                                                  \
    {                                                                                              \
        T0, PER("per_sequence"), PER("per_kv_token")                                               \
    }

/* clang-format off */
static const struct calib_law_facts laws[CALIB_LAWS] = {
    [LAW_LAUNCH_STREAM] = {"launch_stream", "t0", CALIB_LAUNCH_STREAM, false, takes_all,
                           factors_bytes, {T0}},
    [LAW_LAUNCH_GRAPH] = {"launch_graph", "t0", CALIB_LAUNCH_GRAPH, false, takes_all,
                          factors_bytes, {T0}},
    [LAW_HBM_COPY] = {"hbm_copy", BYTE_FORM, CALIB_HBM_COPY, false, takes_all, factors_bytes,
                      {T0, RATE}},
    [LAW_HBM_READ] = {"hbm_read", "t0 + bytes / rate", CALIB_HBM_READ, false, takes_all,
                      factors_bytes, {T0, RATE}},
    [LAW_KDA_PREFILL] = {"kda_prefill", CHAIN_FORM, CALIB_KDA_PREFILL, false, takes_chain,
                         factors_chains, CHAIN_TERMS},
    [LAW_KDA_PREFILL_FLA] = {"kda_prefill_fla",
                             "t0 + per_chain * C + L * (per_token + per_token_chain * C)",
                             CALIB_KDA_PREFILL_FLA, false, takes_chain, factors_pipeline,
                             {T0, PER("per_chain"), PER("per_token"), PER("per_token_chain")}},
    [LAW_GDN_PREFILL] = {"gdn_prefill", CHAIN_FORM, CALIB_GDN_PREFILL, false, takes_chain,
                         factors_chains, CHAIN_TERMS},
    [LAW_MAMBA_PREFILL] = {"mamba_prefill", CHAIN_FORM, CALIB_MAMBA_PREFILL, false, takes_chain,
                           factors_chains, CHAIN_TERMS},
    [LAW_SNAPSHOT_EMIT] = {"snapshot_emit", "snapshot bytes / rate, on top of the prefill",
                           CALIB_SNAPSHOT_EMIT, false, takes_all, factors_emit, {RATE}},
    [LAW_KDA_DECODE] = {"kda_decode", BYTE_FORM, CALIB_KDA_DECODE, false, takes_all,
                        factors_bytes, {T0, RATE}},
    [LAW_KDA_DECODE_FUSED] = {"kda_decode_fused", BYTE_FORM "; convolution and norm included",
                              CALIB_KDA_DECODE_FUSED, false, takes_all, factors_bytes,
                              {T0, RATE}},
    [LAW_GDN_DECODE] = {"gdn_decode", BYTE_FORM, CALIB_GDN_DECODE, false, takes_all,
                        factors_bytes, {T0, RATE}},
    [LAW_MAMBA_DECODE] = {"mamba_decode", BYTE_FORM, CALIB_MAMBA_DECODE, false, takes_all,
                          factors_bytes, {T0, RATE}},
    [LAW_CONV_PREFILL] = {"conv_prefill", "t0 + per_token_chain * tokens * channels / 384",
                          CALIB_CONV_PREFILL, false, takes_all, factors_conv,
                          {T0, PER("per_token_chain")}},
    [LAW_CONV_DECODE] = {"conv_decode", "t0 + per_token_chain * sequences * channels / 384",
                         CALIB_CONV_UPDATE, false, takes_all, factors_conv,
                         {T0, PER("per_token_chain")}},
    [LAW_MLA_DECODE] = {"mla_decode",
                        "t0 + per_sequence * B + per_kv_token * sum of contexts; up to 64 heads",
                        CALIB_MLA_DECODE, false, takes_narrow, factors_mla_decode, MLA_TERMS},
    [LAW_MLA_DECODE_WIDE] = {"mla_decode_wide",
                             "t0 + per_sequence * B + per_kv_token * sum of contexts * H / 96",
                             CALIB_MLA_DECODE, false, takes_wide, factors_mla_wide, MLA_TERMS},
    [LAW_MLA_PREFILL] = {"mla_prefill", "t0 + per_head * H + flops / peak", CALIB_MLA_PREFILL,
                         false, takes_long_prefill, factors_attention,
                         {T0, PER("per_head"), PEAK}},
    [LAW_GQA_DECODE] = {"gqa_decode", "t0 + per_sequence * B + bytes / rate", CALIB_GQA_DECODE,
                        false, takes_long_context, factors_gqa_decode,
                        {T0, PER("per_sequence"), RATE}},
    [LAW_GQA_PREFILL] = {"gqa_prefill", "t0 + per_head * H + flops / peak", CALIB_GQA_PREFILL,
                         false, takes_long_prefill, factors_attention,
                         {T0, PER("per_head"), PEAK}},
    [LAW_SNAPSHOT_COPY] = {"snapshot_copy", BYTE_FORM, CALIB_SNAPSHOT_COPY, false, takes_all,
                           factors_bytes, {T0, RATE}},
    [LAW_KV_GATHER] = {"kv_gather", BYTE_FORM "; pages of 64 tokens and more", CALIB_KV_GATHER,
                       false, takes_long_pages, factors_bytes, {T0, RATE}},
    [LAW_HOST_TO_DEVICE] = {"host_to_device", HOST_FORM, CALIB_HOST_COPY, true, takes_to_device,
                            factors_pieces, HOST_TERMS},
    [LAW_DEVICE_TO_HOST] = {"device_to_host", HOST_FORM, CALIB_HOST_COPY, true, takes_to_host,
                            factors_pieces, HOST_TERMS},
    [LAW_HOST_TO_DEVICE_BATCHED] = {"host_to_device_batched", HOST_FORM, CALIB_HOST_COPY, true,
                                    takes_to_device_batched, factors_pieces, HOST_TERMS},
    [LAW_DEVICE_TO_HOST_BATCHED] = {"device_to_host_batched", HOST_FORM, CALIB_HOST_COPY, true,
                                    takes_to_host_batched, factors_pieces, HOST_TERMS},
    [LAW_GEMM_BF16_LARGE] = {"gemm_bf16_large", "t0 + flops / peak; 1024 rows and more",
                             CALIB_GEMM, false, takes_large_gemm, factors_flops, {T0, PEAK}},
    [LAW_GEMM_BF16_SMALL] = {"gemm_bf16_small", "t0 + bytes / rate; up to 128 rows", CALIB_GEMM,
                             false, takes_small_gemm, factors_bytes, {T0, RATE}},
    [LAW_GEMM_FP8_LARGE] = {"gemm_fp8_large", "t0 + flops / peak; 1024 rows and more",
                            CALIB_GEMM_FP8, false, takes_large_gemm, factors_flops, {T0, PEAK}},
};
/* clang-format on */

const char *calib_kernel_name(enum calib_kernel kernel)
{
    assert((unsigned)kernel < CALIB_KERNELS);
    return kernels[kernel];
}

const struct calib_law_facts *calib_law_facts(enum calib_law_id law)
{
    assert((unsigned)law < CALIB_LAWS);
    return &laws[law];
}

size_t calib_law_terms(enum calib_law_id law)
{
    size_t count = 0;
    while (count < CALIB_TERMS && laws[law].term[count].name != NULL)
        count++;
    return count;
}

static bool is_mla(enum calib_kernel kernel)
{
    return kernel == CALIB_MLA_DECODE || kernel == CALIB_MLA_PREFILL;
}

/* Kimi's and Qwen's heads are 128 x 128; an expanded MLA key has 64 more values. */
struct calib_shape calib_shape_of(enum calib_kernel kernel)
{
    return (struct calib_shape){
        .model = "-",
        .key_dim = is_mla(kernel) ? 192 : 128,
        .value_dim = 128,
        .state_element_bytes = 4,
        .latent_dim = is_mla(kernel) ? 512 : 0,
        .rope_dim = is_mla(kernel) ? 64 : 0,
        .kv_token_bytes = is_mla(kernel) ? 1152 : 0,
    };
}

/* Matrices of another size than 128 x 128 count by their elements (inferred). */
uint64_t calib_shape_chains(const struct calib_shape *shape)
{
    uint64_t elements = shape->heads * shape->sequences * shape->key_dim * shape->value_dim;
    return (elements + (uint64_t)MATRIX - 1) / (uint64_t)MATRIX;
}

uint64_t calib_shape_channels(const struct calib_shape *shape)
{
    return shape->channels > 0
               ? shape->channels
               : 2 * shape->key_heads * shape->key_dim + shape->heads * shape->value_dim;
}

uint64_t calib_shape_state_bytes(const struct calib_shape *shape)
{
    return shape->heads * shape->key_dim * shape->value_dim * shape->state_element_bytes;
}

uint64_t calib_shape_window_bytes(const struct calib_shape *shape)
{
    return WINDOW_ROWS * calib_shape_channels(shape) * 2;
}

uint64_t calib_shape_pieces(const struct calib_shape *shape)
{
    if (shape->layer_parts > 0)
        return shape->layers * shape->layer_parts;
    if (shape->piece_bytes == 0)
        return 1;
    return (shape->payload_bytes + shape->piece_bytes - 1) / shape->piece_bytes;
}

double calib_shape_pairs(const struct calib_shape *shape)
{
    return (double)shape->sequences *
           flops_window_pairs(shape->tokens, shape->context, shape->window);
}

static bool is_kda(enum calib_kernel kernel)
{
    return kernel == CALIB_KDA_PREFILL || kernel == CALIB_KDA_PREFILL_FLA ||
           kernel == CALIB_SNAPSHOT_EMIT || kernel == CALIB_KDA_DECODE ||
           kernel == CALIB_KDA_DECODE_FUSED;
}

/* Inputs and outputs of a recurrent layer's tokens in bf16, the state read and written, and the
 * snapshots: no implementation moves less. */
static double recurrent_bytes(enum calib_kernel kernel, const struct calib_shape *shape)
{
    double rows = (double)shape->sequences * (double)shape->tokens, heads = (double)shape->heads;
    double gates = is_kda(kernel) ? (double)shape->key_dim : 1;
    double per_token = 2.0 * (2.0 * (double)shape->key_heads * (double)shape->key_dim +
                              heads * (2.0 * (double)shape->value_dim + gates + 1));
    double states = 2.0 * (double)shape->sequences * (double)calib_shape_state_bytes(shape);
    double kept = kernel == CALIB_SNAPSHOT_EMIT ? snapshot_bytes(shape) : 0;
    return rows * per_token + states + kept;
}

static double attention_bytes(enum calib_kernel kernel, const struct calib_shape *shape)
{
    double sequences = (double)shape->sequences, heads = (double)shape->heads;
    double tokens = (double)shape->tokens, context = (double)shape->context;
    double wide = (double)(shape->key_dim + shape->value_dim);
    double cache = (double)shape->kv_token_bytes * context;
    if (kernel == CALIB_MLA_DECODE) /* heads read the latent once, and exchange its width */
        return sequences *
               (cache + 2.0 * heads * (double)(2 * shape->latent_dim + shape->rope_dim));
    if (kernel == CALIB_MLA_PREFILL)
        return 2.0 * sequences * heads * wide * (context + tokens + tokens);
    if (kernel == CALIB_GQA_PREFILL)
        return 2.0 * sequences * wide *
               ((double)shape->key_heads * (context + tokens) + heads * tokens);
    return sequences * (cache + 2.0 * heads * wide);
}

double calib_shape_bytes(enum calib_kernel kernel, const struct calib_shape *shape)
{
    double rows = (double)shape->sequences * (double)shape->tokens;
    double channels = (double)calib_shape_channels(shape);
    double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    switch (kernel) {
    case CALIB_HBM_COPY:
    case CALIB_SNAPSHOT_COPY:
    case CALIB_KV_GATHER:
        return 2.0 * (double)shape->payload_bytes;
    case CALIB_HBM_READ:
    case CALIB_HOST_COPY:
        return (double)shape->payload_bytes;
    case CALIB_KDA_PREFILL:
    case CALIB_KDA_PREFILL_FLA:
    case CALIB_SNAPSHOT_EMIT:
    case CALIB_GDN_PREFILL:
    case CALIB_MAMBA_PREFILL:
    case CALIB_KDA_DECODE:
    case CALIB_KDA_DECODE_FUSED:
    case CALIB_GDN_DECODE:
    case CALIB_MAMBA_DECODE:
        return recurrent_bytes(kernel, shape);
    case CALIB_CONV_PREFILL:
        return 4.0 * rows * channels;
    case CALIB_CONV_UPDATE:
        return rows * (4.0 * channels + 2.0 * (double)calib_shape_window_bytes(shape));
    case CALIB_MLA_DECODE:
    case CALIB_MLA_PREFILL:
    case CALIB_GQA_DECODE:
    case CALIB_GQA_PREFILL:
        return attention_bytes(kernel, shape);
    case CALIB_GEMM:
        return 2.0 * (m * k + n * k + m * n);
    case CALIB_GEMM_FP8:
        return m * k + n * k + 2.0 * m * n;
    case CALIB_LAUNCH_STREAM:
    case CALIB_LAUNCH_GRAPH:
        break;
    }
    return 0;
}

/* Chunk terms are left out: a kernel may choose its chunk, the products with the state it must do.
 * A decode that has no `tokens` looks at its whole context once. */
double calib_shape_flops(enum calib_kernel kernel, const struct calib_shape *shape)
{
    double heads = (double)shape->heads, sequences = (double)shape->sequences;
    double rows = sequences * (double)shape->tokens;
    double matrix = heads * (double)shape->key_dim * (double)shape->value_dim;
    double looks =
        shape->tokens > 1 ? calib_shape_pairs(shape) : sequences * (double)shape->context;
    switch (kernel) {
    case CALIB_KDA_PREFILL:
    case CALIB_KDA_PREFILL_FLA:
    case CALIB_SNAPSHOT_EMIT:
    case CALIB_GDN_PREFILL:
        return rows * 6.0 * matrix;
    case CALIB_MAMBA_PREFILL:
        return rows * 4.0 * matrix;
    case CALIB_KDA_DECODE:
    case CALIB_KDA_DECODE_FUSED:
    case CALIB_GDN_DECODE:
        return rows * 7.0 * matrix;
    case CALIB_MAMBA_DECODE:
        return rows * 5.0 * matrix;
    case CALIB_CONV_PREFILL:
    case CALIB_CONV_UPDATE:
        return rows * 8.0 * (double)calib_shape_channels(shape);
    case CALIB_MLA_DECODE: /* on the latent: keys 512 + 64 wide, values 512 */
        return 2.0 * heads * looks * (double)(2 * shape->latent_dim + shape->rope_dim);
    case CALIB_GQA_DECODE:
        return 2.0 * heads * looks * (double)(shape->key_dim + shape->value_dim);
    case CALIB_MLA_PREFILL:
    case CALIB_GQA_PREFILL:
        return 2.0 * heads * (double)(shape->key_dim + shape->value_dim) * calib_shape_pairs(shape);
    case CALIB_GEMM:
    case CALIB_GEMM_FP8:
        return 2.0 * (double)shape->m * (double)shape->n * (double)shape->k;
    case CALIB_LAUNCH_STREAM:
    case CALIB_LAUNCH_GRAPH:
    case CALIB_HBM_COPY:
    case CALIB_HBM_READ:
    case CALIB_SNAPSHOT_COPY:
    case CALIB_KV_GATHER:
    case CALIB_HOST_COPY:
        break;
    }
    return 0;
}
