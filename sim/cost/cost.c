#include "sim/cost/cost.h"

#include <assert.h>
#include <stdio.h>

#include "sim/core/whole.h"
#include "sim/model/flops.h"
#include "sim/model/kind.h"

/* Nanoseconds, rounded to nearest; at most 104 days, so that sums over layers fit. */
static uint64_t ns_of(double us)
{
    return us < 9e12 ? (uint64_t)(us * 1000 + 0.5) : UINT64_C(9000000000000000);
}

static double law_us(const struct cost *cost, enum calib_law_id law,
                     const struct calib_shape *shape)
{
    return calib_law_us(cost->calib, law, shape);
}

static uint64_t law_ns(const struct cost *cost, enum calib_law_id law,
                       const struct calib_shape *shape)
{
    return ns_of(law_us(cost, law, shape));
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* The laws of each kind of work, as published kernels do it. */
static const struct {
    enum calib_law_id prefill, decode;
} core_laws[LAYER_CORES] = {
    [CORE_NONE] = {LAW_MAMBA_PREFILL, LAW_MAMBA_DECODE}, /* not used: there is no such work */
    [CORE_KDA] = {LAW_KDA_PREFILL, LAW_KDA_DECODE},
    [CORE_GDN] = {LAW_GDN_PREFILL, LAW_GDN_DECODE},
    [CORE_MAMBA] = {LAW_MAMBA_PREFILL, LAW_MAMBA_DECODE},
    [CORE_MLA] = {LAW_MLA_PREFILL, LAW_MLA_DECODE},
    [CORE_GQA] = {LAW_GQA_PREFILL, LAW_GQA_DECODE},
    [CORE_EXPERTS] = {LAW_MAMBA_PREFILL, LAW_MAMBA_DECODE}, /* not costed yet */
};

static bool is_fused(const struct cost *cost, const struct layer_group *group)
{
    return group->kind->core == CORE_KDA && calib_law_complete(cost->calib, LAW_KDA_DECODE_FUSED);
}

enum calib_law_id cost_core_law(const struct cost *cost, const struct layer_group *group,
                                bool decode)
{
    enum layer_core core = group->kind->core;
    if (decode && is_fused(cost, group))
        return LAW_KDA_DECODE_FUSED;
    if (!decode && core == CORE_KDA && cost->kda == COST_KDA_FLA)
        return LAW_KDA_PREFILL_FLA;
    return decode ? core_laws[core].decode : core_laws[core].prefill;
}

static int need(const struct cost *cost, enum calib_law_id law, const char *who, struct err *err)
{
    if (calib_law_complete(cost->calib, law))
        return 0;
    return err_set(err, "calibration '%.100s' has no law %s, which %s need", cost->calib->name,
                   calib_law_facts(law)->name, who);
}

static struct layer_sizes sizes_of(const struct cost *cost, const struct layer_group *group)
{
    struct layer_sizes sizes;
    struct err err;
    int failed = model_layer_sizes(cost->model, group, &cost->sharding, &sizes, &err);
    assert(!failed); /* cost_open() has tried */
    (void)failed;
    return sizes;
}

static int need_of_group(const struct cost *cost, const struct layer_group *group, struct err *err)
{
    char who[64];
    snprintf(who, sizeof who, "%s layers", group->kind->name);
    if (need(cost, LAW_GEMM_BF16_LARGE, who, err) != 0 ||
        need(cost, LAW_GEMM_BF16_SMALL, who, err) != 0)
        return -1;
    if (group->kind->role == ROLE_FEED_FORWARD)
        return 0;
    if (group->kind->core != CORE_NONE &&
        (need(cost, cost_core_law(cost, group, false), who, err) != 0 ||
         need(cost, cost_core_law(cost, group, true), who, err) != 0))
        return -1;
    if (group->kind->core == CORE_MLA && need(cost, LAW_MLA_DECODE_WIDE, who, err) != 0)
        return -1;
    if (sizes_of(cost, group).channels == 0)
        return 0;
    return need(cost, LAW_CONV_PREFILL, who, err) != 0 ||
                   (!is_fused(cost, group) && need(cost, LAW_CONV_DECODE, who, err) != 0)
               ? -1
               : 0;
}

int cost_open(struct cost *out, const struct calibration *calib, const struct model *model,
              const struct sharding *sharding, enum cost_kda kda, struct err *err)
{
    static const enum calib_law_id always[] = {LAW_SNAPSHOT_EMIT, LAW_SNAPSHOT_COPY, LAW_KV_GATHER,
                                               LAW_HOST_TO_DEVICE, LAW_DEVICE_TO_HOST};
    struct model_sizes sizes;
    *out = (struct cost){calib, model, *sharding, kda};
    if (model_sizes(model, sharding, &sizes, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (need(out, always[i], "snapshots and pages", err) != 0)
            return -1;
    for (size_t i = 0; i < model->group_count; i++)
        if (need_of_group(out, &model->groups[i], err) != 0)
            return -1;
    return 0;
}

/* A recurrent layer's heads on one GPU, in the words of the kernels: Mamba's B and C are what keys
 * and queries are, its channels are the values. */
static struct calib_shape recurrent_shape(const struct cost *cost, const struct layer_group *group,
                                          enum calib_law_id law, uint64_t sequences,
                                          uint64_t tokens)
{
    struct calib_shape shape = calib_shape_of(calib_law_facts(law)->kernel);
    const struct layer_kind *kind = group->kind;
    struct state_matrix matrix =
        kind->matrix ? kind->matrix(cost->model, group) : (struct state_matrix){0, 0, 0};
    struct layer_sizes sizes = sizes_of(cost, group);
    shape.heads = matrix.heads / cost->sharding.tp;
    shape.key_heads =
        kind->key_heads ? whole_ceil(kind->key_heads(group), cost->sharding.tp) : shape.heads;
    shape.key_dim = kind->keys_are_rows ? matrix.rows : matrix.columns;
    shape.value_dim = kind->keys_are_rows ? matrix.columns : matrix.rows;
    uint64_t elements = shape.heads * matrix.rows * matrix.columns;
    shape.state_element_bytes = elements > 0 ? sizes.matrix_bytes / elements : 4;
    shape.channels = sizes.channels;
    shape.sequences = sequences;
    shape.tokens = tokens;
    return shape;
}

uint64_t cost_recurrent_prefill(const struct cost *cost, const struct layer_group *group,
                                const struct cost_work *work)
{
    if (group->kind->matrix == NULL || work->tokens == 0)
        return 0;
    enum calib_law_id law = cost_core_law(cost, group, false);
    struct calib_shape shape = recurrent_shape(cost, group, law, work->sequences, work->tokens);
    return law_ns(cost, law, &shape);
}

uint64_t cost_recurrent_decode(const struct cost *cost, const struct layer_group *group,
                               uint64_t sequences)
{
    if (group->kind->matrix == NULL || sequences == 0)
        return 0;
    enum calib_law_id law = cost_core_law(cost, group, true);
    struct calib_shape shape = recurrent_shape(cost, group, law, sequences, 1);
    return law_ns(cost, law, &shape);
}

static uint64_t conv(const struct cost *cost, const struct layer_group *group,
                     enum calib_law_id law, uint64_t sequences, uint64_t tokens)
{
    if (group->kind->channels == NULL || sequences * tokens == 0)
        return 0;
    struct calib_shape shape = recurrent_shape(cost, group, law, sequences, tokens);
    return shape.channels > 0 ? law_ns(cost, law, &shape) : 0;
}

uint64_t cost_conv_prefill(const struct cost *cost, const struct layer_group *group,
                           const struct cost_work *work)
{
    return conv(cost, group, LAW_CONV_PREFILL, work->sequences, work->tokens);
}

uint64_t cost_conv_decode(const struct cost *cost, const struct layer_group *group,
                          uint64_t sequences)
{
    return is_fused(cost, group) ? 0 : conv(cost, group, LAW_CONV_DECODE, sequences, 1);
}

static struct calib_shape attention_shape(const struct cost *cost, const struct layer_group *group,
                                          enum calib_law_id law)
{
    struct calib_shape shape = calib_shape_of(calib_law_facts(law)->kernel);
    uint64_t tp = cost->sharding.tp;
    struct attention_shape attention = group->kind->attention(group);
    shape.heads = group->heads / tp;
    shape.key_dim = attention.key;
    shape.value_dim = attention.value;
    shape.window = group->window;
    if (attention.is_latent) {
        shape.key_heads = 0;
        shape.latent_dim = attention.first;
        shape.rope_dim = attention.second;
    } else {
        shape.key_heads = whole_larger(attention.kv_heads / tp, 1);
        shape.latent_dim = shape.rope_dim = 0;
    }
    shape.kv_token_bytes = sizes_of(cost, group).kv_entry_bytes;
    return shape;
}

/* The decode kernel waits for memory or for its arithmetic, whichever takes longer. Up to 64 heads
 * its fixed part is that of the law for so many, above it that of the other (4.2). */
static double absorbed_us(const struct cost *cost, const struct calib_shape *shape)
{
    struct calib_shape empty = *shape;
    empty.context = empty.tokens = 0;
    double moving = law_us(cost, LAW_MLA_DECODE, shape);
    double counting = law_us(cost, LAW_MLA_DECODE_WIDE, shape);
    uint64_t queries = shape->tokens > 1 ? shape->tokens : 1;
    if (shape->heads * queries <= 64)
        counting +=
            law_us(cost, LAW_MLA_DECODE, &empty) - law_us(cost, LAW_MLA_DECODE_WIDE, &empty);
    return later(moving, counting);
}

uint64_t cost_mla_prefill(const struct cost *cost, const struct layer_group *group,
                          const struct cost_work *work, enum cost_form form)
{
    enum calib_law_id law = form == COST_ABSORBED ? LAW_MLA_DECODE : LAW_MLA_PREFILL;
    struct calib_shape shape = attention_shape(cost, group, law);
    if (work->tokens == 0)
        return 0;
    shape.sequences = work->sequences;
    shape.tokens = work->tokens;
    shape.context = work->prefix;
    if (form == COST_ABSORBED)
        return ns_of(absorbed_us(cost, &shape));
    uint64_t again = 0;
    if (work->prefix > 0)
        again = cost_gemm(cost, work->sequences * work->prefix,
                          shape.heads * (shape.key_dim - shape.rope_dim + shape.value_dim),
                          shape.latent_dim);
    return law_ns(cost, law, &shape) + again;
}

uint64_t cost_attention_prefill(const struct cost *cost, const struct layer_group *group,
                                const struct cost_work *work, enum cost_form *form)
{
    enum cost_form cheaper = COST_EXPANDED;
    uint64_t ns = 0;
    if (group->kind->core == CORE_MLA) {
        uint64_t absorbed = cost_mla_prefill(cost, group, work, COST_ABSORBED);
        ns = cost_mla_prefill(cost, group, work, COST_EXPANDED);
        if (absorbed < ns) {
            cheaper = COST_ABSORBED;
            ns = absorbed;
        }
    } else if (group->kind->core == CORE_GQA && work->tokens > 0) {
        struct calib_shape shape = attention_shape(cost, group, LAW_GQA_PREFILL);
        shape.sequences = work->sequences;
        shape.tokens = work->tokens;
        shape.context = work->prefix;
        ns = law_ns(cost, LAW_GQA_PREFILL, &shape);
    }
    if (form)
        *form = cheaper;
    return ns;
}

/* The laws take equal contexts: the mean, rounded up to a token, for only the sum counts. */
uint64_t cost_attention_decode(const struct cost *cost, const struct layer_group *group,
                               uint64_t sequences, uint64_t context_tokens)
{
    if (group->kind->attention == NULL || sequences == 0)
        return 0;
    enum calib_law_id law = cost_core_law(cost, group, true);
    struct calib_shape shape = attention_shape(cost, group, law);
    uint64_t dcp = group->kind->role == ROLE_ATTENTION ? cost->sharding.dcp : 1;
    shape.heads *= dcp;
    shape.sequences = sequences;
    shape.context = whole_ceil(context_tokens, sequences * dcp);
    if (group->window > 0 && shape.context > group->window)
        shape.context = group->window;
    return law == LAW_MLA_DECODE ? ns_of(absorbed_us(cost, &shape)) : law_ns(cost, law, &shape);
}

uint64_t cost_gemm(const struct cost *cost, uint64_t m, uint64_t n, uint64_t k)
{
    struct calib_shape shape = calib_shape_of(CALIB_GEMM);
    shape.m = m;
    shape.n = n;
    shape.k = k;
    return ns_of(later(law_us(cost, LAW_GEMM_BF16_SMALL, &shape),
                       law_us(cost, LAW_GEMM_BF16_LARGE, &shape)));
}

/* Weights that every GPU has whole, because all heads share what they make: down-projections. */
static uint64_t copied_weights(const struct cost *cost, const struct layer_group *group)
{
    uint64_t hidden = cost->model->hidden_dim;
    return group->kind->copied_parameters ? group->kind->copied_parameters(hidden, group) : 0;
}

uint64_t cost_projection(const struct cost *cost, const struct layer_group *group, uint64_t tokens)
{
    if (group->kind->core == CORE_EXPERTS || tokens == 0)
        return 0;
    uint64_t hidden = cost->model->hidden_dim, copied = copied_weights(cost, group);
    uint64_t shared = flops_layer_parameters(cost->model, group) - copied;
    return cost_gemm(cost, tokens, (shared / cost->sharding.tp + copied) / hidden, hidden);
}

/* Sums of what all recurrent layers keep on one GPU. */
static struct model_sizes totals(const struct cost *cost)
{
    struct model_sizes sizes;
    struct err err;
    int failed = model_sizes(cost->model, &cost->sharding, &sizes, &err);
    assert(!failed); /* cost_open() has tried */
    (void)failed;
    return sizes;
}

/* The law's shape is a number of states; here one head of one element stands for a byte. */
uint64_t cost_snapshot_emit(const struct cost *cost, uint64_t snapshots)
{
    struct calib_shape shape = calib_shape_of(CALIB_SNAPSHOT_EMIT);
    shape.heads = totals(cost).snapshot_bytes;
    shape.key_dim = shape.value_dim = shape.state_element_bytes = 1;
    shape.sequences = snapshots;
    shape.tokens = shape.interval = 1;
    return law_ns(cost, LAW_SNAPSHOT_EMIT, &shape);
}

/* Types may differ, so what is read and what is written may too; the law's payload is half of
 * both. */
uint64_t cost_snapshot_copy(const struct cost *cost)
{
    struct model_sizes sizes = totals(cost);
    struct calib_shape shape = calib_shape_of(CALIB_SNAPSHOT_COPY);
    shape.payload_bytes = (sizes.state_bytes + sizes.snapshot_bytes) / 2;
    return shape.payload_bytes > 0 ? law_ns(cost, LAW_SNAPSHOT_COPY, &shape) : 0;
}

uint64_t cost_snapshot_restore(const struct cost *cost)
{
    return cost_snapshot_copy(cost);
}

uint64_t cost_host_copy(const struct cost *cost, uint64_t bytes, uint64_t piece_bytes, bool to_host)
{
    struct calib_shape shape = calib_shape_of(CALIB_HOST_COPY);
    enum calib_law_id single = to_host ? LAW_DEVICE_TO_HOST : LAW_HOST_TO_DEVICE;
    enum calib_law_id batched = to_host ? LAW_DEVICE_TO_HOST_BATCHED : LAW_HOST_TO_DEVICE_BATCHED;
    if (bytes == 0)
        return 0;
    shape.payload_bytes = bytes;
    shape.piece_bytes = piece_bytes < bytes ? piece_bytes : 0;
    uint64_t ns = law_ns(cost, single, &shape);
    return calib_law_complete(cost->calib, batched) ? sooner(ns, law_ns(cost, batched, &shape))
                                                    : ns;
}

uint64_t cost_snapshot_host(const struct cost *cost, bool to_host)
{
    struct model_sizes sizes = totals(cost);
    return cost_host_copy(cost, sizes.snapshot_bytes, sizes.snapshot_bytes_per_layer, to_host);
}

uint64_t cost_kv_host(const struct cost *cost, uint64_t tokens, uint64_t page_tokens, bool to_host)
{
    struct model_sizes sizes = totals(cost);
    return cost_host_copy(cost, tokens * sizes.kv_bytes_per_token,
                          page_tokens * sizes.kv_bytes_per_token_per_layer, to_host);
}

uint64_t cost_kv_gather(const struct cost *cost, uint64_t tokens, uint64_t page_tokens)
{
    struct calib_shape shape = calib_shape_of(CALIB_KV_GATHER);
    shape.payload_bytes = tokens * totals(cost).kv_bytes_per_token;
    shape.page_tokens = page_tokens;
    return shape.payload_bytes > 0 ? law_ns(cost, LAW_KV_GATHER, &shape) : 0;
}
