/* models.h - models by name, each read once.
 *
 * A sweep names the same model in thousands of settings. The first look-up reads it, file or
 * preset; later ones, of any thread, find what was read, or why it could not be. So all settings of
 * a sweep see one content, however long it runs. */
#ifndef SNAPSIM_MODELS_H
#define SNAPSIM_MODELS_H

#include "sim/model/model.h"

struct model_content {
    struct model model;
    char sha256[SHA256_TEXT]; /* model_digest() */
};

struct models {
    struct models_entry *entries;
    size_t count, capacity; /* count: how many models have been read */
};

/* *out belongs to the memo. err: why the model could not be read, the same each time. Not to be
 * called for a name that is new while other threads look up. */
int models_find(struct models *models, const char *name, const struct model_content **out,
                struct err *err) MUST_CHECK;
void models_close(struct models *models);

#endif
