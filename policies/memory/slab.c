#include "policies/memory/slab.h"

#include <assert.h>
#include <stdlib.h>

#include "policies/memory/forks.h"
#include "policies/memory/page.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "sim/core/whole.h"

/* Holders: the live states are 0, node n is 1 + n, snapshot s is 1 + node_count + s. */
#define HOLDER_LIVE 0u

static uint32_t node_holder(node_id node)
{
    return 1 + node;
}

static uint32_t snapshot_holder(const struct memory *memory, uint32_t snapshot)
{
    return 1 + memory->workload->node_count + snapshot;
}

/* Makes the arrays by holder reach so far. */
static void reach(struct slabs *slabs, size_t count)
{
    slabs->tops = mem_grow_zeroed(slabs->tops, &slabs->tops_capacity, count, sizeof *slabs->tops);
    slabs->ages = mem_grow_zeroed(slabs->ages, &slabs->ages_capacity, count, sizeof *slabs->ages);
}

int slab_open(struct memory *memory, struct err *err)
{
    struct slabs *slabs = memory->state;
    const char *name = memory->ops->plugin.name;
    for (int i = SLAB_KV; i <= SLAB_STATE; i++) {
        uint64_t unit = slabs->unit_bytes[i] ? slabs->unit_bytes[i] : slabs->slab_bytes;
        slabs->per_slab[i] = slabs->slab_bytes / unit;
        if (slabs->per_slab[i] == 0 || slabs->per_slab[i] > UINT32_MAX)
            return err_set(err,
                           "memory '%s': slabs of %llu bytes cannot be cut into %s of %llu bytes",
                           name, (unsigned long long)slabs->slab_bytes,
                           i == SLAB_KV ? "KV pages" : "pieces of states",
                           (unsigned long long)slabs->unit_bytes[i]);
    }
    slabs->total = page_whole(memory->capacity_bytes, slabs->slab_bytes);
    if (memory->capacity_bytes != UNITS_UNLIMITED && slabs->total >= UINT32_MAX)
        return err_set(err, "memory '%s': slabs of %llu bytes are too small for the capacity", name,
                       (unsigned long long)slabs->slab_bytes);
    slabs->free_slabs = slabs->total;
    memory->place_bytes = slabs->slab_bytes;
    reach(slabs, 1 + (size_t)memory->workload->node_count);
    return 0;
}

void slab_fini(struct memory *memory)
{
    struct slabs *slabs = memory->state;
    free(slabs->slabs);
    free(slabs->runs);
    free(slabs->tops);
    free(slabs->ages);
    trail_close(&slabs->trail);
    for (int i = 0; i < SLAB_CLASSES; i++)
        free(slabs->heaps[i].entries);
}

void slab_units(const struct slabs *slabs, struct memory_need need, uint64_t *units)
{
    units[SLAB_KV] = need.kv_pages;
    units[SLAB_STATE] =
        need.snapshots * slabs->per_snapshot + need.live_states * slabs->per_live_state;
}

uint64_t slab_needed(const struct slabs *slabs, const uint64_t *units, const uint64_t *there)
{
    uint64_t needed = 0;
    for (int i = SLAB_KV; i <= SLAB_STATE; i++)
        if (units[i] > there[i])
            needed += whole_ceil(units[i] - there[i], slabs->per_slab[i]);
    return needed;
}

bool slab_fits_empty(const struct memory *memory, struct memory_need need)
{
    static const uint64_t nothing[SLAB_CLASSES];
    const struct slabs *slabs = memory->state;
    uint64_t units[SLAB_CLASSES];
    slab_units(slabs, need, units);
    return slab_needed(slabs, units, nothing) <= slabs->total;
}

/* ---- the heap of a class ---- */

static uint32_t age_in(uint64_t entry)
{
    return (uint32_t)(entry >> 32);
}

static uint32_t slab_in(uint64_t entry)
{
    return (uint32_t)entry;
}

static void put_at(struct slabs *slabs, struct slab_heap *heap, size_t at, uint64_t entry)
{
    heap->entries[at] = entry;
    slabs->slabs[slab_in(entry)].at = (uint32_t)at;
}

