#include "policies/memory/end.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/core/mem.h"

void end_fini(struct end *end)
{
    free(end->taken);
    free(end->runs_ending);
    free(end->runs);
    free(end->tops);
}

/* ---- bits ---- */

static bool is_taken(const struct end *end, uint32_t unit)
{
    return end->taken[unit / 64] >> (unit % 64) & 1;
}

/* The bits of a word from one unit on, up to another. */
static uint64_t word_mask(uint64_t from, uint64_t to)
{
    uint64_t mask = ~0ull << (from % 64);
    return to / 64 == from / 64 ? mask & ~(~0ull << (to % 64)) : mask;
}

/* The lowest unit that is free: a hole, or the first of the gap. */
static uint32_t lowest_free(struct end *end)
{
    while (end->first_free_word < end->words && ~end->taken[end->first_free_word] == 0)
        end->first_free_word++;
    if (end->first_free_word == end->words)
        return end->extent;
    uint64_t free_bits = ~end->taken[end->first_free_word];
    uint64_t unit = end->first_free_word * 64 + (uint64_t)__builtin_ctzll(free_bits);
    return unit < end->extent ? (uint32_t)unit : end->extent;
}

/* How many units are free from a hole's first one on, at most so many. A hole ends below extent. */
static uint32_t hole_length(const struct end *end, uint32_t first, uint64_t most)
{
    uint32_t unit = first;
    while (unit - first < most) {
        uint64_t taken = end->taken[unit / 64] & ~0ull << (unit % 64);
        if (taken) {
            unit = unit / 64 * 64 + (uint32_t)__builtin_ctzll(taken);
            break;
        }
        unit = (unit / 64 + 1) * 64;
    }
    return unit - first < most ? unit - first : (uint32_t)most;
}

static void occupy(struct end *end, uint32_t first, uint32_t count)
{
    uint64_t past = (uint64_t)first + count;
    end->taken = mem_grow_zeroed(end->taken, &end->words, past / 64 + 1, sizeof *end->taken);
    for (uint64_t unit = first; unit < past; unit = (unit / 64 + 1) * 64)
        end->taken[unit / 64] |= word_mask(unit, past);
    if (past > end->extent)
        end->extent = (uint32_t)past;
    end->used += count;
}

static void vacate(struct end *end, uint32_t first, uint32_t count)
{
    uint64_t past = (uint64_t)first + count;
    for (uint64_t unit = first; unit < past; unit = (unit / 64 + 1) * 64)
        end->taken[unit / 64] &= ~word_mask(unit, past);
    end->used -= count;
    if (first / 64 < end->first_free_word)
        end->first_free_word = first / 64;
    while (end->extent > 0 && !is_taken(end, end->extent - 1)) {
        uint32_t last = end->extent - 1;
        uint64_t below = end->taken[last / 64] & word_mask(last / 64 * 64, last);
        end->extent = last / 64 * 64 + (below ? 64 - (uint32_t)__builtin_clzll(below) : 0);
    }
}

/* ---- runs ---- */

void end_reach(struct end *end, size_t count)
{
    end->tops = mem_grow_zeroed(end->tops, &end->tops_capacity, count, sizeof *end->tops);
}

static void set_ending(struct end *end, uint32_t run)
{
    uint32_t last = end->runs[run].first + end->runs[run].count - 1;
    end->runs_ending = mem_grow(end->runs_ending, &end->runs_ending_capacity, (size_t)last + 1,
                                sizeof *end->runs_ending);
    end->runs_ending[last] = run;
}

/* Puts a run into its holder's stack, on top of another (0: below all). */
static void put_run(struct end *end, uint32_t holder, uint32_t below, uint32_t first,
                    uint32_t count)
{
    uint32_t run = end->free_run - 1;
    if (end->free_run) {
        end->free_run = end->runs[run].below;
    } else {
        run = (uint32_t)end->run_count++;
        end->runs = mem_grow(end->runs, &end->run_capacity, end->run_count, sizeof *end->runs);
    }
    uint32_t above = below ? end->runs[below - 1].above : 0;
    end->runs[run] = (struct end_run){holder, first, count, below, above};
    if (below)
        end->runs[below - 1].above = run + 1;
    if (above)
        end->runs[above - 1].below = run + 1;
    else
        end->tops[holder] = run + 1;
    set_ending(end, run);
}

