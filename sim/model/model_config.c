#include "sim/model/model_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/whole.h"
#include "sim/model/config_plan.h"
#include "sim/model/stages.h"

typedef void filler(struct config *config, struct layer_group *group);

/* --- what the layers are --- */

static void fill_kda(struct config *config, struct layer_group *group)
{
    const struct json *linear = config_find(config->top, "linear_attn_config");
    group->kind = &kind_kda;
    group->heads = config_needed(config, linear, "num_heads");
    group->key_dim = group->value_dim = config_needed(config, linear, "head_dim");
    group->conv_kernel = config_needed(config, linear, "short_conv_kernel_size");
    group->decay_lora = group->key_dim; /* the rank of the gates is the width of a head */
    group->gate_lora = config_flag(linear, "use_full_rank_gate", false) ? 0 : group->key_dim;
}

static void fill_gdn(struct config *config, struct layer_group *group)
{
    group->kind = &kind_gdn;
    group->heads = config_needed(config, config->top, "linear_num_value_heads");
    group->key_heads = config_needed(config, config->top, "linear_num_key_heads");
    group->key_dim = config_needed(config, config->top, "linear_key_head_dim");
    group->value_dim = config_needed(config, config->top, "linear_value_head_dim");
    group->conv_kernel = config_needed(config, config->top, "linear_conv_kernel_dim");
}

static void fill_mamba2(struct config *config, struct layer_group *group)
{
    group->kind = &kind_mamba2;
    group->heads = config_needed(config, config->top, "mamba_num_heads mamba_n_heads num_heads");
    group->state_dim =
        config_needed(config, config->top, "ssm_state_size mamba_d_state state_size");
    group->groups = config_needed(config, config->top, "n_groups mamba_n_groups");
    group->conv_kernel = config_needed(config, config->top, "conv_kernel mamba_d_conv");
    uint64_t inner = config_number(config, "mamba_d_ssm", 0);
    if (inner == 0)
        inner = config_number(config, "mamba_expand expand", 0) * config->hidden;
    group->head_dim = config_number(config, "mamba_head_dim mamba_d_head", 0);
    if (group->head_dim == 0 && config_find(config->top, "num_heads"))
        group->head_dim = config_number(config, "head_dim", 0);
    if (group->head_dim == 0 && inner > 0 && inner % group->heads == 0) /* "auto" */
        group->head_dim = inner / group->heads;
    if (group->head_dim == 0)
        config_miss(config, "mamba_head_dim");
}

static void fill_mamba1(struct config *config, struct layer_group *group)
{
    group->kind = &kind_mamba1;
    group->inner_dim = config_number(config, "mamba_expand expand", 0) * config->hidden;
    if (group->inner_dim == 0)
        config_miss(config, "mamba_expand");
    group->state_dim = config_needed(config, config->top, "mamba_d_state state_size");
    group->conv_kernel = config_needed(config, config->top, "mamba_d_conv conv_kernel");
    group->dt_rank = config_says(config, "mamba_dt_rank time_step_rank", "auto")
                         ? whole_ceil(config->hidden, 16)
                         : config_needed(config, config->top, "mamba_dt_rank time_step_rank");
}

static uint64_t head_width(struct config *config, uint64_t heads)
{
    uint64_t width = config_number(config, "head_dim attention_head_dim", 0);
    if (width == 0 && config->hidden % heads == 0)
        width = config->hidden / heads;
    if (width == 0)
        config_miss(config, "head_dim");
    return width;
}

static void fill_lightning(struct config *config, struct layer_group *group)
{
    group->kind = &kind_lightning;
    group->heads = config_needed(config, config->top, "num_attention_heads");
    group->key_dim = group->value_dim = head_width(config, group->heads);
}

/* Ling: lightning attention up to 2.5, Kimi Delta Attention from 3 on, under one model_type. */
static void fill_ling(struct config *config, struct layer_group *group)
{
    fill_lightning(config, group);
    group->conv_kernel = config_number(config, "short_conv_kernel_size", 0);
    if (group->conv_kernel == 0)
        return;
    group->kind = &kind_kda;
    group->decay_lora = group->gate_lora =
        config_flag(config->top, "no_kda_lora", false) ? 0 : group->key_dim;
}

