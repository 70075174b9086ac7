/* prop_running.c - several requests at once: the fast cache against the reference model.
 *
 * First stories worked out on paper (ref_story.h), then thousands of random ones: requests of a
 * small trace start, reserve, commit, abort and end in any order. Both caches take every step, and
 * are compared after it (ref_twin.h). A failure prints the seed, the cell, the trace and the steps
 * so far; SNAPSIM_TEST_SEED=N runs that one case again, SNAPSIM_TEST_CASES=N runs N times as many.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tests/ref_story.h"
#include "tests/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- random ones ---- */

static const struct kind {
    const char *name;
    uint32_t slots, steps;
    uint64_t cases;
    bool forks; /* all go on from one place in the middle of a page, and reserve before they do */
} kinds[] = {
    {"two-at-once", 2, 40, 6500, false},
    {"twenty-at-once", 20, 80, 2500, false},
    {"forks", 4, 30, 1500, true},
};

/* What may happen in one case. */
struct weather {
    bool live_states, last;
    bool whole;       /* a request reserves all of its path at once */
    uint32_t density; /* of 8 positions, so many are wanted */
};

static void draw_trace(struct ref_trace *trace, struct rng *rng)
{
    static const struct ref_shape shapes[] = {
        {6, 2, 10, 4}, {8, 2, 12, 4}, {16, 3, 20, 6}, {10, 4, 30, 10}};
    *trace = (struct ref_trace){0};
    trace->block_tokens = rng_below(rng, 2) ? 1 : 2 + (uint32_t)rng_below(rng, 4);
    trace->replies_named = trace->block_tokens == 1 && rng_below(rng, 2);
    trace->local_numbers = rng_below(rng, 4) == 0;
    trace->drop_replies = !trace->replies_named && rng_below(rng, 4) == 0;
    ref_trace_draw(trace, rng, &shapes[rng_below(rng, COUNT(shapes))]);
}

/* The first prompt is where all others leave: at its end, or some tokens later. */
static void draw_forks(struct ref_trace *trace, struct rng *rng, uint32_t count)
{
    *trace = (struct ref_trace){.block_tokens = 1, .replies_named = true, .number_factor = 1};
    trace->drawn = mem_array(count, sizeof *trace->drawn);
    trace->count = count;
    uint32_t shared = 1 + (uint32_t)rng_below(rng, 12);
    for (uint32_t i = 0; i < count; i++) {
        struct ref_drawn *drawn = &trace->drawn[i];
        uint32_t leaves = shared + (i ? (uint32_t)rng_below(rng, 3) : 0);
        drawn->conversation = i;
        drawn->at = i;
        drawn->in = leaves + (i ? 1 + (uint32_t)rng_below(rng, 5) : 0);
        drawn->text = mem_array(drawn->in, sizeof *drawn->text);
        for (uint32_t p = leaves; p < drawn->in; p++)
            drawn->text[p] = i;
    }
}

/* From too little for one of them to all that the slots together can need. */
static uint64_t draw_capacity(struct rng *rng, const struct ref_trace *trace,
                              const struct ref_model *model, uint32_t slots)
{
    uint64_t tokens = 0, kind = rng_below(rng, 20);
    if (kind < 2)
        return kind == 0 ? 0 : UNITS_UNLIMITED;
    for (uint32_t i = 0; i < trace->count; i++)
        if (tokens < trace->drawn[i].in + trace->drawn[i].out)
            tokens = trace->drawn[i].in + trace->drawn[i].out;
    uint64_t one = 4 * (tokens * model->kv_units + 2u * model->snapshot_units);
    uint64_t many = 1 + rng_below(rng, slots > 4 ? slots / 2 : slots);
    return one / 2 + rng_below(rng, one * many + 1);
}

static void draw_cell(struct ref_case *cell, struct rng *rng, const struct ref_trace *trace,
                      const struct kind *kind, uint64_t seed)
{
    static const char *const pages[] = {"1", "2", "3", "5", "8", "trace"};
    static const char *const evictions[] = {"lru", "lru:refresh=path", "lru:refresh=both", "fifo",
                                            "lfu"};
    static const uint64_t compute[] = {0, 1, 1, 3};
    bool equal = kind->forks || rng_below(rng, 2);
    *cell = (struct ref_case){.placement = "none",
                              .eviction = evictions[seed % COUNT(evictions)],
                              .memory = equal ? "equal" : "ideal",
                              .page_tokens = equal ? pages[rng_below(rng, COUNT(pages))] : "auto",
                              .model = &ref_models[rng_below(rng, REF_MODEL_COUNT)],
                              .keep_orphans = rng_below(rng, 2),
                              .grain = 1,
                              .min_compute_tokens = compute[rng_below(rng, COUNT(compute))],
                              .arrival = rng_below(rng, 2) ? "recorded" : "sequential"};
    if (kind->forks) {
        cell->model = &ref_models[REF_MODEL_COUNT - 1 - rng_below(rng, 2)];
        cell->keep_orphans = true;
    }
    cell->capacity_bytes = draw_capacity(rng, trace, cell->model, kind->slots);
}

