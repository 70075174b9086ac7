#include "sim/model/models.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

struct models_entry {
    char *name;
    struct model *model; /* of its own, so that it stays where it is; NULL: it could not be read */
    struct err why;
};

int models_find(struct models *models, const char *name, const struct model **out, struct err *err)
{
    size_t i = 0;
    while (i < models->count && strcmp(models->entries[i].name, name) != 0)
        i++;
    if (i == models->count) {
        struct models_entry new = {.name = mem_strdup(name),
                                   .model = mem_zalloc(sizeof *new.model)};
        if (model_load(new.model, name, &new.why) != 0) {
            free(new.model);
            new.model = NULL;
        }
        models->entries =
            mem_grow(models->entries, &models->capacity, models->count + 1, sizeof new);
        models->entries[models->count++] = new;
    }
    *out = models->entries[i].model;
    if (*out == NULL)
        *err = models->entries[i].why;
    return *out ? 0 : -1;
}

void models_close(struct models *models)
{
    for (size_t i = 0; i < models->count; i++) {
        free(models->entries[i].name);
        free(models->entries[i].model);
    }
    free(models->entries);
    *models = (struct models){0};
}
