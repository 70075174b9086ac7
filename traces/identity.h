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

/* Takes over the values of keys that the nearer object does not have. */
void identity_inherit(struct identity *nearer, const struct identity *from);

/* The name space that the values make, or 0 if there are none. scratch is for its name. */
uint32_t identity_name_space(const struct identity *identity, struct build *build,
                             struct text *scratch);

#endif
