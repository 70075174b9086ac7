/* ref_pages.c - where each page of the model lies, and whether the real one has it there. */
#include "tests/ref_pages.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "policies/memory/end.h"
#include "policies/memory/slab.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

static uint64_t steps;

void ref_pages_expect(bool good, const char *what, const char *file, int line)
{
    if (!good)
        ck_abort_msg("%s:%d: expected: %s", file, line, what);
}

/* ---- lists ---- */

static void list_push(struct list *list, uint32_t item)
{
    list->items = mem_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = item;
}

static void list_remove(struct list *list, uint32_t item)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] != item)
            continue;
        memmove(&list->items[i], &list->items[i + 1], (--list->count - i) * sizeof *list->items);
        return;
    }
    ck_abort_msg("place %u is in no list", item);
}

/* ---- places ---- */

size_t ref_place_used(const struct place *place)
{
    size_t used = 0;
    for (size_t i = 0; i < place->count; i++)
        used += place->owners[i] != NOBODY;
    return used;
}

size_t ref_place_extent(const struct place *end)
{
    size_t extent = end->count;
    while (extent > 0 && end->owners[extent - 1] == NOBODY)
        extent--;
    return extent;
}

static uint32_t lowest_free(struct place *place)
{
    size_t i = 0;
    while (i < place->count && place->owners[i] != NOBODY)
        i++;
    if (i == place->count) { /* only ends grow */
        place->owners = realloc(place->owners, (i + 1) * sizeof *place->owners);
        place->owners[place->count++] = NOBODY;
    }
    return (uint32_t)i;
}

uint32_t ref_pages_add_place(struct page_model *model, int class_, size_t units)
{
    model->places = mem_grow(model->places, &model->place_capacity, model->place_count + 1,
                             sizeof *model->places);
    struct place *place = &model->places[model->place_count];
    *place = (struct place){class_, class_, mem_array(units + 1, sizeof *place->owners), units};
    for (size_t i = 0; i < units; i++)
        place->owners[i] = NOBODY;
    return (uint32_t)model->place_count++;
}

uint64_t ref_pages_slabs_in_use(const struct page_model *model)
{
    uint64_t used = 0;
    for (size_t i = 0; i < model->place_count; i++)
        used += model->places[i].class_ != 0;
    return used;
}

static uint32_t begin_slab(struct page_model *model, int class_)
{
    uint32_t slab = NOBODY;
    size_t units = ref_pages_per_slab(model, class_);
    if (model->free_places.count > 0) {
        slab = model->free_places.items[--model->free_places.count];
        struct place *place = &model->places[slab];
        model->moved_places += place->last_class != class_;
        free(place->owners);
        *place = (struct place){class_, class_, mem_array(units, sizeof *place->owners), units};
        for (size_t i = 0; i < units; i++)
            place->owners[i] = NOBODY;
    } else {
        slab = ref_pages_add_place(model, class_, units);
    }
    list_push(&model->partial[class_], slab);
    return slab;
}

static uint32_t choose_slab(struct page_model *model, int class_)
{
    struct list *partial = &model->partial[class_];
    uint32_t open = model->open[class_];
    if (open != NOBODY && ref_place_used(&model->places[open]) < model->places[open].count)
        return open;
    bool can_begin = ref_pages_slabs_in_use(model) < model->capacity_bytes / model->slab_bytes;
    if (partial->count > 0 && (!can_begin || !model->fresh_first))
        return partial->items[partial->count - 1];
    expect(can_begin);
    uint32_t slab = begin_slab(model, class_);
    if (model->fresh_first)
        model->open[class_] = slab;
    return slab;
}

/* ---- pages of holders ---- */

static void own(struct page_model *model, uint32_t holder, struct page page)
{
    struct holder *here = &model->holders[holder];
    if (holder >= model->holder_count)
        model->holder_count = holder + 1;
    here->pages = mem_grow(here->pages, &here->capacity, here->count + 1, sizeof *here->pages);
    here->pages[here->count++] = page;
    model->places[page.place].owners[page.index] = holder;
}

/* Moves the last page of an end down until a page of the other end fits. */
static void make_gap(struct page_model *model, int class_)
{
    struct place *mine = &model->places[class_ - 1], *other = &model->places[2 - class_];
    int other_class = 3 - class_;
    while ((ref_place_extent(mine) + 1) * model->unit_bytes[class_] +
               ref_place_extent(other) * model->unit_bytes[other_class] >
           model->capacity_bytes) {
        uint32_t from = (uint32_t)ref_place_extent(other) - 1, to = lowest_free(other);
        expect(to < from);
        struct holder *holder = &model->holders[other->owners[from]];
        for (size_t i = 0; i < holder->count; i++)
            if (holder->pages[i].index == from)
                holder->pages[i].index = to;
        other->owners[to] = other->owners[from];
        other->owners[from] = NOBODY;
        model->moved_bytes += model->unit_bytes[other_class];
    }
}

static bool has_places(const struct page_model *model)
{
    return model->kind == SLABS || model->kind == TWO_ENDED;
}

void ref_pages_take(struct page_model *model, uint32_t holder, int class_, uint64_t units)
{
    model->holders[holder].age = model->now;
    if (!has_places(model)) {
        model->counts[class_] += units;
        return;
    }
    for (; units > 0; units--) {
        uint32_t place = (uint32_t)class_ - 1;
        if (model->kind == SLABS)
            place = choose_slab(model, class_);
        else if (lowest_free(&model->places[place]) >= ref_place_extent(&model->places[place]))
            make_gap(model, class_);
        own(model, holder, (struct page){place, lowest_free(&model->places[place])});
        const struct place *here = &model->places[place];
        if (model->kind == SLABS && ref_place_used(here) == here->count)
            list_remove(&model->partial[class_], place);
    }
}

