/* two-ended:compaction=0|1 - one stretch of memory; KV pages grow from its start, states from its
 * end, and the gap between them is for either. SGLang's unified memory is of this kind.
 *
 *     [kv kv .. kv kv|      gap      |state .. state]
 *             hole                         hole
 *
 * What is dropped leaves a hole, which only its own kind can fill; the lowest hole is filled first.
 * An end that gets free gives its room back to the gap. Without compaction a need can fail on the
 * gap while there is room in holes: first that kind is dropped, then anything. With it, the last of
 * the other kind is moved into its lowest hole, as often as the gap needs it (moved_bytes). */
#include <assert.h>

#include "policies/memory/end.h"
#include "policies/memory/forks.h"
#include "policies/memory/page.h"
#include "sim/core/units.h"
#include "sim/core/whole.h"

struct two_ended {
    bool compaction;
};

static const struct param params[] = {
    PARAM(struct two_ended, compaction, PARAM_BOOL, "0", 0, 1,
          "move what is in the way into holes when the gap is too small"),
    PARAM_END,
};

enum { KV_END, STATE_END };

struct ends {
    struct end ends[2];
};

/* Holders at the states' end: the live states are 0, snapshot s is 1 + s. At the other: nodes. */
#define HOLDER_LIVE 0u

static struct end *end_of(const struct memory *memory, int which)
{
    return &((struct ends *)memory->state)->ends[which];
}

static int init(struct memory *memory, struct err *err)
{
    if (page_choose(memory, memory->align_tokens, false, err) != 0)
        return -1;
    end_of(memory, KV_END)->unit_bytes = memory->page_tokens * memory->kv_bytes_per_token;
    end_of(memory, STATE_END)->unit_bytes = page_state_slot(memory);
    end_reach(end_of(memory, KV_END), memory->workload->node_count);
    end_reach(end_of(memory, STATE_END), 1 + HOLDER_LIVE);
    return 0;
}

static void fini(struct memory *memory)
{
    end_fini(end_of(memory, KV_END));
    end_fini(end_of(memory, STATE_END));
}

static bool compacts(const struct memory *memory)
{
    return ((const struct two_ended *)memory->settings)->compaction;
}

static uint64_t gap(const struct memory *memory)
{
    const struct end *kv = end_of(memory, KV_END), *states = end_of(memory, STATE_END);
    return memory->capacity_bytes - kv->extent * kv->unit_bytes -
           states->extent * states->unit_bytes;
}

static uint64_t bytes_of(const struct memory *memory, struct memory_need need)
{
    return need.kv_pages * end_of(memory, KV_END)->unit_bytes +
           (need.snapshots + need.live_states) * end_of(memory, STATE_END)->unit_bytes;
}

static bool fits_empty(const struct memory *memory, struct memory_need need)
{
    return bytes_of(memory, need) <= memory->capacity_bytes;
}

/* How many of some units do not fit into the holes of an end. */
static uint64_t beyond_holes(const struct end *end, uint64_t units)
{
    uint64_t holes = end->extent - end->used;
    return units > holes ? units - holes : 0;
}

static bool falls_short(struct memory *memory, struct memory_need need,
                        struct memory_shortage *shortage)
{
    const struct end *kv = end_of(memory, KV_END), *states = end_of(memory, STATE_END);
    if (memory->capacity_bytes == UNITS_UNLIMITED)
        return false;
    uint64_t wanted = memory->used_bytes + bytes_of(memory, need);
    uint64_t missing = wanted > memory->capacity_bytes ? wanted - memory->capacity_bytes : 0;
    uint64_t kv_bytes = beyond_holes(kv, need.kv_pages) * kv->unit_bytes;
    uint64_t state_bytes =
        beyond_holes(states, need.snapshots + need.live_states) * states->unit_bytes;
    uint64_t room = gap(memory);
    if (missing == 0 && (compacts(memory) || kv_bytes + state_bytes <= room))
        return false;
    enum part part = kv_bytes > room || state_bytes == 0 ? PART_KV : PART_SNAPSHOT;
    *shortage = (struct memory_shortage){
        .part = missing > 0 ? PART_ANY : part, .wants = part, .other_helps = true, .kv_pages = 1};
    if (missing > 0)
        shortage->kv_pages = whole_ceil(missing, kv->unit_bytes);
    else if (kv_bytes > room)
        shortage->kv_pages = whole_ceil(kv_bytes - room, kv->unit_bytes);
    return true;
}

