/* lcm - large pages of the least common multiple of both kinds' pages, each cut into small pages of
 * one kind at a time: the allocator of the Jenga paper (SOSP 2025, arXiv 2503.18292).
 *
 * A small page of KV is --page-tokens tokens (16) of all layers; a state is cut into `pieces` small
 * pages of their own, by default one per recurrent layer, which keeps the multiple small. For a
 * small page:
 *
 *   1. a free one in the large page that this request began;
 *   2. a fresh large page;
 *   3. a large page that nobody uses now, emptied of all that is in it: the one whose newest small
 *      page was used longest ago (KV before states);
 *   4. a free one in any large page of the kind;
 *   5. one small page of the kind, evicted by the policy.
 *
 * If a small page of either kind fills a large one, there is one free list, and only the policy
 * evicts. */
#include <stddef.h>

#include "policies/memory/page.h"
#include "policies/memory/slab.h"
#include "sim/core/units.h"
#include "sim/core/whole.h"

#define PAGE_TOKENS 16 /* the paper's */

struct lcm {
    uint64_t pieces, at_least;
};

static const struct param params[] = {
    PARAM(struct lcm, pieces, PARAM_U64, "0", 0, 4096,
          "small pages that a state is cut into; 0: one per recurrent layer"),
    PARAM(struct lcm, at_least, PARAM_BYTES, "0", 0, 0,
          "large pages are the smallest multiple that is as large as this"),
    PARAM_END,
};

static int init(struct memory *memory, struct err *err)
{
    const struct lcm *lcm = memory->settings;
    struct slabs *slabs = memory->state;
    if (page_choose(memory, PAGE_TOKENS, false, err) != 0)
        return -1;
    uint64_t pieces = lcm->pieces ? lcm->pieces : whole_larger(memory->sizes->recurrent_layers, 1);
    uint64_t page = memory->page_tokens * memory->kv_bytes_per_token;
    uint64_t piece = whole_ceil(memory->snapshot_bytes, pieces);
    uint64_t large = page; /* without recurrent layers */
    if ((piece > 0 && whole_multiple(page, piece, &large) != 0) ||
        lcm->at_least > UNITS_UNLIMITED / 2)
        return err_set(err, "memory 'lcm': there is no large page: the multiple is above 2^64");
    slabs->slab_bytes = large * whole_larger(whole_ceil(lcm->at_least, large), 1);
    slabs->unit_bytes[SLAB_KV] = page;
    slabs->unit_bytes[SLAB_STATE] = piece;
    slabs->per_snapshot = piece ? pieces : 0;
    slabs->per_live_state = piece ? whole_ceil(memory->state_bytes, piece) : 0;
    slabs->fresh_first = true;
    return slab_open(memory, err);
}

static uint32_t oldest_large_page(struct memory *memory)
{
    const struct slabs *slabs = memory->state;
    uint32_t kv = slab_oldest(memory, SLAB_KV), state = slab_oldest(memory, SLAB_STATE);
    if (kv == SLAB_NONE || state == SLAB_NONE)
        return kv == SLAB_NONE ? state : kv;
    return slab_age(slabs, kv) <= slab_age(slabs, state) ? kv : state;
}

/* What a request cannot place by steps 1, 2 and 4, KV before states; PART_ANY if nothing. */
static enum part first_short(const struct slabs *slabs, const uint64_t *units, const uint64_t *own)
{
    uint64_t fresh = slabs->free_slabs;
    for (int i = SLAB_KV; i <= SLAB_STATE; i++) {
        uint64_t missing = units[i] > own[i] ? units[i] - own[i] : 0;
        uint64_t slab_count = whole_ceil(missing, slabs->per_slab[i]);
        uint64_t begun = slab_count < fresh ? slab_count : fresh;
        if (missing > begun * slabs->per_slab[i] + slabs->free_units[i] - own[i])
            return i == SLAB_KV ? PART_KV : PART_SNAPSHOT;
        fresh -= begun;
    }
    return PART_ANY;
}

static bool falls_short(struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage)
{
    struct slabs *slabs = memory->state;
    uint64_t units[SLAB_CLASSES], own[SLAB_CLASSES] = {0};
    slab_units(slabs, need, units);
    for (int i = SLAB_KV; i <= SLAB_STATE; i++)
        if (slabs->open[i])
            own[i] = slabs->per_slab[i] - slabs->slabs[slabs->open[i] - 1].used;
    uint64_t needed = slab_needed(slabs, units, own);
    if (needed <= slabs->free_slabs)
        return false;
    if (slabs->per_slab[SLAB_KV] == 1 && slabs->per_slab[SLAB_STATE] == 1) {
        *shortage = (struct memory_shortage){.kv_pages = needed - slabs->free_slabs};
        return true;
    }
    enum part part = first_short(slabs, units, own);
    *shortage = (struct memory_shortage){
        .part = part, .wants = part == PART_ANY ? PART_SNAPSHOT : part, .kv_pages = 1};
    uint32_t oldest = oldest_large_page(memory);
    if (oldest != SLAB_NONE)
        shortage->place = oldest + 1;
    return oldest != SLAB_NONE || part != PART_ANY;
}

const struct memory_ops memory_lcm = {
    .plugin = {.name = "lcm",
               .summary = "large pages of the common multiple, cut into small ones of one kind",
               .params = params,
               .settings_size = sizeof(struct lcm),
               .state_size = sizeof(struct slabs)},
    .flags = MEMORY_BY_PART | MEMORY_PLACED,
    .init = init,
    .falls_short = falls_short,
    SLAB_HOOKS,
};
