/* flops.h - how much arithmetic a model does, from its geometry.
 *
 * Counts are for the whole model or layer, over all GPUs; one multiply-add is 2 FLOP. Heads divide
 * by tp, so one GPU does 1/tp of it. Sources: shared facts, models-and-kernels.md 3.1-3.3 (KDA,
 * MLA, MoE) and papers.md 1.2 (Marconi); what is inferred is said at the function. Weights are
 * those of matrices and short convolutions: norms, biases and per-head scalars are below 0.01%.
 *
 * Counts per token are whole numbers. Counts over many tokens are doubles, made with + and * only,
 * so they are the same everywhere. Nothing here fails. */
#ifndef SNAPSIM_FLOPS_H
#define SNAPSIM_FLOPS_H

#include <stdint.h>

#include "sim/model/model.h"

/* Weights of one layer of a group; for a mixture of experts with all experts, or with those that
 * one token goes to. */
uint64_t flops_layer_parameters(const struct model *model, const struct layer_group *group);
uint64_t flops_layer_active_parameters(const struct model *model, const struct layer_group *group);

/* Weights of the model, with embedding and output head; and those that one token uses, without the
 * input embedding (as vendors count "active"). */
uint64_t flops_parameters(const struct model *model);
uint64_t flops_active_parameters(const struct model *model);

/* All matrix products with weights of one layer, per token: twice the active weights. */
uint64_t flops_projection(const struct model *model, const struct layer_group *group);

/* What the recurrent part of one layer does per token of prefill, in chunks of chunk tokens (64 in
 * most kernels). KDA and GDN: heads * (6 dk dv + chunk (2 dk + dv) + chunk^2), Kimi Linear eq. 13.
 * Inferred for the kinds without a delta rule: Mamba2 and lightning need two of the three products
 * with the state, heads * (4 rows columns + chunk (rows + columns)); a Mamba1 scan is 9 per channel
 * and state. Marconi's layer: 16 D N + 10 D. 0 for other roles. */
uint64_t flops_recurrent_chunk(const struct model *model, const struct layer_group *group,
                               uint64_t chunk);

/* The same for one decoded token: 7 per element of the matrix (decay 1, read 2, update 2, output
 * 2); 5 without the delta rule's read (inferred). */
uint64_t flops_recurrent_decode(const struct model *model, const struct layer_group *group);

/* Scores and weighted values of one attention layer, per pair of a query and a context token. MLA
 * with expanded keys: 2 H (nope + rope + v); absorbed, on the latent: 2 H (2 kv_lora + rope). */
uint64_t flops_pair(const struct layer_group *group);
uint64_t flops_pair_absorbed(const struct layer_group *group); /* as flops_pair if not MLA */

/* MLA: expanding one cached token's latent to keys and values, in one layer. New tokens have it in
 * their projection; a cached prefix pays it again for every chunk. 0 for other kinds. */
uint64_t flops_expansion(const struct layer_group *group);

/* MLA: below this many new tokens the absorbed form is cheaper on a long prefix (171 for K3). 0 for
 * other kinds, UINT64_MAX where the absorbed form is always cheaper. */
uint64_t flops_absorbed_below(const struct layer_group *group);

/* Pairs that new_tokens after cached_tokens look at, causally: N P + N (N + 1) / 2. */
double flops_pairs(uint64_t new_tokens, uint64_t cached_tokens);

/* The same when each token looks at no more than the last `window` ones, itself included; 0 is no
 * window. */
double flops_window_pairs(uint64_t new_tokens, uint64_t cached_tokens, uint64_t window);

/* Per token and layer of a mixture of experts. */
struct flops_moe {
    uint64_t routed, shared, latent, router;
};
struct flops_moe flops_moe(const struct model *model, const struct layer_group *group);

/* Experts that tokens of one step are expected to touch, if evenly spread. */
double flops_experts_touched(const struct layer_group *group, uint64_t tokens);

/* The output head, per token for which logits are wanted. */
uint64_t flops_head(const struct model *model);

/* Per token, whatever its context: projections, recurrent chunks and feed-forward of all layers. */
uint64_t flops_token(const struct model *model, uint64_t chunk);

/* Attention of all layers for new_tokens after cached_tokens, each MLA group in its cheaper form,
 * expansion of the cached tokens included. */
double flops_attention(const struct model *model, uint64_t new_tokens, uint64_t cached_tokens);

/* A whole prefill: tokens, attention, and the head once. */
double flops_prefill(const struct model *model, uint64_t new_tokens, uint64_t cached_tokens,
                     uint64_t chunk);

/* The count by which the Marconi paper ranks what to evict, for a prefix of tokens: attention
 * 8 L D^2 + 4 L^2 D (not halved by causality), recurrent 12 L D^2 + 16 L D N + 10 L D, feed-forward
 * 16 L D^2; N is the number of columns of the matrix. */
double flops_marconi(const struct model *model, uint64_t tokens);

#endif
