/* The real strategies, each with the slow model beside it, as plug-ins of their own. */
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "policies/memory/slab.h"
#include "sim/core/mem.h"
#include "tests/ref_pages.h"

struct spy {
    const struct memory_ops *real;
    void *state;
    struct page_model model;
};

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
    ref_pages_compare(&spy->model, real, all);
}

static void open_model(struct page_model *model, const struct memory *real)
{
    const char *name = real->ops->plugin.name;
    model->holders = mem_array(HOLDERS_MAX, sizeof *model->holders);
    model->open[KV] = model->open[STATE] = NOBODY;
    model->per_snapshot = model->per_live = 1;
    if (strcmp(name, "two-ended") == 0) {
        uint64_t state = real->live_slots > 0 && real->state_bytes > real->snapshot_bytes
                             ? real->state_bytes
                             : real->snapshot_bytes;
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
    ref_pages_add_place(model, KV, 0);
    ref_pages_add_place(model, STATE, 0);
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
        ref_pages_compare_shortage(model, need, is_short, shortage);
    if (model->kind == TWO_ENDED)
        expect(is_short == !ref_pages_two_ends_fit(model, memory, need));
    after(memory, &real, false);
    return is_short;
}

static void spy_kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->kv_grow(&real, node, pages);
    ref_pages_take(&spy->model, memory, 1 + node, KV, pages);
    after(memory, &real, false);
}

static void spy_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->kv_shrink(&real, node, pages, gone);
    ref_pages_shrink(&spy->model, memory, node, pages, gone);
    after(memory, &real, false);
}

static void spy_snapshot_add(struct memory *memory, uint32_t snapshot)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->snapshot_add(&real, snapshot);
    ref_pages_take(&spy->model, memory, snapshot_holder(memory, snapshot), STATE,
                   spy->model.per_snapshot);
    after(memory, &real, false);
}

static void spy_snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->snapshot_drop(&real, snapshot);
    ref_pages_give(&spy->model, snapshot_holder(memory, snapshot), spy->model.per_snapshot);
    after(memory, &real, false);
}

static void spy_live_add(struct memory *memory)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->live_add(&real);
    ref_pages_take(&spy->model, memory, 0, STATE, spy->model.per_live);
    after(memory, &real, false);
}

static void spy_live_drop(struct memory *memory)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->live_drop(&real);
    ref_pages_give(&spy->model, 0, spy->model.per_live);
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
