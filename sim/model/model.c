#include "sim/model/model.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "sim/core/whole.h"
#include "sim/model/kind.h"
#include "sim/model/stages.h"

static const char *const kv_dtypes[] = {"bf16", "fp8", "fp8-scaled", "int4", "q8_0", "q4_0", NULL};
static const struct block kv_blocks[] = {{1, 2}, {1, 1}, {1, 1}, {2, 1}, {32, 34}, {32, 18}};
static const char *const state_dtypes[] = {"model", "fp32", "bf16", NULL};
static const char *const conv_dtypes[] = {"bf16", "fp32", NULL};
static const char *const snapshot_dtypes[] = {"state", "fp32", "bf16", "int8", NULL};

const struct param sharding_params[] = {
    {"tp", PARAM_U64, offsetof(struct sharding, tp), "1", 1, 1024, NULL, "N",
     "GPUs that share a model by heads (tensor parallelism); sizes are per GPU"},
    {"dcp", PARAM_U64, offsetof(struct sharding, dcp), "1", 1, 1024, NULL, "N",
     "of these, GPUs that share the tokens of copied KV (decode context parallelism)"},
    {"pp", PARAM_U64, offsetof(struct sharding, pp), "1", 1, 1024, NULL, "N",
     "stages that divide the layers (pipeline parallelism); sizes are of the largest"},
    {"kv-dtype", PARAM_CHOICE, offsetof(struct sharding, kv_dtype), "bf16", 0, 0, kv_dtypes, "TYPE",
     "keys and values; fp8-scaled is FlashMLA's layout with scales, for MLA only"},
    {"state-dtype", PARAM_CHOICE, offsetof(struct sharding, state_dtype), "model", 0, 0,
     state_dtypes, "TYPE", "recurrent matrix of a running request; 'model' is what servers use"},
    {"conv-dtype", PARAM_CHOICE, offsetof(struct sharding, conv_dtype), "bf16", 0, 0, conv_dtypes,
     "TYPE", "convolution window, live and in a snapshot; llama.cpp keeps fp32"},
    {"snapshot-dtype", PARAM_CHOICE, offsetof(struct sharding, snapshot_dtype), "state", 0, 0,
     snapshot_dtypes, "TYPE", "recurrent matrix in a snapshot; 'state' is as in the live state"},
    PARAM_END,
};

struct block model_kv_block(unsigned kv_dtype)
{
    assert(kv_dtype < sizeof kv_blocks / sizeof *kv_blocks);
    return kv_blocks[kv_dtype];
}

uint64_t model_vector_bytes(struct block block, uint64_t count, uint64_t values)
{
    return count * whole_ceil(values, block.values) * block.bytes;
}

uint64_t model_chunk_tokens(const struct model *model)
{
    return model->snapshot_grain ? model->snapshot_grain : MODEL_CHUNK_TOKENS;
}

uint64_t model_layer_count(const struct model *model, enum layer_role role)
{
    uint64_t count = 0;
    for (size_t i = 0; i < model->group_count; i++)
        if (model->groups[i].kind->role == role)
            count += model->groups[i].count;
    return count;
}

int model_check(const struct model *model, struct err *err)
{
    if (model->name[0] == '\0')
        return err_set(err, "name: a name was expected, found ''");
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        if (group->kind->check && group->kind->check(model, group, err) != 0)
            return -1;
    }
    if (model_layer_count(model, ROLE_RECURRENT) + model_layer_count(model, ROLE_ATTENTION) == 0)
        return err_set(err, "layers: a recurrent or an attention layer was expected, found none");
    return stages_check(model, err);
}

