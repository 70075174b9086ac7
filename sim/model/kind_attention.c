/* Attention: to a latent (MLA), to grouped keys and values (GQA, with MHA and MQA as its ends), and
 * GQA to a window of the last tokens. */
#include <inttypes.h>

#include "sim/model/kind_fields.h"

static const struct param mla_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "heads"),
    OPTIONAL(q_lora, "0", DIM_MAX, "rank of the query's projection; 0 is full rank"),
    NEEDED(kv_lora, DIM_MAX, "width of the cached latent"),
    NEEDED(nope_dim, DIM_MAX, "part of a key that comes from the latent"),
    OPTIONAL(rope_dim, "0", DIM_MAX, "part of a key that all heads share; cached"),
    NEEDED(value_dim, DIM_MAX, "width of a value"),
    FLAG(output_gate, "false", "the output is gated"),
    OPTIONAL(index_bytes, "0", DIM_MAX, "bytes an indexer caches per token and layer"),
    PARAM_END,
};

static struct attention_shape mla_attention(const struct layer_group *group)
{
    return (struct attention_shape){.key = group->nope_dim + group->rope_dim,
                                    .value = group->value_dim,
                                    .is_latent = true,
                                    .kv_heads = 1,
                                    .first = group->kv_lora,
                                    .second = group->rope_dim,
                                    .extra_bytes = group->index_bytes};
}

static uint64_t mla_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    (void)experts;
    uint64_t key = group->nope_dim + group->rope_dim;
    uint64_t output = group->heads * group->value_dim;
    uint64_t query = group->q_lora > 0 ? hidden * group->q_lora + group->q_lora * group->heads * key
                                       : hidden * group->heads * key;
    uint64_t latent = hidden * (group->kv_lora + group->rope_dim);
    uint64_t expand = group->kv_lora * group->heads * (group->nope_dim + group->value_dim);
    return query + latent + expand + output * hidden * (group->output_gate ? 2 : 1);
}

static uint64_t mla_copied_parameters(uint64_t hidden, const struct layer_group *group)
{
    return hidden * (group->q_lora + group->kv_lora + group->rope_dim);
}

const struct layer_kind kind_mla = {
    .name = "mla", /* multi-head latent attention */
    .role = ROLE_ATTENTION,
    .core = CORE_MLA,
    .fields = mla_fields,
    .attention = mla_attention,
    .page_tokens = 128,
    .parameters = mla_parameters,
    .copied_parameters = mla_copied_parameters,
};

#define GQA_FIELDS                                                                                 \
    COUNT, NEEDED(heads, HEADS_MAX, "query heads"),                                                \
        NEEDED(kv_heads, HEADS_MAX, "key and value heads"),                                        \
        NEEDED(head_dim, DIM_MAX, "width of a key, and of a value unless value_dim is given"),     \
        OPTIONAL(value_dim, "0", DIM_MAX, "width of a value; 0 is that of a key"),                 \
        FLAG(output_gate, "false", "the output is gated")

static const struct param gqa_fields[] = {GQA_FIELDS, PARAM_END};

static int gqa_check(const struct model *model, const struct layer_group *group, struct err *err)
{
    (void)model;
    if (group->heads % group->kv_heads == 0)
        return 0;
    return err_set(err, "%s: kv_heads (%" PRIu64 ") must divide heads (%" PRIu64 ")",
                   group->kind->name, group->kv_heads, group->heads);
}

static struct attention_shape gqa_attention(const struct layer_group *group)
{
    uint64_t value = group->value_dim > 0 ? group->value_dim : group->head_dim;
    return (struct attention_shape){.key = group->head_dim,
                                    .value = value,
                                    .kv_heads = group->kv_heads,
                                    .first = group->head_dim,
                                    .second = value};
}

static uint64_t gqa_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    (void)experts;
    struct attention_shape shape = gqa_attention(group);
    uint64_t output = group->heads * shape.value;
    return hidden * (group->heads * shape.key + output * (group->output_gate ? 2 : 1) +
                     group->kv_heads * (shape.key + shape.value));
}

const struct layer_kind kind_gqa = {
    .name = "gqa", /* grouped-query attention, MHA included */
    .role = ROLE_ATTENTION,
    .core = CORE_GQA,
    .fields = gqa_fields,
    .check = gqa_check,
    .attention = gqa_attention,
    .page_tokens = 16,
    .parameters = gqa_parameters,
};

static const struct param swa_fields[] = {
    GQA_FIELDS,
    NEEDED(window, WIDE_MAX, "last tokens that a token looks at, itself included"),
    PARAM_END,
};

const struct layer_kind kind_swa = {
    .name = "swa", /* sliding-window attention */
    .role = ROLE_RECURRENT,
    .core = CORE_GQA,
    .fields = swa_fields,
    .check = gqa_check,
    .attention = gqa_attention,
    .parameters = gqa_parameters,
};
