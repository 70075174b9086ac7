#include "tests/ref_pages.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
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

static size_t count_used(const struct place *place)
{
    size_t used = 0;
    for (size_t i = 0; i < place->count; i++)
        used += place->owners[i] != NOBODY;
    return used;
}

static size_t extent_of(const struct place *end)
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
    *place = (struct place){class_, mem_array(units + 1, sizeof *place->owners), units};
    for (size_t i = 0; i < units; i++)
        place->owners[i] = NOBODY;
    return (uint32_t)model->place_count++;
}

static uint64_t in_use(const struct page_model *model)
{
    uint64_t used = 0;
    for (size_t i = 0; i < model->place_count; i++)
        used += model->places[i].class_ != 0;
    return used;
}

static uint32_t begin_slab(struct page_model *model, int class_)
{
    uint32_t slab = NOBODY;
    size_t units = model->slab_bytes / model->unit_bytes[class_];
    if (model->free_places.count > 0) {
        slab = model->free_places.items[--model->free_places.count];
        struct place *place = &model->places[slab];
        free(place->owners);
        *place = (struct place){class_, mem_array(units, sizeof *place->owners), units};
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
    if (open != NOBODY && count_used(&model->places[open]) < model->places[open].count)
        return open;
    bool can_begin = in_use(model) < model->slabs;
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
static void make_gap(struct page_model *model, const struct memory *memory, int class_)
{
    struct place *mine = &model->places[class_ - 1], *other = &model->places[2 - class_];
    int other_class = 3 - class_;
    while ((extent_of(mine) + 1) * model->unit_bytes[class_] +
               extent_of(other) * model->unit_bytes[other_class] >
           memory->capacity_bytes) {
        uint32_t from = (uint32_t)extent_of(other) - 1, to = lowest_free(other);
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

void ref_pages_take(struct page_model *model, const struct memory *memory, uint32_t holder,
                    int class_, uint64_t pages)
{
    model->holders[holder].age = model->now;
    if (model->kind == POOL) {
        model->counts[holder == 0 ? 0 : class_] += pages;
        return;
    }
    for (; pages > 0; pages--) {
        uint32_t place = (uint32_t)class_ - 1;
        if (model->kind == SLABS) {
            place = choose_slab(model, class_);
        } else if (model->kind == TWO_ENDED &&
                   lowest_free(&model->places[place]) >= extent_of(&model->places[place])) {
            make_gap(model, memory, class_);
        }
        own(model, holder, (struct page){place, lowest_free(&model->places[place])});
        const struct place *here = &model->places[place];
        if (model->kind == SLABS && count_used(here) == here->count)
            list_remove(&model->partial[class_], place);
    }
}

static void give_one(struct page_model *model, uint32_t holder)
{
    struct page page = model->holders[holder].pages[--model->holders[holder].count];
    struct place *place = &model->places[page.place];
    bool was_full = count_used(place) == place->count;
    place->owners[page.index] = NOBODY;
    if (model->kind != SLABS)
        return;
    if (was_full)
        list_push(&model->partial[place->class_], page.place);
    if (count_used(place) > 0)
        return;
    list_remove(&model->partial[place->class_], page.place);
    if (model->open[place->class_] == page.place)
        model->open[place->class_] = NOBODY;
    place->class_ = 0;
    list_push(&model->free_places, page.place);
}

/* Of a snapshot, or of a live state. */
void ref_pages_give(struct page_model *model, uint32_t holder, uint64_t pages)
{
    if (model->kind == POOL) {
        model->counts[holder == 0 ? 0 : STATE] -= pages;
        return;
    }
    for (; pages > 0; pages--)
        give_one(model, holder);
}

/* memory.h, "Identity": what the node lacks goes from above; what it leaves passes up. */
void ref_pages_shrink(struct page_model *model, const struct memory *memory, node_id node,
                      uint64_t pages, bool gone)
{
    const struct node *nodes = memory->workload->nodes;
    if (model->kind == POOL) {
        model->counts[KV] -= pages;
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

/* ---- what is short ---- */

static uint64_t units_of(const struct page_model *model, struct memory_need need, int class_)
{
    return class_ == KV ? need.kv_pages
                        : need.snapshots * model->per_snapshot + need.live_states * model->per_live;
}

static uint64_t free_in(const struct page_model *model, uint32_t place)
{
    return model->places[place].count - count_used(&model->places[place]);
}

/* New slabs that a need takes, if units come from what this request began, or from all. */
static uint64_t new_slabs(const struct page_model *model, struct memory_need need, bool from_all)
{
    uint64_t slabs = 0;
    for (int class_ = KV; class_ <= STATE; class_++) {
        uint64_t there = 0, units = units_of(model, need, class_);
        uint64_t per_slab = model->slab_bytes / model->unit_bytes[class_];
        for (uint32_t i = 0; i < model->place_count; i++)
            if (model->places[i].class_ == class_ && (from_all || i == model->open[class_]))
                there += free_in(model, i);
        while (there < units) {
            there += per_slab;
            slabs++;
        }
    }
    return slabs;
}

static uint32_t age_of_place(const struct page_model *model, uint32_t place)
{
    uint32_t newest = 0;
    for (size_t i = 0; i < model->places[place].count; i++) {
        uint32_t owner = model->places[place].owners[i];
        if (owner != NOBODY) {
            uint32_t age = owner == 0 ? UINT32_MAX : model->holders[owner].age;
            newest = age > newest ? age : newest;
        }
    }
    return newest;
}

/* Of the places that nobody uses now, the one that was used longest ago; of equals one with KV,
 * then the first. class_ 0: of either class. NOBODY without one. */
static uint32_t oldest_place(const struct page_model *model, int class_)
{
    uint32_t oldest = NOBODY, oldest_age = model->now;
    for (int each = KV; each <= STATE; each++)
        for (uint32_t i = 0; i < model->place_count; i++) {
            if (model->places[i].class_ != each || (class_ != 0 && class_ != each))
                continue;
            uint32_t age = age_of_place(model, i);
            if (age < oldest_age) {
                oldest_age = age;
                oldest = i;
            }
        }
    return oldest;
}

/* Steps 1, 2 and 4 for one page after the other, KV first. */
static bool fits_by_step_4(const struct page_model *model, struct memory_need need)
{
    uint64_t fresh = model->slabs - in_use(model);
    for (int class_ = KV; class_ <= STATE; class_++) {
        uint64_t own = 0, others = 0;
        for (uint32_t i = 0; i < model->place_count; i++) {
            if (model->places[i].class_ == class_ && i == model->open[class_])
                own += free_in(model, i);
            else if (model->places[i].class_ == class_)
                others += free_in(model, i);
        }
        for (uint64_t units = units_of(model, need, class_); units > 0; units--) {
            if (own == 0 && fresh > 0) {
                fresh--;
                own = model->slab_bytes / model->unit_bytes[class_];
            }
            if (own == 0 && others == 0)
                return false;
            if (own > 0)
                own--;
            else
                others--;
        }
    }
    return true;
}

void ref_pages_compare_shortage(const struct page_model *model, struct memory_need need,
                                bool is_short, const struct memory_shortage *shortage)
{
    bool room = new_slabs(model, need, !model->fresh_first) <= model->slabs - in_use(model);
    bool one_list =
        model->unit_bytes[KV] == model->slab_bytes && model->unit_bytes[STATE] == model->slab_bytes;
    if (model->fresh_first && !room && oldest_place(model, 0) == NOBODY && !one_list)
        room = fits_by_step_4(model, need);
    expect(is_short == !room);
    if (!is_short || shortage->place == 0)
        return;
    int class_ = model->fresh_first ? 0 : model->places[shortage->place - 1].class_;
    expect(shortage->place - 1 == oldest_place(model, class_));
}

bool ref_pages_two_ends_fit(const struct page_model *model, const struct memory *memory,
                            struct memory_need need)
{
    uint64_t packed = 0, grown = 0;
    for (int class_ = KV; class_ <= STATE; class_++) {
        const struct place *end = &model->places[class_ - 1];
        uint64_t used = count_used(end), extent = extent_of(end);
        uint64_t units = used + units_of(model, need, class_);
        packed += units * model->unit_bytes[class_];
        grown += (units > extent ? units : extent) * model->unit_bytes[class_];
    }
    return (model->compaction ? packed : grown) <= memory->capacity_bytes;
}

/* ---- comparing ---- */

static uint64_t used_bytes(const struct page_model *model)
{
    uint64_t bytes = model->counts[KV] * model->unit_bytes[KV] +
                     model->counts[STATE] * model->unit_bytes[STATE] +
                     model->counts[0] * model->unit_bytes[0];
    for (size_t i = 0; i < model->place_count; i++) {
        const struct place *place = &model->places[i];
        if (model->kind != SLABS) {
            bytes += count_used(place) * model->unit_bytes[i + 1];
        } else if (place->class_ != 0) {
            uint64_t unit = model->unit_bytes[place->class_];
            bytes += count_used(place) * unit + model->slab_bytes - place->count * unit;
        }
    }
    return bytes;
}

/* The page that lies so many below the last one of a holder. */
static bool real_page(const struct page_model *model, const struct memory *memory, uint32_t holder,
                      size_t below, uint32_t *place)
{
    (void)model;
    const struct slabs *slabs = memory->state;
    uint32_t link = holder < slabs->tops_capacity ? slabs->tops[holder] : 0;
    for (; link; link = slabs->runs[link - 1].below) {
        const struct slab_run *run = &slabs->runs[link - 1];
        *place = run->slab;
        if (below < run->count)
            return true;
        below -= run->count;
    }
    return false;
}

/* Where the holes are decides what is of no use to the other kind. */
static void compare_holes(const struct page_model *model, const struct memory *memory)
{
    uint64_t gap = memory->capacity_bytes, holes[3] = {0};
    for (int class_ = KV; class_ <= STATE; class_++) {
        const struct place *end = &model->places[class_ - 1];
        gap -= extent_of(end) * model->unit_bytes[class_];
        holes[class_] = (extent_of(end) - count_used(end)) * model->unit_bytes[class_];
    }
    for (int class_ = KV; class_ <= STATE; class_++) {
        uint64_t other = holes[3 - class_], unit = model->unit_bytes[class_];
        uint64_t unusable = model->compaction ? (gap + other) % unit : other + gap % unit;
        enum part part = class_ == KV ? PART_KV : PART_SNAPSHOT;
        expect(memory->ops->unusable_bytes(memory, part) == unusable);
    }
}

void ref_pages_compare(const struct page_model *model, const struct memory *memory, bool all)
{
    steps++;
    expect(used_bytes(model) == memory->used_bytes);
    expect(model->moved_bytes == memory->moved_bytes);
    if (model->kind == TWO_ENDED && memory->capacity_bytes != UNITS_UNLIMITED)
        compare_holes(model, memory);
    if (model->kind != SLABS || !all)
        return;
    for (uint32_t holder = 0; holder < model->holder_count; holder++) {
        const struct holder *here = &model->holders[holder];
        uint32_t place = 0;
        for (size_t i = 0; i < here->count; i++) {
            expect(real_page(model, memory, holder, i, &place));
            expect(place == here->pages[here->count - 1 - i].place);
        }
        expect(!real_page(model, memory, holder, here->count, &place));
    }
}

uint64_t ref_pages_steps(void)
{
    return steps;
}
