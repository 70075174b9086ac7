/* model.h - what a model keeps in memory per token and per request.
 *
 * A model is plain data: groups of equal layers, each of a kind (kind.h). All bytes follow from it
 * by formula, never from a typed number, and all are per GPU:
 *
 *     recurrent layer   matrix [heads][rows][columns]   divided by tp
 *                       convolution window              divided by tp
 *     sliding window    its last tokens' keys, values   as GQA; not by dcp
 *     MLA layer         one latent per token            copied, unless dcp shards tokens
 *     GQA layer         keys and values per kv head     divided by tp down to one head, then copied
 *
 * Pipeline parallelism cuts the layers into pp runs, as even as possible, longer ones first. Every
 * size is that of the stage that has the most of it, because that stage is the first to be full.
 * Which layers a stage has follows from attention_at; a model that does not tell has its groups
 * spread evenly, so that a stage has at most 1/pp of each, rounded up.
 *
 * A value of less than a byte is stored in blocks (struct block): q8_0 is 32 values and a scale in
 * 34 bytes, int4 two values in one. A head's key is a vector of its own, and so is its value; each
 * is rounded up to whole blocks. int4 counts no scales.
 *
 * Formulas and their sources: shared facts, models-and-kernels.md 1.2, 2 and 2.1. A struct model
 * owns nothing and may be copied. What can fail is said per function: a sharding that does not
 * divide, or a file. */
#ifndef SNAPSIM_MODEL_H
#define SNAPSIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/core/json.h"
#include "sim/core/param.h"
#include "sim/core/sha256.h"

enum layer_role { ROLE_RECURRENT, ROLE_ATTENTION, ROLE_FEED_FORWARD };

struct layer_kind; /* kind.h */

/* Layers of one shape. Which fields have a meaning depends on the kind. A layer that mixes and then
 * feeds forward is counted in two groups, one for each part. */
struct layer_group {
    const struct layer_kind *kind;
    bool output_gate; /* a gate of the width of the heads' output, before the last projection */
    bool gated;       /* feed-forward with a gate: three matrices instead of two */
    uint64_t count;
    uint64_t heads;     /* of the recurrent matrix, or of queries */
    uint64_t key_heads; /* GDN: query and key heads, shared by groups of value heads */
    uint64_t kv_heads;
    uint64_t head_dim, key_dim, value_dim, nope_dim, rope_dim;
    uint64_t window; /* tokens */
    uint64_t state_dim, inner_dim, groups, conv_kernel;
    uint64_t decay_lora, gate_lora, dt_rank, q_lora, kv_lora; /* ranks; 0 is "full rank" */
    uint64_t index_bytes; /* what a sparse-attention indexer caches per token and layer */
    uint64_t experts, experts_per_token, expert_dim, latent_dim, shared_dim;
};

#define MODEL_GROUPS_MAX 12
#define MODEL_CHUNK_TOKENS 64 /* of the KDA, GDN and Mamba2 kernels in use */

struct model {
    char name[64];
    char aliases[128]; /* more names, with spaces between them */
    char summary[128];
    char source[640];       /* where the geometry is from; [I] marks what no file says outright */
    char attention_at[128]; /* places of the attention layers among all that are recurrent or
                               attention, from 1, as "4-92/4,93": every fourth, and the last.
                               Empty: spread evenly. For models with one group of each role. */
    uint64_t hidden_dim, vocab;
    bool tied_embedding;  /* the output head is the input embedding */
    unsigned state_dtype; /* a STATE_DTYPE, never _MODEL: what servers keep unless told otherwise */
    uint64_t snapshot_grain; /* tokens: states within a prompt exist at its multiples, because the
                                kernels compute in chunks of as many; 0: MODEL_CHUNK_TOKENS */
    size_t group_count;
    struct layer_group groups[MODEL_GROUPS_MAX];
};

/* Values that are stored together, and the bytes that they take. */
struct block {
    uint64_t values, bytes;
};

enum kv_dtype {
    KV_DTYPE_BF16,
    KV_DTYPE_FP8,
    KV_DTYPE_FP8_SCALED, /* FlashMLA's layout, see model.c */
    KV_DTYPE_INT4,
    KV_DTYPE_Q8_0, /* llama.cpp's types: a block of 32 values shares an fp16 scale */
    KV_DTYPE_Q4_0
};
enum state_dtype { STATE_DTYPE_MODEL, STATE_DTYPE_FP32, STATE_DTYPE_BF16 };
enum conv_dtype { CONV_DTYPE_BF16, CONV_DTYPE_FP32 };
enum snapshot_dtype {
    SNAPSHOT_DTYPE_STATE, /* the same as the live state */
    SNAPSHOT_DTYPE_FP32,
    SNAPSHOT_DTYPE_BF16,
    SNAPSHOT_DTYPE_INT8 /* one byte per element and one fp32 scale per row of the matrix */
};

