/* identity.h - the keys of a request, or of its conversation, that say who may share its blocks.
 *
 * Servers keep one user's prefixes from another's by a salt, a tenant, or an adapter whose KV is
 * different. Requests that differ in one of these keys share nothing: together the values are the
 * name of the space in which the request's block numbers mean something. What is null or "" is as
 * if the key were not there; 7 and "7" are one name. */
#ifndef SNAPSIM_IDENTITY_H
#define SNAPSIM_IDENTITY_H

#include "sim/core/text.h"
#include "sim/load/build.h"
#include "traces/scan.h"

enum { IDENTITY_KEYS = 12 };

struct identity {
    struct scan_text values[IDENTITY_KEYS]; /* as they stand in the line; length 0: none */
    uint32_t seen;
};

/* If key is one of these, reads its value, a string or a number, and returns true. */
bool identity_read(struct identity *identity, struct scan_text key, struct scan *scan);

/* The identities of many objects, few of which have one: an object has a place in the pool + 1, or
 * 0. */
struct identity_pool {
    struct identity *items;
    size_t count, capacity;
};

/* identity_read for the object with that place, which is given one if it needs it. */
bool identity_pool_read(struct identity_pool *pool, uint32_t *place, struct scan_text key,
                        struct scan *scan);

/* What an object does not say is said by the one that holds it. */
void identity_pool_inherit(struct identity_pool *pool, uint32_t *place, uint32_t from);

/* The name space that the values make, or 0 if there are none. scratch is for its name. */
uint32_t identity_name_space(const struct identity *identity, struct build *build,
                             struct text *scratch);

#endif
