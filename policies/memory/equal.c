/* equal - one page size for KV and snapshots, one free list.
 *
 * A page holds the KV of page_tokens tokens; a snapshot takes as many whole pages as its bytes
 * need, and the rest of the last one is padding. Without --page-tokens, a page is made as large as
 * a snapshot, rounded up to 128 tokens, so that one page holds either (the way of the Kimi K3
 * report, arXiv 2607.24653); without recurrent layers it is 16 tokens. */
#include <stddef.h>

#include "sim/core/units.h"
#include "sim/memory.h"

#define PLAIN_PAGE_TOKENS 16
#define ALIGN_TOKENS 128

struct equal {
    uint64_t page_bytes, pages, pages_per_snapshot, used_pages;
};

static int init(struct memory *memory, struct err *err)
{
    struct equal *equal = memory->state;
    uint64_t token = memory->kv_bytes_per_token;
    if (token == 0)
        return err_set(err, "memory 'equal' needs a model with KV");
    if (memory->page_tokens == 0 && memory->snapshot_bytes == 0)
        memory->page_tokens = PLAIN_PAGE_TOKENS;
    if (memory->page_tokens == 0) {
        uint64_t aligned = ALIGN_TOKENS * token;
        memory->page_tokens = (memory->snapshot_bytes + aligned - 1) / aligned * ALIGN_TOKENS;
    }
    equal->page_bytes = memory->page_tokens * token;
    equal->pages = memory->capacity_bytes == UNITS_UNLIMITED
                       ? UNITS_UNLIMITED
                       : memory->capacity_bytes / equal->page_bytes;
    equal->pages_per_snapshot =
        (memory->snapshot_bytes + equal->page_bytes - 1) / equal->page_bytes;
    return 0;
}

static uint64_t pages_of(const struct memory *memory, struct memory_need need)
{
    const struct equal *equal = memory->state;
    return need.kv_pages + need.snapshots * equal->pages_per_snapshot;
}

static bool fits_empty(const struct memory *memory, struct memory_need need)
{
    const struct equal *equal = memory->state;
    return pages_of(memory, need) <= equal->pages;
}

static bool falls_short(const struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage)
{
    const struct equal *equal = memory->state;
    uint64_t wanted = equal->used_pages + pages_of(memory, need);
    if (wanted <= equal->pages)
        return false;
    *shortage = (struct memory_shortage){PART_ANY, wanted - equal->pages};
    return true;
}

static void take(struct memory *memory, uint64_t pages)
{
    struct equal *equal = memory->state;
    equal->used_pages += pages;
    memory->used_bytes = equal->used_pages * equal->page_bytes;
}

static void give(struct memory *memory, uint64_t pages)
{
    struct equal *equal = memory->state;
    equal->used_pages -= pages;
    memory->used_bytes = equal->used_pages * equal->page_bytes;
}

static void kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    take(memory, pages);
}

static void kv_shrink(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    give(memory, pages);
}

static void snapshot_add(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    take(memory, ((const struct equal *)memory->state)->pages_per_snapshot);
}

static void snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    give(memory, ((const struct equal *)memory->state)->pages_per_snapshot);
}

static uint64_t expected_bytes(const struct memory *memory, struct memory_need held)
{
    return pages_of(memory, held) * ((const struct equal *)memory->state)->page_bytes;
}

const struct memory_ops memory_equal = {
    .plugin = {.name = "equal",
               .summary = "one page size for KV and snapshots, one free list",
               .state_size = sizeof(struct equal)},
    .init = init,
    .fits_empty = fits_empty,
    .falls_short = falls_short,
    .kv_grow = kv_grow,
    .kv_shrink = kv_shrink,
    .snapshot_add = snapshot_add,
    .snapshot_drop = snapshot_drop,
    .expected_bytes = expected_bytes,
};
