#include "sim/bound/draft.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"

enum changed { DEPTH, COVER, SOURCE };

/* One number that was changed, and what it was before. */
struct draft_change {
    enum changed what;
    uint32_t arrival, before;
};

/* Tokens of a path, (from, to], that an arrival goes through. */
struct draft_run {
    uint32_t arrival, from, to;
};

void draft_open(struct draft *draft, const struct bound_input *input, const struct pieces *pieces)
{
    uint32_t count = pieces->arrivals;
    *draft = (struct draft){.input = input,
                            .pieces = pieces,
                            .kv_bytes = (int64_t)input->kv_bytes,
                            .snapshot_bytes = (int64_t)input->snapshot_bytes,
                            .capacity_bytes = input->capacity_bytes > INT64_MAX
                                                  ? INT64_MAX
                                                  : (int64_t)input->capacity_bytes};
    room_open(&draft->room, count);
    draft->depths = mem_array(count, sizeof *draft->depths);
    draft->covers = mem_array(count, sizeof *draft->covers);
    draft->sources = mem_array(count, sizeof *draft->sources);
    draft->first_user = mem_array(count, sizeof *draft->first_user);
    draft->next_user = mem_array(count, sizeof *draft->next_user);
    draft->previous_user = mem_array(count, sizeof *draft->previous_user);
    draft_clear(draft);
}

void draft_close(struct draft *draft)
{
    room_close(&draft->room);
    free(draft->depths);
    free(draft->covers);
    free(draft->sources);
    free(draft->first_user);
    free(draft->next_user);
    free(draft->previous_user);
    free(draft->changes);
    free(draft->runs);
}

void draft_clear(struct draft *draft)
{
    size_t bytes = draft->pieces->arrivals * sizeof(uint32_t);
    room_clear(&draft->room);
    memset(draft->depths, 0, bytes);
    memset(draft->covers, 0, bytes);
    memset(draft->first_user, 0, bytes);
    for (uint32_t i = 0; i < draft->pieces->arrivals; i++)
        draft->sources[i] = i;
    draft->hit_tokens = 0;
    draft->change_count = 0;
}

/* ---- changes ---- */

/* KV of tokens of its prompt is held, or not any more, until an arrival. */
static void hold_kv(struct draft *draft, uint32_t arrival, uint32_t from, uint32_t to, int64_t kv)
{
    const struct pieces *pieces = draft->pieces;
    for (size_t i = pieces->first[arrival + 1]; i-- > pieces->first[arrival];) {
        const struct piece *piece = &pieces->items[i];
        uint32_t start = piece_start(pieces, arrival, i);
        uint32_t low = start > from ? start : from, high = piece->end < to ? piece->end : to;
        if (low < high)
            room_add(&draft->room, piece->since, arrival, (int64_t)(high - low) * kv);
    }
}

static void leave_source(struct draft *draft, uint32_t arrival)
{
    uint32_t source = draft->sources[arrival];
    uint32_t next = draft->next_user[arrival], previous = draft->previous_user[arrival];
    if (previous)
        draft->next_user[previous - 1] = next;
    else
        draft->first_user[source] = next;
    if (next)
        draft->previous_user[next - 1] = previous;
    room_add(&draft->room, source, arrival, -draft->snapshot_bytes);
}

static void join_source(struct draft *draft, uint32_t arrival, uint32_t source)
{
    uint32_t next = draft->first_user[source];
    draft->sources[arrival] = source;
    draft->next_user[arrival] = next;
    draft->previous_user[arrival] = 0;
    if (next)
        draft->previous_user[next - 1] = arrival + 1;
    draft->first_user[source] = arrival + 1;
    room_add(&draft->room, source, arrival, draft->snapshot_bytes);
}

/* An arrival that hits nothing is its own source. */
static void set_source(struct draft *draft, uint32_t arrival, uint32_t source)
{
    if (draft->sources[arrival] != arrival)
        leave_source(draft, arrival);
    draft->sources[arrival] = arrival;
    if (source != arrival)
        join_source(draft, arrival, source);
}

/* Sets a number; returns what it was. */
static uint32_t set(struct draft *draft, enum changed what, uint32_t arrival, uint32_t value)
{
    uint32_t before = 0;
    switch (what) {
    case DEPTH:
        before = draft->depths[arrival];
        draft->depths[arrival] = value;
        draft->hit_tokens += value;
        draft->hit_tokens -= before;
        break;
    case COVER:
        before = draft->covers[arrival];
        draft->covers[arrival] = value;
        if (value > before)
            hold_kv(draft, arrival, before, value, draft->kv_bytes);
        else
            hold_kv(draft, arrival, value, before, -draft->kv_bytes);
        break;
    case SOURCE:
        before = draft->sources[arrival];
        set_source(draft, arrival, value);
    }
    return before;
}

static void change(struct draft *draft, enum changed what, uint32_t arrival, uint32_t value)
{
    draft->changes = mem_grow(draft->changes, &draft->change_capacity, draft->change_count + 1,
                              sizeof *draft->changes);
    struct draft_change *made = &draft->changes[draft->change_count++];
    *made = (struct draft_change){what, arrival, 0};
    made->before = set(draft, what, arrival, value);
}

void draft_take_back(struct draft *draft, size_t change_count)
{
    while (draft->change_count > change_count) {
        const struct draft_change *made = &draft->changes[--draft->change_count];
        set(draft, made->what, made->arrival, made->before);
    }
}

/* ---- what a depth needs ---- */