static void draw_wanted(struct ref_wishes *wanted, struct rng *rng, const struct weather *weather,
                        const struct ref_running *r, uint32_t kv_end)
{
    uint32_t above = r->hit > r->committed ? r->hit : r->committed;
    wanted->count = 0;
    wanted->newest = 0;
    for (uint32_t p = above + 1; p <= kv_end; p++) {
        if (rng_below(rng, 8) >= weather->density && (p != kv_end || rng_below(rng, 2)))
            continue;
        wanted->items =
            mem_grow(wanted->items, &wanted->capacity, wanted->count + 1, sizeof *wanted->items);
        uint32_t asked = p + (rng_below(rng, 4) == 0 ? (uint32_t)rng_below(rng, 3) : 0);
        wanted->items[wanted->count++] = (struct ref_wanted){p, asked, false, 0};
    }
    if (!weather->last || rng_below(rng, 2))
        return;
    struct ref_wanted *deepest = wanted->count ? &wanted->items[wanted->count - 1] : NULL;
    if (deepest)
        deepest->newest_only = rng_below(rng, 4) > 0;
    wanted->newest = deepest ? deepest->position : r->hit;
}

/* What has happened in all cases of a kind: if nothing was ever refused, nothing was tested. */
struct tally {
    uint64_t reserves, reserves_refused, commits, commits_refused, live_refused;
    uint64_t snapshots_evicted, snapshots_replaced, kv_evicted;
};

/* A random case at work. */
struct play {
    struct twin *twin;
    struct rng *rng;
    struct tally *tally;
    struct weather weather;
    struct ref_wishes wanted;
    uint32_t next; /* the request that starts next */
};

static int start(struct play *play, uint32_t slot, struct err *err)
{
    uint32_t arrival = play->next++ % play->twin->request_count;
    if (rng_below(play->rng, 6) == 0) /* comes again */
        arrival = (uint32_t)rng_below(play->rng, play->twin->request_count);
    return twin_start(play->twin, slot, arrival, err);
}

static int reserve(struct play *play, uint32_t slot, struct err *err)
{
    const struct ref_running *r = &play->twin->slots[slot].model;
    uint32_t least = r->committed ? r->committed : 1, end = r->request->end_tokens;
    uint32_t kv_end = least + (uint32_t)rng_below(play->rng, end - least + 1);
    bool done;
    if (play->weather.whole || rng_below(play->rng, 4) == 0)
        kv_end = end;
    draw_wanted(&play->wanted, play->rng, &play->weather, r, kv_end);
    if (!play->twin->model->settings.recurrent)
        play->wanted = (struct ref_wishes){play->wanted.items, 0, play->wanted.capacity, 0};
    int result = twin_reserve(play->twin, slot, kv_end, &play->wanted, &done, err);
    play->tally->reserves++;
    play->tally->reserves_refused += !done;
    return result;
}

static int commit(struct play *play, uint32_t slot, struct err *err)
{
    bool done;
    int result = twin_commit(play->twin, slot, &done, err);
    play->tally->commits++;
    play->tally->commits_refused += !done;
    return result;
}

static int add_live_state(struct play *play, uint32_t slot, struct err *err)
{
    bool done;
    int result = twin_add_live_state(play->twin, slot, &done, err);
    play->tally->live_refused += !done;
    return result;
}

static int take_step(struct play *play, uint32_t slot, struct err *err)
{
    struct twin *twin = play->twin;
    uint64_t kind = rng_below(play->rng, 16);
    if (!twin_is_running(twin, slot))
        return start(play, slot, err);
    if (kind == 0)
        return twin_abort(twin, slot, err);
    if (kind <= 2 && play->weather.live_states)
        return add_live_state(play, slot, err);
    if (twin->slots[slot].model.reserved)
        return commit(play, slot, err);
    return kind < 11 ? reserve(play, slot, err) : twin_end(twin, slot, err);
}