static void fill_conv(struct config *config, struct layer_group *group)
{
    group->kind = &kind_conv;
    group->inner_dim = config_number(config, "conv_dim", config->hidden);
    group->conv_kernel = config_needed(config, config->top, "conv_L_cache");
}

static void fill_mla(struct config *config, struct layer_group *group)
{
    group->kind = &kind_mla;
    group->heads = config_needed(config, config->top, "num_attention_heads");
    group->q_lora = config_number(config, "q_lora_rank", 0);
    group->kv_lora = config_needed(config, config->top, "kv_lora_rank");
    group->nope_dim = config_needed(config, config->top, "qk_nope_head_dim");
    group->rope_dim = config_number(config, "qk_rope_head_dim", 0);
    group->value_dim = config_needed(config, config->top, "v_head_dim");
    group->output_gate = config_flag(config->top, "mla_use_output_gate", false);
}

static void fill_gqa(struct config *config, struct layer_group *group)
{
    group->kind = &kind_gqa;
    group->heads = config_needed(config, config->top, "num_attention_heads");
    group->kv_heads = config_number(config, "num_key_value_heads", group->heads);
    group->head_dim = head_width(config, group->heads);
    group->value_dim = config_number(config, "v_head_dim", 0);
    group->output_gate = config_flag(config->top, "attn_output_gate", false);
}

static void fill_gated_gqa(struct config *config, struct layer_group *group)
{
    fill_gqa(config, group);
    group->output_gate = config_flag(config->top, "attn_output_gate", true);
}

/* As the model's other attention, but for what has keys of its own. */
static void fill_window(struct config *config, struct layer_group *group)
{
    fill_gqa(config, group);
    group->kind = &kind_swa;
    group->heads = config_number(config, "swa_num_attention_heads", group->heads);
    group->kv_heads = config_number(config, "swa_num_key_value_heads", group->kv_heads);
    group->head_dim = config_number(config, "swa_head_dim", group->head_dim);
    group->value_dim = config_number(config, "swa_v_head_dim", group->value_dim);
    group->window = config_needed(config, config->top, "sliding_window sliding_window_size");
}

/* relu2 has no gate; whatever else is in use has one. */
static bool is_gated(const struct config *config)
{
    return !config_says(config, "mlp_hidden_act hidden_act", "relu2");
}

/* LFM2 names an inner width of which two thirds are meant, in whole multiples. */
static uint64_t adjusted(const struct config *config, uint64_t inner)
{
    double factor = json_double(config_find(config->top, "block_ffn_dim_multiplier"));
    uint64_t unit = config_number(config, "block_multiple_of", 1);
    inner = 2 * inner / 3;
    if (factor > 0 && factor < 64)
        inner = (uint64_t)((double)inner * factor);
    return unit > 0 ? whole_ceil(inner, unit) * unit : inner;
}

static void fill_dense(struct config *config, struct layer_group *group)
{
    group->kind = &kind_dense;
    group->inner_dim = config_needed(config, config->top, "intermediate_size block_ff_dim");
    if (config_flag(config->top, "block_auto_adjust_ff_dim", false))
        group->inner_dim = adjusted(config, group->inner_dim);
    group->gated = is_gated(config);
}

static void fill_experts(struct config *config, struct layer_group *group)
{
    uint64_t shared = config_number(config, "n_shared_experts num_shared_experts", 0);
    group->kind = &kind_moe;
    group->experts =
        config_needed(config, config->top, "num_experts n_routed_experts num_local_experts");
    group->experts_per_token = config_needed(
        config, config->top, "num_experts_per_tok num_experts_per_token experts_per_token");
    group->expert_dim =
        config_needed(config, config->top, "moe_intermediate_size intermediate_size");
    group->latent_dim = config_number(config, "routed_expert_hidden_size moe_latent_size", 0);
    group->shared_dim = config_number(config,
                                      "moe_shared_expert_intermediate_size "
                                      "shared_expert_intermediate_size shared_intermediate_size",
                                      0);
    group->shared_dim = group->shared_dim > 0 ? group->shared_dim * whole_larger(shared, 1)
                                              : group->expert_dim * shared;
    group->gated = is_gated(config);
}

