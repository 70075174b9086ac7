#include "policies/list.h"

#include "sim/eviction.h"
#include "sim/memory.h"
#include "sim/placement.h"

extern const struct placement_ops placement_none, placement_fixed, placement_prompt_end,
    placement_reply_end, placement_turn, placement_last, placement_branch, placement_system_prompt,
    placement_ladder, placement_balanced, placement_sqrt, placement_dyadic, placement_oracle,
    placement_planned;
extern const struct eviction_ops eviction_lru, eviction_fifo, eviction_lfu, eviction_belady,
    eviction_planned;
extern const struct memory_ops memory_ideal, memory_static, memory_equal, memory_lcm, memory_max,
    memory_gcd, memory_two_ended, memory_elastic;

const struct plugin *const placement_list[] = {
    &placement_none.plugin,       &placement_fixed.plugin,
    &placement_prompt_end.plugin, &placement_reply_end.plugin,
    &placement_turn.plugin,       &placement_last.plugin,
    &placement_branch.plugin,     &placement_system_prompt.plugin,
    &placement_ladder.plugin,     &placement_balanced.plugin,
    &placement_sqrt.plugin,       &placement_dyadic.plugin,
    &placement_oracle.plugin,     NULL,
};

const struct plugin *const eviction_list[] = {
    &eviction_lru.plugin,
    &eviction_fifo.plugin,
    &eviction_lfu.plugin,
    &eviction_belady.plugin,
    NULL,
};

const struct plugin *const planned_placement_list[] = {&placement_planned.plugin, NULL};
const struct plugin *const planned_eviction_list[] = {&eviction_planned.plugin, NULL};

const struct plugin *const memory_list[] = {
    &memory_ideal.plugin,     &memory_static.plugin,  &memory_equal.plugin,
    &memory_lcm.plugin,       &memory_max.plugin,     &memory_gcd.plugin,
    &memory_two_ended.plugin, &memory_elastic.plugin, NULL,
};
