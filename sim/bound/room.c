#include "sim/bound/room.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

/* Place 1 is the root, place p has the children 2p and 2p + 1, and gap g is at leaves + g. */
void room_open(struct room *room, uint32_t gaps)
{
    room->leaves = 2;
    while (room->leaves < gaps)
        room->leaves *= 2;
    room->most = mem_array(2 * (size_t)room->leaves, sizeof *room->most);
    room->added = mem_array(2 * (size_t)room->leaves, sizeof *room->added);
}

void room_close(struct room *room)
{
    free(room->most);
    free(room->added);
}

void room_clear(struct room *room)
{
    memset(room->most, 0, 2 * (size_t)room->leaves * sizeof *room->most);
    memset(room->added, 0, 2 * (size_t)room->leaves * sizeof *room->added);
}

static void add_at(struct room *room, uint32_t place, int64_t bytes)
{
    room->most[place] += bytes;
    room->added[place] += bytes;
}

static void settle_above(struct room *room, uint32_t place)
{
    for (place /= 2; place > 0; place /= 2) {
        int64_t left = room->most[2 * place], right = room->most[2 * place + 1];
        room->most[place] = (left > right ? left : right) + room->added[place];
    }
}

void room_add(struct room *room, uint32_t from, uint32_t to, int64_t bytes)
{
    if (from >= to || bytes == 0)
        return;
    uint32_t low = from + room->leaves, high = to + room->leaves;
    for (; low < high; low /= 2, high /= 2) {
        if (low % 2 == 1)
            add_at(room, low++, bytes);
        if (high % 2 == 1)
            add_at(room, --high, bytes);
    }
    settle_above(room, from + room->leaves);
    settle_above(room, to - 1 + room->leaves);
}
