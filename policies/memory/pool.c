#include "policies/memory/pool.h"

#include "policies/memory/page.h"
#include "sim/core/whole.h"

void pool_open(struct memory *memory, const struct pool *pool)
{
    struct pools *pools = memory->state;
    pools->kv = pools->states = &pools->items[0];
    pools->items[0] = *pool;
    pools->items[0].units = page_whole(memory->capacity_bytes, pool->unit_bytes);
}

static uint64_t units_of(const struct pool *pool, struct memory_need need)
{
    return need.kv_pages * pool->per_kv_page + need.snapshots * pool->per_snapshot +
           need.live_states * pool->per_live_state;
}

static struct pool *kv_of(const struct memory *memory)
{
    return ((const struct pools *)memory->state)->kv;
}

static struct pool *states_of(const struct memory *memory)
{
    return ((const struct pools *)memory->state)->states;
}

uint64_t pool_missing(const struct pool *pool, struct memory_need need)
{
    uint64_t wanted = pool->used + units_of(pool, need);
    return wanted > pool->units ? wanted - pool->units : 0;
}

bool pool_fits_empty(const struct memory *memory, struct memory_need need)
{
    const struct pools *pools = memory->state;
    return units_of(pools->kv, need) <= pools->kv->units &&
           units_of(pools->states, need) <= pools->states->units;
}

bool pool_falls_short(struct memory *memory, struct memory_need need,
                      struct memory_shortage *shortage)
{
    const struct pool *pool = kv_of(memory);
    uint64_t missing = pool_missing(pool, need);
    if (missing > 0)
        *shortage = (struct memory_shortage){
            .kv_pages = pool->per_kv_page > 1 ? whole_ceil(missing, pool->per_kv_page) : missing};
    return missing > 0;
}

static void take(struct memory *memory, struct pool *pool, uint64_t units)
{
    pool->used += units;
    memory->used_bytes += units * pool->unit_bytes;
}

static void give(struct memory *memory, struct pool *pool, uint64_t units)
{
    pool->used -= units;
    memory->used_bytes -= units * pool->unit_bytes;
}

void pool_kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    take(memory, kv_of(memory), pages * kv_of(memory)->per_kv_page);
}

void pool_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    (void)node;
    (void)gone;
    give(memory, kv_of(memory), pages * kv_of(memory)->per_kv_page);
}

void pool_snapshot_add(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    take(memory, states_of(memory), states_of(memory)->per_snapshot);
}

void pool_snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    give(memory, states_of(memory), states_of(memory)->per_snapshot);
}

void pool_live_add(struct memory *memory)
{
    take(memory, states_of(memory), states_of(memory)->per_live_state);
}

void pool_live_drop(struct memory *memory)
{
    give(memory, states_of(memory), states_of(memory)->per_live_state);
}

uint64_t pool_expected_bytes(const struct memory *memory, struct memory_need held)
{
    const struct pool *kv = kv_of(memory), *states = states_of(memory);
    uint64_t bytes = units_of(kv, held) * kv->unit_bytes;
    return kv == states ? bytes : bytes + units_of(states, held) * states->unit_bytes;
}

/* The rest of the capacity that is no whole unit. */
uint64_t pool_unusable_bytes(const struct memory *memory, enum part part)
{
    const struct pool *pool = kv_of(memory);
    (void)part;
    return memory->capacity_bytes - pool->units * pool->unit_bytes;
}
