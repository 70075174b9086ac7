#include "sim/model/presets.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/core/text.h"

/* Our own files: one that does not read is our fault. */
static void open_preset(const struct embedded_file *file, struct model *out)
{
    struct json_document document;
    struct err err;
    int failed = json_open_text(&document, file->name, file->text, &err) != 0 ||
                 model_read_json(out, &document, document.top, &err) != 0;
    assert(!failed);
    (void)failed;
    json_close_document(&document);
}

bool presets_at(size_t index, struct model *out)
{
    if (preset_files[index].name == NULL)
        return false;
    open_preset(&preset_files[index], out);
    return true;
}

/* The length of NAME in NAME.json. */
static size_t stem_of(const struct embedded_file *file)
{
    return strlen(file->name) - strlen(".json");
}

static const char *name_at(const void *table, size_t index)
{
    return ((const char *const *)table)[index];
}

#define NAMES_MAX 255

static int unknown(const char *name, struct err *err)
{
    char kept[NAMES_MAX][64];
    const char *names[NAMES_MAX + 2] = {PRESETS_DEFAULT}; /* of those equally near, the default */
    struct text known = {0}, hint = {0};
    for (size_t i = 0; i < NAMES_MAX && preset_files[i].name; i++) {
        snprintf(kept[i], sizeof kept[i], "%.*s", (int)stem_of(&preset_files[i]),
                 preset_files[i].name);
        names[i + 1] = kept[i];
        text_printf(&known, " %s", kept[i]);
    }
    const char *near = text_nearest(name, name_at, names);
    if (near)
        text_printf(&hint, " (did you mean '%s'?)", near);
    else
        text_printf(&hint, "; known:%s", known.data);
    err_set(err, "unknown model '%.100s'%s", name, hint.data);
    text_close(&known);
    text_close(&hint);
    return -1;
}

int presets_find(struct model *out, const char *name, struct err *err)
{
    for (const struct embedded_file *file = preset_files; file->name; file++)
        if (strlen(name) == stem_of(file) && strncasecmp(file->name, name, stem_of(file)) == 0) {
            open_preset(file, out);
            return 0;
        }
    for (size_t i = 0; presets_at(i, out); i++)
        if (text_has_word(out->aliases, name))
            return 0;
    return unknown(name, err);
}
