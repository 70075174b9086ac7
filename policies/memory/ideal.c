/* ideal - bytes are bytes: KV in single tokens, no pages, no padding. The reference. */
#include <stddef.h>

#include "policies/memory/pool.h"

static int init(struct memory *memory, struct err *err)
{
    if (memory->page_tokens > 1 || memory->pages_are_blocks)
        return err_set(err, "memory 'ideal' has no pages, so it takes no --page-tokens");
    memory->page_tokens = 1;
    const struct pool pool = {.unit_bytes = 1,
                              .per_kv_page = memory->kv_bytes_per_token,
                              .per_snapshot = memory->snapshot_bytes,
                              .per_live_state = memory->state_bytes};
    pool_open(memory, &pool);
    return 0;
}

const struct memory_ops memory_ideal = {
    .plugin = {.name = "ideal",
               .summary = "bytes are bytes: no pages, no waste; the reference",
               .state_size = sizeof(struct pools)},
    .flags = MEMORY_EXACT,
    .init = init,
    .falls_short = pool_falls_short,
    POOL_HOOKS,
};
