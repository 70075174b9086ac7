#include "sim/model/models.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

struct models_entry {
    char *name;
    struct model_content *content; /* of its own, so that it stays where it is; NULL: unreadable */
    struct err why;
};

static struct models_entry read_model(const char *name)
{
    struct models_entry entry = {.name = mem_strdup(name)};
    struct model_content *content = mem_zalloc(sizeof *content);
    if (model_load(&content->model, name, &entry.why) == 0) {
        model_digest(&content->model, content->sha256);
        entry.content = content;
    } else {
        free(content);
    }
    return entry;
}

int models_find(struct models *models, const char *name, const struct model_content **out,
                struct err *err)
{
    size_t i = 0;
    while (i < models->count && strcmp(models->entries[i].name, name) != 0)
        i++;
    if (i == models->count) {
        models->entries = mem_grow(models->entries, &models->capacity, models->count + 1,
                                   sizeof *models->entries);
        models->entries[models->count++] = read_model(name);
    }
    *out = models->entries[i].content;
    if (*out == NULL)
        *err = models->entries[i].why;
    return *out ? 0 : -1;
}

void models_close(struct models *models)
{
    for (size_t i = 0; i < models->count; i++) {
        free(models->entries[i].name);
        free(models->entries[i].content);
    }
    free(models->entries);
    *models = (struct models){0};
}
