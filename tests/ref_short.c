/* ref_short.c - whether a need fits in the model of pages, what is short if not, and what of the
 * free bytes is of no use to whom. */
#include "sim/core/units.h"
#include "tests/ref_pages.h"

uint64_t ref_pages_ceil(uint64_t a, uint64_t b)
{
    return a % b == 0 ? a / b : a / b + 1;
}

uint64_t ref_pages_per_slab(const struct page_model *model, int class_)
{
    return model->unit_bytes[class_] > 0 ? model->slab_bytes / model->unit_bytes[class_] : 1;
}

static uint64_t units_of(const struct page_model *model, struct memory_need need, int class_)
{
    return class_ == KV ? need.kv_pages * model->per_page
                        : need.snapshots * model->per_snapshot + need.live_states * model->per_live;
}

bool ref_pages_fits_empty(const struct page_model *model, struct memory_need need)
{
    uint64_t kv = units_of(model, need, KV), state = units_of(model, need, STATE);
    uint64_t capacity = model->capacity_bytes;
    if (capacity == UNITS_UNLIMITED)
        return true;
    switch (model->kind) {
    case POOL:
        return kv + state <= capacity / model->unit_bytes[KV];
    case SPLIT:
        return kv <= (capacity - model->quota_bytes) / model->unit_bytes[KV] &&
               state <= model->quota_bytes;
    case SLABS:
        return ref_pages_ceil(kv, ref_pages_per_slab(model, KV)) +
                   ref_pages_ceil(state, ref_pages_per_slab(model, STATE)) <=
               capacity / model->slab_bytes;
    case TWO_ENDED:
        break;
    }
    return kv * model->unit_bytes[KV] + state * model->unit_bytes[STATE] <= capacity;
}

/* ---- units without places ---- */

static bool pool_short(const struct page_model *model, struct memory_need need,
                       struct memory_shortage *shortage)
{
    uint64_t units = model->capacity_bytes / model->unit_bytes[KV];
    uint64_t wanted = model->counts[KV] + model->counts[STATE] + units_of(model, need, KV) +
                      units_of(model, need, STATE);
    if (wanted <= units)
        return false;
    *shortage =
        (struct memory_shortage){.part = PART_ANY,
                                 .wants = PART_ANY,
                                 .kv_pages = ref_pages_ceil(wanted - units, model->per_page)};
    return true;
}

static bool split_short(const struct page_model *model, struct memory_need need,
                        struct memory_shortage *shortage)
{
    uint64_t pages = (model->capacity_bytes - model->quota_bytes) / model->unit_bytes[KV];
    uint64_t wanted = model->counts[KV] + units_of(model, need, KV);
    bool kv_short = wanted > pages;
    if (!kv_short && model->counts[STATE] + units_of(model, need, STATE) <= model->quota_bytes)
        return false;
    enum part part = kv_short ? PART_KV : PART_SNAPSHOT;
    *shortage = (struct memory_shortage){
        .part = part, .wants = part, .kv_pages = kv_short ? wanted - pages : 1};
    return true;
}

/* ---- slabs ---- */

static uint64_t free_in(const struct page_model *model, uint32_t place)
{
    return model->places[place].count - ref_place_used(&model->places[place]);
}

static uint64_t free_slabs(const struct page_model *model)
{
    return model->capacity_bytes / model->slab_bytes - ref_pages_slabs_in_use(model);
}

