#include "traces/identity.h"

#include <stdio.h>

#include "sim/core/mem.h"

static const char *const names[IDENTITY_KEYS] = {
    "namespace", "cache_salt", "salt",    "tenant",     "tenant_id",    "lora",
    "lora_name", "lora_id",    "adapter", "adapter_id", "adapter_name", "lora_path",
};

static unsigned find(struct scan_text key)
{
    unsigned which = 0;
    while (which < IDENTITY_KEYS && !scan_is(key, names[which]))
        which++;
    return which;
}

bool identity_read(struct identity *identity, struct scan_text key, struct scan *scan)
{
    const unsigned which = find(key);
    if (which == IDENTITY_KEYS)
        return false;
    if (identity->seen & 1u << which)
        scan_fail(scan, scan_column(scan), "expected one \"%s\" in an object, found a second one",
                  names[which]);
    identity->seen |= 1u << which;
    identity->values[which] = (struct scan_text){"", 0};
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", names[which]);
    if (!scan_null(scan))
        identity->values[which] = scan_name(scan, quoted);
    return true;
}

bool identity_pool_read(struct identity_pool *pool, uint32_t *place, struct scan_text key,
                        struct scan *scan)
{
    struct identity found = {.seen = 0};
    if (*place > 0)
        found = pool->items[*place - 1];
    if (!identity_read(&found, key, scan))
        return false;
    if (*place == 0)
        *place = (uint32_t)++pool->count;
    pool->items = mem_grow(pool->items, &pool->capacity, pool->count, sizeof found);
    pool->items[*place - 1] = found;
    return true;
}

void identity_pool_inherit(struct identity_pool *pool, uint32_t *place, uint32_t from)
{
    if (*place == 0 || from == 0) {
        *place = *place > 0 ? *place : from;
        return;
    }
    struct identity *nearer = &pool->items[*place - 1], *other = &pool->items[from - 1];
    for (unsigned i = 0; i < IDENTITY_KEYS; i++)
        if (other->seen & 1u << i & ~nearer->seen)
            nearer->values[i] = other->values[i];
    nearer->seen |= other->seen;
}

uint32_t identity_name_space(const struct identity *identity, struct build *build,
                             struct text *scratch)
{
    text_clear(scratch);
    for (unsigned i = 0; i < IDENTITY_KEYS; i++) {
        struct scan_text value = identity->values[i];
        if (value.length > 0)
            text_printf(scratch, "%s=%zu:%.*s;", names[i], value.length, (int)value.length,
                        value.data);
    }
    return scratch->length > 0 ? build_name_space(build, scratch->data, scratch->length) : 0;
}
