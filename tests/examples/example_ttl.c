/* ttl:SECONDS - whatever nobody has used for so long leaves, whether or not memory is short; when
 * it is short, what was used longest ago leaves first. */
#include "policies/eviction/rank.h"
#include "tests/examples/examples.h"

struct ttl {
    uint64_t life; /* ns */
};

static const struct param params[] = {
    PARAM(struct ttl, life, PARAM_DURATION, "300s", 0, 0, "how long an unused holding stays"),
    PARAM_END};

struct clock {
    struct rank rank; /* first: rank.h keeps the order */
    uint64_t now_ns;
};

struct last_use {
    struct rank_mark mark; /* first, as rank.h asks */
    uint64_t at_ns;
};

static struct last_use *of(const struct eviction *eviction, holding_id holding)
{
    return &((struct last_use *)eviction->holdings)[holding];
}

static struct heap_key key_of(struct eviction *eviction, holding_id holding)
{
    return (struct heap_key){of(eviction, holding)->at_ns, 0,
                             heap_within(eviction->cache, holding)};
}

static int init(struct eviction *eviction, struct err *err)
{
    (void)err;
    ((struct clock *)eviction->state)->rank.key_of = key_of;
    return 0;
}

static void begin(struct eviction *eviction, const struct context *context)
{
    ((struct clock *)eviction->state)->now_ns = context->at_ns;
}

static void used(struct eviction *eviction, holding_id holding)
{
    of(eviction, holding)->at_ns = ((const struct clock *)eviction->state)->now_ns;
    rank_push(eviction, holding);
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    (void)from;
    used(eviction, holding);
}

static holding_id expired(struct eviction *eviction)
{
    const struct ttl *ttl = eviction->settings;
    holding_id oldest = rank_choose(eviction, PART_ANY);
    if (oldest == HOLDING_NONE)
        return HOLDING_NONE;
    uint64_t unused_ns =
        ((const struct clock *)eviction->state)->now_ns - of(eviction, oldest)->at_ns;
    return unused_ns > ttl->life ? oldest : HOLDING_NONE;
}

const struct eviction_ops example_ttl = {
    .plugin = {.name = "ttl",
               .summary = "what nobody has used for a while leaves",
               .params = params,
               .settings_size = sizeof(struct ttl),
               .state_size = sizeof(struct clock)},
    .holding_size = sizeof(struct last_use),
    .init = init,
    .fini = rank_fini,
    .begin = begin,
    .expired = expired,
    .added = added,
    .used = used,
    .gone = rank_gone,
    .choose = rank_victim,
    .check = rank_check,
};
