/* max, gcd - the two foils of the Jenga paper (arXiv 2503.18292) to pages of the least common
 * multiple, on whole models: one page of KV is --page-tokens tokens of all layers.
 *
 * max    pages of the larger of both: KV pages are made of as many tokens as a state needs (1,344
 *        for Jamba-52B), so short prompts waste most of one.
 * gcd    pages of the greatest common divisor: KV and states take many each, without any padding;
 *        what it costs, kernels that read such pages, is not in this model. */
#include <stddef.h>

#include "policies/memory/pool.h"

static int init_max(struct memory *memory, struct err *err)
{
    if (pool_choose_page(memory, memory->align_tokens, err) != 0)
        return -1;
    uint64_t page = memory->page_tokens * memory->kv_bytes_per_token;
    uint64_t pages = pool_ceil(pool_state_slot(memory), page);
    memory->page_tokens *= pages > 0 ? pages : 1;
    *(struct pool *)memory->state =
        (struct pool){.unit_bytes = memory->page_tokens * memory->kv_bytes_per_token,
                      .per_kv_page = 1,
                      .per_snapshot = memory->snapshot_bytes > 0,
                      .per_live_state = memory->state_bytes > 0};
    pool_open(memory);
    return 0;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int init_gcd(struct memory *memory, struct err *err)
{
    if (pool_choose_page(memory, memory->align_tokens, err) != 0)
        return -1;
    uint64_t page = memory->page_tokens * memory->kv_bytes_per_token;
    uint64_t unit = divisor(divisor(page, memory->snapshot_bytes), memory->state_bytes);
    *(struct pool *)memory->state = (struct pool){.unit_bytes = unit,
                                                  .per_kv_page = page / unit,
                                                  .per_snapshot = memory->snapshot_bytes / unit,
                                                  .per_live_state = memory->state_bytes / unit};
    pool_open(memory);
    return 0;
}

const struct memory_ops memory_max = {
    .plugin = {.name = "max",
               .summary = "pages of the larger size for both (a foil)",
               .state_size = sizeof(struct pool)},
    .init = init_max,
    POOL_HOOKS,
    .unusable_bytes = pool_unusable_bytes,
};

const struct memory_ops memory_gcd = {
    .plugin = {.name = "gcd",
               .summary = "pages of the common divisor, many for each (a foil)",
               .state_size = sizeof(struct pool)},
    .init = init_gcd,
    POOL_HOOKS,
    .unusable_bytes = pool_unusable_bytes,
};
