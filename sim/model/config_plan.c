#include "sim/model/config_plan.h"

#include <stdio.h>
#include <string.h>

static bool is_null(const struct json *value)
{
    bool ignored;
    return value == NULL || !(json_is_number(value) || json_string(value) || json_is_array(value) ||
                              json_is_object(value) || json_is_bool(value, &ignored));
}

const struct json *config_find(const struct json *object, const char *names)
{
    char name[64];
    while (*names != '\0') {
        size_t length = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        const struct json *value = json_is_object(object) ? json_get(object, name) : NULL;
        if (!is_null(value))
            return value;
        names += length + (names[length] == ' ');
    }
    return NULL;
}

uint64_t config_number(const struct config *config, const char *names, uint64_t otherwise)
{
    uint64_t number = 0;
    return json_u64(config_find(config->top, names), &number) == 0 ? number : otherwise;
}

void config_miss(struct config *config, const char *names)
{
    text_printf(&config->missing, "%s%.*s", config->missing.length > 0 ? ", " : "",
                (int)strcspn(names, " "), names);
}

/* 1 if it is absent: nothing divides by zero before the complaint. */
uint64_t config_needed(struct config *config, const struct json *object, const char *names)
{
    uint64_t number = 0;
    if (json_u64(config_find(object, names), &number) == 0 && number > 0)
        return number;
    config_miss(config, names);
    return 1;
}

bool config_flag(const struct json *object, const char *names, bool otherwise)
{
    bool value = otherwise;
    return json_is_bool(config_find(object, names), &value) ? value : otherwise;
}

bool config_says(const struct config *config, const char *names, const char *word)
{
    const char *text = json_string(config_find(config->top, names));
    return text && strstr(text, word);
}

/* What a word of layer_types or a letter of hybrid_override_pattern says. */
static const struct {
    const char *word;
    enum mixer mixer;
    enum feed feed; /* FEED_NONE: it says nothing about it */
} layer_words[] = {
    {"full_attention", MIXER_ATTENTION, FEED_NONE},
    {"attention", MIXER_ATTENTION, FEED_NONE},
    {"deepseek_sparse_attention", MIXER_ATTENTION, FEED_NONE},
    {"linear_attention", MIXER_RECURRENT, FEED_NONE},
    {"mamba", MIXER_RECURRENT, FEED_NONE},
    {"conv", MIXER_RECURRENT, FEED_NONE},
    {"sliding_attention", MIXER_WINDOW, FEED_NONE},
    {"mlp", MIXER_NONE, FEED_DENSE},
    {"moe", MIXER_NONE, FEED_EXPERTS},
    {"M", MIXER_RECURRENT, FEED_NONE},
    {"*", MIXER_ATTENTION, FEED_NONE},
    {"-", MIXER_NONE, FEED_DENSE},
    {"E", MIXER_NONE, FEED_EXPERTS},
};

static bool name_layer(struct config *config, uint64_t layer, const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof layer_words / sizeof *layer_words; i++) {
        if (strlen(layer_words[i].word) != length ||
            strncmp(layer_words[i].word, word, length) != 0)
            continue;
        config->mixer[layer] = layer_words[i].mixer;
        config->feed[layer] = layer_words[i].feed;
        return true;
    }
    return false;
}

/* A list of one word for each layer. */
static bool plan_words(struct config *config, const struct json *list)
{
    uint64_t layer = 0;
    const struct json *value = json_is_array(list) ? json_first(list) : NULL;
    for (; value && layer < config->layers; value = json_next(value), layer++)
        if (!json_string(value) ||
            !name_layer(config, layer, json_string(value), strlen(json_string(value))))
            return false;
    return layer == config->layers && value == NULL;
}

/* A text of one letter for each layer: Nemotron-H, whose feed-forward parts are layers too. */
static bool plan_letters(struct config *config, const char *letters)
{
    if (letters == NULL || strlen(letters) != config->layers)
        return false;
    for (uint64_t i = 0; i < config->layers; i++)
        if (!name_layer(config, i, letters + i, 1))
            return false;
    return true;
}

/* A list of 0 and 1, and what they mean. */
static bool plan_numbers(struct config *config, const struct json *list, enum mixer zero,
                         enum mixer one)
{
    uint64_t layer = 0, number = 0;
    const struct json *value = json_is_array(list) ? json_first(list) : NULL;
    for (; value && layer < config->layers; value = json_next(value)) {
        if (json_u64(value, &number) != 0 || number > 1)
            return false;
        config->mixer[layer++] = number ? one : zero;
    }
    return layer == config->layers && value == NULL;
}

