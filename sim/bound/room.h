/* room.h - how many bytes are held in each gap between two arrivals.
 *
 * A tree over the gaps: adding over a run of gaps, and the most that any gap holds, take a time
 * that grows with the logarithm of their number. */
#ifndef SNAPSIM_ROOM_H
#define SNAPSIM_ROOM_H

#include <stdint.h>

struct room {
    int64_t *most;  /* of all gaps below this place of the tree, with what was added to all of it */
    int64_t *added; /* to all gaps below this place at once */
    uint32_t leaves;
};

void room_open(struct room *room, uint32_t gaps);
void room_close(struct room *room);
void room_clear(struct room *room);

/* Adds bytes, or takes them away, in the gaps [from, to). */
void room_add(struct room *room, uint32_t from, uint32_t to, int64_t bytes);

/* The most that any gap holds. */
static inline int64_t room_most(const struct room *room)
{
    return room->most[1];
}

#endif
