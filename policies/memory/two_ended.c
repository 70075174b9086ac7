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
#include <stdlib.h>

#include "policies/memory/forks.h"
#include "policies/memory/pool.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

struct two_ended {
    bool compaction;
};

static const struct param params[] = {
    PARAM(struct two_ended, compaction, PARAM_BOOL, "0", 0, 1,
          "move what is in the way into holes when the gap is too small"),
    PARAM_END,
};

/* A page of KV or a slot for a state; it lies on its holder's stack. Links are 1 + unit, or 0. */
struct unit {
    uint32_t holder, below, above;
};

enum { KV_END, STATE_END };

struct end {
    uint64_t unit_bytes;
    uint64_t used;      /* units */
    uint32_t extent;    /* units from this end up to the gap, holes included */
    struct unit *units; /* by place, counted from this end */
    size_t capacity;
    uint64_t *taken; /* a bit for each */
    size_t words;
    size_t first_free_word; /* no hole below */
    uint32_t *tops;         /* by holder: 1 + its last unit */
    size_t tops_capacity;
};

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
    if (pool_choose_page(memory, memory->align_tokens, err) != 0)
        return -1;
    uint64_t state =
        memory->snapshot_bytes > memory->state_bytes ? memory->snapshot_bytes : memory->state_bytes;
    end_of(memory, KV_END)->unit_bytes = memory->page_tokens * memory->kv_bytes_per_token;
    end_of(memory, STATE_END)->unit_bytes = state;
    return 0;
}

static void fini(struct memory *memory)
{
    for (int i = KV_END; i <= STATE_END; i++) {
        struct end *end = end_of(memory, i);
        free(end->units);
        free(end->taken);
        free(end->tops);
    }
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
        shortage->kv_pages = pool_ceil(missing, kv->unit_bytes);
    else if (kv_bytes > room)
        shortage->kv_pages = pool_ceil(kv_bytes - room, kv->unit_bytes);
    return true;
}

static void count_used(struct memory *memory)
{
    memory->used_bytes = 0;
    for (int i = KV_END; i <= STATE_END; i++)
        memory->used_bytes += end_of(memory, i)->used * end_of(memory, i)->unit_bytes;
}

static bool is_taken(const struct end *end, uint32_t unit)
{
    return end->taken[unit / 64] >> (unit % 64) & 1;
}

/* The lowest unit that is free: a hole, or the first of the gap. */
static uint32_t lowest_free(struct end *end)
{
    for (; end->first_free_word < end->words; end->first_free_word++) {
        uint64_t free_bits = ~end->taken[end->first_free_word];
        if (free_bits) {
            uint32_t bit = (uint32_t)__builtin_ctzll(free_bits);
            uint32_t unit = (uint32_t)(end->first_free_word * 64) + bit;
            return unit < end->extent ? unit : end->extent;
        }
    }
    return end->extent;
}

static void occupy(struct end *end, uint32_t unit)
{
    if (unit == end->extent)
        end->extent++;
    end->units = mem_grow(end->units, &end->capacity, end->extent, sizeof *end->units);
    end->taken = mem_grow_zeroed(end->taken, &end->words, unit / 64 + 1, sizeof *end->taken);
    end->taken[unit / 64] |= 1ull << (unit % 64);
    end->used++;
}

static void vacate(struct end *end, uint32_t unit)
{
    end->taken[unit / 64] &= ~(1ull << (unit % 64));
    end->used--;
    if (unit / 64 < end->first_free_word)
        end->first_free_word = unit / 64;
    while (end->extent > 0 && !is_taken(end, end->extent - 1))
        end->extent--;
}

static void reach(struct end *end, uint32_t holder)
{
    end->tops =
        mem_grow_zeroed(end->tops, &end->tops_capacity, (size_t)holder + 1, sizeof *end->tops);
}

static void push(struct end *end, uint32_t holder, uint32_t unit)
{
    reach(end, holder);
    end->units[unit] = (struct unit){.holder = holder, .below = end->tops[holder]};
    if (end->tops[holder])
        end->units[end->tops[holder] - 1].above = unit + 1;
    end->tops[holder] = unit + 1;
}

static uint32_t pop(struct end *end, uint32_t holder)
{
    uint32_t unit = end->tops[holder] - 1;
    end->tops[holder] = end->units[unit].below;
    if (end->tops[holder])
        end->units[end->tops[holder] - 1].above = 0;
    return unit;
}

/* Moves the last unit of an end into its lowest hole. */
static void move_last(struct memory *memory, struct end *end)
{
    uint32_t from = end->extent - 1, to = lowest_free(end);
    assert(to < from && "bytes were free, so they are in holes");
    end->units[to] = end->units[from];
    const struct unit *moved = &end->units[to];
    if (moved->below)
        end->units[moved->below - 1].above = to + 1;
    if (moved->above)
        end->units[moved->above - 1].below = to + 1;
    else
        end->tops[moved->holder] = to + 1;
    occupy(end, to);
    vacate(end, from);
    memory->moved_bytes += end->unit_bytes;
}

static void take(struct memory *memory, int which, uint32_t holder, uint64_t units)
{
    struct end *end = end_of(memory, which);
    for (; units > 0; units--) {
        uint32_t unit = lowest_free(end);
        if (unit == end->extent)
            while (gap(memory) < end->unit_bytes)
                move_last(memory, end_of(memory, which == KV_END ? STATE_END : KV_END));
        occupy(end, unit);
        push(end, holder, unit);
    }
    count_used(memory);
}

/* Frees up to so many units of a holder; returns how many it had less. */
static uint64_t give(struct memory *memory, int which, uint32_t holder, uint64_t units)
{
    struct end *end = end_of(memory, which);
    reach(end, holder);
    for (; units > 0 && end->tops[holder]; units--)
        vacate(end, pop(end, holder));
    count_used(memory);
    return units;
}

static uint64_t give_pages(struct memory *memory, node_id node, uint64_t pages)
{
    return give(memory, KV_END, node, pages);
}

static void pass_page(struct memory *memory, node_id from, node_id to)
{
    struct end *end = end_of(memory, KV_END);
    if (!end->tops[from])
        return;
    push(end, to, pop(end, from));
    assert(!end->tops[from]);
}

static void kv_grow(struct memory *memory, node_id node, uint64_t pages)
{
    reach(end_of(memory, KV_END), node);
    take(memory, KV_END, node, pages);
}

static void kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone)
{
    forks_shrink(memory, node, pages, gone, give_pages, pass_page);
}

static void snapshot_add(struct memory *memory, uint32_t snapshot)
{
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
    for (int i = KV_END; i <= STATE_END; i++) {
        const struct end *end = end_of(memory, i);
        uint64_t used = 0, stacked = 0;
        for (uint32_t unit = 0; unit < end->words * 64; unit++)
            used += is_taken(end, unit);
        for (size_t holder = 0; holder < end->tops_capacity; holder++)
            for (uint32_t link = end->tops[holder]; link; link = end->units[link - 1].below) {
                if (!is_taken(end, link - 1) || end->units[link - 1].holder != holder)
                    return err_set(err, "two-ended: unit %u is not its holder's", link - 1);
                stacked++;
            }
        if (used != end->used || stacked != used || used > end->extent ||
            (end->extent > 0 && !is_taken(end, end->extent - 1)))
            return err_set(err, "two-ended: %llu units in use, counted %llu, held %llu",
                           (unsigned long long)end->used, (unsigned long long)used,
                           (unsigned long long)stacked);
    }
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