/* Puts an entry where it belongs, from a place that is its to fill. */
static void settle(struct slabs *slabs, struct slab_heap *heap, size_t at, uint64_t entry)
{
    for (; at > 0 && entry < heap->entries[(at - 1) / 2]; at = (at - 1) / 2)
        put_at(slabs, heap, at, heap->entries[(at - 1) / 2]);
    for (size_t child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && heap->entries[child + 1] < heap->entries[child])
            child++;
        if (heap->entries[child] > entry)
            break;
        put_at(slabs, heap, at, heap->entries[child]);
        at = child;
    }
    put_at(slabs, heap, at, entry);
}

static void heap_enter(struct slabs *slabs, struct slab_heap *heap, uint32_t slab)
{
    heap->entries =
        mem_grow(heap->entries, &heap->capacity, heap->count + 1, sizeof *heap->entries);
    settle(slabs, heap, heap->count++, (uint64_t)slabs->now << 32 | slab);
}

static void heap_leave(struct slabs *slabs, struct slab_heap *heap, uint32_t slab)
{
    size_t at = slabs->slabs[slab].at;
    uint64_t last = heap->entries[--heap->count];
    if (at < heap->count)
        settle(slabs, heap, at, last);
}

/* When it took units or was used by itself, or, for a node, when a path went through it. */
static uint32_t age_of_holder(const struct slabs *slabs, uint32_t holder)
{
    if (holder == HOLDER_LIVE)
        return UINT32_MAX;
    uint32_t age = slabs->ages[holder];
    const struct paths *paths = slabs->trail.paths;
    if (paths == NULL || holder > paths->workload->node_count)
        return age;
    uint32_t walked = trail_number(&slabs->trail, paths->places[holder - 1]);
    return walked > age ? walked : age;
}

/* The age of a slab's newest holder; any that is in use now will do. */
static uint32_t age_of(const struct slabs *slabs, const struct slab *slab, uint64_t *steps)
{
    uint32_t newest = 0;
    uint32_t link = slab->runs;
    for (; link && newest < slabs->now; link = slabs->runs[link - 1].next) {
        uint32_t age = age_of_holder(slabs, slabs->runs[link - 1].holder);
        ++*steps;
        newest = age > newest ? age : newest;
    }
    return newest;
}

/* A holder has left a slab: if none newer is known there, the slab may have got older. */
static void without_holder(struct slabs *slabs, uint32_t slab, uint32_t holder)
{
    struct slab_heap *heap = &slabs->heaps[slabs->slabs[slab].class_];
    size_t at = slabs->slabs[slab].at;
    uint32_t known = age_in(heap->entries[at]);
    if (known > 0 && age_of_holder(slabs, holder) >= known)
        settle(slabs, heap, at, slab);
}

uint32_t slab_oldest(struct memory *memory, enum slab_class class_)
{
    struct slabs *slabs = memory->state;
    struct slab_heap *heap = &slabs->heaps[class_];
    while (heap->count > 0) {
        uint64_t top = heap->entries[0];
        uint32_t age = age_of(slabs, &slabs->slabs[slab_in(top)], &memory->steps);
        if (age == age_in(top))
            return age < slabs->since ? slab_in(top) : SLAB_NONE;
        settle(slabs, heap, 0, (uint64_t)age << 32 | slab_in(top));
    }
    return SLAB_NONE;
}

uint32_t slab_age(const struct slabs *slabs, uint32_t slab)
{
    const struct slab *here = &slabs->slabs[slab];
    return age_in(slabs->heaps[here->class_].entries[here->at]);
}

/* ---- slabs and their units ---- */

static void list_partial(struct slabs *slabs, uint32_t slab)
{
    struct slab *here = &slabs->slabs[slab];
    uint32_t *first = &slabs->partial[here->class_];
    here->prev = 0;
    here->next = *first;
    if (*first)
        slabs->slabs[*first - 1].prev = slab + 1;
    *first = slab + 1;
}

static void unlist_partial(struct slabs *slabs, uint32_t slab)
{
    struct slab *here = &slabs->slabs[slab];
    if (here->prev)
        slabs->slabs[here->prev - 1].next = here->next;
    else
        slabs->partial[here->class_] = here->next;
    if (here->next)
        slabs->slabs[here->next - 1].prev = here->prev;
}