/* The piece of an arrival in which a depth lies. */
static const struct piece *piece_at(const struct draft *draft, uint32_t arrival, uint32_t depth)
{
    const struct pieces *pieces = draft->pieces;
    size_t i = pieces->first[arrival + 1] - 1;
    while (pieces->items[i].end < depth)
        i--;
    return &pieces->items[i];
}

/* Whether a depth of an arrival's path was shown before. */
static bool knows(const struct draft *draft, uint32_t arrival, uint32_t depth)
{
    const struct pieces *pieces = draft->pieces;
    size_t deepest = pieces->first[arrival];
    return deepest < pieces->first[arrival + 1] && pieces->items[deepest].end >= depth;
}

/* The deepest snapshot that an arrival can take at or above a depth. */
static uint32_t floor_for(const struct draft *draft, uint32_t arrival, uint32_t depth)
{
    const struct bound_input *input = draft->input;
    const struct workload *workload = input->workload;
    const struct request *request = &workload->requests[input->schedule->arrivals[arrival].request];
    const node_id ends[] = {request->prompt_node, request->reply_node};
    uint32_t best = bound_place(input, depth);
    for (int i = 0; i < 2; i++) {
        uint32_t end = workload->nodes[ends[i]].end;
        end -= (uint32_t)(end % input->end_grain);
        if (end <= depth && end > best)
            best = end;
    }
    return best;
}

/* Where the state at a depth comes from. */
struct source {
    uint32_t arrival;
    bool found;  /* it can take it, or has it */
    bool passes; /* it was kept while others came that computed it, but could not take it */
};

/* Who goes through a depth and does not hit that deep computes it, so it is the source; but if it
 * cannot take the snapshot there, nor could have hit it, one of before may have been kept. */
static struct source find_source(const struct draft *draft, uint32_t arrival, uint32_t depth)
{
    struct source source = {.arrival = arrival};
    for (;;) {
        source.arrival = piece_at(draft, source.arrival, depth)->since;
        uint32_t hit = draft->depths[source.arrival];
        if (hit > depth)
            continue;
        source.found = hit == depth || floor_for(draft, source.arrival, depth) == depth;
        if (source.found || depth <= pieces_limit(draft->pieces, source.arrival) ||
            !knows(draft, source.arrival, depth))
            return source;
        source.passes = true;
    }
}

uint32_t draft_floor(const struct draft *draft, uint32_t arrival, uint32_t depth)
{
    struct source source = find_source(draft, arrival, depth);
    return source.found ? depth : floor_for(draft, source.arrival, depth);
}

static void push_runs(struct draft *draft, struct draft_run run, uint32_t since, size_t *count)
{
    const struct pieces *pieces = draft->pieces;
    for (size_t i = pieces->first[run.arrival + 1]; i-- > pieces->first[run.arrival];) {
        const struct piece *piece = &pieces->items[i];
        uint32_t start = piece_start(pieces, run.arrival, i);
        if (piece->since <= since || start >= run.to)
            break;
        if (piece->end <= run.from)
            continue;
        draft->runs = mem_grow(draft->runs, &draft->run_capacity, *count + 1, sizeof *draft->runs);
        draft->runs[(*count)++] =
            (struct draft_run){piece->since, start > run.from ? start : run.from,
                               piece->end < run.to ? piece->end : run.to};
    }
}

/* Holds the KV up to an arrival's depth since an arrival: follows each run of tokens back through
 * the requests that used it since then. */
static void cover(struct draft *draft, uint32_t arrival, uint32_t since)
{
    uint32_t depth = draft->depths[arrival];
    size_t count = 0;
    if (draft->covers[arrival] < depth)
        change(draft, COVER, arrival, depth);
    push_runs(draft, (struct draft_run){arrival, 0, depth}, since, &count);
    while (count > 0) {
        struct draft_run run = draft->runs[--count];
        if (draft->covers[run.arrival] < run.to)
            change(draft, COVER, run.arrival, run.to);
        push_runs(draft, run, since, &count);
    }
}

/* Finds the state at an arrival's depth, and holds the KV that it needs: since its deepest tokens
 * were used last, for who used them before hit deeper; or since the source, if some did not. */
static bool find_state(struct draft *draft, uint32_t arrival)
{
    uint32_t depth = draft->depths[arrival];
    struct source source = find_source(draft, arrival, depth);
    if (!source.found)
        return false;
    if (source.arrival != draft->sources[arrival])
        change(draft, SOURCE, arrival, source.arrival);
    cover(draft, arrival, source.passes ? source.arrival : piece_at(draft, arrival, depth)->since);
    return true;
}

/* Who stood above a depth, or took snapshots there, and now hits it: those snapshots must come from
 * earlier. */
static bool move_users(struct draft *draft, uint32_t arrival)
{
    uint32_t user = draft->first_user[arrival];
    while (user) {
        uint32_t next = draft->next_user[user - 1];
        if (draft->depths[user - 1] < draft->depths[arrival] && !find_state(draft, user - 1))
            return false;
        user = next;
    }
    return true;
}

bool draft_raise(struct draft *draft, uint32_t arrival, uint32_t depth, int64_t *over)
{
    size_t before = draft->change_count;
    *over = 0;
    change(draft, DEPTH, arrival, depth);
    if (find_state(draft, arrival) && move_users(draft, arrival)) {
        if (room_most(&draft->room) <= draft->capacity_bytes)
            return true;
        *over = room_most(&draft->room) - draft->capacity_bytes;
    }
    draft_take_back(draft, before);
    return false;
}