/* --- families --- */

static const struct family {
    const char *types; /* words that model_type may be */
    filler *recurrent, *attention;
    enum mixer otherwise; /* of all layers, where no key tells them apart */
    bool tied;            /* the head is the embedding, unless a key says otherwise */
} families[] = {
    {"kimi_linear kimi_k3 kimi_k3_text", fill_kda, fill_mla, MIXER_NONE, false},
    {"glm5_next glm5_next_text", fill_kda, fill_mla, MIXER_NONE, false},
    {"qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text", fill_gdn, fill_gated_gqa,
     MIXER_NONE, false},
    {"nemotron_h granitemoehybrid", fill_mamba2, fill_gqa, MIXER_NONE, false},
    {"falcon_h1", fill_mamba2, fill_gqa, MIXER_BOTH, false},
    {"mamba2", fill_mamba2, NULL, MIXER_RECURRENT, false},
    {"jamba", fill_mamba1, fill_gqa, MIXER_NONE, false},
    {"minimax minimax_text_01 minimax_m1", fill_lightning, fill_gqa, MIXER_NONE, false},
    {"bailing_hybrid bailing_moe_v2_5", fill_ling, fill_mla, MIXER_NONE, false},
    {"lfm2 lfm2_moe", fill_conv, fill_gqa, MIXER_NONE, true},
    {"mimo_v2 mimo_v2_flash", NULL, fill_gqa, MIXER_NONE, false},
    {"deepseek_v2 deepseek_v3 kimi_k2", NULL, fill_mla, MIXER_ATTENTION, false},
    {"llama mistral mixtral qwen2 qwen3 qwen3_moe gpt_oss", NULL, fill_gqa, MIXER_ATTENTION, false},
    {"gemma3_text", NULL, fill_gqa, MIXER_NONE, true},
};
#define FAMILIES (sizeof families / sizeof *families)

static const struct family *family_of(const char *type)
{
    for (size_t i = 0; i < FAMILIES; i++)
        if (text_has_word(families[i].types, type))
            return &families[i];
    return NULL;
}

/* A model with vision keeps the language model's keys in an object of their own. */
static const struct json *language_model(const struct json *top)
{
    const struct json *text = config_find(top, "text_config");
    return json_is_object(text) ? text : top;
}

static const char *type_of(const struct json *top)
{
    const char *type = json_string(config_find(language_model(top), "model_type"));
    return type ? type : json_string(config_find(top, "model_type"));
}

bool model_config_is(const struct json *top)
{
    return json_is_object(top) && !json_is_array(json_get(top, "layers")) &&
           (json_get(top, "model_type") || json_get(top, "architectures"));
}

/* Adds a group for the layers that have such a part, if there are any. */
static void add_group(struct config *config, struct model *out, filler *fill, uint64_t count)
{
    if (count == 0)
        return;
    if (fill == NULL) {
        config_miss(config, "layer_types"); /* it names layers that the family does not have */
        return;
    }
    struct layer_group *group = &out->groups[out->group_count++];
    fill(config, group);
    group->count = count;
}

static void add_groups(struct config *config, const struct family *family, struct model *out)
{
    uint64_t mixers[MIXER_BOTH + 1] = {0}, feeds[FEED_EXPERTS + 1] = {0};
    bool marks[LAYERS_MAX];
    size_t places = 0;
    for (uint64_t i = 0; i < config->layers; i++) {
        mixers[config->mixer[i]]++;
        feeds[config->feed[i]]++;
        if (config->mixer[i] != MIXER_NONE)
            marks[places++] = config->mixer[i] == MIXER_ATTENTION;
    }
    uint64_t both = mixers[MIXER_BOTH];
    add_group(config, out, family->recurrent, mixers[MIXER_RECURRENT] + both);
    add_group(config, out, fill_window, mixers[MIXER_WINDOW]);
    add_group(config, out, family->attention, mixers[MIXER_ATTENTION] + both);
    if (out->group_count == 2 && both == 0)
        stages_describe(marks, places, out);
    add_group(config, out, fill_dense, feeds[FEED_DENSE]);
    add_group(config, out, fill_experts, feeds[FEED_EXPERTS]);
}

