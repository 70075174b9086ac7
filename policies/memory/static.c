/* static:ratio=R - a fixed split: R of the capacity holds states (snapshots and live ones), the
 * rest KV pages. Two free lists; neither ever borrows from the other. SGLang, TensorRT-LLM and
 * OpenVINO do this; SGLang's --mamba-full-memory-ratio r is R = r/(1+r), 0.9 by default: 0.4737.
 *
 * static:best is the ratio, of the multiples of 1/64 from 0 to 1, with the most hit tokens in
 * hindsight; of equals the smallest: a line to compare with, not a strategy. It takes 65 replays.
 */
#include <stddef.h>
#include <string.h>

#include "policies/memory/page.h"
#include "policies/memory/pool.h"
#include "sim/core/units.h"

#define STEPS 64

struct fixed_split {
    char *ratio; /* a number, or "best" */
};

static const struct param params[] = {
    PARAM(struct fixed_split, ratio, PARAM_TEXT, "0.5", 0, 0,
          "share of the capacity for states, 0 to 1; best: the multiple of 1/64 that hits most in "
          "hindsight, by 65 replays"),
    PARAM_END,
};

/* A number from 0 to 1, or -1 for the best. */
static int parse_ratio(const struct fixed_split *settings, double *ratio)
{
    struct err ignored;
    *ratio = -1;
    if (strcmp(settings->ratio, "best") == 0)
        return 0;
    return units_parse_double(settings->ratio, ratio, &ignored) == 0 && *ratio >= 0 && *ratio <= 1
               ? 0
               : -1;
}

static int check_settings(const void *settings, struct err *err)
{
    double ratio = 0;
    const struct fixed_split *split = settings;
    return parse_ratio(split, &ratio) == 0
               ? 0
               : err_set(err, "ratio: 0 to 1, or best, was expected, found '%s'", split->ratio);
}

static uint32_t variants(const struct memory *memory)
{
    double ratio = 0;
    bool is_best = parse_ratio(memory->settings, &ratio) == 0 && ratio < 0;
    return is_best && memory->capacity_bytes != UNITS_UNLIMITED ? STEPS + 1 : 1;
}

static int init(struct memory *memory, struct err *err)
{
    struct pools *pools = memory->state;
    struct pool *kv = &pools->items[0], *states = &pools->items[1];
    double ratio = 0;
    if (page_choose(memory, memory->align_tokens, false, err) != 0 ||
        parse_ratio(memory->settings, &ratio) != 0)
        return -1;
    if (ratio < 0)
        ratio = (double)memory->variant / STEPS;
    pools->kv = kv;
    pools->states = states;
    *kv = (struct pool){.unit_bytes = memory->page_tokens * memory->kv_bytes_per_token,
                        .per_kv_page = 1,
                        .units = UNITS_UNLIMITED};
    *states = (struct pool){.unit_bytes = 1,
                            .per_snapshot = memory->snapshot_bytes,
                            .per_live_state = memory->state_bytes,
                            .units = UNITS_UNLIMITED};
    if (memory->capacity_bytes == UNITS_UNLIMITED)
        return 0;
    states->units = (uint64_t)(ratio * (double)memory->capacity_bytes);
    if (states->units > memory->capacity_bytes)
        states->units = memory->capacity_bytes; /* doubles have 53 bits */
    kv->units = (memory->capacity_bytes - states->units) / kv->unit_bytes;
    memory->quota_bytes = states->units;
    return 0;
}

static bool falls_short(struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage)
{
    const struct pools *pools = memory->state;
    uint64_t pages = pool_missing(pools->kv, need);
    if (pages == 0 && pool_missing(pools->states, need) == 0)
        return false;
    enum part part = pages > 0 ? PART_KV : PART_SNAPSHOT;
    *shortage =
        (struct memory_shortage){.part = part, .wants = part, .kv_pages = pages > 0 ? pages : 1};
    return true;
}

/* What is free on the other side, and what of the KV's is no whole page. */
static uint64_t unusable_bytes(const struct memory *memory, enum part part)
{
    const struct pools *pools = memory->state;
    const struct pool *kv = pools->kv, *states = pools->states;
    uint64_t rest = memory->capacity_bytes - states->units - kv->units * kv->unit_bytes;
    if (part == PART_KV)
        return rest + states->units - states->used;
    if (part == PART_SNAPSHOT)
        return rest + (kv->units - kv->used) * kv->unit_bytes;
    return rest;
}

const struct memory_ops memory_static = {
    .plugin = {.name = "static",
               .summary = "a fixed split, two free lists; best: the best one in hindsight",
               .params = params,
               .check = check_settings,
               .settings_size = sizeof(struct fixed_split),
               .state_size = sizeof(struct pools)},
    .flags = MEMORY_BY_PART,
    .variants = variants,
    .init = init,
    .falls_short = falls_short,
    POOL_HOOKS,
    .unusable_bytes = unusable_bytes,
};