/* Gives a free slab to a class. */
static uint32_t begin_slab(struct memory *memory, enum slab_class class_)
{
    struct slabs *slabs = memory->state;
    assert(slabs->free_slabs > 0 && "room was made before");
    uint32_t slab = slabs->free_slab - 1;
    if (slabs->free_slab) {
        slabs->free_slab = slabs->slabs[slab].next;
    } else {
        slab = (uint32_t)slabs->slab_count++;
        slabs->slabs =
            mem_grow(slabs->slabs, &slabs->slab_capacity, slabs->slab_count, sizeof *slabs->slabs);
        slabs->slabs[slab] = (struct slab){0};
    }
    struct slab *here = &slabs->slabs[slab];
    memory->moved_places += here->last_class != SLAB_FREE && here->last_class != class_;
    here->class_ = here->last_class = (uint8_t)class_;
    if (slabs->total != UNITS_UNLIMITED)
        slabs->free_slabs--;
    slabs->held_slabs[class_]++;
    slabs->free_units[class_] += slabs->per_slab[class_];
    heap_enter(slabs, &slabs->heaps[class_], slab);
    list_partial(slabs, slab);
    return slab;
}

static void end_slab(struct slabs *slabs, uint32_t slab)
{
    struct slab *here = &slabs->slabs[slab];
    enum slab_class class_ = here->class_;
    unlist_partial(slabs, slab);
    heap_leave(slabs, &slabs->heaps[class_], slab);
    slabs->free_units[class_] -= slabs->per_slab[class_];
    slabs->held_slabs[class_]--;
    if (slabs->total != UNITS_UNLIMITED)
        slabs->free_slabs++;
    if (slabs->open[class_] == slab + 1)
        slabs->open[class_] = 0;
    here->class_ = SLAB_FREE;
    here->next = slabs->free_slab;
    slabs->free_slab = slab + 1;
}

static void push_run(struct slabs *slabs, uint32_t holder, uint32_t slab, uint32_t count)
{
    uint32_t *top = &slabs->tops[holder];
    if (*top && slabs->runs[*top - 1].slab == slab) {
        slabs->runs[*top - 1].count += count;
        return;
    }
    uint32_t run = slabs->free_run - 1;
    if (slabs->free_run) {
        slabs->free_run = slabs->runs[run].next;
    } else {
        run = (uint32_t)slabs->run_count++;
        slabs->runs =
            mem_grow(slabs->runs, &slabs->run_capacity, slabs->run_count, sizeof *slabs->runs);
    }
    struct slab *here = &slabs->slabs[slab];
    slabs->runs[run] = (struct slab_run){
        .holder = holder, .slab = slab, .count = count, .below = *top, .next = here->runs};
    if (here->runs)
        slabs->runs[here->runs - 1].prev = run + 1;
    here->runs = run + 1;
    *top = run + 1;
}

static void pop_run(struct slabs *slabs, uint32_t holder)
{
    uint32_t run = slabs->tops[holder] - 1;
    struct slab_run *gone = &slabs->runs[run];
    struct slab *slab = &slabs->slabs[gone->slab];
    if (gone->prev)
        slabs->runs[gone->prev - 1].next = gone->next;
    else
        slab->runs = gone->next;
    if (gone->next)
        slabs->runs[gone->next - 1].prev = gone->prev;
    slabs->tops[holder] = gone->below;
    gone->next = slabs->free_run;
    slabs->free_run = run + 1;
}

static bool has_room(const struct slabs *slabs, uint32_t link, enum slab_class class_)
{
    return link && slabs->slabs[link - 1].used < slabs->per_slab[class_];
}

/* Where the next units come from. fresh_first (the five steps of Jenga, of which eviction is done
 * before): 1. the slab that this request began; 2. a new one; 4. any with free units of the class.
 * Otherwise 4 comes before 2. */
static uint32_t next_slab(struct memory *memory, enum slab_class class_)
{
    struct slabs *slabs = memory->state;
    if (has_room(slabs, slabs->open[class_], class_))
        return slabs->open[class_] - 1;
    bool fresh = slabs->free_slabs > 0 && (slabs->fresh_first || !slabs->partial[class_]);
    if (!fresh) {
        assert(slabs->partial[class_] && "room was made before");
        return slabs->partial[class_] - 1;
    }
    uint32_t slab = begin_slab(memory, class_);
    slabs->open[class_] = slabs->fresh_first ? slab + 1 : 0;
    return slab;
}