/* Free units of a class: in the slab that this request began, and in the others. */
static void count_free(const struct page_model *model, int class_, uint64_t *own, uint64_t *others)
{
    *own = *others = 0;
    for (uint32_t i = 0; i < model->place_count; i++)
        if (model->places[i].class_ == class_)
            *(i == model->open[class_] ? own : others) += free_in(model, i);
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

/* lcm, steps 1, 2 and 4 for one page after the other, KV first: the class of the first page that
 * finds no place; 0 if all do. */
static int first_short(const struct page_model *model, struct memory_need need, bool by_step_4)
{
    uint64_t fresh = free_slabs(model);
    for (int class_ = KV; class_ <= STATE; class_++) {
        uint64_t own, others;
        count_free(model, class_, &own, &others);
        for (uint64_t units = units_of(model, need, class_); units > 0; units--) {
            if (own == 0 && fresh > 0) {
                fresh--;
                own = ref_pages_per_slab(model, class_);
            }
            if (own > 0)
                own--;
            else if (by_step_4 && others > 0)
                others--;
            else
                return class_;
        }
    }
    return 0;
}

static bool lcm_short(const struct page_model *model, struct memory_need need,
                      struct memory_shortage *shortage)
{
    if (first_short(model, need, false) == 0)
        return false;
    *shortage = (struct memory_shortage){.kv_pages = 1};
    if (ref_pages_per_slab(model, KV) == 1 && ref_pages_per_slab(model, STATE) == 1) {
        /* one list: a page more or less is a slab more or less */
        shortage->kv_pages =
            units_of(model, need, KV) + units_of(model, need, STATE) - free_slabs(model);
        return true;
    }
    int class_ = first_short(model, need, true);
    uint32_t oldest = oldest_place(model, 0);
    if (class_ == 0 && oldest == NOBODY)
        return false;
    shortage->part = class_ == KV ? PART_KV : class_ == STATE ? PART_SNAPSHOT : PART_ANY;
    shortage->wants = class_ == KV ? PART_KV : PART_SNAPSHOT;
    shortage->place = oldest == NOBODY ? 0 : oldest + 1;
    return true;
}

/* elastic. Other kinds' slabs move after so many shortages in a row. */
static bool elastic_short(struct page_model *model, struct memory_need need,
                          struct memory_shortage *shortage)
{
    uint64_t fresh = free_slabs(model), unplaced[3];
    for (int class_ = KV; class_ <= STATE; class_++) { /* both would take the free slabs */
        uint64_t own, others, units = units_of(model, need, class_);
        count_free(model, class_, &own, &others);
        uint64_t there = own + others;
        unplaced[class_] = units > there ? units - there : 0;
    }
    uint64_t per_kv = ref_pages_per_slab(model, KV), per_state = ref_pages_per_slab(model, STATE);
    if (ref_pages_ceil(unplaced[KV], per_kv) + ref_pages_ceil(unplaced[STATE], per_state) <= fresh)
        return false;
    bool kv_short = unplaced[KV] > fresh * per_kv;
    enum part part = kv_short ? PART_KV : PART_SNAPSHOT;
    *shortage = (struct memory_shortage){.part = part,
                                         .wants = part,
                                         .other_helps = true,
                                         .kv_pages = kv_short ? unplaced[KV] - fresh * per_kv : 1};
    int mine = kv_short ? KV : STATE;
    uint32_t own = oldest_place(model, mine), other = oldest_place(model, 3 - mine);
    bool older =
        other != NOBODY && (own == NOBODY || age_of_place(model, other) < age_of_place(model, own));
    model->pressure[mine] = older ? model->pressure[mine] + 1 : 0;
    if (model->pressure[mine] > model->hysteresis || (older && own == NOBODY)) {
        shortage->place = other + 1;
        model->pressure[mine] = 0;
    }
    return true;
}

/* next_in_place names a holder of the place that is not in use now, and as many pages as must go
 * from its end until a stretch of its pages in the place is gone. */
void ref_pages_check_holder(const struct page_model *model, const struct memory *memory,
                            uint32_t place, bool found, const struct memory_holder *holder)
{
    const struct place *here = &model->places[place - 1];
    bool there = false;
    for (size_t i = 0; i < here->count; i++)
        there = there ||
                (here->owners[i] != NOBODY && model->holders[here->owners[i]].age < model->now);
    expect(found == there);
    if (!found)
        return;
    uint32_t id = 1 + holder->id + (holder->is_snapshot ? memory->workload->node_count : 0);
    const struct holder *named = &model->holders[id];
    expect(named->age < model->now);
    expect(holder->kv_pages > 0 && holder->kv_pages <= named->count);
    size_t last = named->count - holder->kv_pages;
    expect(named->pages[last].place == place - 1);
    expect(last == 0 || named->pages[last - 1].place != place - 1);
}

/* ---- two ends ---- */

struct two_ends {
    uint64_t used_bytes, gap, holes[3];
};

static struct two_ends measure_ends(const struct page_model *model)
{
    struct two_ends ends = {.gap = model->capacity_bytes};
    for (int class_ = KV; class_ <= STATE; class_++) {
        const struct place *end = &model->places[class_ - 1];
        uint64_t used = ref_place_used(end), extent = ref_place_extent(end);
        ends.used_bytes += used * model->unit_bytes[class_];
        ends.gap -= extent * model->unit_bytes[class_];
        ends.holes[class_] = extent - used;
    }
    return ends;
}

static bool ends_short(const struct page_model *model, struct memory_need need,
                       struct memory_shortage *shortage)
{
    struct two_ends ends = measure_ends(model);
    uint64_t wanted = ends.used_bytes, unplaced[3] = {0};
    for (int class_ = KV; class_ <= STATE; class_++) {
        uint64_t unit = model->unit_bytes[class_];
        for (uint64_t units = units_of(model, need, class_); units > 0; units--) {
            wanted += unit;
            if (ends.holes[class_] > 0)
                ends.holes[class_]--;
            else if (ends.gap >= unit)
                ends.gap -= unit;
            else
                unplaced[class_]++;
        }
    }
    bool bytes_short = wanted > model->capacity_bytes;
    if (!bytes_short && (model->compaction || unplaced[KV] + unplaced[STATE] == 0))
        return false;
    enum part wants = unplaced[KV] > 0 ? PART_KV : PART_SNAPSHOT;
    *shortage = (struct memory_shortage){.part = bytes_short ? PART_ANY : wants,
                                         .wants = wants,
                                         .other_helps = true,
                                         .kv_pages = unplaced[KV] > 0 ? unplaced[KV] : 1};
    if (bytes_short)
        shortage->kv_pages = ref_pages_ceil(wanted - model->capacity_bytes, model->unit_bytes[KV]);
    return true;
}

bool ref_pages_falls_short(struct page_model *model, struct memory_need need,
                           struct memory_shortage *shortage)
{
    if (model->capacity_bytes == UNITS_UNLIMITED)
        return false;
    switch (model->kind) {
    case POOL:
        return pool_short(model, need, shortage);
    case SPLIT:
        return split_short(model, need, shortage);
    case SLABS:
        return model->fresh_first ? lcm_short(model, need, shortage)
                                  : elastic_short(model, need, shortage);
    case TWO_ENDED:
        break;
    }
    return ends_short(model, need, shortage);
}

/* ---- free, and of no use ---- */

uint64_t ref_pages_unusable(const struct page_model *model, enum part part)
{
    int mine = part == PART_KV ? KV : STATE, other = 3 - mine;
    uint64_t unit = model->unit_bytes[mine] > 0 ? model->unit_bytes[mine] : 1;
    uint64_t capacity = model->capacity_bytes, own = 0, others = 0;
    struct two_ends ends;
    switch (model->kind) {
    case POOL: /* the rest that is no unit */
        return capacity % model->unit_bytes[KV];
    case SPLIT: /* what is free beyond the wall, and what is no page of KV */
        capacity -= model->quota_bytes;
        if (part == PART_SNAPSHOT)
            return capacity - model->counts[KV] * model->unit_bytes[KV];
        return capacity % model->unit_bytes[KV] +
               (part == PART_KV ? model->quota_bytes - model->counts[STATE] : 0);
    case SLABS: /* the rest that is no slab, and free units in slabs of the other kind */
        if (part != PART_ANY)
            count_free(model, other, &own, &others);
        return capacity % model->slab_bytes + (own + others) * model->unit_bytes[other];
    case TWO_ENDED: /* holes of the other kind, and the rest of the gap that is no unit */
        break;
    }
    if (part == PART_ANY)
        return 0;
    ends = measure_ends(model);
    uint64_t holes = ends.holes[other] * model->unit_bytes[other];
    return model->compaction ? (ends.gap + holes) % unit : holes + ends.gap % unit;
}
