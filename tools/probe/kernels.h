/* kernels.h - the kernels of the probe as C sees them.
 *
 * Each kernel has one struct of arguments and one function that launches it on a stream (a
 * cudaStream_t, NULL for the default one) and returns 0 or the number of a CUDA error. Pointers are
 * to device memory. Built by nvcc these run on a GPU, built by a C++ compiler in the host shim.
 *
 * Heads of the recurrent layers are 128 x 128, as in every model that the probe measures. A state
 * is fp32 [slot][head][value channel][key channel]: key channels are contiguous. */
#ifndef SNAPSIM_PROBE_KERNELS_H
#define SNAPSIM_PROBE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL_HEAD 128   /* key and value channels of a recurrent head */
#define KERNEL_TILE 16    /* tokens per chunk of the prefill */
#define KERNEL_WINDOW 3   /* inputs that the short convolution keeps */
#define KERNEL_LATENT 512 /* MLA: cached values that keys and values are expanded from */
#define KERNEL_CACHED 576 /* ... with the 64 that are part of every key */
#define KERNEL_KEY 192    /* MLA expanded: key channels of a head */
#define KERNEL_VALUE 128  /* ... and value channels */

struct bf16 {
    uint16_t bits;
};

enum kernel_gate { KERNEL_GATE_BOUNDED, KERNEL_GATE_SOFTPLUS };

/* 16 tokens of one sequence, aligned to multiples of 16 of the absolute position: the first and the
 * last tile of a sequence may be partly padding. */
struct kda_tile {
    int32_t sequence;
    int32_t token;              /* of row 0, in the packed inputs; below its sequence if padding */
    int32_t first_row, end_row; /* the rows that are tokens */
    int32_t snapshot;           /* row of `snapshots` that receives the state after it, or -1 */
    int32_t unused[3];
};

/* What the token-parallel half leaves for the serial half, for one tile and head. */
struct kda_prepared {
    struct bf16 key[KERNEL_TILE][KERNEL_HEAD];   /* k exp(G) */
    struct bf16 query[KERNEL_TILE][KERNEL_HEAD]; /* q exp(G) */
    struct bf16 rest[KERNEL_TILE][KERNEL_HEAD];  /* k exp(G_last - G) */
    float decay[KERNEL_HEAD];                    /* exp(G_last) */
    struct bf16 solve[KERNEL_TILE][KERNEL_TILE]; /* (I + L)^-1 diag(beta) */
    struct bf16 pair[KERNEL_TILE][KERNEL_TILE];  /* P */
};

struct kda_prefill {
    const struct bf16 *query, *key; /* [tokens][key_heads][128], after convolution and SiLU */
    const struct bf16 *value;       /* [tokens][heads][128] */
    const struct bf16 *raw_gate;    /* [tokens][heads][128]; [tokens][heads] if scalar */
    const struct bf16 *raw_beta;    /* [tokens][heads] */
    const float *a_log;             /* [heads] */
    const float *bias;              /* [heads][128]; [heads] if scalar */
    const struct kda_tile *tiles;   /* [tile_count], by sequence */
    const int32_t *tile_first;      /* [sequences + 1] */
    const int32_t *slot;            /* [sequences] */
    float *state;                   /* [slot][heads][128][128]: read unless fresh, then written */
    void *snapshots;                /* [row][heads][128][128], fp32 or bf16 */
    struct bf16 *output;            /* [tokens][heads][128] */
    struct kda_prepared *prepared;  /* [heads][tile_count] */
    uint32_t tile_count, sequences, heads, key_heads;
    uint32_t warps; /* of a block of the serial half, 16 value channels each: 1, 2, 4 or 8 */
    enum kernel_gate gate;
    bool scalar, fresh, snapshot_bf16;
    float lower_bound;
};

int kernel_kda_prepare(void *stream, const struct kda_prefill *arguments);
int kernel_kda_scan(void *stream, const struct kda_prefill *arguments);
int kernel_kda_prefill(void *stream, const struct kda_prefill *arguments); /* both */

/* One token for each of `batch` sequences; inputs as for the prefill, with token = sequence. */
struct kda_decode {
    const struct bf16 *query, *key, *value, *raw_gate, *raw_beta;
    const float *a_log, *bias;
    const int32_t *slot; /* [batch] */
    float *state;
    struct bf16 *output; /* [batch][heads][128] */
    uint32_t batch, heads, key_heads;
    enum kernel_gate gate;
    bool scalar;
    float lower_bound;
};

int kernel_kda_decode(void *stream, const struct kda_decode *arguments);

