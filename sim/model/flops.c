#include "sim/model/flops.h"

#include <assert.h>

static uint64_t mla_parameters(uint64_t hidden, const struct layer_group *group)
{
    uint64_t key = group->nope_dim + group->rope_dim;
    uint64_t output = group->heads * group->value_dim;
    uint64_t query = group->q_lora > 0 ? hidden * group->q_lora + group->q_lora * group->heads * key
                                       : hidden * group->heads * key;
    uint64_t latent = hidden * (group->kv_lora + group->rope_dim);
    uint64_t expand = group->kv_lora * group->heads * (group->nope_dim + group->value_dim);
    return query + latent + expand + output * hidden * (group->output_gate ? 2 : 1);
}

static uint64_t kda_parameters(uint64_t hidden, const struct layer_group *group)
{
    uint64_t keys = group->heads * group->key_dim, values = group->heads * group->value_dim;
    uint64_t gate = group->gate_lora > 0 ? group->gate_lora * (hidden + values) : hidden * values;
    uint64_t decay = group->decay_lora > 0 ? group->decay_lora * (hidden + keys) : hidden * keys;
    return hidden * (2 * keys + 2 * values) + gate + decay + hidden * group->heads +
           group->conv_kernel * (2 * keys + values);
}

static uint64_t gdn_parameters(uint64_t hidden, const struct layer_group *group)
{
    uint64_t keys = group->key_heads * group->key_dim, values = group->heads * group->value_dim;
    return hidden * (2 * keys + 2 * values + 2 * group->heads) + values * hidden +
           group->conv_kernel * (2 * keys + values);
}

static uint64_t mamba2_parameters(uint64_t hidden, const struct layer_group *group)
{
    uint64_t inner = group->heads * group->head_dim;
    uint64_t shared = 2 * group->groups * group->state_dim;
    return hidden * (2 * inner + shared + group->heads) + inner * hidden +
           group->conv_kernel * (inner + shared);
}

static uint64_t mamba1_parameters(uint64_t hidden, const struct layer_group *group)
{
    uint64_t inner = group->inner_dim, rank = group->dt_rank;
    return hidden * 2 * inner + inner * (rank + 2 * group->state_dim) + rank * inner +
           inner * hidden + group->conv_kernel * inner;
}

static uint64_t gqa_parameters(uint64_t hidden, const struct layer_group *group)
{
    uint64_t query = group->heads * group->head_dim, kv = group->kv_heads * group->head_dim;
    return hidden * query * (group->output_gate ? 3 : 2) + hidden * 2 * kv;
}

/* Weights of a mixture of experts when a token meets that many routed ones. */
static uint64_t moe_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    uint64_t width = group->latent_dim > 0 ? group->latent_dim : hidden;
    uint64_t matrices = group->gated ? 3 : 2;
    return experts * matrices * width * group->expert_dim + matrices * hidden * group->shared_dim +
           2 * hidden * group->latent_dim + hidden * group->experts;
}

static uint64_t layer_parameters(const struct model *model, const struct layer_group *group,
                                 uint64_t experts)
{
    uint64_t hidden = model->hidden_dim;
    switch (group->kind) {
    case LAYER_KDA:
        return kda_parameters(hidden, group);
    case LAYER_GDN:
        return gdn_parameters(hidden, group);
    case LAYER_MAMBA2:
        return mamba2_parameters(hidden, group);
    case LAYER_MAMBA1:
        return mamba1_parameters(hidden, group);
    case LAYER_LIGHTNING: /* queries, keys, values, output gate, output */
        return hidden * group->heads * (2 * group->key_dim + 3 * group->value_dim);
    case LAYER_MARCONI_SSM: /* 12 L D^2 */
        return 6 * hidden * hidden;
    case LAYER_MLA:
        return mla_parameters(hidden, group);
    case LAYER_GQA:
        return gqa_parameters(hidden, group);
    case LAYER_DENSE:
        return (group->gated ? 3 : 2) * hidden * group->inner_dim;
    case LAYER_MOE:
        return moe_parameters(hidden, group, experts);
    }
    return 0;
}

uint64_t flops_layer_parameters(const struct model *model, const struct layer_group *group)
{
    return layer_parameters(model, group, group->experts);
}

uint64_t flops_layer_active_parameters(const struct model *model, const struct layer_group *group)
{
    return layer_parameters(model, group, group->experts_per_token);
}

uint64_t flops_parameters(const struct model *model)
{
    uint64_t sum = model->vocab * model->hidden_dim * (model->tied_embedding ? 1 : 2);
    for (size_t i = 0; i < model->group_count; i++)
        sum += model->groups[i].count * flops_layer_parameters(model, &model->groups[i]);
    return sum;
}

uint64_t flops_active_parameters(const struct model *model)
{
    uint64_t sum = model->vocab * model->hidden_dim;
    for (size_t i = 0; i < model->group_count; i++)
        sum += model->groups[i].count * flops_layer_active_parameters(model, &model->groups[i]);
    return sum;
}

uint64_t flops_projection(const struct model *model, const struct layer_group *group)
{
    return 2 * flops_layer_active_parameters(model, group);
}

