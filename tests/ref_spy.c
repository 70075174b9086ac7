/* The real strategies, each with the slow model beside it, as plug-ins of their own. */
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
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
    ref_pages_open(&spy->model, memory);
    spy->model.holders = mem_array(HOLDERS_MAX, sizeof *spy->model.holders);
    if (spy->real->init(&real, err) != 0) {
        ref_pages_close(&spy->model);
        free(spy->state);
        return -1;
    }
    expect(real.page_tokens == spy->model.page_tokens);
    expect(real.place_bytes == spy->model.slab_bytes);
    expect(real.quota_bytes == spy->model.quota_bytes);
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
    ref_pages_close(&spy->model);
}

static uint32_t snapshot_holder(const struct memory *memory, uint32_t snapshot)
{
    uint32_t holder = 1 + memory->workload->node_count + snapshot;
    expect(holder < HOLDERS_MAX);
    return holder;
}

static bool spy_fits_empty(const struct memory *memory, struct memory_need need)
{
    const struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    bool fits = real.ops->fits_empty(&real, need);
    expect(fits == ref_pages_fits_empty(&spy->model, need));
    return fits;
}

static bool spy_falls_short(struct memory *memory, struct memory_need need,
                            struct memory_shortage *shortage)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    struct memory_shortage expected;
    bool is_short = real.ops->falls_short(&real, need, shortage);
    expect(is_short == ref_pages_falls_short(&spy->model, need, &expected));
    if (is_short) {
        expect(shortage->part == expected.part);
        expect(shortage->wants == expected.wants);
        expect(shortage->kv_pages == expected.kv_pages);
        expect(shortage->other_helps == expected.other_helps);
        expect(shortage->place == expected.place);
    }
    after(memory, &real, false);
    return is_short;
}

static void spy_kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    real.ops->kv_grow(&real, node, pages);
    ref_pages_take(&spy->model, 1 + node, KV, pages * spy->model.per_page);
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
    ref_pages_take(&spy->model, snapshot_holder(memory, snapshot), STATE, spy->model.per_snapshot);
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
    ref_pages_take(&spy->model, 0, STATE, spy->model.per_live);
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

static void spy_begin(struct memory *memory, uint32_t moment, uint32_t since)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    if (real.ops->begin)
        real.ops->begin(&real, moment, since);
    spy->model.now = moment + 1;
    spy->model.open[KV] = spy->model.open[STATE] = NOBODY;
    after(memory, &real, true);
}

static void spy_used(struct memory *memory, uint32_t snapshot)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    if (real.ops->used)
        real.ops->used(&real, snapshot);
    spy->model.holders[snapshot_holder(memory, snapshot)].age = spy->model.now;
    after(memory, &real, false);
}

static void spy_path_used(struct memory *memory, node_id node)
{
    struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    if (real.ops->path_used)
        real.ops->path_used(&real, node);
    for (; node != NODE_ROOT; node = memory->workload->nodes[node].parent)
        spy->model.holders[1 + node].age = spy->model.now;
    after(memory, &real, false);
}

static bool spy_next_in_place(const struct memory *memory, uint32_t place,
                              struct memory_holder *holder)
{
    const struct spy *spy = memory->state;
    struct memory real = real_of(memory);
    bool found = real.ops->next_in_place(&real, place, holder);
    ref_pages_check_holder(&spy->model, memory, place, found, holder);
    return found;
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
                                       .path_used = spy_path_used,
                                       .next_in_place = spy_next_in_place,
                                       .check = spy_check};
        spies[i].plugin.state_size = sizeof(struct spy);
        list[i] = &spies[i].plugin;
    }
    return list;
}
