/* ideal - bytes are bytes: KV in single tokens, no pages, no padding. The reference. */
#include <stddef.h>

#include "sim/core/units.h"
#include "sim/memory.h"

static uint64_t bytes_of(const struct memory *memory, struct memory_need need)
{
    return need.kv_pages * memory->kv_bytes_per_token + need.snapshots * memory->snapshot_bytes;
}

static int init(struct memory *memory, struct err *err)
{
    if (memory->page_tokens > 1 || memory->pages_are_blocks)
        return err_set(err, "memory 'ideal' has no pages; --page-tokens goes with 'equal'");
    memory->page_tokens = 1;
    return 0;
}

static bool fits_empty(const struct memory *memory, struct memory_need need)
{
    return memory->capacity_bytes == UNITS_UNLIMITED ||
           bytes_of(memory, need) <= memory->capacity_bytes;
}

static bool falls_short(const struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage)
{
    if (memory->capacity_bytes == UNITS_UNLIMITED)
        return false;
    uint64_t wanted = memory->used_bytes + bytes_of(memory, need);
    if (wanted <= memory->capacity_bytes)
        return false;
    uint64_t missing = wanted - memory->capacity_bytes;
    uint64_t token = memory->kv_bytes_per_token ? memory->kv_bytes_per_token : 1;
    *shortage = (struct memory_shortage){PART_ANY, (missing + token - 1) / token};
    return true;
}

static void kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    memory->used_bytes += pages * memory->kv_bytes_per_token;
}

static void kv_shrink(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    memory->used_bytes -= pages * memory->kv_bytes_per_token;
}

static void snapshot_add(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    memory->used_bytes += memory->snapshot_bytes;
}

static void snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    memory->used_bytes -= memory->snapshot_bytes;
}

const struct memory_ops memory_ideal = {
    .plugin = {.name = "ideal", .summary = "bytes are bytes: no pages, no waste; the reference"},
    .init = init,
    .fits_empty = fits_empty,
    .falls_short = falls_short,
    .kv_grow = kv_grow,
    .kv_shrink = kv_shrink,
    .snapshot_add = snapshot_add,
    .snapshot_drop = snapshot_drop,
    .expected_bytes = bytes_of,
};