/* A list of the attention layers, counted from first; all others are recurrent. */
static bool plan_places(struct config *config, const struct json *list, uint64_t first)
{
    uint64_t place = 0;
    if (!json_is_array(list))
        return false;
    for (uint64_t i = 0; i < config->layers; i++)
        config->mixer[i] = MIXER_RECURRENT;
    for (const struct json *value = json_first(list); value; value = json_next(value)) {
        if (json_u64(value, &place) != 0 || place < first || place - first >= config->layers)
            return false;
        config->mixer[place - first] = MIXER_ATTENTION;
    }
    return true;
}

/* Every period-th layer is attention, the first of them at offset. */
static bool plan_period(struct config *config, uint64_t period, uint64_t offset, enum mixer rest)
{
    for (uint64_t i = 0; i < config->layers; i++)
        config->mixer[i] = i % period == offset ? MIXER_ATTENTION : rest;
    return true;
}

static bool plan_all(struct config *config, enum mixer mixer)
{
    for (uint64_t i = 0; i < config->layers; i++)
        config->mixer[i] = mixer;
    return true;
}

/* Whatever key says it, from the most explicit on; else all layers are what the family has. A group
 * of Ling's that is not whole at the end is attention too. */
bool config_plan_mixers(struct config *config, enum mixer otherwise)
{
    const struct json *top = config->top, *value = NULL;
    uint64_t period = 0;
    if ((value = config_find(top, "layer_types layers_block_type")) != NULL)
        return plan_words(config, value);
    if ((value = config_find(top, "hybrid_override_pattern")) != NULL)
        return plan_letters(config, json_string(value));
    if ((value = config_find(top, "attn_type_list decoder_attention_types")) != NULL)
        return plan_numbers(config, value, MIXER_RECURRENT, MIXER_ATTENTION);
    if ((value = config_find(top, "hybrid_layer_pattern")) != NULL)
        return plan_numbers(config, value, MIXER_ATTENTION, MIXER_WINDOW);
    if ((value = config_find(config_find(top, "linear_attn_config"), "full_attn_layers")) != NULL)
        return plan_places(config, value, 1);
    if ((value = config_find(top, "full_attn_idxs")) != NULL)
        return plan_places(config, value, 0);
    if ((period = config_number(config, "full_attention_interval", 0)) > 0)
        return plan_period(config, period, period - 1, MIXER_RECURRENT);
    if ((period = config_number(config, "attn_layer_period", 0)) > 0)
        return plan_period(config, period, config_number(config, "attn_layer_offset", 0),
                           MIXER_RECURRENT);
    if ((period = config_number(config, "sliding_window_pattern", 0)) > 0)
        return plan_period(config, period, period - 1, MIXER_WINDOW);
    if ((period = config_number(config, "layer_group_size", 0)) > 0) {
        plan_period(config, period, period - 1, MIXER_RECURRENT);
        for (uint64_t i = config->layers / period * period; i < config->layers; i++)
            config->mixer[i] = MIXER_ATTENTION;
        return true;
    }
    if (otherwise == MIXER_ATTENTION && config_find(top, "sliding_window") &&
        config_flag(config->top, "use_sliding_window", true))
        return config_find(top, "max_window_layers") ? false : plan_all(config, MIXER_WINDOW);
    return otherwise != MIXER_NONE && plan_all(config, otherwise);
}

/* Dense or experts, for layers that do not say it themselves. */
bool config_plan_feeds(struct config *config)
{
    const struct json *top = config->top, *types = config_find(top, "mlp_layer_types");
    const struct json *freq = config_find(top, "moe_layer_freq"), *type = json_first(types);
    const struct json *each = json_is_array(freq) ? json_first(freq) : NULL;
    uint64_t experts = config_number(config, "num_experts n_routed_experts num_local_experts", 0);
    uint64_t dense = config_number(config, "first_k_dense_replace num_dense_layers", 0);
    uint64_t period = config_number(config, "expert_layer_period decoder_sparse_step", 1);
    uint64_t offset = config_number(config, "expert_layer_offset", period - 1), sparse = 0;
    bool by_list = type || each;
    for (uint64_t i = 0; i < config->layers; i++) {
        bool has_experts = experts > 1 && i >= dense && period > 0 && i % period == offset;
        if (type)
            has_experts = json_string(type) && strcmp(json_string(type), "sparse") == 0;
        else if (each)
            has_experts = json_u64(each, &sparse) == 0 && sparse > 0;
        else if (by_list)
            return false;
        config->feed[i] = has_experts ? FEED_EXPERTS : FEED_DENSE;
        type = type ? json_next(type) : NULL;
        each = each ? json_next(each) : NULL;
    }
    for (const struct json *value = json_first(config_find(top, "mlp_only_layers")); value;
         value = json_next(value))
        if (json_u64(value, &sparse) == 0 && sparse < config->layers)
            config->feed[sparse] = FEED_DENSE;
    return type == NULL && each == NULL;
}
