/* marks.h - what the adaptive pair knows of places where requests may start.
 *
 * A *mark* stands at a position of a path. It is *live* while a snapshot is there, else a *ghost*:
 * a snapshot that was dropped or never written, remembered so that it can be seen what it would
 * have been good for. Ghosts are forgotten in the order in which they became ghosts; there are
 * never many more of them than of live ones.
 *
 *     position   0 ------ 4096 ------------- 9000 -- 9200
 *     marks      root     live (snapshot)    ghost   live      up of 9200: 4096
 *
 * For each live mark `marks_up` finds the next shallower live one: what a request would fall back
 * to. It remembers what it found, with the version that the upper mark had then; a mark gets a new
 * version when a live one comes to stand right beneath it, on a path that goes on. */
#ifndef SNAPSIM_MARKS_H
#define SNAPSIM_MARKS_H

#include "sim/cache/cache.h"

#define MARK_NONE UINT32_MAX
#define MARK_ROOT 0 /* at position 0 of every path; always live, and not in the list of live ones */

struct mark {
    node_id node;
    uint32_t position;
    uint32_t next;     /* 1 + the next shallower mark on this node, or 0; also the free list */
    uint32_t snapshot; /* its number; SNAPSHOT_NONE: a ghost */
    uint32_t place;    /* live: its place in the list of live ones */
    uint32_t older, younger; /* ghost: in the order of becoming one */
    uint32_t up, up_version; /* see marks_up */
    uint32_t version;
    bool exists;

    /* For the policy. */
    uint8_t kind, status, detail;
    bool missed;             /* a request would have started here, and could not */
    uint16_t class;          /* of kind, status and detail */
    uint16_t heir_class;     /* what it stands in for: its own class, or a dropped one's */
    uint64_t since;          /* when it was made or last used */
    uint64_t counted;        /* the time until then is in the table of hazards */
    uint64_t heir_since;
};

struct marks {
    const struct cache *cache;
    struct mark *items;
    size_t capacity;
    uint32_t count, free; /* slots in use or free; 1 + the first free slot, or 0 */
    uint32_t *live;
    size_t live_capacity;
    uint32_t live_count;
    uint32_t ghost_count, oldest, youngest;
    uint32_t versions;
    uint32_t *of_node;     /* 1 + the deepest mark on a node, or 0 */
    uint32_t *of_snapshot; /* its mark */
    size_t of_snapshot_capacity;
};

void marks_open(struct marks *marks, const struct cache *cache);
void marks_close(struct marks *marks);

/* The mark at a position of a node, or MARK_NONE. */
uint32_t marks_find(const struct marks *marks, node_id node, uint32_t position);

/* A new ghost. */
uint32_t marks_add(struct marks *marks, node_id node, uint32_t position);

/* A snapshot is at a mark now; it is there no more. is_between: deeper ones may stand on its path.
 */
void marks_revive(struct marks *marks, uint32_t id, uint32_t snapshot, bool is_between);
void marks_bury(struct marks *marks, uint32_t id);

/* The ghost that is to be forgotten next, if there are too many; else MARK_NONE. */
uint32_t marks_surplus(const struct marks *marks);
void marks_forget(struct marks *marks, uint32_t ghost);

/* The next shallower live mark on the path of a live one, or MARK_ROOT. */
uint32_t marks_look_up(struct marks *marks, uint32_t id);
static inline uint32_t marks_up(struct marks *marks, uint32_t id)
{
    const struct mark *mark = &marks->items[id], *up = &marks->items[mark->up];
    return up->version == mark->up_version && up->snapshot != SNAPSHOT_NONE
               ? mark->up
               : marks_look_up(marks, id);
}

/* O(n) self-audit. */
int marks_check(const struct marks *marks, struct err *err) MUST_CHECK;

#endif