/* The first request leaves its KV, and all reserve what goes on from there. */
static int open_forks(struct play *play, struct err *err)
{
    struct twin *twin = play->twin;
    int result = twin_start(twin, 0, 0, err);
    if (result == 0)
        result = reserve(play, 0, err);
    if (result == 0 && twin->slots[0].model.reserved)
        result = commit(play, 0, err);
    if (result == 0)
        result = twin_end(twin, 0, err);
    for (uint32_t i = 0; i < twin->slot_count && result == 0; i++) {
        result = twin_start(twin, i, 1 + i % (twin->request_count - 1), err);
        if (result == 0)
            result = reserve(play, i, err);
    }
    return result;
}

/* Steps of a slot often follow each other; in the end all are over, and nothing is pinned. */
static int play_all(struct play *play, const struct kind *kind, struct err *err)
{
    uint32_t slot = 0;
    int result = kind->forks ? open_forks(play, err) : 0;
    for (uint32_t i = 0; i < kind->steps && result == 0; i++) {
        if (rng_below(play->rng, 3) > 0)
            slot = (uint32_t)rng_below(play->rng, play->twin->slot_count);
        result = take_step(play, slot, err);
    }
    for (slot = 0; slot < play->twin->slot_count && result == 0; slot++)
        if (twin_is_running(play->twin, slot))
            result = twin_abort(play->twin, slot, err);
    return result;
}

static void run_case(const struct kind *kind, uint64_t seed, struct tally *tally)
{
    struct rng rng = rng_open(seed, kind->name);
    struct ref_trace trace;
    struct ref_case cell;
    struct twin twin;
    struct err err = {""};
    if (kind->forks)
        draw_forks(&trace, &rng, 1 + kind->slots);
    else
        draw_trace(&trace, &rng);
    draw_cell(&cell, &rng, &trace, kind, seed);
    struct play play = {.twin = &twin, .rng = &rng, .tally = tally};
    play.weather =
        (struct weather){rng_below(&rng, 3) == 0, rng_below(&rng, 2) == 0,
                         kind->forks || rng_below(&rng, 4) == 0, (uint32_t)rng_below(&rng, 4)};
    play.weather.live_states &= cell.model->snapshot_units > 0;
    int result = twin_open(&twin, &cell, &trace, kind->slots, &err);
    if (result == 0)
        result = play_all(&play, kind, &err);
    if (result != 0) {
        char where[80];
        snprintf(where, sizeof where, "%s, SNAPSIM_TEST_SEED=%" PRIu64, kind->name, seed);
        twin_fail(&twin, where, err.text);
    }
    tally->snapshots_evicted += twin.model->counters.snapshots_evicted;
    tally->snapshots_replaced += twin.model->counters.snapshots_replaced;
    tally->kv_evicted += twin.model->counters.kv_tokens_evicted;
    free(play.wanted.items);
    twin_close(&twin);
    ref_trace_close(&trace);
}

START_TEST(test_stories)
{
    story_tell((size_t)_i);
}
END_TEST

static void check_tally(const struct tally *tally, const struct kind *kind)
{
    ck_assert_uint_gt(tally->reserves - tally->reserves_refused, 1000);
    ck_assert_uint_gt(tally->reserves_refused, 1000);
    ck_assert_uint_gt(tally->commits_refused, kind->forks ? 100 : 0);
    ck_assert_uint_gt(tally->live_refused, 100);
    ck_assert_uint_gt(tally->snapshots_evicted, 500);
    ck_assert_uint_gt(tally->snapshots_replaced, kind->forks ? 0 : 100);
    ck_assert_uint_gt(tally->kv_evicted, 1000);
}

START_TEST(test_fast_equals_model)
{
    const struct kind *kind = &kinds[_i];
    uint64_t from = suite_number("SNAPSIM_TEST_SEED", 0);
    uint64_t count = kind->cases * suite_number("SNAPSIM_TEST_CASES", 1);
    if (getenv("SNAPSIM_TEST_SEED"))
        count = 1;
    struct tally tally = {0};
    for (uint64_t seed = from; seed < from + count; seed++)
        run_case(kind, seed, &tally);
    if (count >= kind->cases)
        check_tally(&tally, kind);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("running");
    TCase *all = tcase_create("all");
    tcase_add_unchecked_fixture(all, ref_models_open, ref_models_close);
    tcase_set_timeout(all, 3600);
    tcase_add_loop_test(all, test_stories, 0, (int)story_count);
    SUITE_LOOP(all, test_fast_equals_model, kinds);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
