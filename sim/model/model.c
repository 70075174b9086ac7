#include "sim/model/model.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "sim/core/whole.h"

/* Ranges keep every product below 2^63: a matrix is at most 2^14 * 2^14 * 2^14 elements, a group
 * 2^10 layers, an expert 3 * 2^16 * 2^16 weights and there are 2^14 of them. */
#define LAYERS_MAX 1024
#define HEADS_MAX 16384
#define DIM_MAX 16384
#define WIDE_MAX 1048576

#define NEEDED(field, largest, help)                                                               \
    PARAM(struct layer_group, field, PARAM_U64, NULL, 1, largest, help)
#define OPTIONAL(field, default_, largest, help)                                                   \
    PARAM(struct layer_group, field, PARAM_U64, default_, 0, largest, help)
#define FLAG(field, default_, help)                                                                \
    PARAM(struct layer_group, field, PARAM_BOOL, default_, 0, 1, help)
#define COUNT NEEDED(count, LAYERS_MAX, "layers of this shape")
#define CONV OPTIONAL(conv_kernel, "4", 64, "taps of the short convolution; 0 is none")

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

static const struct param gdn_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "value heads"),
    NEEDED(key_heads, HEADS_MAX, "query and key heads"),
    NEEDED(key_dim, DIM_MAX, "width of a key, rows of the matrix"),
    NEEDED(value_dim, DIM_MAX, "width of a value, columns of the matrix"),
    CONV,
    PARAM_END,
};

static const struct param mamba2_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "heads"),
    NEEDED(head_dim, DIM_MAX, "channels of a head, rows of the matrix"),
    NEEDED(state_dim, DIM_MAX, "width of the state, columns of the matrix"),
    NEEDED(groups, HEADS_MAX, "groups of heads that share B and C"),
    CONV,
    PARAM_END,
};

static const struct param mamba1_fields[] = {
    COUNT,
    NEEDED(inner_dim, WIDE_MAX, "channels"),
    NEEDED(state_dim, DIM_MAX, "width of the state of a channel"),
    NEEDED(dt_rank, DIM_MAX, "rank of the time step's projection"),
    CONV,
    PARAM_END,
};

static const struct param lightning_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "heads"),
    NEEDED(key_dim, DIM_MAX, "width of a key, rows of the matrix"),
    NEEDED(value_dim, DIM_MAX, "width of a value, columns of the matrix"),
    PARAM_END,
};

static const struct param marconi_ssm_fields[] = {
    COUNT,
    NEEDED(state_dim, DIM_MAX, "width of the state, N in the paper"),
    PARAM_END,
};

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

static const struct param gqa_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "query heads"),
    NEEDED(kv_heads, HEADS_MAX, "key and value heads"),
    NEEDED(head_dim, DIM_MAX, "width of a key and of a value"),
    FLAG(output_gate, "false", "the output is gated"),
    PARAM_END,
};

static const struct param dense_fields[] = {
    COUNT,
    NEEDED(inner_dim, WIDE_MAX, "inner width"),
    FLAG(gated, "true", "three matrices instead of two"),
    PARAM_END,
};

static const struct param moe_fields[] = {
    COUNT,
    NEEDED(experts, 16384, "routed experts"),
    NEEDED(experts_per_token, 16384, "routed experts that a token goes to"),
    NEEDED(expert_dim, 65536, "inner width of a routed expert"),
    OPTIONAL(latent_dim, "0", 65536, "width in which routed experts work; 0 is the hidden width"),
    OPTIONAL(shared_dim, "0", WIDE_MAX, "inner width of all shared experts together"),
    FLAG(gated, "true", "three matrices per expert instead of two"),
    PARAM_END,
};

static const struct {
    const char *name;
    enum layer_role role;
    const struct param *fields;
} kinds[LAYER_KIND_COUNT] = {
    [LAYER_KDA] = {"kda", ROLE_RECURRENT, kda_fields},
    [LAYER_GDN] = {"gdn", ROLE_RECURRENT, gdn_fields},
    [LAYER_MAMBA2] = {"mamba2", ROLE_RECURRENT, mamba2_fields},
    [LAYER_MAMBA1] = {"mamba1", ROLE_RECURRENT, mamba1_fields},
    [LAYER_LIGHTNING] = {"lightning", ROLE_RECURRENT, lightning_fields},
    [LAYER_MARCONI_SSM] = {"marconi-ssm", ROLE_RECURRENT, marconi_ssm_fields},
    [LAYER_MLA] = {"mla", ROLE_ATTENTION, mla_fields},
    [LAYER_GQA] = {"gqa", ROLE_ATTENTION, gqa_fields},
    [LAYER_DENSE] = {"dense", ROLE_FEED_FORWARD, dense_fields},
    [LAYER_MOE] = {"moe", ROLE_FEED_FORWARD, moe_fields},
};

