/* static:ratio=R - a fixed split: R of the capacity holds states (snapshots and live ones), the
 * rest KV pages. Two free lists; neither ever borrows from the other. SGLang, TensorRT-LLM and
 * OpenVINO do this; SGLang's --mamba-full-memory-ratio r is R = r/(1+r), 0.9 by default: 0.4737.
 *
 * static:best is the ratio, of the multiples of 1/64 from 0 to 1, with the most hit tokens in
 * hindsight; of equals the smallest: a line to compare with, not a strategy. It takes 65 replays.
 */
#include <stddef.h>
#include <string.h>

#include "policies/memory/pool.h"
#include "sim/core/units.h"

#define STEPS 64

struct fixed_split {
    char *ratio; /* a number, or "best" */
};

struct halves {
    uint64_t page_bytes, kv_pages, used_pages;
    uint64_t state_bytes, used_state_bytes; /* of the states' part */
};

static const struct param params[] = {
    PARAM(struct fixed_split, ratio, PARAM_TEXT, "0.5", 0, 0,
          "share of the capacity for states, 0 to 1; best: the multiple of 1/64 that hits most in "
          "hindsight"),
    PARAM_END,
};

static bool is_best(const struct memory *memory)
{
    return strcmp(((const struct fixed_split *)memory->settings)->ratio, "best") == 0;
}

static uint32_t variants(const struct memory *memory)
{
    return is_best(memory) && memory->capacity_bytes != UNITS_UNLIMITED ? STEPS + 1 : 1;
}

static int init(struct memory *memory, struct err *err)
{
    const struct fixed_split *settings = memory->settings;
    struct halves *halves = memory->state;
    struct err ignored;
    double ratio = (double)memory->variant / STEPS;
    if (!is_best(memory) &&
        (units_parse_double(settings->ratio, &ratio, &ignored) != 0 || !(ratio >= 0 && ratio <= 1)))
        return err_set(err, "memory 'static': ratio: 0 to 1, or best, was expected, found '%s'",
                       settings->ratio);
    if (pool_choose_page(memory, memory->align_tokens, err) != 0)
        return -1;
    halves->page_bytes = memory->page_tokens * memory->kv_bytes_per_token;
    halves->kv_pages = halves->state_bytes = UNITS_UNLIMITED;
    if (memory->capacity_bytes == UNITS_UNLIMITED)
        return 0;
    halves->state_bytes = (uint64_t)(ratio * (double)memory->capacity_bytes);
    if (halves->state_bytes > memory->capacity_bytes)
        halves->state_bytes = memory->capacity_bytes; /* doubles have 53 bits */
    halves->kv_pages = (memory->capacity_bytes - halves->state_bytes) / halves->page_bytes;
    memory->quota_bytes = halves->state_bytes;
    return 0;
}

static uint64_t states_of(const struct memory *memory, struct memory_need need)
{
    return need.snapshots * memory->snapshot_bytes + need.live_states * memory->state_bytes;
}

static bool fits_empty(const struct memory *memory, struct memory_need need)
{
    const struct halves *halves = memory->state;
    return need.kv_pages <= halves->kv_pages && states_of(memory, need) <= halves->state_bytes;
}

static bool falls_short(struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage)
{
    const struct halves *halves = memory->state;
    uint64_t pages = halves->used_pages + need.kv_pages;
    if (pages > halves->kv_pages) {
        *shortage = (struct memory_shortage){
            .part = PART_KV, .wants = PART_KV, .kv_pages = pages - halves->kv_pages};
        return true;
    }
    if (halves->used_state_bytes + states_of(memory, need) <= halves->state_bytes)
        return false;
    *shortage =
        (struct memory_shortage){.part = PART_SNAPSHOT, .wants = PART_SNAPSHOT, .kv_pages = 1};
    return true;
}

static void count(struct memory *memory)
{
    const struct halves *halves = memory->state;
    memory->used_bytes = halves->used_pages * halves->page_bytes + halves->used_state_bytes;
}

static void kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    (void)node;
    ((struct halves *)memory->state)->used_pages += pages;
    count(memory);
}

static void kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    (void)node;
    (void)gone;
    ((struct halves *)memory->state)->used_pages -= pages;
    count(memory);
}

static void snapshot_add(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    ((struct halves *)memory->state)->used_state_bytes += memory->snapshot_bytes;
    count(memory);
}

static void snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    (void)snapshot;
    ((struct halves *)memory->state)->used_state_bytes -= memory->snapshot_bytes;
    count(memory);
}

static void live_add(struct memory *memory)
{
    ((struct halves *)memory->state)->used_state_bytes += memory->state_bytes;
    count(memory);
}

static void live_drop(struct memory *memory)
{
    ((struct halves *)memory->state)->used_state_bytes -= memory->state_bytes;
    count(memory);
}

static uint64_t expected_bytes(const struct memory *memory, struct memory_need held)
{
    const struct halves *halves = memory->state;
    return held.kv_pages * halves->page_bytes + states_of(memory, held);
}

/* What is free on the other side. */
static uint64_t unusable_bytes(const struct memory *memory, enum part part)
{
    const struct halves *halves = memory->state;
    uint64_t kv_free =
        memory->capacity_bytes - halves->state_bytes - halves->used_pages * halves->page_bytes;
    uint64_t state_free = halves->state_bytes - halves->used_state_bytes;
    return part == PART_KV ? state_free : part == PART_SNAPSHOT ? kv_free : 0;
}

const struct memory_ops memory_static = {
    .plugin = {.name = "static",
               .summary = "a fixed split, two free lists; best: the best one in hindsight",
               .params = params,
               .settings_size = sizeof(struct fixed_split),
               .state_size = sizeof(struct halves)},
    .flags = MEMORY_BY_PART,
    .variants = variants,
    .init = init,
    .fits_empty = fits_empty,
    .falls_short = falls_short,
    .kv_grow = kv_grow,
    .kv_shrink = kv_shrink,
    .snapshot_add = snapshot_add,
    .snapshot_drop = snapshot_drop,
    .live_add = live_add,
    .live_drop = live_drop,
    .expected_bytes = expected_bytes,
    .unusable_bytes = unusable_bytes,
};
