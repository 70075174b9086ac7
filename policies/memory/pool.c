#include "policies/memory/pool.h"

#include "policies/memory/page.h"
#include "sim/core/whole.h"

void pool_open(struct memory *memory, const struct pool *pool)
{
    struct pools *pools = memory->state;
    pools->count = 1;
    pools->items[0] = *pool;
    pools->items[0].units = page_whole(memory->capacity_bytes, pool->unit_bytes);
}

static uint64_t units_of(const struct pool *pool, struct memory_need need)
{
    return need.kv_pages * pool->per_kv_page + need.snapshots * pool->per_snapshot +
           need.live_states * pool->per_live_state;
}

uint64_t pool_missing(const struct pool *pool, struct memory_need need)
{
    uint64_t wanted = pool->used + units_of(pool, need);
    return wanted > pool->units ? wanted - pool->units : 0;
}

bool pool_fits_empty(const struct memory *memory, struct memory_need need)
{
    const struct pools *pools = memory->state;
    for (size_t i = 0; i < pools->count; i++)
        if (units_of(&pools->items[i], need) > pools->items[i].units)
            return false;
    return true;
}

bool pool_falls_short(struct memory *memory, struct memory_need need,
                      struct memory_shortage *shortage)
{
    const struct pool *pool = &((const struct pools *)memory->state)->items[0];
    uint64_t missing = pool_missing(pool, need);
    if (missing > 0)
        *shortage = (struct memory_shortage){
            .kv_pages = pool->per_kv_page > 1 ? whole_ceil(missing, pool->per_kv_page) : missing};
    return missing > 0;
}

static void take(struct memory *memory, struct memory_need need)
{
    struct pools *pools = memory->state;
    for (size_t i = 0; i < pools->count; i++) {
        uint64_t units = units_of(&pools->items[i], need);
        pools->items[i].used += units;
        memory->used_bytes += units * pools->items[i].unit_bytes;
    }
}

static void give(struct memory *memory, struct memory_need need)
{
    struct pools *pools = memory->state;
    for (size_t i = 0; i < pools->count; i++) {
        uint64_t units = units_of(&pools->items[i], need);
        pools->items[i].used -= units;
        memory->used_bytes -= units * pools->items[i].unit_bytes;
    }
}

void pool_kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    take(memory, (struct memory_need){.kv_pages = pages});
}

void pool_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    (void)node;
    (void)gone;
    give(memory, (struct memory_need){.kv_pages = pages});
}

void pool_snapshot_add(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    take(memory, (struct memory_need){.snapshots = 1});
}

void pool_snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    give(memory, (struct memory_need){.snapshots = 1});
}

void pool_live_add(struct memory *memory)
{
    take(memory, (struct memory_need){.live_states = 1});
}

void pool_live_drop(struct memory *memory)
{
    give(memory, (struct memory_need){.live_states = 1});
}

uint64_t pool_expected_bytes(const struct memory *memory, struct memory_need held)
{
    const struct pools *pools = memory->state;
    uint64_t bytes = 0;
    for (size_t i = 0; i < pools->count; i++)
        bytes += units_of(&pools->items[i], held) * pools->items[i].unit_bytes;
    return bytes;
}

/* The rest of the capacity that is no whole unit. */
uint64_t pool_unusable_bytes(const struct memory *memory, enum part part)
{
    const struct pool *pool = &((const struct pools *)memory->state)->items[0];
    (void)part;
    return memory->capacity_bytes - pool->units * pool->unit_bytes;
}
