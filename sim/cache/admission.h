/* admission.h - what one reservation, or the storing of it, is about; for the files of sim/cache.
 *
 *   make_room.c     drops what the policy names until an admission fits
 *   commit.c       stores it
 *   transaction.c  the life of a running request, which calls both */
#ifndef SNAPSIM_ADMISSION_H
#define SNAPSIM_ADMISSION_H

#include "sim/cache/store.h"

struct admission {
    struct running *running;
    const struct wanted_position *wanted; /* ascending; those before `first` were given up */
    size_t first, count;
    uint32_t kv_end;      /* KV is wanted up to here */
    node_id kv_node;      /* on this node */
    node_id match_node;   /* up to its end, KV of the path is as young as it should be */
    uint64_t live_states; /* wanted, beside */
    bool counts_anew;     /* other requests may store or drop what is wanted while room is made */
    uint32_t missing_tokens; /* of KV, while room is made */
    node_id resident_node;   /* no KV of the path is resident below this node */
    bool
        bytes_fit; /* when there was no room: the bytes alone, without pages and places, would do */
};

/* Gives an admission its end of KV; and the end that the replay engine gives it, by the rules of
 * cache.h.
 */
void admission_set_kv_end(struct cache *cache, struct admission *admission, uint32_t kv_end);

uint32_t admission_kv_end(const struct cache *cache, const struct admission *admission);

/* Finds the node of each wanted snapshot that was not given up, as cache->wanted_nodes. */
void admission_find_nodes(struct cache *cache, const struct admission *admission);

/* Calls visit for each wanted snapshot that was not given up, with the node that it lies on. */
typedef void admission_visit(struct cache *cache, struct admission *admission,
                             const struct wanted_position *wanted, node_id node);
void admission_for_each(struct cache *cache, struct admission *admission, admission_visit *visit);

/* What it needs beside all that is there now. */
struct memory_need admission_need(struct cache *cache, struct admission *admission);

/* Drops what may go until the admission fits beside everybody's reservations; false if nothing is
 * left to drop. A counter is the caller's. */
bool room_make(struct cache *cache, struct admission *admission);

/* Gives up shallower snapshots until the admission fits into an empty memory; false if it never
 * does, which is counted as an uncached request. */
bool room_reduce(struct cache *cache, struct admission *admission);

/* Drops what may go until what is there fits. */
void room_trim(struct cache *cache);

/* Stores the admission: KV, shallower first, then snapshots, shallower first. */
void commit_admission(struct cache *cache, struct admission *admission);

/* Makes the snapshot at the place that a request says its stream's newest one, if one stands there;
 * the one before goes. After the pins of the request are gone. */
void commit_newest(struct cache *cache, const struct running *running);

/* Counts a request that found no room. */
static inline void count_uncached(struct cache *cache, bool bytes_fit)
{
    cache->counters.uncached_requests++;
    cache->counters.split_uncached += bytes_fit;
}

#endif
