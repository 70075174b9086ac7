#include "tools/sweep/known_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

static const struct known_model *find(const struct known_models *known, const char *name)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->items[i].name, name) == 0)
            return &known->items[i];
    return NULL;
}

static void add(struct known_models *known, const char *name, const char *sha256)
{
    known->items = mem_grow(known->items, &known->capacity, known->count + 1, sizeof *known->items);
    struct known_model *one = &known->items[known->count++];
    one->name = mem_strdup(name);
    snprintf(one->sha256, sizeof one->sha256, "%s", sha256);
}

void known_models_open(struct known_models *out, const struct sweep *sweep)
{
    *out = (struct known_models){0};
    for (size_t i = 0; i < sweep->cell_count; i++) {
        const char *name = sweep->cells[i].config.model;
        const struct model_content *content = NULL;
        struct err ignored; /* it is said when a cell needs the model */
        if (find(out, name))
            continue;
        bool good = models_find(sweep->models, name, &content, &ignored) == 0;
        add(out, name, good ? content->sha256 : "?");
    }
}

void known_models_close(struct known_models *known)
{
    for (size_t i = 0; i < known->count; i++)
        free(known->items[i].name);
    free(known->items);
    *known = (struct known_models){0};
}

const char *known_models_sha256(const struct known_models *known, const char *name)
{
    const struct known_model *one = find(known, name);
    return one ? one->sha256 : "?";
}

int known_models_check(const char *name, const char *was, const char *now, struct err *err)
{
    if (*was == '?' || *now == '?' || strcmp(was, now) == 0)
        return 0;
    return err_set(err, "model%s '%.300s': was sha256 %.64s, is now %.64s",
                   text_names_file(name) ? " file" : "", name, was, now);
}

/* What a result says of its model; false if it says nothing. */
static bool read_model(const struct json *result, const char **name, const char **sha256)
{
    const struct json *model = json_is_object(result) ? json_get(result, "model") : NULL;
    *name = model ? json_string(json_get(model, "name")) : NULL;
    *sha256 = model ? json_string(json_get(model, "sha256")) : NULL;
    return *name && *sha256;
}

int known_models_check_line(const struct known_models *known, const char *line, struct err *err)
{
    struct json_document document;
    struct err ignored;
    const char *name = NULL, *was = NULL;
    if (json_open_text(&document, "result", line, &ignored) != 0)
        return 0;
    int result = 0;
    if (read_model(document.top, &name, &was))
        result = known_models_check(name, was, known_models_sha256(known, name), err);
    json_close_document(&document);
    return result;
}

int known_models_add_result(struct known_models *known, const struct json *result, struct err *err)
{
    const char *name = NULL, *sha256 = NULL;
    if (!read_model(result, &name, &sha256))
        return 0;
    const struct known_model *one = find(known, name);
    if (!one)
        add(known, name, sha256);
    if (!one || strcmp(one->sha256, sha256) == 0)
        return 0;
    return err_set(err, "a result of model%s '%.300s' with sha256 %s was expected, found %.64s",
                   text_names_file(name) ? " file" : "", name, one->sha256, sha256);
}
