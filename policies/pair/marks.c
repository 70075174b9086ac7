#include "policies/pair/marks.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/core/mem.h"

/* Ghosts for each live mark, and for the start. With half as many, chats that come back late are
 * not seen to come back. */
#define GHOSTS_EACH 4
#define GHOSTS_MORE 64

void marks_open(struct marks *marks, const struct cache *cache)
{
    *marks = (struct marks){.cache = cache, .oldest = MARK_NONE, .youngest = MARK_NONE};
    marks->of_node = mem_array(cache->workload->node_count, sizeof *marks->of_node);
    marks->items = mem_grow(NULL, &marks->capacity, 1, sizeof *marks->items);
    marks->items[MARK_ROOT] = (struct mark){.node = NODE_ROOT, .snapshot = 0, .exists = true};
    marks->count = 1;
}

void marks_close(struct marks *marks)
{
    free(marks->items);
    free(marks->live);
    free(marks->of_node);
    free(marks->of_snapshot);
}

uint32_t marks_find(const struct marks *marks, node_id node, uint32_t position)
{
    uint32_t link = marks->of_node[node];
    while (link && marks->items[link - 1].position > position)
        link = marks->items[link - 1].next;
    return link && marks->items[link - 1].position == position ? link - 1 : MARK_NONE;
}

static void enter_ghost(struct marks *marks, uint32_t id)
{
    struct mark *mark = &marks->items[id];
    mark->snapshot = SNAPSHOT_NONE;
    mark->older = marks->youngest;
    mark->younger = MARK_NONE;
    if (marks->youngest != MARK_NONE)
        marks->items[marks->youngest].younger = id;
    else
        marks->oldest = id;
    marks->youngest = id;
    marks->ghost_count++;
}

static void leave_ghosts(struct marks *marks, uint32_t id)
{
    const struct mark *mark = &marks->items[id];
    if (mark->older != MARK_NONE)
        marks->items[mark->older].younger = mark->younger;
    else
        marks->oldest = mark->younger;
    if (mark->younger != MARK_NONE)
        marks->items[mark->younger].older = mark->older;
    else
        marks->youngest = mark->older;
    marks->ghost_count--;
}

uint32_t marks_add(struct marks *marks, node_id node, uint32_t position)
{
    uint32_t id = marks->free ? marks->free - 1 : marks->count++;
    marks->items = mem_grow(marks->items, &marks->capacity, marks->count, sizeof *marks->items);
    if (marks->free)
        marks->free = marks->items[id].next;
    uint32_t *link = &marks->of_node[node];
    while (*link && marks->items[*link - 1].position > position)
        link = &marks->items[*link - 1].next;
    marks->items[id] = (struct mark){.node = node,
                                     .position = position,
                                     .next = *link,
                                     .version = ++marks->versions,
                                     .exists = true};
    *link = id + 1;
    enter_ghost(marks, id);
    return id;
}

void marks_forget(struct marks *marks, uint32_t ghost)
{
    struct mark *mark = &marks->items[ghost];
    leave_ghosts(marks, ghost);
    uint32_t *link = &marks->of_node[mark->node];
    while (*link != ghost + 1)
        link = &marks->items[*link - 1].next;
    *link = mark->next;
    mark->exists = false;
    mark->version = ++marks->versions;
    mark->next = marks->free;
    marks->free = ghost + 1;
}

uint32_t marks_surplus(const struct marks *marks)
{
    return marks->ghost_count > GHOSTS_EACH * marks->live_count + GHOSTS_MORE ? marks->oldest
                                                                             : MARK_NONE;
}

/* The deepest live mark on the way up from a node, shallower than a position. */
static uint32_t look_up(const struct marks *marks, node_id node, uint32_t position)
{
    const struct cache *cache = marks->cache;
    for (; node != NODE_ROOT; node = cache->workload->nodes[node].parent) {
        uint32_t link = cache_snapshots_to(cache, node, position - 1);
        if (link)
            return marks->of_snapshot[link - 1];
    }
    return MARK_ROOT;
}

static void set_up(struct marks *marks, struct mark *mark, uint32_t up)
{
    mark->up = up;
    mark->up_version = marks->items[up].version;
}

void marks_revive(struct marks *marks, uint32_t id, uint32_t snapshot, bool is_between)
{
    struct mark *mark = &marks->items[id];
    leave_ghosts(marks, id);
    mark->snapshot = snapshot;
    mark->version = ++marks->versions;
    marks->of_snapshot = mem_grow(marks->of_snapshot, &marks->of_snapshot_capacity,
                                  (size_t)snapshot + 1, sizeof *marks->of_snapshot);
    marks->of_snapshot[snapshot] = id;
    mark->place = marks->live_count++;
    marks->live =
        mem_grow(marks->live, &marks->live_capacity, marks->live_count, sizeof *marks->live);
    marks->live[mark->place] = id;
    uint32_t up = look_up(marks, mark->node, mark->position);
    if (is_between) /* what looked past this place must look again */
        marks->items[up].version = ++marks->versions;
    set_up(marks, mark, up);
}

void marks_bury(struct marks *marks, uint32_t id)
{
    struct mark *mark = &marks->items[id];
    marks_up(marks, id); /* what stood on this one will find it here */
    uint32_t last = marks->live[--marks->live_count];
    marks->live[mark->place] = last;
    marks->items[last].place = mark->place;
    enter_ghost(marks, id);
}

uint32_t marks_look_up(struct marks *marks, uint32_t id)
{
    struct mark *mark = &marks->items[id];
    for (;;) {
        const struct mark *up = &marks->items[mark->up];
        if (up->version != mark->up_version) {
            set_up(marks, mark, look_up(marks, mark->node, mark->position));
            return mark->up;
        }
        if (up->snapshot != SNAPSHOT_NONE)
            return mark->up;
        mark->up_version = up->up_version; /* it went: what was above it is next */
        mark->up = up->up;
    }
}

int marks_check(const struct marks *marks, struct err *err)
{
    const struct cache *cache = marks->cache;
    uint32_t ghosts = 0;
    for (uint32_t id = marks->oldest; id != MARK_NONE; id = marks->items[id].younger) {
        if (marks->items[id].snapshot != SNAPSHOT_NONE || !marks->items[id].exists)
            return err_set(err, "adaptive: mark %u is among the ghosts", id);
        ghosts++;
    }
    if (ghosts != marks->ghost_count || marks->live_count != cache->live_snapshots)
        return err_set(err, "adaptive: %u live marks for %u snapshots, %u ghosts of %u",
                       marks->live_count, cache->live_snapshots, ghosts, marks->ghost_count);
    for (uint32_t i = 0; i < marks->live_count; i++) {
        struct mark *mark = &marks->items[marks->live[i]];
        const struct snapshot *snapshot = &cache->snapshots[mark->snapshot];
        uint32_t found = look_up(marks, mark->node, mark->position);
        if (mark->place != i || !snapshot->live || snapshot->node != mark->node ||
            snapshot->position != mark->position)
            return err_set(err, "adaptive: mark %u is not where its snapshot is", marks->live[i]);
        if (marks->items[mark->up].version == mark->up_version && mark->up != found &&
            marks->items[mark->up].snapshot != SNAPSHOT_NONE)
            return err_set(err, "adaptive: mark %u does not see %u above it", marks->live[i],
                           found);
    }
    return 0;
}
