/* max, gcd - the two foils of the Jenga paper (arXiv 2503.18292) to pages of the least common
 * multiple, on whole models: one page of KV is --page-tokens tokens of all layers.
 *
 * max    pages of the larger of both: KV pages are made of as many tokens as a state needs (1,344
 *        for Jamba-52B), so short prompts waste most of one.
 * gcd    pages of the greatest common divisor: KV and states take many each, without any padding;
 *        what it costs, kernels that read such pages, is not in this model. */
#include <stddef.h>

#include "policies/memory/page.h"
#include "policies/memory/pool.h"
#include "sim/core/whole.h"

static int init_max(struct memory *memory, struct err *err)
{
    if (page_choose(memory, memory->align_tokens, false, err) != 0)
        return -1;
    uint64_t page = memory->page_tokens * memory->kv_bytes_per_token;
    memory->page_tokens *= whole_larger(whole_ceil(page_state_slot(memory), page), 1);
    const struct pool pool = {.unit_bytes = memory->page_tokens * memory->kv_bytes_per_token,
                              .per_kv_page = 1,
                              .per_snapshot = memory->snapshot_bytes > 0,
                              .per_live_state = memory->state_bytes > 0};
    pool_open(memory, &pool);
    return 0;
}

static int init_gcd(struct memory *memory, struct err *err)
{
    if (page_choose(memory, memory->align_tokens, false, err) != 0)
        return -1;
    uint64_t page = memory->page_tokens * memory->kv_bytes_per_token;
    uint64_t unit = whole_divisor(whole_divisor(page, memory->snapshot_bytes), memory->state_bytes);
    const struct pool pool = {.unit_bytes = unit,
                              .per_kv_page = page / unit,
                              .per_snapshot = memory->snapshot_bytes / unit,
                              .per_live_state = memory->state_bytes / unit};
    pool_open(memory, &pool);
    return 0;
}

const struct memory_ops memory_max = {
    .plugin = {.name = "max",
               .summary = "pages of the larger size for both (a foil)",
               .state_size = sizeof(struct pools)},
    .init = init_max,
    .falls_short = pool_falls_short,
    POOL_HOOKS,
    .unusable_bytes = pool_unusable_bytes,
};

const struct memory_ops memory_gcd = {
    .plugin = {.name = "gcd",
               .summary = "pages of the common divisor, many for each (a foil)",
               .state_size = sizeof(struct pools)},
    .init = init_gcd,
    .falls_short = pool_falls_short,
    POOL_HOOKS,
    .unusable_bytes = pool_unusable_bytes,
};
