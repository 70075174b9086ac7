/* equal - one page size for KV and states, one free list: vLLM's block pool.
 *
 *   1. A page holds B tokens of KV of one layer. B is made so large that a page also holds the
 *      state of one recurrent layer (model_page_tokens), unless --page-tokens says otherwise: then
 *      a state takes as many whole pages as it needs.
 *   2. Layers of a kind are bucketed into groups of one size: the smallest number of layers of any
 *      kind, or the largest if that is less than half as much again. A kind's last group is padded.
 *   3. The unit of allocation, one page id, is B tokens of one group. A snapshot costs one id for
 *      each of the Gm groups of recurrent layers; B tokens cost one for each of the Ga others.
 *
 * Layers of a draft model that keep KV are a kind of their own, and so may shrink the groups. Each
 * draft token adds a row to the convolution window of a live state. */
#include <stddef.h>

#include "policies/memory/page.h"
#include "policies/memory/pool.h"
#include "sim/core/whole.h"

struct equal {
    uint64_t align, draft_layers, draft_tokens;
};

static const struct param params[] = {
    PARAM(struct equal, align, PARAM_U64, "0", 0, 1 << 20,
          "tokens to a multiple of which pages are rounded; 0: of the model's attention kernels"),
    PARAM(struct equal, draft_layers, PARAM_U64, "0", 0, 1024,
          "attention layers of a draft model, as large as the model's"),
    PARAM(struct equal, draft_tokens, PARAM_U64, "0", 0, 1024,
          "draft tokens whose inputs a live state keeps"),
    PARAM_END,
};

/* Step 2. Kinds without layers do not count. */
static uint64_t group_size(const uint64_t *layers, size_t kinds)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < kinds; i++) {
        if (layers[i] == 0)
            continue;
        least = layers[i] < least ? layers[i] : least;
        most = layers[i] > most ? layers[i] : most;
    }
    return 2 * most < 3 * least ? most : least;
}

static int init(struct memory *memory, struct err *err)
{
    const struct equal *equal = memory->settings;
    struct model_sizes sizes = *memory->sizes;
    if (memory->live_slots == 0) /* only snapshots lie here */
        sizes.state_bytes_per_layer = sizes.snapshot_bytes_per_layer;
    sizes.state_bytes_per_layer += equal->draft_tokens * sizes.conv_row_bytes_per_layer;
    uint64_t align = equal->align ? equal->align : memory->align_tokens;
    if (page_choose(memory, model_page_tokens(&sizes, align), true, err) != 0)
        return -1;
    const uint64_t layers[] = {sizes.recurrent_layers, sizes.attention_layers, equal->draft_layers};
    uint64_t size = group_size(layers, 3);
    uint64_t page = whole_ceil(memory->page_tokens * sizes.kv_entry_bytes_per_layer, sizes.dcp);
    uint64_t recurrent_groups = whole_ceil(sizes.recurrent_layers, size);
    const struct pool pool = {
        .unit_bytes = size * page,
        .per_kv_page =
            whole_ceil(sizes.attention_layers, size) + whole_ceil(equal->draft_layers, size),
        .per_snapshot = recurrent_groups * whole_ceil(sizes.snapshot_bytes_per_layer, page),
        .per_live_state = recurrent_groups * whole_ceil(sizes.state_bytes_per_layer, page)};
    pool_open(memory, &pool);
    return 0;
}

const struct memory_ops memory_equal = {
    .plugin = {.name = "equal",
               .summary = "one page size for KV and states, in groups of layers; one free list",
               .params = params,
               .settings_size = sizeof(struct equal),
               .state_size = sizeof(struct pools)},
    .init = init,
    .falls_short = pool_falls_short,
    POOL_HOOKS,
    .unusable_bytes = pool_unusable_bytes,
};
