#include "sim/model/flops.h"

#include <assert.h>

#include "sim/model/kind.h"

uint64_t flops_layer_parameters(const struct model *model, const struct layer_group *group)
{
    return group->kind->parameters(model->hidden_dim, group, group->experts);
}

uint64_t flops_layer_active_parameters(const struct model *model, const struct layer_group *group)
{
    return group->kind->parameters(model->hidden_dim, group, group->experts_per_token);
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

static struct state_matrix matrix_of(const struct model *model, const struct layer_group *group)
{
    return group->kind->matrix ? group->kind->matrix(model, group) : (struct state_matrix){0, 0, 0};
}

uint64_t flops_recurrent_chunk(const struct model *model, const struct layer_group *group,
                               uint64_t chunk)
{
    return group->kind->chunk_flops ? group->kind->chunk_flops(matrix_of(model, group), chunk) : 0;
}

uint64_t flops_recurrent_decode(const struct model *model, const struct layer_group *group)
{
    struct state_matrix matrix = matrix_of(model, group);
    return matrix.heads * matrix.rows * matrix.columns * group->kind->decode_flops;
}

static struct attention_shape attention_of(const struct layer_group *group)
{
    return group->kind->attention ? group->kind->attention(group) : (struct attention_shape){0};
}

uint64_t flops_pair(const struct layer_group *group)
{
    struct attention_shape shape = attention_of(group);
    return 2 * group->heads * (shape.key + shape.value);
}

uint64_t flops_pair_absorbed(const struct layer_group *group)
{
    struct attention_shape shape = attention_of(group);
    return shape.is_latent ? 2 * group->heads * (2 * shape.first + shape.second)
                           : flops_pair(group);
}

uint64_t flops_expansion(const struct layer_group *group)
{
    struct attention_shape shape = attention_of(group);
    return shape.is_latent
               ? 2 * shape.first * group->heads * (shape.key - shape.second + shape.value)
               : 0;
}

/* Per context token, N new tokens cost N * absorbed, or N * pair and one expansion. */
uint64_t flops_absorbed_below(const struct layer_group *group)
{
    if (!attention_of(group).is_latent)
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

/* While the window fills, a token looks at all before it; from then on at the whole window. */
double flops_window_pairs(uint64_t new_tokens, uint64_t cached_tokens, uint64_t window)
{
    if (window == 0)
        return flops_pairs(new_tokens, cached_tokens);
    uint64_t room = window > cached_tokens ? window - cached_tokens : 0;
    uint64_t growing = new_tokens < room ? new_tokens : room;
    return flops_pairs(growing, cached_tokens) + (double)(new_tokens - growing) * (double)window;
}

struct flops_moe flops_moe(const struct model *model, const struct layer_group *group)
{
    assert(group->experts > 0);
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
    assert(group->experts > 0);
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
    double sum = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        double pairs = flops_window_pairs(new_tokens, cached_tokens, group->window);
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
        double state = (double)matrix_of(model, group).columns, one = 0;
        switch (group->kind->attention ? ROLE_ATTENTION : group->kind->role) {
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