/* Up to 64 tokens of one sequence of the convolution. */
struct conv_run {
    int32_t sequence;
    int32_t token;  /* first one, in the packed inputs */
    int32_t count;  /* 1 .. 64 */
    int32_t behind; /* tokens of the sequence that come before it in the packed inputs */
};

/* A window to be kept: that of the position after `count` tokens of a sequence. */
struct conv_emit {
    int32_t sequence, count;
    int32_t row; /* of windows_out */
    int32_t unused;
};

struct conv_prefill {
    const struct bf16 *input;      /* [tokens][channels] */
    const float *weight;           /* [4][channels] */
    const struct bf16 *windows;    /* [sequence][3][channels], oldest first; zeros if fresh */
    const int32_t *sequence_token; /* [sequence]: its first token in the packed inputs */
    const struct conv_run *runs;
    const struct conv_emit *emits;
    struct bf16 *output;      /* [tokens][channels] */
    struct bf16 *windows_out; /* [row][3][channels], not the memory of windows */
    uint32_t run_count, emit_count, channels;
};

int kernel_conv_prefill(void *stream, const struct conv_prefill *arguments);

struct conv_update {
    const struct bf16 *input; /* [batch][channels] */
    const float *weight;      /* [4][channels] */
    const int32_t *slot;      /* [batch] */
    struct bf16 *windows;     /* [slot][3][channels], moved on by one token */
    struct bf16 *output;      /* [batch][channels] */
    uint32_t batch, channels;
};

int kernel_conv_update(void *stream, const struct conv_update *arguments);

struct mla_decode {
    const struct bf16 *query; /* [batch][heads][576], in the latent space */
    const struct bf16 *cache; /* [page][page_tokens][576] */
    const int32_t *pages;     /* [batch][pages_per_sequence] */
    const int32_t *context;   /* [batch]: tokens of each sequence, at least 1 */
    float *partial;           /* [batch][splits][heads][512], each split's own softmax */
    float *partial_weight;    /* [batch][splits][heads][2]: its maximum (base 2) and sum */
    struct bf16 *output;      /* [batch][heads][512] */
    uint32_t batch, heads, page_tokens, pages_per_sequence, splits;
    uint32_t split_tokens; /* a multiple of 64; splits * split_tokens covers every context */
    float scale;
};

int kernel_mla_decode(void *stream, const struct mla_decode *arguments);

struct mla_prefill {
    const struct bf16 *query; /* [tokens][heads][192] */
    const struct bf16 *key;   /* [prefix + tokens][heads][192] */
    const struct bf16 *value; /* [prefix + tokens][heads][128] */
    struct bf16 *output;      /* [tokens][heads][128] */
    uint32_t tokens, prefix, heads;
    float scale;
};

int kernel_mla_prefill(void *stream, const struct mla_prefill *arguments);

/* Pieces of up to 16 KiB are copied by one block each, whatever the layer. All sizes and addresses
 * are multiples of 16 bytes. */
struct copy_part {
    const void *from;
    void *to;
    uint64_t bytes;
};

/* A snapshot: all layers' recurrent states and convolution windows in one launch. */
struct snapshot_copy {
    const struct copy_part *parts; /* device memory */
    uint32_t part_count;
    uint64_t largest_bytes; /* of any part */
};

int kernel_snapshot_copy(void *stream, const struct snapshot_copy *arguments);

/* KV pages by number: page i of `to` is page index[i] of `from`. */
struct page_gather {
    const void *from;
    void *to;
    const int32_t *index;
    uint32_t page_count;
    uint64_t page_bytes; /* a multiple of 16 */
};

int kernel_page_gather(void *stream, const struct page_gather *arguments);

struct plain_copy {
    const void *from;
    void *to;
    uint64_t bytes; /* a multiple of 16 */
    uint32_t blocks;
};

int kernel_plain_copy(void *stream, const struct plain_copy *arguments);

/* Adds up all words and leaves the sum of sums in to[0], modulo 2^32; to is zero before. */
struct plain_read {
    const void *from;
    uint32_t *to;
    uint64_t bytes;
    uint32_t blocks;
};

int kernel_plain_read(void *stream, const struct plain_read *arguments);

/* bf16 or fp32 values uniform in [low, high), by position and seed; exact in both builds. */
struct random_fill {
    void *to;
    uint64_t count;
    float low, high;
    uint32_t seed;
    bool single; /* fp32 */
};

int kernel_random_fill(void *stream, const struct random_fill *arguments);

/* Nothing at all, for the cost of a launch. */
int kernel_empty(void *stream);

#ifdef __cplusplus
}
#endif

#endif
