/* lookup.h - finding the hit of a prompt; for the files of sim/cache. */
#ifndef SNAPSIM_LOOKUP_H
#define SNAPSIM_LOOKUP_H

#include "sim/cache/cache.h"

/* Finds the hit, and tells the eviction policy and the memory strategy what it uses. */
struct lookup lookup_find(struct cache *cache, const struct request *request);

/* Tells the policy that all KV on the path up from a node is used, deeper first. */
void lookup_use_kv(struct cache *cache, node_id node);

#endif