static const char *const kv_dtypes[] = {"bf16", "fp8", "fp8-scaled", NULL};
static const char *const state_dtypes[] = {"model", "fp32", "bf16", NULL};
static const char *const snapshot_dtypes[] = {"state", "fp32", "bf16", "int8", NULL};

const struct param sharding_params[] = {
    {"tp", PARAM_U64, offsetof(struct sharding, tp), "1", 1, 1024, NULL, "N",
     "GPUs that share a model by heads (tensor parallelism); sizes are per GPU"},
    {"dcp", PARAM_U64, offsetof(struct sharding, dcp), "1", 1, 1024, NULL, "N",
     "of these, GPUs that share the tokens of copied KV (decode context parallelism)"},
    {"kv-dtype", PARAM_CHOICE, offsetof(struct sharding, kv_dtype), "bf16", 0, 0, kv_dtypes, "TYPE",
     "keys and values; fp8-scaled is FlashMLA's layout with scales, for MLA only"},
    {"state-dtype", PARAM_CHOICE, offsetof(struct sharding, state_dtype), "model", 0, 0,
     state_dtypes, "TYPE", "recurrent matrix of a running request; 'model' is what servers use"},
    {"snapshot-dtype", PARAM_CHOICE, offsetof(struct sharding, snapshot_dtype), "state", 0, 0,
     snapshot_dtypes, "TYPE", "recurrent matrix in a snapshot; 'state' is as in the live state"},
    PARAM_END,
};

const char *model_kind_name(enum layer_kind kind)
{
    return kinds[kind].name;
}

enum layer_role model_kind_role(enum layer_kind kind)
{
    return kinds[kind].role;
}

const struct param *model_kind_fields(enum layer_kind kind)
{
    return kinds[kind].fields;
}

uint64_t model_chunk_tokens(const struct model *model)
{
    return model->snapshot_grain ? model->snapshot_grain : MODEL_CHUNK_TOKENS;
}

uint64_t model_layer_count(const struct model *model, enum layer_role role)
{
    uint64_t count = 0;
    for (size_t i = 0; i < model->group_count; i++)
        if (kinds[model->groups[i].kind].role == role)
            count += model->groups[i].count;
    return count;
}

static int check_group(const struct model *model, const struct layer_group *group, struct err *err)
{
    const char *kind = kinds[group->kind].name;
    if (group->kind == LAYER_GDN && group->heads % group->key_heads != 0)
        return err_set(err, "%s: key_heads (%" PRIu64 ") must divide heads (%" PRIu64 ")", kind,
                       group->key_heads, group->heads);
    if (group->kind == LAYER_MAMBA2 && group->heads % group->groups != 0)
        return err_set(err, "%s: groups (%" PRIu64 ") must divide heads (%" PRIu64 ")", kind,
                       group->groups, group->heads);
    if (group->kind == LAYER_GQA && group->heads % group->kv_heads != 0)
        return err_set(err, "%s: kv_heads (%" PRIu64 ") must divide heads (%" PRIu64 ")", kind,
                       group->kv_heads, group->heads);
    if (group->kind == LAYER_MOE && group->experts_per_token > group->experts)
        return err_set(err, "%s: experts_per_token (%" PRIu64 ") is above experts (%" PRIu64 ")",
                       kind, group->experts_per_token, group->experts);
    if (group->kind == LAYER_MOE && group->latent_dim > model->hidden_dim)
        return err_set(err, "%s: latent_dim (%" PRIu64 ") is above hidden_dim (%" PRIu64 ")", kind,
                       group->latent_dim, model->hidden_dim);
    return 0;
}

int model_check(const struct model *model, struct err *err)
{
    if (model->name[0] == '\0')
        return err_set(err, "name: a name was expected, found ''");
    for (size_t i = 0; i < model->group_count; i++)
        if (check_group(model, &model->groups[i], err) != 0)
            return -1;
    if (model_layer_count(model, ROLE_RECURRENT) + model_layer_count(model, ROLE_ATTENTION) == 0)
        return err_set(err, "layers: a recurrent or an attention layer was expected, found none");
    return 0;
}

struct state_matrix model_state_matrix(const struct model *model, const struct layer_group *group)
{
    switch (group->kind) {
    case LAYER_KDA:
    case LAYER_GDN:
    case LAYER_LIGHTNING:
        return (struct state_matrix){group->heads, group->key_dim, group->value_dim};
    case LAYER_MAMBA2:
        return (struct state_matrix){group->heads, group->head_dim, group->state_dim};
    case LAYER_MAMBA1:
        return (struct state_matrix){group->inner_dim, 1, group->state_dim};
    case LAYER_MARCONI_SSM:
        return (struct state_matrix){model->hidden_dim, 1, group->state_dim};
    case LAYER_MLA:
    case LAYER_GQA:
    case LAYER_DENSE:
    case LAYER_MOE:
        break;
    }
    return (struct state_matrix){0, 0, 0};
}