/* A layer's last inputs: of its convolution, or keys and values of its sliding window. */
static int window_sizes(const struct layer_view *view, uint64_t heads,
                        const struct sharding *sharding, struct layer_sizes *out, struct err *err)
{
    const struct layer_group *group = view->group;
    const struct layer_kind *kind = group->kind;
    if (kind->channels) {
        if (kind->channels(view, heads, &out->channels, NULL, err) != 0)
            return -1;
        out->window_rows = kind->window_rows        ? kind->window_rows
                           : group->conv_kernel > 0 ? group->conv_kernel - 1
                                                    : 0;
        out->window_row_bytes = out->channels * (sharding->conv_dtype == CONV_DTYPE_FP32 ? 4 : 2);
    }
    if (kind->attention) {
        out->window_rows = group->window;
        out->window_row_bytes = out->kv_entry_bytes;
    }
    out->window_bytes = out->window_rows * out->window_row_bytes;
    return 0;
}

static uint64_t kept_matrix_bytes(const struct layer_sizes *live, uint64_t elements, uint64_t rows,
                                  unsigned dtype)
{
    switch ((enum snapshot_dtype)dtype) {
    case SNAPSHOT_DTYPE_STATE:
        break;
    case SNAPSHOT_DTYPE_FP32:
        return elements * 4;
    case SNAPSHOT_DTYPE_BF16:
        return elements * 2;
    case SNAPSHOT_DTYPE_INT8:
        return elements + rows * 4;
    }
    return live->matrix_bytes;
}

static int recurrent_sizes(const struct layer_view *view, const struct sharding *sharding,
                           struct layer_sizes *out, struct err *err)
{
    const struct model *model = view->model;
    const struct layer_kind *kind = view->group->kind;
    uint64_t heads = 0;
    if (kind->matrix) {
        struct state_matrix matrix = kind->matrix(model, view->group);
        const char *what = matrix.rows == 1 ? "channels" : "heads";
        if (kind_share(view, matrix.heads, what, &heads, err) != 0)
            return -1;
        unsigned dtype =
            sharding->state_dtype == STATE_DTYPE_MODEL ? model->state_dtype : sharding->state_dtype;
        uint64_t elements = heads * matrix.rows * matrix.columns;
        out->matrix_bytes = elements * (dtype == STATE_DTYPE_BF16 ? 2 : 4);
        out->snapshot_matrix_bytes =
            kept_matrix_bytes(out, elements, heads * matrix.rows, sharding->snapshot_dtype);
    }
    return window_sizes(view, heads, sharding, out, err);
}

/* FlashMLA's page layout: the latent in fp8 with one fp32 scale per 128 values, the shared part of
 * the key in bf16. 656 B for 512 + 64. */
static int scaled_latent(const struct layer_group *group, const struct attention_shape *shape,
                         uint64_t *bytes, struct err *err)
{
    if (!shape->is_latent)
        return err_set(err, "kv-dtype: fp8-scaled is a layout for MLA, the model has %s layers",
                       group->kind->name);
    if (shape->first % 128 != 0)
        return err_set(err, "kv-dtype: fp8-scaled scales 128 values together, kv_lora is %" PRIu64,
                       shape->first);
    *bytes = shape->first + shape->first / 128 * 4 + shape->second * 2 + shape->extra_bytes;
    return 0;
}

/* Keys and values of one token, and on how many of the tp GPUs they are the same. */
static int entry_sizes(const struct layer_view *view, const struct sharding *sharding,
                       struct layer_sizes *out, uint64_t *copies, struct err *err)
{
    struct attention_shape shape = view->group->kind->attention(view->group);
    struct block block = model_kv_block(sharding->kv_dtype);
    uint64_t share = 0;
    if (kind_share(view, view->group->heads, "heads", &share, err) != 0 ||
        kind_share_or_copy(view, shape.kv_heads, "kv heads", &share, err) != 0)
        return -1;
    *copies = view->tp > shape.kv_heads ? view->tp / shape.kv_heads : 1;
    out->kv_entry_bytes = shape.extra_bytes;
    if (sharding->kv_dtype == KV_DTYPE_FP8_SCALED)
        return scaled_latent(view->group, &shape, &out->kv_entry_bytes, err);
    if (shape.is_latent)
        out->kv_entry_bytes += model_vector_bytes(block, 1, shape.first + shape.second);
    else
        out->kv_entry_bytes += model_vector_bytes(block, share, shape.first) +
                               model_vector_bytes(block, share, shape.second);
    return 0;
}