static void count_used(struct memory *memory)
{
    const struct slabs *slabs = memory->state;
    memory->used_bytes = 0;
    for (int i = SLAB_KV; i <= SLAB_STATE; i++)
        memory->used_bytes +=
            slabs->held_slabs[i] * slabs->slab_bytes - slabs->free_units[i] * slabs->unit_bytes[i];
}

static void take(struct memory *memory, uint32_t holder, enum slab_class class_, uint64_t units)
{
    struct slabs *slabs = memory->state;
    slabs->ages[holder] = slabs->now;
    while (units > 0) {
        uint32_t slab = next_slab(memory, class_);
        struct slab *here = &slabs->slabs[slab];
        uint64_t room = slabs->per_slab[class_] - here->used;
        uint32_t count = (uint32_t)(units < room ? units : room);
        push_run(slabs, holder, slab, count);
        here->used += count;
        slabs->free_units[class_] -= count;
        units -= count;
        if (here->used == slabs->per_slab[class_])
            unlist_partial(slabs, slab);
    }
    count_used(memory);
}

/* Takes up to `units` off a holder's stack; returns how many it had less. */
static uint64_t give(struct memory *memory, uint32_t holder, uint64_t units)
{
    struct slabs *slabs = memory->state;
    while (units > 0 && slabs->tops[holder]) {
        struct slab_run *run = &slabs->runs[slabs->tops[holder] - 1];
        uint32_t slab = run->slab;
        struct slab *here = &slabs->slabs[slab];
        uint32_t count = units < run->count ? (uint32_t)units : run->count;
        bool was_full = here->used == slabs->per_slab[here->class_];
        run->count -= count;
        units -= count;
        here->used -= count;
        slabs->free_units[here->class_] += count;
        if (was_full)
            list_partial(slabs, slab);
        if (run->count > 0)
            break;
        pop_run(slabs, holder);
        if (here->used == 0)
            end_slab(slabs, slab);
        else
            without_holder(slabs, slab, holder);
    }
    count_used(memory);
    return units;
}

/* ---- hooks ---- */

void slab_kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    take(memory, node_holder(node), SLAB_KV, pages);
}

static uint64_t give_pages(struct memory *memory, node_id node, uint64_t pages)
{
    return give(memory, node_holder(node), pages);
}

static void pass_page(struct memory *memory, node_id from, node_id to)
{
    struct slabs *slabs = memory->state;
    uint32_t top = slabs->tops[node_holder(from)];
    if (top == 0)
        return;
    struct slab_run run = slabs->runs[top - 1];
    assert(run.count == 1 && run.below == 0);
    pop_run(slabs, node_holder(from));
    push_run(slabs, node_holder(to), run.slab, run.count);
    without_holder(slabs, run.slab, node_holder(from));
}

void slab_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    forks_shrink(memory, node, pages, gone, give_pages, pass_page);
}

void slab_snapshot_add(struct memory *memory, uint32_t snapshot)
{
    struct slabs *slabs = memory->state;
    uint32_t holder = snapshot_holder(memory, snapshot);
    reach(slabs, (size_t)holder + 1);
    take(memory, holder, SLAB_STATE, slabs->per_snapshot);
}

void slab_snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    const struct slabs *slabs = memory->state;
    give(memory, snapshot_holder(memory, snapshot), slabs->per_snapshot);
}

void slab_live_add(struct memory *memory)
{
    const struct slabs *slabs = memory->state;
    take(memory, HOLDER_LIVE, SLAB_STATE, slabs->per_live_state);
}

void slab_live_drop(struct memory *memory)
{
    const struct slabs *slabs = memory->state;
    give(memory, HOLDER_LIVE, slabs->per_live_state);
}

uint64_t slab_expected_bytes(const struct memory *memory, struct memory_need held)
{
    const struct slabs *slabs = memory->state;
    uint64_t units[SLAB_CLASSES], bytes = 0;
    slab_units(slabs, held, units);
    for (int i = SLAB_KV; i <= SLAB_STATE; i++) {
        uint64_t rest = slabs->slab_bytes - slabs->per_slab[i] * slabs->unit_bytes[i];
        bytes += units[i] * slabs->unit_bytes[i] + slabs->held_slabs[i] * rest;
    }
    return bytes;
}