/* What one of tp GPUs gets of count things that cannot be copied. */
static int split(uint64_t count, const char *what, const struct layer_group *group, uint64_t tp,
                 uint64_t *share, struct err *err)
{
    *share = count / tp;
    if (count % tp == 0)
        return 0;
    return err_set(err, "tp: %" PRIu64 " does not divide the %" PRIu64 " %s of the %s layers", tp,
                   count, what, kinds[group->kind].name);
}

/* The same for things that are copied once there are fewer of them than GPUs. */
static int split_or_copy(uint64_t count, const char *what, const struct layer_group *group,
                         uint64_t tp, uint64_t *share, struct err *err)
{
    if (tp <= count || tp % count != 0)
        return split(count, what, group, tp, share, err);
    *share = 1;
    return 0;
}

/* Channels of the convolution on one GPU, and how many of their inputs a state must hold. */
static int conv_window(const struct layer_group *group, uint64_t tp, uint64_t heads,
                       uint64_t *channels, uint64_t *rows, struct err *err)
{
    uint64_t share = 0;
    *rows = group->conv_kernel > 0 ? group->conv_kernel - 1 : 0;
    *channels = 0;
    switch (group->kind) {
    case LAYER_KDA:
        *channels = heads * (2 * group->key_dim + group->value_dim);
        break;
    case LAYER_GDN:
        if (split(group->key_heads, "key heads", group, tp, &share, err) != 0)
            return -1;
        *channels = 2 * share * group->key_dim + heads * group->value_dim;
        break;
    case LAYER_MAMBA2:
        if (split_or_copy(group->groups, "groups", group, tp, &share, err) != 0)
            return -1;
        *channels = heads * group->head_dim + 2 * share * group->state_dim;
        break;
    case LAYER_MAMBA1:
        *channels = heads;
        break;
    case LAYER_MARCONI_SSM: /* the paper keeps all four inputs, of twice the hidden width */
        *channels = 2 * heads + 2 * group->state_dim;
        *rows = 4;
        break;
    case LAYER_LIGHTNING:
    case LAYER_MLA:
    case LAYER_GQA:
    case LAYER_DENSE:
    case LAYER_MOE:
        break;
    }
    return 0;
}

static int recurrent_sizes(const struct model *model, const struct layer_group *group,
                           const struct sharding *sharding, struct layer_sizes *out,
                           struct err *err)
{
    struct state_matrix matrix = model_state_matrix(model, group);
    uint64_t heads = 0, channels = 0, rows = 0;
    const char *what = matrix.rows == 1 ? "channels" : "heads";
    if (split(matrix.heads, what, group, sharding->tp, &heads, err) != 0 ||
        conv_window(group, sharding->tp, heads, &channels, &rows, err) != 0)
        return -1;
    unsigned dtype =
        sharding->state_dtype == STATE_DTYPE_MODEL ? model->state_dtype : sharding->state_dtype;
    uint64_t elements = heads * matrix.rows * matrix.columns;
    out->matrix_bytes = elements * (dtype == STATE_DTYPE_BF16 ? 2 : 4);
    out->conv_row_bytes = channels * 2;
    out->conv_bytes = rows * out->conv_row_bytes;
    switch ((enum snapshot_dtype)sharding->snapshot_dtype) {
    case SNAPSHOT_DTYPE_STATE:
        out->snapshot_matrix_bytes = out->matrix_bytes;
        break;
    case SNAPSHOT_DTYPE_FP32:
        out->snapshot_matrix_bytes = elements * 4;
        break;
    case SNAPSHOT_DTYPE_BF16:
        out->snapshot_matrix_bytes = elements * 2;
        break;
    case SNAPSHOT_DTYPE_INT8:
        out->snapshot_matrix_bytes = elements + heads * matrix.rows * 4;
        break;
    }
    return 0;
}

/* FlashMLA's page layout: the latent in fp8 with one fp32 scale per 128 values, the shared part of
 * the key in bf16. 656 B for 512 + 64. */
static int scaled_latent(const struct layer_group *group, uint64_t *bytes, struct err *err)
{
    if (group->kind != LAYER_MLA)
        return err_set(err, "kv-dtype: fp8-scaled is a layout for MLA, the model has %s layers",
                       kinds[group->kind].name);
    if (group->kv_lora % 128 != 0)
        return err_set(err, "kv-dtype: fp8-scaled scales 128 values together, kv_lora is %" PRIu64,
                       group->kv_lora);
    *bytes = group->kv_lora + group->kv_lora / 128 * 4 + group->rope_dim * 2 + group->index_bytes;
    return 0;
}

