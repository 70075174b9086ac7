#include "sim/load/interned.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"

struct interned_name {
    char *name;
    uint32_t next; /* the number of another one with the same hash and length, or 0 */
};

uint32_t interned_number(struct interned *interned, const char *name, size_t length)
{
    uint64_t hash = digest_bytes(DIGEST_START, name, length);
    uint32_t first = keymap_find(&interned->by_hash, hash, length);
    for (uint32_t n = first; n > 0; n = interned->names[n - 1].next)
        if (memcmp(interned->names[n - 1].name, name, length) == 0)
            return n;
    interned->names = mem_grow(interned->names, &interned->capacity, (size_t)interned->count + 1,
                               sizeof *interned->names);
    interned->names[interned->count++] = (struct interned_name){mem_strndup(name, length), first};
    keymap_put(&interned->by_hash, hash, length, interned->count);
    return interned->count;
}

void interned_close(struct interned *interned)
{
    for (uint32_t i = 0; i < interned->count; i++)
        free(interned->names[i].name);
    free(interned->names);
    keymap_close(&interned->by_hash);
    *interned = (struct interned){0};
}
