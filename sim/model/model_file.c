/* Models as JSON. One table per kind of layer (kind.h) says which keys there are, so that reading,
 * writing and range checks cannot disagree. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/param_json.h"
#include "sim/core/text.h"
#include "sim/model/kind.h"
#include "sim/model/model_config.h"
#include "sim/model/presets.h"

#define MODEL_SCHEMA 1

/* The scalar keys of a model beside its texts. */
static const char *const model_state_dtypes[] = {"model", "fp32", "bf16", NULL};
static const struct param model_fields[] = {
    PARAM_CHOICES(struct model, state_dtype, "fp32", model_state_dtypes,
                  "recurrent matrix in memory, as servers keep it"),
    PARAM(struct model, hidden_dim, PARAM_U64, NULL, 1, 65536, "width of the residual stream"),
    PARAM(struct model, vocab, PARAM_U64, NULL, 1, 16777216, "rows of the embedding"),
    PARAM(
        struct model, snapshot_grain, PARAM_U64, "0", 0, 1048576,
        "tokens between states that exist within a prompt; 0: 64, the chunk of the usual kernels"),
    PARAM(struct model, tied_embedding, PARAM_BOOL, "false", 0, 1, "the head is the embedding"),
    PARAM_END,
};

struct text_field {
    const char *name;
    size_t offset, size;
};

static const struct text_field text_fields[] = {
#define TEXT(field)                                                                                \
    {                                                                                              \
#field, offsetof(struct model, field), sizeof(((struct model *)NULL)->field)               \
    }
    TEXT(name), TEXT(aliases), TEXT(summary), TEXT(source), TEXT(attention_at),
};
#define TEXT_FIELD_COUNT (sizeof text_fields / sizeof *text_fields)

static const struct text_field *find_text_field(const char *key)
{
    for (size_t i = 0; i < TEXT_FIELD_COUNT; i++)
        if (strcmp(text_fields[i].name, key) == 0)
            return &text_fields[i];
    return NULL;
}

/* A document, the value at hand and where complaints go: passed together everywhere below. */
struct reader {
    const struct json_document *document;
    struct err *err;
};

static int unknown_key(const struct reader *reader, const struct json *value,
                       const struct param *table)
{
    struct text hint = {0};
    text_add(&hint, "", 0);
    param_suggest(table, json_key(value), &hint);
    json_fail(reader->document, value, reader->err, "unknown key '%.100s'%s", json_key(value),
              hint.data);
    text_close(&hint);
    return -1;
}

/* JSON has types, so a number in quotes is a slip worth telling. */
static const char *wanted_type(const struct param *entry, const struct json *value)
{
    bool ignored;
    if (entry->type == PARAM_BOOL)
        return json_is_bool(value, &ignored) ? NULL : "true or false";
    if (entry->type == PARAM_CHOICE)
        return json_string(value) ? NULL : "a word in quotes";
    return json_is_number(value) ? NULL : "a number";
}

static int read_field(const struct reader *reader, const struct json *value,
                      const struct param *entry, void *settings)
{
    const char *wanted = wanted_type(entry, value);
    if (wanted)
        return json_fail(reader->document, value, reader->err, "%s: %s was expected", entry->name,
                         wanted);
    return param_set_json(entry, settings, reader->document, value, reader->err);
}

/* Fields that the object left out: their default, or a complaint. */
static int fill_fields(const struct reader *reader, const struct json *object,
                       const struct param *table, void *settings)
{
    struct err reason;
    const struct json *place = json_first(object) ? json_first(object) : object;
    for (const struct param *entry = table; entry->name; entry++) {
        if (json_get(object, entry->name))
            continue;
        if (entry->default_text == NULL)
            return json_fail(reader->document, place, reader->err, "key '%s' is missing (%s)",
                             entry->name, entry->help);
        if (param_set(entry, settings, entry->default_text, &reason) != 0)
            return json_fail(reader->document, place, reader->err, "%s", reason.text);
    }
    return 0;
}

static const char *kind_name_at(const void *table, size_t index)
{
    (void)table;
    return layer_kinds[index] ? layer_kinds[index]->name : NULL;
}

