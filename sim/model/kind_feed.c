/* Feed-forward layers: dense, and mixtures of experts. */
#include <inttypes.h>

#include "sim/model/kind_fields.h"

static const struct param dense_fields[] = {
    COUNT,
    NEEDED(inner_dim, WIDE_MAX, "inner width"),
    FLAG(gated, "true", "three matrices instead of two"),
    PARAM_END,
};

static uint64_t dense_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    (void)experts;
    return (group->gated ? 3 : 2) * hidden * group->inner_dim;
}

const struct layer_kind kind_dense = {
    .name = "dense",
    .role = ROLE_FEED_FORWARD,
    .core = CORE_NONE,
    .fields = dense_fields,
    .parameters = dense_parameters,
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

static int moe_check(const struct model *model, const struct layer_group *group, struct err *err)
{
    if (group->experts_per_token > group->experts)
        return err_set(err, "moe: experts_per_token (%" PRIu64 ") is above experts (%" PRIu64 ")",
                       group->experts_per_token, group->experts);
    if (group->latent_dim > model->hidden_dim)
        return err_set(err, "moe: latent_dim (%" PRIu64 ") is above hidden_dim (%" PRIu64 ")",
                       group->latent_dim, model->hidden_dim);
    return 0;
}

static uint64_t moe_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    uint64_t width = group->latent_dim > 0 ? group->latent_dim : hidden;
    uint64_t matrices = group->gated ? 3 : 2;
    return experts * matrices * width * group->expert_dim + matrices * hidden * group->shared_dim +
           2 * hidden * group->latent_dim + hidden * group->experts;
}

const struct layer_kind kind_moe = {
    .name = "moe",
    .role = ROLE_FEED_FORWARD,
    .core = CORE_EXPERTS,
    .fields = moe_fields,
    .check = moe_check,
    .parameters = moe_parameters,
};
