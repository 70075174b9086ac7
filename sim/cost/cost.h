/* cost.h - how long the parts of a model take on one GPU, by a calibration.
 *
 * A cost is opened for a calibration, a model and a sharding; opening checks that the laws are
 * there, so that no function below can fail. Every time is nanoseconds of one layer of a group, on
 * one GPU of the tensor-parallel group, unless it says otherwise. Sources are shared facts,
 * models-and-kernels.md, by section; [I] marks what was inferred there or here. Experts and
 * collectives are not costed yet.
 *
 * Formulas use + - * / only, so results are the same everywhere. */
#ifndef SNAPSIM_COST_H
#define SNAPSIM_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/cost/calib.h"
#include "sim/model/model.h"

enum cost_kda { COST_KDA_FLASH, COST_KDA_FLA }; /* which prefill kernels */

struct cost {
    const struct calibration *calib;
    const struct model *model;
    struct sharding sharding;
    enum cost_kda kda;
};

/* Equal sequences in one launch: each has tokens to compute after prefix cached ones. */
struct cost_work {
    uint64_t sequences, tokens, prefix;
};

/* How MLA attends: to keys and values expanded from the latent, or to the latent itself. */
enum cost_form { COST_EXPANDED, COST_ABSORBED };

/* All of these are borrowed. err: a law that the model needs is missing or lacks a term, or the
 * sharding does not fit the model. */
int cost_open(struct cost *out, const struct calibration *calib, const struct model *model,
              const struct sharding *sharding, enum cost_kda kda, struct err *err) MUST_CHECK;

/* The recurrent core without projections and convolution. KDA and GDN: 4.2, a serial chain per head
 * and sequence. Mamba, Mamba2, lightning: the law mamba_prefill, chains by elements of the state
 * [I]. 0 for other roles. */
uint64_t cost_recurrent_prefill(const struct cost *cost, const struct layer_group *group,
                                const struct cost_work *work);

/* One token of each sequence: 4.3, the state is read and written. KDA where the calibration has the
 * fused kernel: with its convolution and norm. */
uint64_t cost_recurrent_decode(const struct cost *cost, const struct layer_group *group,
                               uint64_t sequences);

/* The short convolution: 4.2, 4.3. 0 for layers without one; in a decode also for KDA layers whose
 * fused kernel has done it. */
uint64_t cost_conv_prefill(const struct cost *cost, const struct layer_group *group,
                           const struct cost_work *work);
uint64_t cost_conv_decode(const struct cost *cost, const struct layer_group *group,
                          uint64_t sequences);

/* MLA in one form: 3.2, 4.4. Expanded: attention, and keys and values of the cached prefix made
 * again (a GEMM; those of new tokens are in the projections). Absorbed: the decode kernel with all
 * new tokens as queries, at the slower of its bandwidth and its arithmetic. */
uint64_t cost_mla_prefill(const struct cost *cost, const struct layer_group *group,
                          const struct cost_work *work, enum cost_form form);

/* MLA in the cheaper form, or GQA (4.4). *form may be NULL. 0 for other roles. */
uint64_t cost_attention_prefill(const struct cost *cost, const struct layer_group *group,
                                const struct cost_work *work, enum cost_form *form);

/* One token of each sequence; context_tokens is the sum of all their contexts. With dcp a GPU has
 * its share of the tokens, for the heads of all. 4.2: 96 heads may be bound by arithmetic. */
uint64_t cost_attention_decode(const struct cost *cost, const struct layer_group *group,
                               uint64_t sequences, uint64_t context_tokens);

/* A bf16 matrix product of m tokens, n outputs, k inputs: the slower of weights (few tokens) and
 * arithmetic: 4.6, 8. */
uint64_t cost_gemm(const struct cost *cost, uint64_t m, uint64_t n, uint64_t k);

/* All matrices of a layer as one product (4.10): heads share them, but each GPU has the whole of
 * the low-rank down-projections. 0 for experts. */
uint64_t cost_projection(const struct cost *cost, const struct layer_group *group, uint64_t tokens);

/* Of all recurrent layers: what snapshots taken within a prefill add to it (5.5), and a copy of one
 * between a live state and a snapshot on the device, all layers in one launch (4.9). Both
 * directions move the same bytes. 0 for models without state. */
uint64_t cost_snapshot_emit(const struct cost *cost, uint64_t snapshots);
uint64_t cost_snapshot_copy(const struct cost *cost);
uint64_t cost_snapshot_restore(const struct cost *cost);

/* Between pinned host memory and the device, in pieces of that size (the last may be smaller):
 * 4.9, 8, by single calls or one batch, whichever is faster. Batched pieces below 28 KiB fall off a
 * cliff. */
uint64_t cost_host_copy(const struct cost *cost, uint64_t bytes, uint64_t piece_bytes,
                        bool to_host);

/* A snapshot to or from the host: a piece per layer, its window packed behind its matrix. */
uint64_t cost_snapshot_host(const struct cost *cost, bool to_host);

/* The KV of so many tokens to or from the host, and gathered on the device: all layers, in pieces
 * of a page of one layer. 0 for models without KV. */
uint64_t cost_kv_host(const struct cost *cost, uint64_t tokens, uint64_t page_tokens, bool to_host);
uint64_t cost_kv_gather(const struct cost *cost, uint64_t tokens, uint64_t page_tokens);

/* The law that a group's recurrent core, or its attention, is costed by; for output. */
enum calib_law_id cost_core_law(const struct cost *cost, const struct layer_group *group,
                                bool decode);

#endif
