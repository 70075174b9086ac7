/* calib_law.h - what a calibration can hold: kernels, their shapes, and the laws of their times.
 *
 * A law says how long one launch takes, as a sum of a few terms. Each term is a factor that follows
 * from the shape (bytes, chains, tokens) times a coefficient that a GPU decides:
 *
 *     microseconds = t0 * 1 + bytes / rate          a rate is kept as people know it, in TB/s
 *
 * The names of kernels, shapes, laws and terms are those of the file that tools/probe writes. The
 * laws and the sources of their forms: shared facts, models-and-kernels.md 4.2 to 4.4 and 8. Only
 * + - * / are used, so times are the same everywhere. Nothing here allocates or fails. */
#ifndef SNAPSIM_CALIB_LAW_H
#define SNAPSIM_CALIB_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum calib_kernel {
    CALIB_LAUNCH_STREAM,
    CALIB_LAUNCH_GRAPH,
    CALIB_HBM_COPY,
    CALIB_HBM_READ,
    CALIB_KDA_PREFILL,
    CALIB_KDA_PREFILL_FLA, /* the Triton kernels of flash-linear-attention */
    CALIB_SNAPSHOT_EMIT,   /* a KDA prefill that also writes snapshots */
    CALIB_GDN_PREFILL,
    CALIB_MAMBA_PREFILL, /* and other layers without a delta rule */
    CALIB_KDA_DECODE,
    CALIB_KDA_DECODE_FUSED, /* with convolution and norm in one kernel */
    CALIB_GDN_DECODE,
    CALIB_MAMBA_DECODE,
    CALIB_CONV_PREFILL,
    CALIB_CONV_UPDATE,
    CALIB_MLA_DECODE,  /* absorbed */
    CALIB_MLA_PREFILL, /* expanded, causal */
    CALIB_GQA_DECODE,
    CALIB_GQA_PREFILL,
    CALIB_SNAPSHOT_COPY,
    CALIB_KV_GATHER,
    CALIB_HOST_COPY,
    CALIB_GEMM,
    CALIB_GEMM_FP8
};
#define CALIB_KERNELS 24

/* One launch. What a kernel does not use is 0. The first part is what files hold; the second has
 * the sizes that the probe measures at (calib_shape_of), and a cost puts its model's there. */
struct calib_shape {
    const char *model;
    uint64_t tp, heads, key_heads; /* heads on this GPU; key_heads: GDN's, Mamba's groups, GQA's */
    uint64_t sequences, tokens;    /* of each sequence, new ones */
    uint64_t context;              /* tokens cached before them */
    uint64_t interval;             /* tokens between snapshots */
    uint64_t warps, page_tokens, layers;
    uint64_t payload_bytes; /* of a copy, one way */
    uint64_t piece_bytes;   /* of a host copy; 0: one piece, or pieces by layer */
    uint64_t layer_parts;   /* pieces per layer of a snapshot's host copy */
    uint64_t m, n, k;       /* GEMM: tokens, outputs, inputs */
    bool snapshot_bf16, to_host, batched;
    bool variant; /* a setting that is not the default one: no part of a law */

    uint64_t key_dim, value_dim;   /* of a head; rows and columns of the recurrent matrix */
    uint64_t state_element_bytes;  /* of the live recurrent matrix */
    uint64_t latent_dim, rope_dim; /* MLA: what a token caches */
    uint64_t kv_token_bytes;       /* what one token and layer keeps in the cache, on this GPU */
    uint64_t channels;             /* of the convolution; 0: those of queries, keys and values */
    uint64_t window;               /* last tokens that a token attends to; 0: all */
};

#define CALIB_TERMS 4

enum calib_law_id {
    LAW_LAUNCH_STREAM,
    LAW_LAUNCH_GRAPH,
    LAW_HBM_COPY,
    LAW_HBM_READ,
    LAW_KDA_PREFILL,
    LAW_KDA_PREFILL_FLA,
    LAW_GDN_PREFILL,
    LAW_MAMBA_PREFILL,
    LAW_SNAPSHOT_EMIT,
    LAW_KDA_DECODE,
    LAW_KDA_DECODE_FUSED,
    LAW_GDN_DECODE,
    LAW_MAMBA_DECODE,
    LAW_CONV_PREFILL,
    LAW_CONV_DECODE,
    LAW_MLA_DECODE,
    LAW_MLA_DECODE_WIDE,
    LAW_MLA_PREFILL,
    LAW_GQA_DECODE,
    LAW_GQA_PREFILL,
    LAW_SNAPSHOT_COPY,
    LAW_KV_GATHER,
    LAW_HOST_TO_DEVICE,
    LAW_DEVICE_TO_HOST,
    LAW_HOST_TO_DEVICE_BATCHED,
    LAW_DEVICE_TO_HOST_BATCHED,
    LAW_GEMM_BF16_LARGE,
    LAW_GEMM_BF16_SMALL,
    LAW_GEMM_FP8_LARGE
};
#define CALIB_LAWS 29

/* The places of the terms of a host copy, whose last two are a regime of its own: pieces of fewer
 * bytes than small_below go at small_rate, whatever the other terms say. */
enum { HOST_PER_PIECE, HOST_RATE, HOST_SMALL_RATE, HOST_SMALL_BELOW };

struct calib_term_facts {
    const char *name, *unit; /* name NULL ends the terms */
    double scale;            /* 0: microseconds per unit of the factor is the value; else it is
                                scale / value, and the factor is bytes or FLOP */
    bool optional;
};

struct calib_law_facts {
    const char *name, *form; /* form is for people */
    enum calib_kernel kernel;
    bool cliff;                                   /* a host copy, see above */
    bool (*takes)(const struct calib_shape *one); /* the points that it is about */
    void (*factors)(enum calib_kernel kernel, const struct calib_shape *shape, uint64_t sm_count,
                    double factor[CALIB_TERMS]);
    struct calib_term_facts term[CALIB_TERMS];
};

const char *calib_kernel_name(enum calib_kernel kernel);
const struct calib_law_facts *calib_law_facts(enum calib_law_id law);
size_t calib_law_terms(enum calib_law_id law);

/* An empty shape with the sizes of the second part as the probe has them. */
struct calib_shape calib_shape_of(enum calib_kernel kernel);

uint64_t calib_shape_chains(const struct calib_shape *shape); /* serial recurrences in the launch */
uint64_t calib_shape_channels(const struct calib_shape *shape);
uint64_t calib_shape_state_bytes(const struct calib_shape *shape);  /* recurrent, of one layer */
uint64_t calib_shape_window_bytes(const struct calib_shape *shape); /* convolution, of one layer */
uint64_t calib_shape_pieces(const struct calib_shape *shape);       /* of a host copy */
double calib_shape_pairs(const struct calib_shape *shape); /* of a query and a context token */

/* Least bytes that must cross the memory's pins (a host copy: the link), and least arithmetic. */
double calib_shape_bytes(enum calib_kernel kernel, const struct calib_shape *shape);
double calib_shape_flops(enum calib_kernel kernel, const struct calib_shape *shape);

#endif