uint64_t flops_recurrent_chunk(const struct model *model, const struct layer_group *group,
                               uint64_t chunk)
{
    struct state_matrix matrix = model_state_matrix(model, group);
    uint64_t product = matrix.rows * matrix.columns;
    switch (group->kind) {
    case LAYER_KDA:
    case LAYER_GDN:
        return matrix.heads *
               (6 * product + chunk * (2 * matrix.rows + matrix.columns) + chunk * chunk);
    case LAYER_MAMBA2:
    case LAYER_LIGHTNING:
        return matrix.heads * (4 * product + chunk * (matrix.rows + matrix.columns));
    case LAYER_MAMBA1:
        return 9 * matrix.heads * product;
    case LAYER_MARCONI_SSM:
        return 16 * matrix.heads * matrix.columns + 10 * matrix.heads;
    case LAYER_MLA:
    case LAYER_GQA:
    case LAYER_DENSE:
    case LAYER_MOE:
        break;
    }
    return 0;
}

uint64_t flops_recurrent_decode(const struct model *model, const struct layer_group *group)
{
    struct state_matrix matrix = model_state_matrix(model, group);
    uint64_t elements = matrix.heads * matrix.rows * matrix.columns;
    return elements * (group->kind == LAYER_KDA || group->kind == LAYER_GDN ? 7 : 5);
}

uint64_t flops_pair(const struct layer_group *group)
{
    if (group->kind == LAYER_MLA)
        return 2 * group->heads * (group->nope_dim + group->rope_dim + group->value_dim);
    return group->kind == LAYER_GQA ? 4 * group->heads * group->head_dim : 0;
}

uint64_t flops_pair_absorbed(const struct layer_group *group)
{
    if (group->kind != LAYER_MLA)
        return flops_pair(group);
    return 2 * group->heads * (2 * group->kv_lora + group->rope_dim);
}

uint64_t flops_expansion(const struct layer_group *group)
{
    if (group->kind != LAYER_MLA)
        return 0;
    return 2 * group->kv_lora * group->heads * (group->nope_dim + group->value_dim);
}

/* Per context token, N new tokens cost N * absorbed, or N * pair and one expansion. */
uint64_t flops_absorbed_below(const struct layer_group *group)
{
    if (group->kind != LAYER_MLA)
        return 0;
    uint64_t pair = flops_pair(group), absorbed = flops_pair_absorbed(group);
    if (absorbed <= pair)
        return UINT64_MAX;
    return (flops_expansion(group) + (absorbed - pair) - 1) / (absorbed - pair);
}

double flops_pairs(uint64_t new_tokens, uint64_t cached_tokens)
{
    double n = (double)new_tokens, p = (double)cached_tokens;
    return n * p + n * (n + 1) * 0.5;
}

struct flops_moe flops_moe(const struct model *model, const struct layer_group *group)
{
    assert(group->kind == LAYER_MOE);
    uint64_t hidden = model->hidden_dim, matrices = group->gated ? 3 : 2;
    uint64_t width = group->latent_dim > 0 ? group->latent_dim : hidden;
    return (struct flops_moe){
        .routed = 2 * group->experts_per_token * matrices * width * group->expert_dim,
        .shared = 2 * matrices * hidden * group->shared_dim,
        .latent = 4 * hidden * group->latent_dim,
        .router = 2 * hidden * group->experts,
    };
}

/* E (1 - (1 - k/E)^T). The power by squaring: pow() may differ in the last bit between libms. */
double flops_experts_touched(const struct layer_group *group, uint64_t tokens)
{
    assert(group->kind == LAYER_MOE);
    double experts = (double)group->experts;
    double base = 1 - (double)group->experts_per_token / experts, untouched = 1;
    for (uint64_t left = tokens; left > 0; left >>= 1) {
        if (left & 1)
            untouched *= base;
        base *= base;
    }
    return experts * (1 - untouched);
}

uint64_t flops_head(const struct model *model)
{
    return 2 * model->vocab * model->hidden_dim;
}

uint64_t flops_token(const struct model *model, uint64_t chunk)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        sum += group->count *
               (flops_projection(model, group) + flops_recurrent_chunk(model, group, chunk));
    }
    return sum;
}

double flops_attention(const struct model *model, uint64_t new_tokens, uint64_t cached_tokens)
{
    double pairs = flops_pairs(new_tokens, cached_tokens), sum = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        double expanded = (double)flops_pair(group) * pairs +
                          (double)flops_expansion(group) * (double)cached_tokens;
        double absorbed = (double)flops_pair_absorbed(group) * pairs;
        sum += (double)group->count * (absorbed < expanded ? absorbed : expanded);
    }
    return sum;
}

double flops_prefill(const struct model *model, uint64_t new_tokens, uint64_t cached_tokens,
                     uint64_t chunk)
{
    return (double)flops_token(model, chunk) * (double)new_tokens +
           flops_attention(model, new_tokens, cached_tokens) + (double)flops_head(model);
}

double flops_marconi(const struct model *model, uint64_t tokens)
{
    double length = (double)tokens, hidden = (double)model->hidden_dim, sum = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        double state = (double)model_state_matrix(model, group).columns, one = 0;
        switch (model_kind_role(group->kind)) {
        case ROLE_ATTENTION:
            one = 8 * length * hidden * hidden + 4 * length * length * hidden;
            break;
        case ROLE_RECURRENT:
            one =
                12 * length * hidden * hidden + 16 * length * hidden * state + 10 * length * hidden;
            break;
        case ROLE_FEED_FORWARD:
            one = 16 * length * hidden * hidden;
            break;
        }
        sum += (double)group->count * one;
    }
    return sum;
}
