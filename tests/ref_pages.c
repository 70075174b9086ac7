#include "tests/ref_pages.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "policies/memory/slab.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

#define HOLDERS_MAX 200000u
#define NOBODY UINT32_MAX

enum { KV = 1, STATE = 2 };
enum kind { POOL, SLABS, TWO_ENDED };

/* Holder 0 is the live states, 1 + n a node, 1 + nodes + s a snapshot. */
struct page {
    uint32_t place, index;
};

struct holder {
    struct page *pages; /* in the order in which it got them */
    size_t count, capacity;
    uint32_t age;
};

/* A slab, or an end: owners of its pages. A list of places has the first at the end. */
struct place {
    int class_; /* 0: free */
    uint32_t *owners;
    size_t count;
};

struct list {
    uint32_t *items;
    size_t count, capacity;
};

struct page_model {
    enum kind kind;
    uint64_t unit_bytes[3];
    uint64_t per_snapshot, per_live, slab_bytes, slabs; /* slabs: at most */
    bool fresh_first, compaction;
    struct holder *holders;
    uint32_t holder_count; /* the highest that ever had a page, and one */
    struct place *places;
    size_t place_count, place_capacity;
    struct list free_places, partial[3];
    uint32_t open[3], now;
    uint64_t moved_bytes;
    uint64_t counts[3]; /* in use where pages have no place; 0: live states */
};

struct spy {
    const struct memory_ops *real;
    void *state;
    struct page_model model;
};

static uint64_t steps;

static void expect_that(bool good, const char *what, int line)
{
    if (!good)
        ck_abort_msg("ref_pages.c:%d: expected: %s", line, what);
}

/* Check's own assertions tell another process where they are each time, which is slow. */
#define expect(good) expect_that(good, #good, __LINE__)

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

static uint32_t add_place(struct page_model *model, int class_, size_t units)
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
        slab = add_place(model, class_, units);
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

static void take(struct page_model *model, const struct memory *memory, uint32_t holder, int class_,
                 uint64_t pages)
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
static void give(struct page_model *model, uint32_t holder, uint64_t pages)
{
    if (model->kind == POOL) {
        model->counts[holder == 0 ? 0 : STATE] -= pages;
        return;
    }
    for (; pages > 0; pages--)
        give_one(model, holder);
}

