#include "policies/memory/page.h"

#include "sim/core/units.h"

int page_choose(struct memory *memory, uint64_t tokens, bool knows_blocks, struct err *err)
{
    const char *name = memory->ops->plugin.name;
    if (memory->kv_bytes_per_token == 0)
        return err_set(err,
                       "memory '%s' divides memory between KV and states, and this model has "
                       "no KV: memory 'ideal' is what it needs",
                       name);
    if (memory->pages_are_blocks && !knows_blocks)
        return err_set(err, "page-tokens: 'trace' goes with memory 'equal', not with '%s'", name);
    if (memory->page_tokens == 0)
        memory->page_tokens = tokens;
    return 0;
}

uint64_t page_state_slot(const struct memory *memory)
{
    bool is_live_larger = memory->live_slots > 0 && memory->state_bytes > memory->snapshot_bytes;
    return is_live_larger ? memory->state_bytes : memory->snapshot_bytes;
}

uint64_t page_whole(uint64_t capacity_bytes, uint64_t bytes)
{
    return capacity_bytes == UNITS_UNLIMITED ? UNITS_UNLIMITED : capacity_bytes / bytes;
}
