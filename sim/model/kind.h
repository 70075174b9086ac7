/* kind.h - kinds of layers: what one keeps in memory, and what it computes.
 *
 * A kind is one row, struct layer_kind, with its functions beside it in a kind_*.c, and one line in
 * the list of kinds.c. Nothing else in the program asks which kind a layer is: sizes (model.h),
 * arithmetic (flops.h), files, output and costs (sim/cost/cost.h) all follow from the row. What a
 * row leaves out, its layers do not have: a kind without matrix() has no recurrent matrix.
 *
 *     role           keeps                                        kinds
 *     recurrent      a state of fixed size: a recurrent matrix,   kda gdn lightning mamba2 mamba1
 *                    and a window of the last inputs of its       marconi-ssm conv swa
 *                    convolution, or of the last keys and values
 *     attention      keys and values of every token               mla gqa
 *     feed-forward   nothing                                      dense moe
 *
 * Attention to a sliding window is recurrent in this sense. What it reads is overwritten as tokens
 * go by, so a request holds as many tokens as the window has, whatever its context; and a cached
 * prompt can be resumed only where the window's content was kept, just as with a recurrent state.
 * KV outside the window is not resident and has no size. The window is charged whole, also to a
 * request that is still shorter, because servers allocate it so. This is how llama.cpp keeps such
 * layers; a server that caches the window's pages of every position can resume at more places than
 * this model of it can. */
#ifndef SNAPSIM_KIND_H
#define SNAPSIM_KIND_H

#include "sim/core/text.h"
#include "sim/core/units.h"
#include "sim/model/model.h"

/* The kernels that do a layer's work beside products with weights; sim/cost has laws for each. */
enum layer_core {
    CORE_NONE,
    CORE_KDA,
    CORE_GDN,
    CORE_MAMBA, /* any recurrence without a delta rule */
    CORE_MLA,
    CORE_GQA,
    CORE_EXPERTS
};
#define LAYER_CORES 7

/* The recurrent matrix of one layer, over all GPUs: heads are what tp divides, a row is what an
 * int8 snapshot scales together. */
struct state_matrix {
    uint64_t heads, rows, columns;
};

/* Attention of one layer, over all GPUs: how wide a head's key and value are in the arithmetic, and
 * what is cached of a token. With a latent, one vector of first + second values for all heads; else
 * for each of kv_heads a key of first and a value of second values. */
struct attention_shape {
    uint64_t key, value;
    bool is_latent;
    uint64_t kv_heads, first, second;
    uint64_t extra_bytes; /* beside the vectors, in a type of its own */
};

/* A group of layers on one of tp GPUs. */
struct layer_view {
    const struct model *model;
    const struct layer_group *group;
    uint64_t tp;
};

struct layer_kind {
    const char *name; /* the word in files and output */
    enum layer_role role;
    enum layer_core core;
    const struct param *fields; /* of struct layer_group: JSON keys with ranges and help. An entry
                                   without a default must be given. Not for param_defaults(). */
    int (*check)(const struct model *model, const struct layer_group *group, struct err *err);

    /* Sizes. channels() is told the share of the matrix's heads, and writes its arithmetic to how,
     * unless that is NULL. */
    struct state_matrix (*matrix)(const struct model *model, const struct layer_group *group);
    int (*channels)(const struct layer_view *view, uint64_t heads, uint64_t *channels,
                    struct text *how, struct err *err);
    uint64_t window_rows; /* inputs of a convolution that are kept; 0: conv_kernel - 1 */
    struct attention_shape (*attention)(const struct layer_group *group);
    uint64_t page_tokens; /* granularity of the usual attention kernels */

    /* Work. parameters: weights when a token meets that many routed experts; copied_parameters: of
     * them, those that every GPU has whole, because all heads share what they make. */
    uint64_t (*parameters)(uint64_t hidden, const struct layer_group *group, uint64_t experts);
    uint64_t (*copied_parameters)(uint64_t hidden, const struct layer_group *group);
    uint64_t (*chunk_flops)(struct state_matrix matrix, uint64_t chunk); /* flops.h */
    uint64_t decode_flops;                                               /* per matrix element */
    bool keys_are_rows;                                     /* of the matrix; else its columns */
    uint64_t (*key_heads)(const struct layer_group *group); /* absent: as many as heads */
};

extern const struct layer_kind kind_kda, kind_gdn, kind_lightning; /* kind_delta.c */
extern const struct layer_kind kind_mamba2, kind_mamba1, kind_marconi_ssm;
extern const struct layer_kind kind_conv;
extern const struct layer_kind kind_mla, kind_gqa, kind_swa; /* kind_attention.c */
extern const struct layer_kind kind_dense, kind_moe;         /* kind_feed.c */

/* All of them; NULL ends the list. */
extern const struct layer_kind *const layer_kinds[];

/* What one of tp GPUs gets of count things: an equal part, or err says what does not divide. Things
 * that may be copied once there are fewer of them than GPUs: at least one. */
int kind_share(const struct layer_view *view, uint64_t count, const char *what, uint64_t *share,
               struct err *err) MUST_CHECK;
int kind_share_or_copy(const struct layer_view *view, uint64_t count, const char *what,
                       uint64_t *share, struct err *err) MUST_CHECK;

/* "96/8" - the same as text; "1" where it is a copy. */
const char *kind_share_text(uint64_t count, uint64_t tp, char out[UNITS_TEXT]);

/* Appends to how, if there is one. */
void kind_how(struct text *how, const char *format, ...) PRINTF_LIKE(2, 3);

#define LAYERS_MAX 1024 /* in a group */

#endif