static int attention_sizes(const struct layer_group *group, const struct sharding *sharding,
                           struct layer_sizes *out, struct err *err)
{
    uint64_t tp = sharding->tp, share = 0, copies = tp;
    uint64_t element = sharding->kv_dtype == KV_DTYPE_BF16 ? 2 : 1;
    if (split(group->heads, "heads", group, tp, &share, err) != 0)
        return -1;
    if (group->kind == LAYER_GQA) {
        if (split_or_copy(group->kv_heads, "kv heads", group, tp, &share, err) != 0)
            return -1;
        copies = tp > group->kv_heads ? tp / group->kv_heads : 1;
        out->kv_entry_bytes = 2 * share * group->head_dim * element;
    } else {
        out->kv_entry_bytes = (group->kv_lora + group->rope_dim) * element + group->index_bytes;
    }
    if (sharding->kv_dtype == KV_DTYPE_FP8_SCALED &&
        scaled_latent(group, &out->kv_entry_bytes, err) != 0)
        return -1;
    if (copies % sharding->dcp != 0)
        return err_set(err,
                       "dcp: %" PRIu64 " GPUs cannot share tokens: at tp %" PRIu64
                       " the KV of the %s layers exists %" PRIu64 " time%s",
                       sharding->dcp, tp, kinds[group->kind].name, copies, copies == 1 ? "" : "s");
    if (out->kv_entry_bytes % sharding->dcp != 0)
        return err_set(err, "dcp: %" PRIu64 " does not divide the %" PRIu64 " KV bytes of a token",
                       sharding->dcp, out->kv_entry_bytes);
    out->kv_bytes = out->kv_entry_bytes / sharding->dcp;
    return 0;
}

int model_layer_sizes(const struct model *model, const struct layer_group *group,
                      const struct sharding *sharding, struct layer_sizes *out, struct err *err)
{
    assert(sharding->tp > 0 && sharding->dcp > 0);
    *out = (struct layer_sizes){0};
    if (sharding->tp % sharding->dcp != 0)
        return err_set(err, "dcp: %" PRIu64 " does not divide tp %" PRIu64, sharding->dcp,
                       sharding->tp);
    switch (kinds[group->kind].role) {
    case ROLE_RECURRENT:
        return recurrent_sizes(model, group, sharding, out, err);
    case ROLE_ATTENTION:
        return attention_sizes(group, sharding, out, err);
    case ROLE_FEED_FORWARD:
        break;
    }
    return 0;
}

int model_sizes(const struct model *model, const struct sharding *sharding, struct model_sizes *out,
                struct err *err)
{
    *out = (struct model_sizes){.dcp = sharding->dcp};
    out->recurrent_layers = model_layer_count(model, ROLE_RECURRENT);
    out->attention_layers = model_layer_count(model, ROLE_ATTENTION);
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        struct layer_sizes layer;
        if (model_layer_sizes(model, group, sharding, &layer, err) != 0)
            return -1;
        uint64_t state = layer.matrix_bytes + layer.conv_bytes;
        uint64_t snapshot = layer.snapshot_matrix_bytes + layer.conv_bytes;
        out->state_bytes += group->count * state;
        out->snapshot_bytes += group->count * snapshot;
        out->kv_bytes_per_token += group->count * layer.kv_bytes;
        out->state_bytes_per_layer = whole_larger(out->state_bytes_per_layer, state);
        out->snapshot_bytes_per_layer = whole_larger(out->snapshot_bytes_per_layer, snapshot);
        out->conv_row_bytes_per_layer =
            whole_larger(out->conv_row_bytes_per_layer, layer.conv_row_bytes);
        out->kv_bytes_per_token_per_layer =
            whole_larger(out->kv_bytes_per_token_per_layer, layer.kv_bytes);
        out->kv_entry_bytes_per_layer =
            whole_larger(out->kv_entry_bytes_per_layer, layer.kv_entry_bytes);
    }
    return 0;
}

uint64_t model_break_even_tokens(const struct model_sizes *sizes)
{
    uint64_t kv = sizes->kv_bytes_per_token;
    return kv > 0 ? (sizes->snapshot_bytes + kv / 2) / kv : 0;
}

uint64_t model_page_tokens(const struct model_sizes *sizes, uint64_t align)
{
    assert(align > 0);
    uint64_t kv = align * sizes->kv_entry_bytes_per_layer;
    uint64_t state = whole_larger(sizes->state_bytes_per_layer, sizes->snapshot_bytes_per_layer);
    uint64_t units = kv > 0 ? (state + kv - 1) / kv : 0;
    return sizes->dcp * align * whole_larger(units, 1);
}

uint64_t model_default_align(const struct model *model)
{
    for (size_t i = 0; i < model->group_count; i++)
        if (model->groups[i].kind == LAYER_MLA)
            return 128;
    return 16;
}
