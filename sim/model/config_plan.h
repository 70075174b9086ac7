/* config_plan.h - the keys of a Hugging Face config.json, and which of its layers is which. */
#ifndef SNAPSIM_CONFIG_PLAN_H
#define SNAPSIM_CONFIG_PLAN_H

#include "sim/core/json.h"
#include "sim/core/text.h"
#include "sim/model/kind.h"

/* What a layer mixes tokens with, and how it feeds forward. */
enum mixer { MIXER_NONE, MIXER_RECURRENT, MIXER_ATTENTION, MIXER_WINDOW, MIXER_BOTH };
enum feed { FEED_NONE, FEED_DENSE, FEED_EXPERTS };

struct config {
    const struct json *top; /* the object that holds the language model's keys */
    struct text missing;    /* keys that were needed, with commas between them */
    uint64_t hidden, layers;
    enum mixer mixer[LAYERS_MAX];
    enum feed feed[LAYERS_MAX];
};

/* The value of the first of some names (words of a text) that an object has, or NULL, also if that
 * is null. Families call one thing by several names. */
const struct json *config_find(const struct json *object, const char *names);

/* A whole number under the first of the names, or what it is otherwise. */
uint64_t config_number(const struct config *config, const char *names, uint64_t otherwise);

/* The same for a number that there must be; if not, the key is missing. */
uint64_t config_needed(struct config *config, const struct json *object, const char *names);
void config_miss(struct config *config, const char *names);

bool config_flag(const struct json *object, const char *names, bool otherwise);

/* True if the value is a text that holds the word. */
bool config_says(const struct config *config, const char *names, const char *word);

/* What each layer mixes with, from whatever key says it; else all have otherwise. And what it feeds
 * forward with. False if no key says it, or if one cannot be understood. */
bool config_plan_mixers(struct config *config, enum mixer otherwise);
bool config_plan_feeds(struct config *config);

#endif