/* memory.h, "Identity": what the node lacks goes from above; what it leaves passes up. */
static void shrink(struct page_model *model, const struct memory *memory, node_id node,
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

/* The age of the place that nobody uses now and that was used longest ago; NOBODY without one. */
static uint32_t oldest_age(const struct page_model *model)
{
    uint32_t oldest = NOBODY;
    for (uint32_t i = 0; i < model->place_count; i++) {
        uint32_t age = age_of_place(model, i);
        if (model->places[i].class_ != 0 && age < model->now && age < oldest)
            oldest = age;
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

static void compare_slab_shortage(const struct page_model *model, struct memory_need need,
                                  bool is_short, const struct memory_shortage *shortage)
{
    bool room = new_slabs(model, need, !model->fresh_first) <= model->slabs - in_use(model);
    bool one_list =
        model->unit_bytes[KV] == model->slab_bytes && model->unit_bytes[STATE] == model->slab_bytes;
    if (model->fresh_first && !room && oldest_age(model) == NOBODY && !one_list)
        room = fits_by_step_4(model, need);
    expect(is_short == !room);
    if (!is_short || shortage->place == 0)
        return;
    uint32_t age = age_of_place(model, shortage->place - 1);
    expect(age < model->now);
    if (model->fresh_first)
        expect(age == oldest_age(model));
}

static bool two_ends_fit(const struct page_model *model, const struct memory *memory,
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

static void compare(const struct page_model *model, const struct memory *memory, bool all)
{
    steps++;
    expect(used_bytes(model) == memory->used_bytes);
    expect(model->moved_bytes == memory->moved_bytes);
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

/* ---- the spy ---- */

static struct memory real_of(const struct memory *memory)
{
    const struct spy *spy = memory->state;
    struct memory real = *memory;
    real.ops = spy->real;
    real.state = spy->state;
    return real;
}

/* Gives back what the real one changed, and compares: all pages, or only the sums. */
static void after(struct memory *memory, const struct memory *real, bool all)
{
    struct spy *spy = memory->state;
    const struct memory_ops *ops = memory->ops;
    *memory = *real;
    memory->ops = ops;
    memory->state = spy;
    compare(&spy->model, real, all);
}

static void open_model(struct page_model *model, const struct memory *real)
{
    const char *name = real->ops->plugin.name;
    model->holders = mem_array(HOLDERS_MAX, sizeof *model->holders);
    model->open[KV] = model->open[STATE] = NOBODY;
    model->per_snapshot = model->per_live = 1;
    if (strcmp(name, "two-ended") == 0) {
        uint64_t state =
            real->snapshot_bytes > real->state_bytes ? real->snapshot_bytes : real->state_bytes;
        model->kind = TWO_ENDED;
        model->compaction = *(const bool *)real->settings;
        model->unit_bytes[KV] = real->page_tokens * real->kv_bytes_per_token;
        model->unit_bytes[STATE] = state;
    } else if (strcmp(name, "lcm") == 0 || strcmp(name, "elastic") == 0) {
        const struct slabs *slabs = real->state;
        model->kind = SLABS;
        model->slab_bytes = slabs->slab_bytes;
        model->slabs = slabs->total;
        model->fresh_first = slabs->fresh_first;
        model->per_snapshot = slabs->per_snapshot;
        model->per_live = slabs->per_live_state;
        for (int i = KV; i <= STATE; i++)
            model->unit_bytes[i] = slabs->unit_bytes[i];
        return;
    } else { /* pages without places: what one of each takes is all there is to know */
        struct memory_need page = {.kv_pages = 1}, snapshot = {.snapshots = 1};
        struct memory_need live = {.live_states = 1};
        model->unit_bytes[0] = real->ops->expected_bytes(real, live);
        model->unit_bytes[KV] = real->ops->expected_bytes(real, page);
        model->unit_bytes[STATE] = real->ops->expected_bytes(real, snapshot);
    }
    add_place(model, KV, 0);
    add_place(model, STATE, 0);
}

static const struct memory_ops *find_real(const char *name)
{
    for (size_t i = 0; memory_list[i]; i++)
        if (strcmp(memory_list[i]->name, name) == 0)
            return (const struct memory_ops *)(const void *)memory_list[i];
    return NULL;
}

static int spy_init(struct memory *memory, struct err *err)
{
    struct spy *spy = memory->state;
    spy->real = find_real(memory->ops->plugin.name);
    spy->state = mem_zalloc(spy->real->plugin.state_size);
    struct memory real = real_of(memory);
    if (spy->real->init(&real, err) != 0) {
        free(spy->state);
        return -1;
    }
    open_model(&spy->model, &real);
    after(memory, &real, false);
    return 0;
}

static void spy_fini(struct memory *memory)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    if (spy->real->fini)
        spy->real->fini(&real);
    free(spy->state);
    for (size_t i = 0; i < HOLDERS_MAX; i++)
        free(spy->model.holders[i].pages);
    for (size_t i = 0; i < spy->model.place_count; i++)
        free(spy->model.places[i].owners);
    free(spy->model.holders);
    free(spy->model.places);
    free(spy->model.free_places.items);
    free(spy->model.partial[KV].items);
    free(spy->model.partial[STATE].items);
}

static uint32_t snapshot_holder(const struct memory *memory, uint32_t snapshot)
{
    uint32_t holder = 1 + memory->workload->node_count + snapshot;
    expect(holder < HOLDERS_MAX);
    return holder;
}

static bool spy_fits_empty(const struct memory *memory, struct memory_need need)
{
    struct memory real = real_of(memory);
    return real.ops->fits_empty(&real, need);
}

static bool spy_falls_short(struct memory *memory, struct memory_need need,
                            struct memory_shortage *shortage)
{
    const struct page_model *model = &((const struct spy *)memory->state)->model;
    struct memory real = real_of(memory);
    bool is_short = real.ops->falls_short(&real, need, shortage);
    if (model->kind == SLABS)
        compare_slab_shortage(model, need, is_short, shortage);
    if (model->kind == TWO_ENDED)
        expect(is_short == !two_ends_fit(model, memory, need));
    after(memory, &real, false);
    return is_short;
}

static void spy_kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->kv_grow(&real, node, pages);
    take(&spy->model, memory, 1 + node, KV, pages);
    after(memory, &real, false);
}

static void spy_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->kv_shrink(&real, node, pages, gone);
    shrink(&spy->model, memory, node, pages, gone);
    after(memory, &real, false);
}

static void spy_snapshot_add(struct memory *memory, uint32_t snapshot)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->snapshot_add(&real, snapshot);
    take(&spy->model, memory, snapshot_holder(memory, snapshot), STATE, spy->model.per_snapshot);
    after(memory, &real, false);
}

static void spy_snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->snapshot_drop(&real, snapshot);
    give(&spy->model, snapshot_holder(memory, snapshot), spy->model.per_snapshot);
    after(memory, &real, false);
}