static void give_one(struct page_model *model, uint32_t holder)
{
    struct page page = model->holders[holder].pages[--model->holders[holder].count];
    struct place *place = &model->places[page.place];
    bool was_full = ref_place_used(place) == place->count;
    place->owners[page.index] = NOBODY;
    if (model->kind != SLABS)
        return;
    if (was_full)
        list_push(&model->partial[place->class_], page.place);
    if (ref_place_used(place) > 0)
        return;
    list_remove(&model->partial[place->class_], page.place);
    if (model->open[place->class_] == page.place)
        model->open[place->class_] = NOBODY;
    place->class_ = 0;
    list_push(&model->free_places, page.place);
}

/* Of a snapshot, or of a live state. */
void ref_pages_give(struct page_model *model, uint32_t holder, uint64_t units)
{
    if (!has_places(model))
        model->counts[STATE] -= units;
    for (; has_places(model) && units > 0; units--)
        give_one(model, holder);
}

/* memory.h, "Identity": what the node lacks goes from above; what it leaves passes up. */
void ref_pages_shrink(struct page_model *model, const struct memory *memory, node_id node,
                      uint64_t pages, bool gone)
{
    const struct node *nodes = memory->workload->nodes;
    if (!has_places(model)) {
        model->counts[KV] -= pages * model->per_page;
        return;
    }
    for (; pages > 0; pages--) {
        node_id from = node;
        while (model->holders[1 + from].count == 0)
            from = nodes[from].parent;
        expect(from != NODE_ROOT);
        give_one(model, 1 + from);
    }
    if (!gone || model->holders[1 + node].count == 0)
        return;
    expect(model->holders[1 + node].count == 1);
    struct page page = model->holders[1 + node].pages[--model->holders[1 + node].count];
    own(model, 1 + nodes[node].parent, page);
}

/* ---- comparing ---- */

static uint64_t used_bytes(const struct page_model *model)
{
    uint64_t bytes =
        model->counts[KV] * model->unit_bytes[KV] + model->counts[STATE] * model->unit_bytes[STATE];
    for (size_t i = 0; i < model->place_count; i++) {
        const struct place *place = &model->places[i];
        uint64_t unit = model->unit_bytes[place->class_];
        if (place->class_ == 0)
            continue;
        bytes += ref_place_used(place) * unit;
        if (model->kind == SLABS) /* what is no unit is padding */
            bytes += model->slab_bytes - place->count * unit;
    }
    return bytes;
}

/* The pages of a holder, the last first: slabs do not say which of their units they are. */
static void compare_slabs(const struct page_model *model, const struct slabs *slabs,
                          uint32_t holder)
{
    const struct holder *here = &model->holders[holder];
    size_t left = here->count;
    uint32_t link = holder < slabs->tops_capacity ? slabs->tops[holder] : 0;
    for (; link; link = slabs->runs[link - 1].below)
        for (uint32_t i = 0; i < slabs->runs[link - 1].count; i++) {
            expect(left > 0);
            expect(here->pages[--left].place == slabs->runs[link - 1].slab);
        }
    expect(left == 0);
}

/* The state of two-ended is its two ends, and each has holders of its own. */
static void compare_ends(const struct page_model *model, const struct end *ends, uint32_t holder,
                         uint32_t nodes)
{
    const struct holder *here = &model->holders[holder];
    const struct end *end = holder >= 1 && holder <= nodes ? &ends[0] : &ends[1];
    uint32_t id = holder == 0 ? 0 : holder <= nodes ? holder - 1 : holder - nodes;
    size_t left = here->count;
    uint32_t link = id < end->tops_capacity ? end->tops[id] : 0;
    for (; link; link = end->runs[link - 1].below)
        for (uint32_t i = end->runs[link - 1].count; i-- > 0;) {
            expect(left > 0);
            expect(here->pages[--left].index == end->runs[link - 1].first + i);
        }
    expect(left == 0);
}

void ref_pages_compare(const struct page_model *model, const struct memory *memory, bool all)
{
    static const enum part parts[] = {PART_ANY, PART_KV, PART_SNAPSHOT};
    steps++;
    expect(used_bytes(model) == memory->used_bytes);
    expect(model->moved_bytes == memory->moved_bytes);
    expect(model->moved_places == memory->moved_places);
    for (size_t i = 0; memory->capacity_bytes != UNITS_UNLIMITED && i < 3; i++) {
        uint64_t (*unusable)(const struct memory *, enum part) = memory->ops->unusable_bytes;
        expect((unusable ? unusable(memory, parts[i]) : 0) == ref_pages_unusable(model, parts[i]));
    }
    for (uint32_t holder = 0; all && has_places(model) && holder < model->holder_count; holder++) {
        if (model->kind == SLABS)
            compare_slabs(model, memory->state, holder);
        else
            compare_ends(model, memory->state, holder, memory->workload->node_count);
    }
}

void ref_pages_close(struct page_model *model)
{
    for (size_t i = 0; i < HOLDERS_MAX; i++)
        free(model->holders[i].pages);
    for (size_t i = 0; i < model->place_count; i++)
        free(model->places[i].owners);
    free(model->holders);
    free(model->places);
    free(model->free_places.items);
    free(model->partial[KV].items);
    free(model->partial[STATE].items);
}

uint64_t ref_pages_steps(void)
{
    return steps;
}