static int read_kind(const struct reader *reader, const struct json *object,
                     const struct layer_kind **kind)
{
    const struct json *value = json_get(object, "kind");
    const struct json *place = value ? value : json_first(object);
    const char *name = json_string(value);
    if (name == NULL)
        return json_fail(reader->document, place ? place : object, reader->err,
                         "kind: a kind of layer was expected, such as \"kda\" or \"mla\"");
    for (size_t i = 0; layer_kinds[i]; i++) {
        *kind = layer_kinds[i];
        if (strcmp((*kind)->name, name) == 0)
            return 0;
    }
    const char *near = text_nearest(name, kind_name_at, NULL);
    return json_fail(reader->document, value, reader->err, "kind: unknown kind '%.100s'%s%s%s",
                     name, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static int read_group(const struct reader *reader, const struct json *object,
                      struct layer_group *group)
{
    if (read_kind(reader, object, &group->kind) != 0)
        return -1;
    const struct param *table = group->kind->fields;
    for (const struct json *value = json_first(object); value; value = json_next(value)) {
        if (strcmp(json_key(value), "kind") == 0)
            continue;
        const struct param *entry = param_find(table, json_key(value));
        if (entry == NULL || strcmp(entry->name, json_key(value)) != 0)
            return unknown_key(reader, value, table);
        if (read_field(reader, value, entry, group) != 0)
            return -1;
    }
    return fill_fields(reader, object, table, group);
}

static int read_groups(const struct reader *reader, const struct json *list, struct model *out)
{
    if (!json_is_array(list))
        return json_fail(reader->document, list, reader->err,
                         "layers: a list of groups of layers was expected");
    for (const struct json *value = json_first(list); value; value = json_next(value)) {
        if (out->group_count == MODEL_GROUPS_MAX)
            return json_fail(reader->document, list, reader->err,
                             "layers: at most %d groups of layers were expected", MODEL_GROUPS_MAX);
        if (!json_is_object(value))
            return json_fail(reader->document, list, reader->err,
                             "layers: an object per group of layers was expected");
        if (read_group(reader, value, &out->groups[out->group_count++]) != 0)
            return -1;
    }
    return 0;
}

static int read_text(const struct reader *reader, const struct json *value,
                     const struct text_field *field, struct model *out)
{
    const char *text = json_string(value);
    if (text == NULL || strlen(text) >= field->size)
        return json_fail(reader->document, value, reader->err,
                         "%s: a text of at most %zu bytes was expected", field->name,
                         field->size - 1);
    memcpy((char *)out + field->offset, text, strlen(text) + 1);
    return 0;
}

static int read_schema(const struct reader *reader, const struct json *value)
{
    uint64_t schema = 0;
    if (json_u64(value, &schema) == 0 && schema == MODEL_SCHEMA)
        return 0;
    return json_fail(reader->document, value, reader->err, "schema: %d was expected", MODEL_SCHEMA);
}

static int read_member(const struct reader *reader, const struct json *value, struct model *out)
{
    const char *key = json_key(value);
    const struct text_field *text = find_text_field(key);
    const struct param *entry = param_find(model_fields, key);
    if (strcmp(key, "schema") == 0)
        return read_schema(reader, value);
    if (strcmp(key, "layers") == 0)
        return read_groups(reader, value, out);
    if (text)
        return read_text(reader, value, text, out);
    if (entry == NULL || strcmp(entry->name, key) != 0)
        return unknown_key(reader, value, model_fields);
    const char *word = json_string(value);
    if (strcmp(key, "state_dtype") == 0 &&
        (word == NULL || (strcmp(word, "fp32") != 0 && strcmp(word, "bf16") != 0)))
        return json_fail(reader->document, value, reader->err,
                         "state_dtype: fp32 or bf16 was expected%s%.100s%s",
                         word ? ", found '" : "", word ? word : "", word ? "'" : "");
    return read_field(reader, value, entry, out);
}

int model_read_json(struct model *out, const struct json_document *document,
                    const struct json *value, struct err *err)
{
    struct reader reader = {document, err};
    struct err reason;
    memset(out, 0, sizeof *out);
    if (!json_is_object(value))
        return json_fail(document, value, err, "an object that describes a model was expected");
    for (const struct json *member = json_first(value); member; member = json_next(member))
        if (read_member(&reader, member, out) != 0)
            return -1;
    if (fill_fields(&reader, value, model_fields, out) != 0)
        return -1;
    if (json_get(value, "layers") == NULL)
        return json_fail(document, value, err, "key 'layers' is missing (groups of layers)");
    if (model_check(out, &reason) != 0)
        return json_fail(document, json_get(value, "layers"), err, "%s", reason.text);
    return 0;
}

/* `model show --format json` puts the model beside what follows from it. Whoever edits that output
 * edits the model; the rest is recomputed. */
static const struct json *find_model(const struct json_document *document)
{
    const struct json *model = NULL;
    if (json_is_object(document->top))
        model = json_get(document->top, "model");
    return model ? model : document->top;
}

static int check_envelope(const struct json_document *document, struct err *err)
{
    static const char *const known[] = {"schema", "model", "sharding", "sizes"};
    for (const struct json *member = json_first(document->top); member;
         member = json_next(member)) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], json_key(member)) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            return json_fail(document, member, err, "unknown key '%.100s'", json_key(member));
    }
    return 0;
}