static void spy_live_add(struct memory *memory)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->live_add(&real);
    take(&spy->model, memory, 0, STATE, spy->model.per_live);
    after(memory, &real, false);
}

static void spy_live_drop(struct memory *memory)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->live_drop(&real);
    give(&spy->model, 0, spy->model.per_live);
    after(memory, &real, false);
}

static uint64_t spy_expected_bytes(const struct memory *memory, struct memory_need held)
{
    struct memory real = real_of(memory);
    return real.ops->expected_bytes(&real, held);
}

static uint64_t spy_unusable_bytes(const struct memory *memory, enum part part)
{
    struct memory real = real_of(memory);
    return real.ops->unusable_bytes ? real.ops->unusable_bytes(&real, part) : 0;
}

static void spy_begin(struct memory *memory, uint32_t arrival)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    if (real.ops->begin)
        real.ops->begin(&real, arrival);
    spy->model.now = arrival + 1;
    spy->model.open[KV] = spy->model.open[STATE] = NOBODY;
    after(memory, &real, true);
}

static void spy_used(struct memory *memory, bool is_snapshot, uint32_t id)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    if (real.ops->used)
        real.ops->used(&real, is_snapshot, id);
    spy->model.holders[is_snapshot ? snapshot_holder(memory, id) : 1 + id].age = spy->model.now;
    after(memory, &real, false);
}

static bool spy_next_in_place(const struct memory *memory, uint32_t place,
                              struct memory_holder *holder)
{
    struct memory real = real_of(memory);
    return real.ops->next_in_place(&real, place, holder);
}

static int spy_check(const struct memory *memory, struct err *err)
{
    struct memory real = real_of(memory);
    return real.ops->check ? real.ops->check(&real, err) : 0;
}

#define STRATEGIES_MAX 32

const struct plugin *const *ref_pages_list(void)
{
    static struct memory_ops spies[STRATEGIES_MAX];
    static const struct plugin *list[STRATEGIES_MAX + 1];
    for (size_t i = 0; memory_list[i]; i++) {
        expect(i < STRATEGIES_MAX);
        const struct memory_ops *real = (const struct memory_ops *)(const void *)memory_list[i];
        spies[i] = (struct memory_ops){.plugin = real->plugin,
                                       .flags = real->flags,
                                       .variants = real->variants,
                                       .init = spy_init,
                                       .fini = spy_fini,
                                       .fits_empty = spy_fits_empty,
                                       .falls_short = spy_falls_short,
                                       .kv_grow = spy_kv_grow,
                                       .kv_shrink = spy_kv_shrink,
                                       .snapshot_add = spy_snapshot_add,
                                       .snapshot_drop = spy_snapshot_drop,
                                       .live_add = spy_live_add,
                                       .live_drop = spy_live_drop,
                                       .expected_bytes = spy_expected_bytes,
                                       .unusable_bytes = spy_unusable_bytes,
                                       .begin = spy_begin,
                                       .used = spy_used,
                                       .next_in_place = spy_next_in_place,
                                       .check = spy_check};
        spies[i].plugin.state_size = sizeof(struct spy);
        list[i] = &spies[i].plugin;
    }
    return list;
}

uint64_t ref_pages_steps(void)
{
    return steps;
}