static int share_tokens(const struct layer_view *view, uint64_t dcp, uint64_t copies,
                        struct layer_sizes *out, struct err *err)
{
    if (copies % dcp != 0)
        return err_set(err,
                       "dcp: %" PRIu64 " GPUs cannot share tokens: at tp %" PRIu64
                       " the KV of the %s layers exists %" PRIu64 " time%s",
                       dcp, view->tp, view->group->kind->name, copies, copies == 1 ? "" : "s");
    if (out->kv_entry_bytes % dcp != 0)
        return err_set(err, "dcp: %" PRIu64 " does not divide the %" PRIu64 " KV bytes of a token",
                       dcp, out->kv_entry_bytes);
    out->kv_bytes = out->kv_entry_bytes / dcp;
    return 0;
}

int model_layer_sizes(const struct model *model, const struct layer_group *group,
                      const struct sharding *sharding, struct layer_sizes *out, struct err *err)
{
    const struct layer_view view = {model, group, sharding->tp};
    uint64_t copies = 1;
    assert(sharding->tp > 0 && sharding->dcp > 0 && sharding->pp > 0);
    *out = (struct layer_sizes){0};
    if (sharding->tp % sharding->dcp != 0)
        return err_set(err, "dcp: %" PRIu64 " does not divide tp %" PRIu64, sharding->dcp,
                       sharding->tp);
    if (group->kind->attention && entry_sizes(&view, sharding, out, &copies, err) != 0)
        return -1;
    switch (group->kind->role) {
    case ROLE_RECURRENT:
        return recurrent_sizes(&view, sharding, out, err);
    case ROLE_ATTENTION:
        return share_tokens(&view, sharding->dcp, copies, out, err);
    case ROLE_FEED_FORWARD:
        break;
    }
    return 0;
}

static void add_group(struct model_sizes *out, const struct layer_sizes *layer, uint64_t count)
{
    uint64_t state = layer->matrix_bytes + layer->window_bytes;
    uint64_t snapshot = layer->snapshot_matrix_bytes + layer->window_bytes;
    out->state_bytes += count * state;
    out->snapshot_bytes += count * snapshot;
    out->kv_bytes_per_token += count * layer->kv_bytes;
    out->state_bytes_per_layer = whole_larger(out->state_bytes_per_layer, state);
    out->snapshot_bytes_per_layer = whole_larger(out->snapshot_bytes_per_layer, snapshot);
    if (layer->channels > 0)
        out->conv_row_bytes_per_layer =
            whole_larger(out->conv_row_bytes_per_layer, layer->window_row_bytes);
    if (layer->kv_bytes == 0)
        return;
    out->kv_bytes_per_token_per_layer =
        whole_larger(out->kv_bytes_per_token_per_layer, layer->kv_bytes);
    out->kv_entry_bytes_per_layer =
        whole_larger(out->kv_entry_bytes_per_layer, layer->kv_entry_bytes);
}

int model_sizes(const struct model *model, const struct sharding *sharding, struct model_sizes *out,
                struct err *err)
{
    *out = (struct model_sizes){.dcp = sharding->dcp};
    uint64_t layers =
        model_layer_count(model, ROLE_RECURRENT) + model_layer_count(model, ROLE_ATTENTION);
    if (sharding->pp > layers)
        return err_set(err, "pp: at most %" PRIu64 " was expected, the layers of the model",
                       layers);
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        uint64_t count = model_stage_layers(model, group, sharding->pp);
        struct layer_sizes layer;
        if (model_layer_sizes(model, group, sharding, &layer, err) != 0)
            return -1;
        add_group(out, &layer, count);
        if (group->kind->role == ROLE_RECURRENT)
            out->recurrent_layers += count;
        if (group->kind->role == ROLE_ATTENTION)
            out->attention_layers += count;
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
    uint64_t align = kind_gqa.page_tokens;
    for (size_t i = 0; i < model->group_count; i++)
        align = whole_larger(align, model->groups[i].kind->page_tokens);
    return align;
}