static void push(struct end *end, uint32_t holder, uint32_t first, uint32_t count)
{
    uint32_t top = end->tops[holder];
    if (top && end->runs[top - 1].first + end->runs[top - 1].count == first) {
        end->runs[top - 1].count += count;
        set_ending(end, top - 1);
    } else {
        put_run(end, holder, top, first, count);
    }
}

/* Takes up to so many units off the last run of a holder; returns how many, from *first on. */
static uint32_t pop(struct end *end, uint32_t holder, uint64_t most, uint32_t *first)
{
    uint32_t top = end->tops[holder];
    struct end_run *run = &end->runs[top - 1];
    uint32_t count = most < run->count ? (uint32_t)most : run->count;
    run->count -= count;
    *first = run->first + run->count;
    if (run->count > 0) {
        set_ending(end, top - 1);
        return count;
    }
    end->tops[holder] = run->below;
    if (run->below)
        end->runs[run->below - 1].above = 0;
    run->below = end->free_run;
    end->free_run = top;
    return count;
}

uint64_t end_take(struct end *end, uint32_t holder, uint64_t most, uint64_t room)
{
    uint32_t first = lowest_free(end), count = 0;
    if (first < end->extent)
        count = hole_length(end, first, most);
    else
        count = (uint32_t)(most < room ? most : room);
    if (count == 0)
        return 0;
    occupy(end, first, count);
    push(end, holder, first, count);
    return count;
}

uint64_t end_give(struct end *end, uint32_t holder, uint64_t units)
{
    while (units > 0 && end->tops[holder]) {
        uint32_t first = 0, count = pop(end, holder, units, &first);
        vacate(end, first, count);
        units -= count;
    }
    return units;
}

void end_pass(struct end *end, uint32_t from, uint32_t to)
{
    uint32_t first = 0;
    pop(end, from, 1, &first);
    push(end, to, first, 1);
}

void end_compact(struct end *end)
{
    assert(end->used < end->extent && "there is a hole");
    uint32_t from = end->extent - 1, to = lowest_free(end), run = end->runs_ending[from];
    if (--end->runs[run].count > 0) {
        set_ending(end, run);
        put_run(end, end->runs[run].holder, run + 1, to, 1);
    } else {
        end->runs[run].first = to;
        end->runs[run].count = 1;
        set_ending(end, run);
    }
    occupy(end, to, 1);
    vacate(end, from, 1);
}

/* Whether a run is its holder's, its units are taken, and it is found by its last one. */
static bool is_sound(const struct end *end, uint32_t run, size_t holder)
{
    const struct end_run *here = &end->runs[run];
    for (uint32_t i = 0; i < here->count; i++)
        if (here->first + i >= end->extent || !is_taken(end, here->first + i))
            return false;
    return here->count > 0 && here->holder == holder &&
           end->runs_ending[here->first + here->count - 1] == run &&
           (here->below == 0 || end->runs[here->below - 1].above == run + 1);
}

int end_check(const struct end *end, struct err *err)
{
    uint64_t used = 0, held = 0;
    for (uint32_t unit = 0; unit < end->words * 64; unit++)
        used += is_taken(end, unit);
    for (size_t holder = 0; holder < end->tops_capacity; holder++)
        for (uint32_t link = end->tops[holder]; link; link = end->runs[link - 1].below) {
            if (!is_sound(end, link - 1, holder))
                return err_set(err, "run %u is not as its holder has it", link - 1);
            held += end->runs[link - 1].count;
        }
    if (used != end->used || held != used || used > end->extent ||
        (end->extent > 0 && !is_taken(end, end->extent - 1)))
        return err_set(err, "%llu units in use, counted %llu, held %llu",
                       (unsigned long long)end->used, (unsigned long long)used,
                       (unsigned long long)held);
    return 0;
}
