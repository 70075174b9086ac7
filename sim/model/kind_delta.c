/* Linear attention: Kimi Delta Attention and Gated DeltaNet, which have a delta rule, and lightning
 * attention (GLA), which has none. */
#include <inttypes.h>

#include "sim/model/kind_fields.h"

static struct state_matrix key_value_matrix(const struct model *model,
                                            const struct layer_group *group)
{
    (void)model;
    return (struct state_matrix){group->heads, group->key_dim, group->value_dim};
}

/* Kimi Linear, equation 13. */
static uint64_t delta_chunk_flops(struct state_matrix matrix, uint64_t chunk)
{
    return matrix.heads * (6 * matrix.rows * matrix.columns +
                           chunk * (2 * matrix.rows + matrix.columns) + chunk * chunk);
}

static const struct param kda_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "heads; queries, keys and values have the same number"),
    NEEDED(key_dim, DIM_MAX, "width of a key, rows of the matrix"),
    NEEDED(value_dim, DIM_MAX, "width of a value, columns of the matrix"),
    CONV,
    OPTIONAL(decay_lora, "128", DIM_MAX, "rank of the decay gate's projection"),
    OPTIONAL(gate_lora, "0", DIM_MAX, "rank of the output gate's projection; 0 is full rank"),
    PARAM_END,
};

static int kda_channels(const struct layer_view *view, uint64_t heads, uint64_t *channels,
                        struct text *how, struct err *err)
{
    char share[UNITS_TEXT];
    const struct layer_group *group = view->group;
    (void)err;
    *channels = heads * (2 * group->key_dim + group->value_dim);
    kind_how(how, "%s x (2 x %" PRIu64 " + %" PRIu64 ")",
             kind_share_text(group->heads, view->tp, share), group->key_dim, group->value_dim);
    return 0;
}

static uint64_t kda_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    (void)experts;
    uint64_t keys = group->heads * group->key_dim, values = group->heads * group->value_dim;
    uint64_t gate = group->gate_lora > 0 ? group->gate_lora * (hidden + values) : hidden * values;
    uint64_t decay = group->decay_lora > 0 ? group->decay_lora * (hidden + keys) : hidden * keys;
    return hidden * (2 * keys + 2 * values) + gate + decay + hidden * group->heads +
           group->conv_kernel * (2 * keys + values);
}

static uint64_t kda_copied_parameters(uint64_t hidden, const struct layer_group *group)
{
    return hidden * (group->decay_lora + group->gate_lora);
}

const struct layer_kind kind_kda = {
    .name = "kda", /* Kimi Delta Attention */
    .role = ROLE_RECURRENT,
    .core = CORE_KDA,
    .fields = kda_fields,
    .matrix = key_value_matrix,
    .channels = kda_channels,
    .parameters = kda_parameters,
    .copied_parameters = kda_copied_parameters,
    .chunk_flops = delta_chunk_flops,
    .decode_flops = 7,
    .keys_are_rows = true,
};

static const struct param gdn_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "value heads"),
    NEEDED(key_heads, HEADS_MAX, "query and key heads"),
    NEEDED(key_dim, DIM_MAX, "width of a key, rows of the matrix"),
    NEEDED(value_dim, DIM_MAX, "width of a value, columns of the matrix"),
    CONV,
    PARAM_END,
};

static int gdn_check(const struct model *model, const struct layer_group *group, struct err *err)
{
    (void)model;
    if (group->heads % group->key_heads == 0)
        return 0;
    return err_set(err, "gdn: key_heads (%" PRIu64 ") must divide heads (%" PRIu64 ")",
                   group->key_heads, group->heads);
}

static int gdn_channels(const struct layer_view *view, uint64_t heads, uint64_t *channels,
                        struct text *how, struct err *err)
{
    char keys[UNITS_TEXT], values[UNITS_TEXT];
    const struct layer_group *group = view->group;
    uint64_t share = 0;
    if (kind_share(view, group->key_heads, "key heads", &share, err) != 0)
        return -1;
    *channels = 2 * share * group->key_dim + heads * group->value_dim;
    kind_how(how, "(2 x %s x %" PRIu64 " + %s x %" PRIu64 ")",
             kind_share_text(group->key_heads, view->tp, keys), group->key_dim,
             kind_share_text(group->heads, view->tp, values), group->value_dim);
    return 0;
}

static uint64_t gdn_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    (void)experts;
    uint64_t keys = group->key_heads * group->key_dim, values = group->heads * group->value_dim;
    return hidden * (2 * keys + 2 * values + 2 * group->heads) + values * hidden +
           group->conv_kernel * (2 * keys + values);
}

static uint64_t gdn_key_heads(const struct layer_group *group)
{
    return group->key_heads;
}

const struct layer_kind kind_gdn = {
    .name = "gdn", /* Gated DeltaNet */
    .role = ROLE_RECURRENT,
    .core = CORE_GDN,
    .fields = gdn_fields,
    .check = gdn_check,
    .matrix = key_value_matrix,
    .channels = gdn_channels,
    .parameters = gdn_parameters,
    .chunk_flops = delta_chunk_flops,
    .decode_flops = 7,
    .keys_are_rows = true,
    .key_heads = gdn_key_heads,
};

static const struct param lightning_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "heads"),
    NEEDED(key_dim, DIM_MAX, "width of a key, rows of the matrix"),
    NEEDED(value_dim, DIM_MAX, "width of a value, columns of the matrix"),
    PARAM_END,
};

/* Queries, keys, values, output gate, output. */
static uint64_t lightning_parameters(uint64_t hidden, const struct layer_group *group,
                                     uint64_t experts)
{
    (void)experts;
    return hidden * group->heads * (2 * group->key_dim + 3 * group->value_dim);
}

/* Two of the three products with the state that a delta rule needs (inferred). */
static uint64_t lightning_chunk_flops(struct state_matrix matrix, uint64_t chunk)
{
    return matrix.heads *
           (4 * matrix.rows * matrix.columns + chunk * (matrix.rows + matrix.columns));
}

const struct layer_kind kind_lightning = {
    .name = "lightning", /* lightning attention, GLA: no convolution */
    .role = ROLE_RECURRENT,
    .core = CORE_MAMBA,
    .fields = lightning_fields,
    .matrix = key_value_matrix,
    .parameters = lightning_parameters,
    .chunk_flops = lightning_chunk_flops,
    .decode_flops = 5,
    .keys_are_rows = true,
};