static void count_used(struct memory *memory)
{
    memory->used_bytes = 0;
    for (int i = KV_END; i <= STATE_END; i++)
        memory->used_bytes += end_of(memory, i)->used * end_of(memory, i)->unit_bytes;
}

static void take(struct memory *memory, int which, uint32_t holder, uint64_t units)
{
    struct end *end = end_of(memory, which), *other = end_of(memory, 1 - which);
    while (units > 0) {
        uint64_t room = end->unit_bytes ? gap(memory) / end->unit_bytes : units;
        uint64_t taken = end_take(end, holder, units, room);
        units -= taken;
        if (taken == 0) {
            end_compact(other);
            memory->moved_bytes += other->unit_bytes;
        }
    }
    count_used(memory);
}

static uint64_t give(struct memory *memory, int which, uint32_t holder, uint64_t units)
{
    uint64_t left = end_give(end_of(memory, which), holder, units);
    count_used(memory);
    return left;
}

static uint64_t give_pages(struct memory *memory, node_id node, uint64_t pages)
{
    return give(memory, KV_END, node, pages);
}

static void pass_page(struct memory *memory, node_id from, node_id to)
{
    struct end *end = end_of(memory, KV_END);
    if (end->tops[from])
        end_pass(end, from, to);
    assert(!end->tops[from]);
}

static void kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    take(memory, KV_END, node, pages);
}

static void kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    forks_shrink(memory, node, pages, gone, give_pages, pass_page);
}

static void snapshot_add(struct memory *memory, uint32_t snapshot)
{
    end_reach(end_of(memory, STATE_END), (size_t)snapshot + 2);
    take(memory, STATE_END, 1 + snapshot, 1);
}

static void snapshot_drop(struct memory *memory, uint32_t snapshot)
{
    give(memory, STATE_END, 1 + snapshot, 1);
}

static void live_add(struct memory *memory)
{
    take(memory, STATE_END, HOLDER_LIVE, 1);
}

static void live_drop(struct memory *memory)
{
    give(memory, STATE_END, HOLDER_LIVE, 1);
}

/* The holes of the other kind, and what of the gap is no whole unit. */
static uint64_t unusable_bytes(const struct memory *memory, enum part part)
{
    if (part == PART_ANY)
        return 0;
    const struct end *mine = end_of(memory, part == PART_KV ? KV_END : STATE_END);
    const struct end *other = end_of(memory, part == PART_KV ? STATE_END : KV_END);
    uint64_t holes = (other->extent - other->used) * other->unit_bytes;
    uint64_t unit = mine->unit_bytes ? mine->unit_bytes : 1;
    return compacts(memory) ? (gap(memory) + holes) % unit : holes + gap(memory) % unit;
}

static int check(const struct memory *memory, struct err *err)
{
    if (end_check(end_of(memory, KV_END), err) != 0 ||
        end_check(end_of(memory, STATE_END), err) != 0)
        return -1;
    return memory->capacity_bytes == UNITS_UNLIMITED || gap(memory) <= memory->capacity_bytes
               ? 0
               : err_set(err, "two-ended: the ends overlap");
}

const struct memory_ops memory_two_ended = {
    .plugin = {.name = "two-ended",
               .summary = "KV from one end, states from the other, and a gap for either",
               .params = params,
               .settings_size = sizeof(struct two_ended),
               .state_size = sizeof(struct ends)},
    .flags = MEMORY_BY_PART | MEMORY_PLACED,
    .init = init,
    .fini = fini,
    .fits_empty = fits_empty,
    .falls_short = falls_short,
    .kv_grow = kv_grow,
    .kv_shrink = kv_shrink,
    .snapshot_add = snapshot_add,
    .snapshot_drop = snapshot_drop,
    .live_add = live_add,
    .live_drop = live_drop,
    .expected_bytes = bytes_of,
    .unusable_bytes = unusable_bytes,
    .check = check,
};