/* Python writes numbers that JSON does not have. They limit time steps, which have no size. */
static void blank_infinities(char *text)
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    for (bool in_string = false; *text != '\0'; text++) {
        if (*text == '\\' && in_string && text[1] != '\0')
            text++;
        else if (*text == '"')
            in_string = !in_string;
        for (size_t i = 0; !in_string && i < sizeof words / sizeof *words; i++)
            if (strncmp(text, words[i], strlen(words[i])) == 0) {
                memset(text, ' ', strlen(words[i]));
                *text = '0';
            }
    }
}

static int open_document(struct json_document *out, const char *path, struct err *err)
{
    struct text text = {0};
    int result = text_read_file(&text, path, err);
    if (result == 0 && (text.length == 0 || memchr(text.data, '\0', text.length))) {
        result = json_open_file(out, path, err); /* it says what is wrong */
    } else if (result == 0) {
        blank_infinities(text.data);
        result = json_open_text(out, path, text.data, err);
    }
    text_close(&text);
    return result;
}

int model_read_file(struct model *out, const char *path, struct err *err)
{
    struct json_document document;
    if (open_document(&document, path, err) != 0)
        return -1;
    const struct json *value = find_model(&document);
    int result = value != document.top ? check_envelope(&document, err) : 0;
    if (result == 0)
        result = model_config_is(value) ? model_config_read(out, &document, err)
                                        : model_read_json(out, &document, value, err);
    json_close_document(&document);
    return result;
}

static void write_field(const struct param *entry, const void *settings, struct json *object)
{
    const char *field = (const char *)settings + entry->offset;
    if (entry->type == PARAM_U64)
        json_add_u64(object, entry->name, *(const uint64_t *)(const void *)field);
    else if (entry->type == PARAM_BOOL)
        json_add_bool(object, entry->name, *(const bool *)(const void *)field);
    else
        json_add_string(object, entry->name, entry->choice[*(const unsigned *)(const void *)field]);
}

/* scratch: room for settings like these. */
static bool is_default(const struct param *entry, const void *settings, void *scratch)
{
    struct text here = {0}, usual = {0};
    struct err ignored;
    if (!entry->default_text || param_set(entry, scratch, entry->default_text, &ignored) != 0)
        return false;
    param_print_value(entry, settings, &here);
    param_print_value(entry, scratch, &usual);
    bool same = strcmp(here.data, usual.data) == 0;
    text_close(&here);
    text_close(&usual);
    return same;
}

/* The keys beside texts; in short, without what is at its default. */
static void write_shape(const struct model *model, bool in_short, struct json *parent)
{
    struct model usual = {0};
    struct layer_group usual_group = {.count = 0};
    for (const struct param *entry = model_fields; entry->name; entry++)
        if (!in_short || !is_default(entry, model, &usual))
            write_field(entry, model, parent);
    struct json *list = json_add_array(parent, "layers");
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        struct json *object = json_add_object(list, NULL);
        json_add_string(object, "kind", group->kind->name);
        for (const struct param *entry = group->kind->fields; entry->name; entry++)
            if (!in_short || !is_default(entry, group, &usual_group))
                write_field(entry, group, object);
    }
}

void model_to_json(const struct model *model, struct json *parent)
{
    json_add_u64(parent, "schema", MODEL_SCHEMA);
    for (size_t i = 0; i < TEXT_FIELD_COUNT; i++) {
        const char *text = (const char *)model + text_fields[i].offset;
        if (*text != '\0')
            json_add_string(parent, text_fields[i].name, text);
    }
    write_shape(model, false, parent);
}

void model_digest(const struct model *model, char hex[SHA256_TEXT])
{
    struct json *top = json_new_object();
    struct text text = {0};
    if (model->attention_at[0] != '\0') /* a text that decides sizes: those of stages */
        json_add_string(top, "attention_at", model->attention_at);
    write_shape(model, true, top);
    json_print(top, false, &text);
    sha256_of(text.data, text.length, hex);
    text_close(&text);
    json_close(top);
}

bool model_is_file(const char *name_or_path)
{
    return strchr(name_or_path, '/') || strstr(name_or_path, ".json");
}

int model_load(struct model *out, const char *name_or_path, struct err *err)
{
    if (model_is_file(name_or_path))
        return model_read_file(out, name_or_path, err);
    return presets_find(out, name_or_path, err);
}