/* What is free in slabs of the other class, and what is no whole slab. */
uint64_t slab_unusable_bytes(const struct memory *memory, enum part part)
{
    const struct slabs *slabs = memory->state;
    uint64_t bytes = memory->capacity_bytes - slabs->total * slabs->slab_bytes;
    if (part == PART_KV)
        bytes += slabs->free_units[SLAB_STATE] * slabs->unit_bytes[SLAB_STATE];
    if (part == PART_SNAPSHOT)
        bytes += slabs->free_units[SLAB_KV] * slabs->unit_bytes[SLAB_KV];
    return bytes;
}

void slab_begin(struct memory *memory, uint32_t moment, uint32_t since)
{
    struct slabs *slabs = memory->state;
    slabs->now = moment + 1;
    slabs->since = since + 1;
    slabs->open[SLAB_KV] = slabs->open[SLAB_STATE] = 0;
}

void slab_used(struct memory *memory, uint32_t snapshot)
{
    struct slabs *slabs = memory->state;
    slabs->ages[snapshot_holder(memory, snapshot)] = slabs->now;
}

void slab_path_used(struct memory *memory, node_id node)
{
    struct slabs *slabs = memory->state;
    if (memory->paths) {
        if (slabs->trail.paths == NULL)
            trail_open(&slabs->trail, memory->paths);
        memory->steps += trail_walk(&slabs->trail, node, slabs->now);
        return;
    }
    for (; node != NODE_ROOT; node = memory->workload->nodes[node].parent, memory->walked++)
        slabs->ages[node_holder(node)] = slabs->now;
}

/* What the running request uses is in a place that is being emptied only if a page has just passed
 * up to it: that one stays, and the place with it. */
bool slab_next_in_place(const struct memory *memory, uint32_t place, struct memory_holder *holder)
{
    const struct slabs *slabs = memory->state;
    const struct slab *slab = &slabs->slabs[place - 1];
    uint32_t nodes = memory->workload->node_count;
    uint32_t found = slab->class_ == SLAB_FREE ? 0 : slab->runs;
    while (found && age_of_holder(slabs, slabs->runs[found - 1].holder) >= slabs->now)
        found = slabs->runs[found - 1].next;
    if (found == 0)
        return false;
    uint32_t id = slabs->runs[found - 1].holder;
    *holder = (struct memory_holder){.is_snapshot = id > nodes,
                                     .id = id - (id > nodes ? 1 + nodes : 1),
                                     .kv_pages = slabs->runs[found - 1].count};
    for (uint32_t link = slabs->tops[id]; link != found; link = slabs->runs[link - 1].below)
        holder->kv_pages += slabs->runs[link - 1].count;
    return true;
}

int slab_check(const struct memory *memory, struct err *err)
{
    const struct slabs *slabs = memory->state;
    uint64_t free_units[SLAB_CLASSES] = {0}, held[SLAB_CLASSES] = {0}, steps = 0;
    for (size_t i = 0; i < slabs->slab_count; i++) {
        const struct slab *slab = &slabs->slabs[i];
        uint64_t used = 0;
        if (slab->class_ == SLAB_FREE)
            continue;
        for (uint32_t link = slab->runs; link; link = slabs->runs[link - 1].next)
            used += slabs->runs[link - 1].count;
        if (used != slab->used || used == 0 || used > slabs->per_slab[slab->class_])
            return err_set(err, "%s: slab %zu has %u units in use, its runs %llu",
                           memory->ops->plugin.name, i, slab->used, (unsigned long long)used);
        uint64_t entry = slabs->heaps[slab->class_].entries[slab->at];
        uint32_t age = age_of(slabs, slab, &steps); /* exact, unless something is in use now */
        if (slab_in(entry) != i || (age < slabs->now && age_in(entry) > age))
            return err_set(err, "%s: slab %zu has no place by its age", memory->ops->plugin.name,
                           i);
        held[slab->class_]++;
        free_units[slab->class_] += slabs->per_slab[slab->class_] - used;
    }
    for (int i = SLAB_KV; i <= SLAB_STATE; i++)
        if (held[i] != slabs->held_slabs[i] || free_units[i] != slabs->free_units[i] ||
            slabs->heaps[i].count != held[i])
            return err_set(err, "%s: slabs of class %d do not add up", memory->ops->plugin.name, i);
    if (slabs->total != UNITS_UNLIMITED &&
        slabs->free_slabs + held[SLAB_KV] + held[SLAB_STATE] != slabs->total)
        return err_set(err, "%s: a slab is lost", memory->ops->plugin.name);
    return 0;
}
