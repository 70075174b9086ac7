#include "sim/core/json.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define LARGEST_EXACT 9007199254740992.0 /* 2^53 */

static const cJSON *item_of(const struct json *value)
{
    return (const cJSON *)(const void *)value;
}

static cJSON *own_item(struct json *value)
{
    return (cJSON *)(void *)value;
}

static struct json *value_of(cJSON *item)
{
    return (struct json *)(void *)item;
}

static const struct json *const_value_of(const cJSON *item)
{
    return (const struct json *)(const void *)item;
}

static unsigned line_at(const char *source, const char *where)
{
    unsigned line = 1;
    for (const char *c = source; c < where; c++)
        line += *c == '\n';
    return line;
}

/* Where the value stands. cJSON keeps no positions, so walk both in step: this counts, in document
 * order, the keys of that spelling that come before the value. */
static bool count_key(const cJSON *item, const cJSON *wanted, const char *key, size_t *before)
{
    for (; item; item = item->next) {
        if (item == wanted)
            return true;
        if (item->string && strcmp(item->string, key) == 0)
            (*before)++;
        if (item->child && count_key(item->child, wanted, key, before))
            return true;
    }
    return false;
}

/* The value itself if it has a key, else the nearest one above it that has: cJSON does not link
 * values to their parents. */
