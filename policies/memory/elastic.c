/* elastic - slabs of a given size that move between KV and states by demand.
 *
 * A slab is of one kind as long as anything is in it; what is no whole page, or no whole piece of a
 * state, at its end is padding. Free units of the kind are filled before a free slab is begun. When
 * a kind is short, the policy drops of that kind. Its demand is the greater one while the slab that
 * it used longest ago is younger than that of the other kind; after `hysteresis` shortages in a row
 * that found it so, the other kind gives up that slab, which is emptied first. kvcached is of this
 * kind: a state of 2,146,304 bytes in a slab of 4 MiB wastes 95 % of its own size. */
#include <stddef.h>

#include "policies/memory/page.h"
#include "policies/memory/slab.h"
#include "sim/core/whole.h"

struct elastic {
    uint64_t slab, hysteresis, pieces;
};

struct pressed_slabs {
    struct slabs slabs; /* first: slab.c knows nothing of the rest */
    uint64_t pressure[SLAB_CLASSES];
};

static const struct param params[] = {
    PARAM(struct elastic, slab, PARAM_BYTES, "64MiB", 0, 0,
          "size of a slab; at least a page of KV or a piece of a state"),
    PARAM(struct elastic, hysteresis, PARAM_U64, "16", 0, 1 << 20,
          "shortages in a row, each with an older slab on the other side, before that one moves"),
    PARAM(struct elastic, pieces, PARAM_U64, "1", 1, 4096,
          "parts that a state is cut into, each in any slab"),
    PARAM_END,
};

static int init(struct memory *memory, struct err *err)
{
    const struct elastic *elastic = memory->settings;
    struct slabs *slabs = memory->state;
    if (page_choose(memory, memory->align_tokens, false, err) != 0)
        return -1;
    uint64_t state = page_state_slot(memory);
    slabs->unit_bytes[SLAB_KV] = memory->page_tokens * memory->kv_bytes_per_token;
    slabs->unit_bytes[SLAB_STATE] = whole_ceil(state, elastic->pieces);
    slabs->per_snapshot = slabs->per_live_state = state ? elastic->pieces : 0;
    slabs->slab_bytes = elastic->slab; /* at least one unit of each kind */
    for (int i = SLAB_KV; i <= SLAB_STATE; i++)
        if (slabs->slab_bytes < slabs->unit_bytes[i])
            slabs->slab_bytes = slabs->unit_bytes[i];
    return slab_open(memory, err);
}

static bool falls_short(struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage)
{
    const struct elastic *elastic = memory->settings;
    struct pressed_slabs *state = memory->state;
    struct slabs *slabs = &state->slabs;
    uint64_t units[SLAB_CLASSES];
    slab_units(slabs, need, units);
    if (slab_needed(slabs, units, slabs->free_units) <= slabs->free_slabs)
        return false;
    uint64_t kv_units = slabs->free_units[SLAB_KV] + slabs->free_slabs * slabs->per_slab[SLAB_KV];
    enum slab_class mine = units[SLAB_KV] > kv_units ? SLAB_KV : SLAB_STATE;
    enum slab_class other = mine == SLAB_KV ? SLAB_STATE : SLAB_KV;
    enum part part = mine == SLAB_KV ? PART_KV : PART_SNAPSHOT;
    *shortage =
        (struct memory_shortage){.part = part, .wants = part, .other_helps = true, .kv_pages = 1};
    if (mine == SLAB_KV)
        shortage->kv_pages = units[SLAB_KV] - kv_units;
    uint32_t own = slab_oldest(memory, mine), oldest = slab_oldest(memory, other);
    bool older =
        oldest != SLAB_NONE && (own == SLAB_NONE || slab_age(slabs, oldest) < slab_age(slabs, own));
    state->pressure[mine] = older ? state->pressure[mine] + 1 : 0;
    if (state->pressure[mine] > elastic->hysteresis || (older && own == SLAB_NONE)) {
        shortage->place = oldest + 1;
        state->pressure[mine] = 0;
    }
    return true;
}

const struct memory_ops memory_elastic = {
    .plugin = {.name = "elastic",
               .summary = "slabs that move between KV and states by demand, with hysteresis",
               .params = params,
               .settings_size = sizeof(struct elastic),
               .state_size = sizeof(struct pressed_slabs)},
    .flags = MEMORY_BY_PART | MEMORY_PLACED,
    .init = init,
    .falls_short = falls_short,
    SLAB_HOOKS,
};
