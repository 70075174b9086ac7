/* State-space layers: Mamba2 (SSD), Mamba, and the layer that the Marconi paper counts. */
#include <inttypes.h>

#include "sim/model/kind_fields.h"

static uint64_t one_key_head(const struct layer_group *group)
{
    (void)group;
    return 1;
}

static const struct param mamba2_fields[] = {
    COUNT,
    NEEDED(heads, HEADS_MAX, "heads"),
    NEEDED(head_dim, DIM_MAX, "channels of a head, rows of the matrix"),
    NEEDED(state_dim, DIM_MAX, "width of the state, columns of the matrix"),
    NEEDED(groups, HEADS_MAX, "groups of heads that share B and C"),
    CONV,
    PARAM_END,
};

static int mamba2_check(const struct model *model, const struct layer_group *group, struct err *err)
{
    (void)model;
    if (group->heads % group->groups == 0)
        return 0;
    return err_set(err, "mamba2: groups (%" PRIu64 ") must divide heads (%" PRIu64 ")",
                   group->groups, group->heads);
}

static struct state_matrix mamba2_matrix(const struct model *model, const struct layer_group *group)
{
    (void)model;
    return (struct state_matrix){group->heads, group->head_dim, group->state_dim};
}

static int mamba2_channels(const struct layer_view *view, uint64_t heads, uint64_t *channels,
                           struct text *how, struct err *err)
{
    char inner[UNITS_TEXT], shared[UNITS_TEXT];
    const struct layer_group *group = view->group;
    uint64_t share = 0;
    if (kind_share_or_copy(view, group->groups, "groups", &share, err) != 0)
        return -1;
    *channels = heads * group->head_dim + 2 * share * group->state_dim;
    kind_how(how, "(%s x %" PRIu64 " + 2 x %s x %" PRIu64 ")",
             kind_share_text(group->heads, view->tp, inner), group->head_dim,
             kind_share_text(group->groups, view->tp, shared), group->state_dim);
    return 0;
}

static uint64_t mamba2_parameters(uint64_t hidden, const struct layer_group *group,
                                  uint64_t experts)
{
    (void)experts;
    uint64_t inner = group->heads * group->head_dim;
    uint64_t shared = 2 * group->groups * group->state_dim;
    return hidden * (2 * inner + shared + group->heads) + inner * hidden +
           group->conv_kernel * (inner + shared);
}

static uint64_t mamba2_chunk_flops(struct state_matrix matrix, uint64_t chunk)
{
    return matrix.heads *
           (4 * matrix.rows * matrix.columns + chunk * (matrix.rows + matrix.columns));
}

static uint64_t mamba2_key_heads(const struct layer_group *group)
{
    return group->groups;
}

const struct layer_kind kind_mamba2 = {
    .name = "mamba2",
    .role = ROLE_RECURRENT,
    .core = CORE_MAMBA,
    .fields = mamba2_fields,
    .check = mamba2_check,
    .matrix = mamba2_matrix,
    .channels = mamba2_channels,
    .parameters = mamba2_parameters,
    .chunk_flops = mamba2_chunk_flops,
    .decode_flops = 5,
    .key_heads = mamba2_key_heads,
};

static const struct param mamba1_fields[] = {
    COUNT,
    NEEDED(inner_dim, WIDE_MAX, "channels"),
    PARAM(struct layer_group, state_dim, PARAM_U64, NULL, 0, DIM_MAX,
          "width of the state of a channel"),
    NEEDED(dt_rank, DIM_MAX, "rank of the time step's projection"),
    CONV,
    PARAM_END,
};

static int mamba1_check(const struct model *model, const struct layer_group *group, struct err *err)
{
    (void)model;
    if (group->state_dim > 0)
        return 0;
    return err_set(err, "mamba1: state_dim is 0: a short convolution without a recurrent matrix is "
                        "kind \"conv\", with count, inner_dim and conv_kernel");
}

static struct state_matrix mamba1_matrix(const struct model *model, const struct layer_group *group)
{
    (void)model;
    return (struct state_matrix){group->inner_dim, 1, group->state_dim};
}

static int mamba1_channels(const struct layer_view *view, uint64_t heads, uint64_t *channels,
                           struct text *how, struct err *err)
{
    char share[UNITS_TEXT];
    (void)err;
    *channels = heads;
    kind_how(how, "%s", kind_share_text(view->group->inner_dim, view->tp, share));
    return 0;
}

static uint64_t mamba1_parameters(uint64_t hidden, const struct layer_group *group,
                                  uint64_t experts)
{
    (void)experts;
    uint64_t inner = group->inner_dim, rank = group->dt_rank;
    return hidden * 2 * inner + inner * (rank + 2 * group->state_dim) + rank * inner +
           inner * hidden + group->conv_kernel * inner;
}

static uint64_t mamba1_chunk_flops(struct state_matrix matrix, uint64_t chunk)
{
    (void)chunk;
    return 9 * matrix.heads * matrix.rows * matrix.columns;
}

const struct layer_kind kind_mamba1 = {
    .name = "mamba1", /* one scalar decay per channel and state */
    .role = ROLE_RECURRENT,
    .core = CORE_MAMBA,
    .fields = mamba1_fields,
    .check = mamba1_check,
    .matrix = mamba1_matrix,
    .channels = mamba1_channels,
    .parameters = mamba1_parameters,
    .chunk_flops = mamba1_chunk_flops,
    .decode_flops = 5,
    .key_heads = one_key_head,
};

static const struct param marconi_ssm_fields[] = {
    COUNT,
    NEEDED(state_dim, DIM_MAX, "width of the state, N in the paper"),
    PARAM_END,
};

static struct state_matrix marconi_matrix(const struct model *model,
                                          const struct layer_group *group)
{
    return (struct state_matrix){model->hidden_dim, 1, group->state_dim};
}

/* The paper keeps all four inputs, of twice the hidden width. */
static int marconi_channels(const struct layer_view *view, uint64_t heads, uint64_t *channels,
                            struct text *how, struct err *err)
{
    char share[UNITS_TEXT];
    (void)err;
    *channels = 2 * heads + 2 * view->group->state_dim;
    kind_how(how, "(2 x %s + 2 x %" PRIu64 ")",
             kind_share_text(view->model->hidden_dim, view->tp, share), view->group->state_dim);
    return 0;
}

/* 12 L D^2 */
static uint64_t marconi_parameters(uint64_t hidden, const struct layer_group *group,
                                   uint64_t experts)
{
    (void)group;
    (void)experts;
    return 6 * hidden * hidden;
}

static uint64_t marconi_chunk_flops(struct state_matrix matrix, uint64_t chunk)
{
    (void)chunk;
    return 16 * matrix.heads * matrix.columns + 10 * matrix.heads;
}

const struct layer_kind kind_marconi_ssm = {
    .name = "marconi-ssm",
    .role = ROLE_RECURRENT,
    .core = CORE_MAMBA,
    .fields = marconi_ssm_fields,
    .matrix = marconi_matrix,
    .channels = marconi_channels,
    .window_rows = 4,
    .parameters = marconi_parameters,
    .chunk_flops = marconi_chunk_flops,
    .decode_flops = 5,
    .key_heads = one_key_head,
};
