#include "policies/memory/pool.h"

#include "sim/core/units.h"

uint64_t pool_ceil(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

uint64_t pool_whole(uint64_t capacity_bytes, uint64_t bytes)
{
    return capacity_bytes == UNITS_UNLIMITED ? UNITS_UNLIMITED : capacity_bytes / bytes;
}

uint64_t pool_state_slot(const struct memory *memory)
{
    bool is_live_larger = memory->live_slots > 0 && memory->state_bytes > memory->snapshot_bytes;
    return is_live_larger ? memory->state_bytes : memory->snapshot_bytes;
}

int pool_choose_page(struct memory *memory, uint64_t tokens, struct err *err)
{
    const char *name = memory->ops->plugin.name;
    if (memory->kv_bytes_per_token == 0)
        return err_set(err, "memory '%s' needs a model with KV", name);
    if (memory->pages_are_blocks)
        return err_set(err, "page-tokens: 'trace' goes with memory 'equal', not with '%s'", name);
    if (memory->page_tokens == 0)
        memory->page_tokens = tokens;
    return 0;
}

void pool_open(struct memory *memory)
{
    struct pool *pool = memory->state;
    pool->units = pool_whole(memory->capacity_bytes, pool->unit_bytes);
}

static uint64_t units_of(const struct pool *pool, struct memory_need need)
{
    return need.kv_pages * pool->per_kv_page + need.snapshots * pool->per_snapshot +
           need.live_states * pool->per_live_state;
}

bool pool_fits_empty(const struct memory *memory, struct memory_need need)
{
    const struct pool *pool = memory->state;
    return units_of(pool, need) <= pool->units;
}

bool pool_falls_short(struct memory *memory, struct memory_need need,
                      struct memory_shortage *shortage)
{
    const struct pool *pool = memory->state;
    uint64_t wanted = pool->used + units_of(pool, need);
    if (wanted <= pool->units)
        return false;
    uint64_t missing = wanted - pool->units;
    *shortage = (struct memory_shortage){
        .kv_pages = pool->per_kv_page > 1 ? pool_ceil(missing, pool->per_kv_page) : missing};
    return true;
}

static void take(struct memory *memory, uint64_t units)
{
    struct pool *pool = memory->state;
    pool->used += units;
    memory->used_bytes = pool->used * pool->unit_bytes;
}

static void give(struct memory *memory, uint64_t units)
{
    struct pool *pool = memory->state;
    pool->used -= units;
    memory->used_bytes = pool->used * pool->unit_bytes;
}

void pool_kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    take(memory, pages * ((const struct pool *)memory->state)->per_kv_page);
}

void pool_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    (void)node;
    (void)gone;
    give(memory, pages * ((const struct pool *)memory->state)->per_kv_page);
}

void pool_snapshot_add(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    take(memory, ((const struct pool *)memory->state)->per_snapshot);
}

void pool_snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    give(memory, ((const struct pool *)memory->state)->per_snapshot);
}

void pool_live_add(struct memory *memory)
{
    take(memory, ((const struct pool *)memory->state)->per_live_state);
}

void pool_live_drop(struct memory *memory)
{
    give(memory, ((const struct pool *)memory->state)->per_live_state);
}

uint64_t pool_expected_bytes(const struct memory *memory, struct memory_need held)
{
    const struct pool *pool = memory->state;
    return units_of(pool, held) * pool->unit_bytes;
}

/* The rest of the capacity that is no whole unit. */
uint64_t pool_unusable_bytes(const struct memory *memory, enum part part)
{
    const struct pool *pool = memory->state;
    (void)part;
    return memory->capacity_bytes - pool->units * pool->unit_bytes;
}