static const cJSON *keyed_at(const cJSON *list, const cJSON *wanted, const cJSON *above)
{
    for (const cJSON *item = list; item; item = item->next) {
        const cJSON *here = item->string ? item : above;
        if (item == wanted)
            return here;
        const cJSON *found = item->child ? keyed_at(item->child, wanted, here) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static unsigned line_of(const struct json_document *document, const struct json *value)
{
    const cJSON *item = keyed_at(item_of(document->top), item_of(value), NULL);
    if (!item)
        return 1;
    size_t before = 0;
    count_key(item_of(document->top), item, item->string, &before);
    struct text quoted = {0};
    text_printf(&quoted, "\"%s\"", item->string);
    const char *at = document->source.data;
    const char *found = at;
    for (; found && (found = strstr(at, quoted.data)) != NULL; at = found + 1) {
        const char *after = found + quoted.length + strspn(found + quoted.length, " \t\r\n");
        if (*after == ':' && before-- == 0)
            break;
    }
    text_close(&quoted);
    return found ? line_at(document->source.data, found) : 1;
}

int json_fail(const struct json_document *document, const struct json *value, struct err *err,
              const char *format, ...)
{
    char message[ERR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return err_set(err, "%.300s:%u: %.700s", document->path, line_of(document, value), message);
}

/* cJSON keeps both of two equal keys; a reader would see the first, its author meant the second. */
static int refuse_duplicates(const struct json_document *document, const cJSON *parent,
                             struct err *err)
{
    for (const cJSON *item = parent->child; item; item = item->next) {
        if (cJSON_IsNumber(item) && !isfinite(item->valuedouble))
            return json_fail(document, const_value_of(item), err, "a number is out of range");
        for (const cJSON *other = item->next; item->string && other; other = other->next)
            if (strcmp(item->string, other->string) == 0)
                return json_fail(document, const_value_of(other), err, "key '%s' appears twice",
                                 item->string);
        if (item->child && refuse_duplicates(document, item, err) != 0)
            return -1;
    }
    return 0;
}

static int parse(struct json_document *document, struct err *err)
{
    const char *end = NULL;
    size_t length = document->source.length;
    if (memchr(document->source.data, '\0', length))
        return err_set(err, "%s:1: JSON was expected, found a NUL byte", document->path);
    cJSON *top = cJSON_ParseWithOpts(document->source.data, &end, true);
    if (top == NULL) {
        unsigned line = line_at(document->source.data, end);
        int shown = (int)strcspn(end, "\r\n"); /* an error is one line */
        return err_set(err, "%s:%u: JSON was expected, found '%.*s'", document->path, line,
                       *end ? (shown < 20 ? shown : 20) : 11, *end ? end : "end of file");
    }
    document->top = value_of(top);
    return refuse_duplicates(document, top, err);
}

int json_open_text(struct json_document *out, const char *name, const char *source, struct err *err)
{
    *out = (struct json_document){.path = mem_strdup(name)};
    text_add(&out->source, source, strlen(source));
    if (parse(out, err) == 0)
        return 0;
    json_close_document(out);
    return -1;
}

int json_open_file(struct json_document *out, const char *path, struct err *err)
{
    *out = (struct json_document){.path = mem_strdup(path)};
    if (text_read_file(&out->source, path, err) == 0 && parse(out, err) == 0)
        return 0;
    json_close_document(out);
    return -1;
}

void json_close_document(struct json_document *document)
{
    json_close(document->top);
    text_close(&document->source);
    free(document->path);
    *document = (struct json_document){0};
}

const struct json *json_get(const struct json *object, const char *key)
{
    return const_value_of(cJSON_GetObjectItemCaseSensitive(item_of(object), key));
}

const char *json_key(const struct json *value)
{
    return item_of(value)->string;
}

const char *json_string(const struct json *value)
{
    return value ? cJSON_GetStringValue(item_of(value)) : NULL;
}

bool json_is_object(const struct json *value)
{
    return cJSON_IsObject(item_of(value));
}

bool json_is_array(const struct json *value)
{
    return cJSON_IsArray(item_of(value));
}

bool json_is_number(const struct json *value)
{
    return cJSON_IsNumber(item_of(value));
}

bool json_is_bool(const struct json *value, bool *is_true)
{
    *is_true = cJSON_IsTrue(item_of(value));
    return cJSON_IsBool(item_of(value));
}

double json_double(const struct json *value)
{
    return cJSON_IsNumber(item_of(value)) ? item_of(value)->valuedouble : 0;
}

const struct json *json_first(const struct json *parent)
{
    return parent ? const_value_of(item_of(parent)->child) : NULL;
}

const struct json *json_next(const struct json *value)
{
    return const_value_of(item_of(value)->next);
}

int json_u64(const struct json *value, uint64_t *out)
{
    if (!value || !json_is_number(value))
        return -1;
    double number = item_of(value)->valuedouble;
    if (!(number >= 0 && number <= LARGEST_EXACT) || number != floor(number))
        return -1;
    *out = (uint64_t)number;
    return 0;
}

int json_scalar_text(const struct json *value, struct text *out)
{
    bool is_true = false;
    uint64_t whole = 0;
    if (json_string(value)) {
        text_printf(out, "%s", json_string(value));
    } else if (json_is_bool(value, &is_true)) {
        text_printf(out, "%d", is_true);
    } else if (json_u64(value, &whole) == 0) {
        text_printf(out, "%" PRIu64, whole);
    } else if (json_is_number(value)) {
        text_add_number(out, json_double(value), false);
    } else {
        return -1;
    }
    return 0;
}

static struct json *add(struct json *parent, const char *key, cJSON *item)
{
    assert(item != NULL);
    if (key)
        cJSON_AddItemToObject(own_item(parent), key, item);
    else
        cJSON_AddItemToArray(own_item(parent), item);
    return value_of(item);
}

struct json *json_new_object(void)
{
    return value_of(cJSON_CreateObject());
}

struct json *json_add_object(struct json *parent, const char *key)
{
    return add(parent, key, cJSON_CreateObject());
}

struct json *json_add_array(struct json *parent, const char *key)
{
    return add(parent, key, cJSON_CreateArray());
}

void json_add_u64(struct json *parent, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    add(parent, key, cJSON_CreateRaw(digits));
}

void json_add_double(struct json *parent, const char *key, double value)
{
    struct text digits = {0};
    assert(isfinite(value));
    text_add_number(&digits, value, false);
    add(parent, key, cJSON_CreateRaw(digits.data));
    text_close(&digits);
}

void json_add_bool(struct json *parent, const char *key, bool value)
{
    add(parent, key, cJSON_CreateBool(value));
}

void json_add_string(struct json *parent, const char *key, const char *value)
{
    add(parent, key, cJSON_CreateString(value));
}

void json_add_hex(struct json *parent, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "0x%016" PRIx64, value);
    json_add_string(parent, key, digits);
}

void json_print(const struct json *value, bool pretty, struct text *out)
{
    char *printed = pretty ? cJSON_Print(item_of(value)) : cJSON_PrintUnformatted(item_of(value));
    assert(printed != NULL);
    text_printf(out, "%s", printed);
    cJSON_free(printed);
}

void json_close(struct json *top)
{
    cJSON_Delete(own_item(top));
}