static void describe(const struct config *config, const struct family *family, const char *type,
                     struct model *out)
{
    const char *name = json_string(config_find(config->top, "_name_or_path"));
    const char *slash = name ? strrchr(name, '/') : NULL;
    name = slash ? slash + 1 : name;
    snprintf(out->name, sizeof out->name, "%.60s", name && *name ? name : type);
    snprintf(out->summary, sizeof out->summary, "a Hugging Face config of model_type %.40s%s", type,
             config_find(config->top, "index_head_dim")
                 ? "; without the indexer's keys (index_bytes)"
                 : "");
    snprintf(out->source, sizeof out->source,
             "config.json, keys of the family as this program "
             "knows them");
    out->hidden_dim = config->hidden;
    out->state_dtype = config_says(config, "mamba_ssm_dtype mamba_ssm_cache_dtype", "bfloat16")
                           ? STATE_DTYPE_BF16
                           : STATE_DTYPE_FP32;
    out->tied_embedding = config_flag(config->top, "tie_word_embeddings", family->tied);
}

/* Fields are held to the ranges that a model file's are. */
static int check_ranges(const struct model *model, struct err *err)
{
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        for (const struct param *entry = group->kind->fields; entry->name; entry++) {
            const char *field = (const char *)group + entry->offset;
            if (entry->type != PARAM_U64)
                continue;
            uint64_t value = *(const uint64_t *)(const void *)field;
            if ((double)value < entry->min || (double)value > entry->max)
                return err_set(err, "%s: %s from %.0f to %.0f was expected (%s), found %" PRIu64,
                               group->kind->name, entry->name, entry->min, entry->max, entry->help,
                               value);
        }
    }
    if (model->hidden_dim > 65536 || model->vocab > 16777216)
        return err_set(err, "hidden_size up to 65536 and vocab_size up to 16777216 were expected");
    return model_check(model, err);
}

#define ADVICE                                                                                     \
    "; `snapsim model show NAME --format json` prints a file in which a model's layers can be "    \
    "written down (NAME from `snapsim model list`)"

static int refuse_family(const struct json_document *document, const char *type, struct err *err)
{
    struct text known = {0};
    for (size_t i = 0; i < FAMILIES; i++)
        text_printf(&known, " %s", families[i].types);
    json_fail(document, json_first(document->top), err,
              "model_type: '%.60s' is not a family that is known:%s" ADVICE, type ? type : "",
              known.data);
    text_close(&known);
    return -1;
}

static int read_layers(struct config *config, const struct family *family,
                       const struct json_document *document, struct model *out, struct err *err)
{
    struct err reason;
    const struct json *place = json_first(document->top);
    config->hidden = config_needed(config, config->top, "hidden_size");
    config->layers = config_needed(config, config->top, "num_hidden_layers n_layer");
    out->vocab = config_needed(config, config->top, "vocab_size");
    if (config->layers > LAYERS_MAX)
        return json_fail(document, place, err, "num_hidden_layers: up to %d were expected",
                         LAYERS_MAX);
    if (!config_plan_mixers(config, family->otherwise))
        config_miss(config, "layer_types");
    bool told = false; /* the layers themselves say where they feed forward */
    for (uint64_t i = 0; i < config->layers; i++)
        told |= config->feed[i] != FEED_NONE;
    if (!told && family->attention && !config_plan_feeds(config))
        config_miss(config, "mlp_layer_types");
    if (config->missing.length == 0)
        add_groups(config, family, out);
    if (config->missing.length > 0)
        return json_fail(document, place, err,
                         "model_type '%.60s': no usable %s, which such a model needs" ADVICE,
                         type_of(document->top), config->missing.data);
    describe(config, family, type_of(document->top), out);
    if (check_ranges(out, &reason) != 0)
        return json_fail(document, place, err, "%s", reason.text);
    return 0;
}

int model_config_read(struct model *out, const struct json_document *document, struct err *err)
{
    const char *type = type_of(document->top);
    const struct family *family = type ? family_of(type) : NULL;
    struct config config = {.top = language_model(document->top)};
    *out = (struct model){0};
    if (family == NULL)
        return refuse_family(document, type, err);
    int result = read_layers(&config, family, document, out, err);
    text_close(&config.missing);
    return result;
}