/* How a group of GPUs shares one model. Choices are unsigned, for the table below. */
struct sharding {
    uint64_t tp, dcp; /* dcp divides tp: decode context parallelism shards tokens over copies */
    uint64_t pp;      /* stages that layers are divided into, each of tp GPUs */
    unsigned kv_dtype, state_dtype, conv_dtype, snapshot_dtype;
};
extern const struct param sharding_params[];

/* Checks what ranges cannot: heads that must divide, experts, names. err says which group. */
int model_check(const struct model *model, struct err *err) MUST_CHECK;

/* Tokens between states that the kernels give within a step of prefill. */
uint64_t model_chunk_tokens(const struct model *model);

uint64_t model_layer_count(const struct model *model, enum layer_role role);

/* How many layers of a group the stage has that has the most of them. */
uint64_t model_stage_layers(const struct model *model, const struct layer_group *group,
                            uint64_t pp);

/* How many bytes count vectors of so many values take. */
uint64_t model_vector_bytes(struct block block, uint64_t count, uint64_t values);
struct block model_kv_block(unsigned kv_dtype);

/* Bytes of one layer of a group on one GPU; zero where the role does not apply. */
struct layer_sizes {
    uint64_t matrix_bytes;          /* live recurrent matrix */
    uint64_t snapshot_matrix_bytes; /* the matrix in a kept copy; a window is kept as it is */
    uint64_t channels;              /* of the convolution */
    uint64_t window_rows;           /* last inputs, or tokens, that a state holds */
    uint64_t window_row_bytes;      /* one of them */
    uint64_t window_bytes;          /* all of them */
    uint64_t kv_entry_bytes;        /* keys and values of one token, on a GPU that holds it */
    uint64_t kv_bytes;              /* per token, averaged over the dcp GPUs that share tokens */
};
int model_layer_sizes(const struct model *model, const struct layer_group *group,
                      const struct sharding *sharding, struct layer_sizes *out,
                      struct err *err) MUST_CHECK;

/* Bytes of a whole model on one GPU: of the stage that has the most, with pp. Where layers differ,
 * "per layer" is the largest. */
struct model_sizes {
    uint64_t recurrent_layers, attention_layers; /* of such a stage */
    uint64_t kv_bytes_per_token, kv_bytes_per_token_per_layer;
    uint64_t kv_entry_bytes_per_layer; /* one token in one layer, before dcp divides tokens */
    uint64_t state_bytes, state_bytes_per_layer;
    uint64_t snapshot_bytes, snapshot_bytes_per_layer;
    uint64_t conv_row_bytes_per_layer; /* what one more token in the convolution window takes */
    uint64_t dcp;
};

/* Fails if heads do not divide by tp, if dcp asks for more copies than there are, if there are more
 * stages than layers, or if the KV type does not fit the attention kind. */
int model_sizes(const struct model *model, const struct sharding *sharding, struct model_sizes *out,
                struct err *err) MUST_CHECK;

/* How many tokens of KV weigh as much as one snapshot, rounded to nearest; 0 without snapshots, or
 * without KV. */
uint64_t model_break_even_tokens(const struct model_sizes *sizes);

/* Tokens per page so that a page of KV of one layer holds the state of one layer (vLLM's rule):
 *     dcp * align * ceil(state / (align * kv_entry))
 * align is the kernel's granularity in tokens, over 0. vLLM's mode `all` is the same rule with the
 * least common multiple of align and the recurrent kernel's chunk. Without recurrent layers or
 * without KV it is dcp * align. */
uint64_t model_page_tokens(const struct model_sizes *sizes, uint64_t align);

/* The granularity of the usual attention kernels: 128 tokens with MLA layers, else 16. */
uint64_t model_default_align(const struct model *model);

/* Files (model_file.c). A file is what model_to_json() wrote, or an object that holds it under
 * "model" as `snapsim model show --format json` prints it, or a Hugging Face config.json of a
 * family that is known (model_config.h). Keys of the first two are strict; err is "file:line: ...".
 */
int model_read_file(struct model *out, const char *path, struct err *err) MUST_CHECK;
int model_read_json(struct model *out, const struct json_document *document,
                    const struct json *value, struct err *err) MUST_CHECK;
void model_to_json(const struct model *model, struct json *parent);

/* The SHA-256 of what decides numbers: the shape, not the texts. What is at its default counts as
 * not given, so that the digest of a model stays when a later version knows more about layers. */
void model_digest(const struct model *model, char hex[SHA256_TEXT]);

/* The model that --model names: a preset, or a file if there is a '/' or a ".json" in it. */
int model_load(struct model *out, const char *name_or_path, struct err *err) MUST_CHECK;

#endif
