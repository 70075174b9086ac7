/* prop_policies.c - what must hold for every plug-in, looped over the registries.
 *
 * Nothing here names a placement, an eviction or a memory strategy: a new one is tested from the
 * day it stands in policies/list.c, with its defaults and with other values of each parameter.
 * Only the exhaustive small worlds, at the end, compare with the reference model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tests/names.h"
#include "tests/ref_case.h"
#include "tests/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SEEDS 20
#define REPEATS 200 /* how many loads are tried until a parameter moves a result */

static bool is_offline(const struct plugin *const *list, const char *text)
{
    struct err err;
    const struct plugin *plugin = NULL;
    void *settings = NULL;
    ck_assert(plugin_parse(list, "plug-in", text, &plugin, &settings, &err) == 0);
    plugin_free_settings(plugin, settings);
    return plugin->offline;
}

/* ---- running ---- */

static void fail_cell(const struct ref_case *cell, const struct ref_trace *trace, const char *what)
{
    struct text text = {0};
    ref_case_print(cell, &text);
    ref_trace_print(trace, &text);
    fprintf(stderr, "%s\n%s", what, text.data);
    ck_abort_msg("%s, see above", what);
}

/* What holds for every request of every run. */
static void check_request(const struct ref_case *cell, const struct ref_trace *trace,
                          const struct request_result *r)
{
    const struct outcome *o = &r->outcome;
    uint64_t sum = o->hit_tokens + o->missed_new_tokens + o->missed_evicted_tokens +
                   o->missed_no_snapshot_tokens + o->missed_rounding_tokens + o->missed_last_tokens;
    if (sum != r->prompt_tokens)
        fail_cell(cell, trace, "hit and misses do not add up to the prompt");
    if (o->hit_tokens > r->match_tokens)
        fail_cell(cell, trace, "a hit is deeper than the match");
    if (r->match_tokens > r->seen_tokens)
        fail_cell(cell, trace, "a match is deeper than what was seen");
    if (r->used_bytes > cell->capacity_bytes)
        fail_cell(cell, trace, "more is in use than there is");
}

static struct ref_results run(const struct ref_case *cell, const struct ref_trace *trace,
                              struct record *record)
{
    struct ref_results results;
    struct err err = {""};
    if (ref_case_run(cell, record, &results, &err) != 0)
        fail_cell(cell, trace, err.text);
    for (uint32_t i = 0; i < results.count; i++)
        check_request(cell, trace, &results.items[i]);
    return results;
}

static struct record *build(const struct ref_trace *trace)
{
    struct record *record = NULL;
    struct err err = {""};
    int result = ref_trace_build(trace, &record, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    return record;
}

/* In what two runs treated a request differently, or NULL; its number may differ. */
static const char *difference(const struct request_result *a, const struct request_result *b)
{
    if (a->at_ns != b->at_ns || a->prompt_tokens != b->prompt_tokens)
        return "its time or its prompt";
    if (a->seen_tokens != b->seen_tokens)
        return "what it had seen";
    if (a->match_tokens != b->match_tokens)
        return "its match";
    if (memcmp(&a->outcome, &b->outcome, sizeof a->outcome) != 0)
        return "its hit or misses";
    if (a->snapshots_taken != b->snapshots_taken)
        return "its snapshots";
    return a->used_bytes != b->used_bytes ? "the bytes in use" : NULL;
}

/* ---- cells ---- */

/* The sides of a cell that are not plug-ins with parameters. */
static const struct side {
    const char *name;
    size_t model;
    const char *memory, *page_tokens;
    bool keep_orphans;
    uint64_t units; /* of capacity: 4 bytes each */
} sides[] = {
    {"snapshots", 0, "ideal", "auto", false, 40},
    {"snapshots in pages", 1, "equal", "3", false, 90},
    {"orphans kept", 0, "ideal", "auto", true, 45},
    {"orphans kept, in pages", 3, "equal", "4", true, 80},
    {"KV only", 6, "ideal", "auto", false, 24},
    {"KV only, in pages", 6, "equal", "3", false, 30},
};

static struct ref_case cell_of(const struct side *side, const char *placement, const char *eviction)
{
    return (struct ref_case){.model = &ref_models[side->model],
                             .placement = placement,
                             .eviction = eviction,
                             .memory = side->memory,
                             .page_tokens = side->page_tokens,
                             .arrival = "sequential",
                             .keep_orphans = side->keep_orphans,
                             .capacity_bytes = side->units * 4,
                             .grain = 1,
                             .min_compute_tokens = 1};
}

static void draw(struct ref_trace *trace, uint64_t seed)
{
    static const struct ref_shape shape = {14, 3, 20, 6};
    struct rng rng = rng_open(seed, "prop_policies");
    *trace = (struct ref_trace){0};
    trace->block_tokens = seed % 2 ? 1 : 2 + (uint32_t)rng_below(&rng, 3);
    trace->replies_named = trace->block_tokens == 1 && rng_below(&rng, 2);
    ref_trace_draw(trace, &rng, &shape);
}

/* Calls visit for every placement x eviction, both in every form. */
typedef void visitor(const struct ref_case *cell, void *user);

static void each_cell(const struct side *side, visitor *visit, void *user)
{
    struct names placements = names_of(placement_list), evictions = names_of(eviction_list);
    for (size_t p = 0; p < placements.count; p++)
        for (size_t e = 0; e < evictions.count; e++) {
            struct ref_case cell = cell_of(side, placements.items[p], evictions.items[e]);
            visit(&cell, user);
        }
    names_close(&evictions);
    names_close(&placements);
}

/* ---- 1. no foresight: the first k results never depend on what comes later ---- */

struct prefix_pair {
    const char *arrival;
    struct ref_trace whole, part;
    struct record *whole_load, *part_load;
};

static void compare_prefix(const struct ref_case *drawn, void *user)
{
    struct prefix_pair *pair = user;
    struct ref_case cell = *drawn;
    if (is_offline(eviction_list, cell.eviction) || is_offline(placement_list, cell.placement))
        return;
    cell.arrival = pair->arrival;
    struct ref_results whole = run(&cell, &pair->whole, pair->whole_load);
    struct ref_results part = run(&cell, &pair->part, pair->part_load);
    for (uint32_t i = 0; i < part.count; i++) {
        const char *differs = difference(&whole.items[i], &part.items[i]);
        if (differs == NULL)
            continue;
        char what[120];
        snprintf(what, sizeof what, "%s: result %u differs if only the first %u requests come",
                 differs, i, part.count);
        fail_cell(&cell, &pair->whole, what);
    }
    ref_results_close(&part);
    ref_results_close(&whole);
}

/* Keeps the first k requests in the order in which they arrive. */
static void cut(struct prefix_pair *pair, uint32_t k)
{
    const struct ref_trace *whole = &pair->whole;
    bool *keep = mem_array(whole->count + 1, sizeof *keep);
    for (uint32_t i = 0; i < whole->count; i++) {
        uint32_t before = 0;
        for (uint32_t j = 0; j < whole->count; j++)
            before += whole->drawn[j].at < whole->drawn[i].at;
        keep[i] = strcmp(pair->arrival, "recorded") == 0 ? before < k : i < k;
    }
    ref_trace_select(&pair->part, whole, keep);
    free(keep);
}

/* Numbers are shared between conversations that overlap in time, replies are not named in most
 * traces: the order of arrival is not that of the trace. */
static void test_prefixes(const struct side *side, const char *arrival)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct prefix_pair pair = {.arrival = arrival};
        draw(&pair.whole, seed);
        pair.whole_load = build(&pair.whole);
        for (uint32_t k = 1; k < pair.whole.count; k += 1 + pair.whole.count / 3) {
            cut(&pair, k);
            pair.part_load = build(&pair.part);
            each_cell(side, compare_prefix, &pair);
            record_close(pair.part_load);
            ref_trace_close(&pair.part);
        }
        record_close(pair.whole_load);
        ref_trace_close(&pair.whole);
    }
}

START_TEST(test_no_foresight_sequential)
{
    test_prefixes(&sides[_i], "sequential");
}
END_TEST

START_TEST(test_no_foresight_recorded)
{
    test_prefixes(&sides[_i], "recorded");
}
END_TEST

/* ---- 2. names of blocks mean nothing; the same run twice is the same ---- */

struct renamed_pair {
    struct ref_trace *trace;
    struct record *load, *renamed;
};

static void compare_renamed(const struct ref_case *cell, void *user)
{
    struct renamed_pair *pair = user;
    struct ref_results one = run(cell, pair->trace, pair->load);
    struct ref_results same = run(cell, pair->trace, pair->load);
    struct ref_results other = run(cell, pair->trace, pair->renamed);
    if (one.total.digest != same.total.digest)
        fail_cell(cell, pair->trace, "the same run twice gives two digests");
    if (one.total.digest != other.total.digest)
        fail_cell(cell, pair->trace, "renaming blocks one to one changes the digest");
    for (uint32_t i = 0; i < one.count; i++)
        if (difference(&one.items[i], &other.items[i]) != NULL)
            fail_cell(cell, pair->trace, "renaming blocks one to one changes a result");
    ref_results_close(&other);
    ref_results_close(&same);
    ref_results_close(&one);
}

START_TEST(test_names_mean_nothing)
{
    for (uint64_t seed = 100; seed < 110; seed++) {
        struct ref_trace trace;
        draw(&trace, seed);
        struct renamed_pair pair = {.trace = &trace, .load = build(&trace)};
        trace.number_factor = 7919;
        trace.number_shift = 1000003;
        pair.renamed = build(&trace);
        each_cell(&sides[_i], compare_renamed, &pair);
        record_close(pair.renamed);
        record_close(pair.load);
        ref_trace_close(&trace);
    }
}
END_TEST

/* ---- 3. no memory, and all the memory ---- */

struct loaded {
    struct ref_trace *trace;
    struct record *load;
    uint64_t capacity_bytes;
    struct bound bound;
    const char *placement; /* the one of which `first` is the result */
    struct ref_results first;
};

static void check_nothing(const struct ref_case *drawn, void *user)
{
    struct loaded *loaded = user;
    struct ref_case cell = *drawn;
    cell.capacity_bytes = 0;
    struct ref_results results = run(&cell, loaded->trace, loaded->load);
    if (results.total.sum.hit_tokens || results.total.cache.peak_bytes)
        fail_cell(&cell, loaded->trace, "without memory there are hits");
    ref_results_close(&results);
}

static void check_all(const struct ref_case *drawn, void *user)
{
    struct loaded *loaded = user;
    struct ref_case cell = *drawn;
    cell.capacity_bytes = UNITS_UNLIMITED;
    struct ref_results results = run(&cell, loaded->trace, loaded->load);
    const struct cache_counters *counters = &results.total.cache;
    if (counters->snapshots_evicted || counters->uncached_requests || counters->snapshots_refused)
        fail_cell(&cell, loaded->trace, "with all the memory something is evicted or refused");
    if (loaded->placement != NULL && strcmp(loaded->placement, cell.placement) == 0) {
        if (loaded->first.total.digest != results.total.digest ||
            memcmp(counters, &loaded->first.total.cache, sizeof *counters) != 0)
            fail_cell(&cell, loaded->trace, "with all the memory two evictions differ");
        ref_results_close(&results);
        return;
    }
    ref_results_close(&loaded->first);
    loaded->first = results;
    loaded->placement = cell.placement;
}

static void check_bound(const struct ref_case *drawn, void *user)
{
    struct loaded *loaded = user;
    struct ref_case cell = *drawn;
    cell.capacity_bytes = loaded->capacity_bytes;
    struct ref_results results = run(&cell, loaded->trace, loaded->load);
    if (results.total.sum.hit_tokens > loaded->bound.dual_tokens)
        fail_cell(&cell, loaded->trace, "the dual bound is passed");
    ref_results_close(&results);
}

START_TEST(test_none_passes_the_bound)
{
    const struct side *side = &sides[_i];
    uint64_t narrowed = 0;
    for (uint64_t seed = 500; seed < 520; seed++) {
        struct ref_trace trace;
        struct err err = {""};
        draw(&trace, seed);
        struct loaded loaded = {.trace = &trace, .load = build(&trace)};
        loaded.capacity_bytes = side->units * (1 + seed % 4) / 2;
        struct ref_case cell = cell_of(side, "none", "lru");
        cell.capacity_bytes = loaded.capacity_bytes;
        int result = ref_case_bound(&cell, loaded.load, &loaded.bound, &err);
        ck_assert_msg(result == 0, "%s", err.text);
        narrowed += loaded.bound.dual_tokens < loaded.bound.ideal_tokens;
        each_cell(side, check_bound, &loaded);
        record_close(loaded.load);
        ref_trace_close(&trace);
    }
    ck_assert_uint_gt(narrowed, 5); /* or nothing was tested */
}
END_TEST

START_TEST(test_no_memory_and_all_memory)
{
    for (uint64_t seed = 200; seed < 210; seed++) {
        struct ref_trace trace;
        draw(&trace, seed);
        struct loaded loaded = {.trace = &trace, .load = build(&trace)};
        each_cell(&sides[_i], check_nothing, &loaded);
        each_cell(&sides[_i], check_all, &loaded);
        ref_results_close(&loaded.first);
        record_close(loaded.load);
        ref_trace_close(&trace);
    }
}
END_TEST

/* ---- 4. every memory strategy, with every eviction ---- */

START_TEST(test_every_memory)
{
    struct names evictions = names_of(eviction_list);
    for (uint64_t seed = 300; seed < 330; seed++) {
        struct ref_trace trace;
        draw(&trace, seed);
        struct record *load = build(&trace);
        for (size_t m = 0; memory_list[m]; m++)
            for (size_t e = 0; e < evictions.count; e++) {
                if (!ref_case_go_together(evictions.items[e], memory_list[m]->name))
                    continue;
                struct side side = sides[seed % COUNT(sides)];
                side.memory = memory_list[m]->name;
                side.page_tokens = "auto";
                struct ref_case cell = cell_of(&side, "turn", evictions.items[e]);
                struct ref_results one = run(&cell, &trace, load);
                cell.capacity_bytes = 0;
                struct ref_results none = run(&cell, &trace, load);
                if (none.total.sum.hit_tokens)
                    fail_cell(&cell, &trace, "without memory there are hits");
                ref_results_close(&none);
                ref_results_close(&one);
            }
        record_close(load);
        ref_trace_close(&trace);
    }
    names_close(&evictions);
}
END_TEST

/* ---- 5. every parameter moves some result ---- */

/* Those of memory strategies need models of fitting sizes: tests/test_memory.c. */
enum kind { PLACEMENT, EVICTION, KINDS };

static uint64_t digest_with(enum kind kind, const char *text, const struct ref_trace *trace,
                            struct record *load, size_t side)
{
    struct ref_case cell = cell_of(&sides[side], "turn", eviction_list[0]->name);
    if (kind == PLACEMENT)
        cell.placement = text;
    else
        cell.eviction = text;
    struct ref_results results = run(&cell, trace, load);
    uint64_t digest =
        digest_bytes(results.total.digest, &results.total.cache, sizeof results.total.cache);
    ref_results_close(&results);
    return digest;
}

/* Whether some load tells the values of a parameter apart. */
static bool moves(enum kind kind, const struct plugin *plugin, const struct param *param)
{
    bool moved = false;
    struct names values = {0};
    for (size_t i = 0; names_add_value(&values, plugin, param, i);)
        i++;
    for (uint64_t seed = 400; seed < 400 + REPEATS && !moved; seed++) {
        struct ref_trace trace;
        draw(&trace, seed);
        struct record *load = build(&trace);
        size_t side = seed % 4; /* those with snapshots */
        uint64_t first = digest_with(kind, plugin->name, &trace, load, side);
        for (size_t i = 0; i < values.count && !moved; i++)
            moved = digest_with(kind, values.items[i], &trace, load, side) != first;
        record_close(load);
        ref_trace_close(&trace);
    }
    names_close(&values);
    return moved;
}

START_TEST(test_every_parameter_counts)
{
    const struct plugin *const *lists[KINDS] = {placement_list, eviction_list};
    for (const struct plugin *const *plugin = lists[_i]; *plugin; plugin++)
        for (const struct param *param = (*plugin)->params; param && param->name; param++)
            ck_assert_msg(moves((enum kind)_i, *plugin, param), "%s:%s moves nothing",
                          (*plugin)->name, param->name);
}
END_TEST

/* ---- 6. small worlds, all of them ---- */

/* Every trace of four requests whose prompts are up to three blocks of two symbols, up to swapping
 * the two symbols behind any prefix: the second child of a node is used only after the first. */
#define WORLD_REQUESTS 4
#define WORLD_NODES 15

struct world {
    const struct ref_case *cell;
    struct ref_drawn drawn[WORLD_REQUESTS];
    uint32_t text[WORLD_REQUESTS][3];
    uint32_t used[WORLD_NODES]; /* by node of the binary tree: requests that go through it */
    uint64_t traces;
};

static void world_check(struct world *world)
{
    struct ref_trace trace = {.block_tokens = 1,
                              .replies_named = true,
                              .number_factor = 1,
                              .drawn = world->drawn,
                              .count = WORLD_REQUESTS};
    struct err err = {""};
    world->traces++;
    if (ref_case_compare(world->cell, &trace, &err) != 0)
        fail_cell(world->cell, &trace, err.text);
}

/* Draws the rest of request `request`, which has come to `node` after `length` blocks. */
static void world_walk(struct world *world, uint32_t request, uint32_t node, uint32_t length)
{
    struct ref_drawn *drawn = &world->drawn[request];
    if (length > 0) {
        *drawn = (struct ref_drawn){.in = length, .text = world->text[request], .at = request};
        if (request + 1 == WORLD_REQUESTS)
            world_check(world);
        else
            world_walk(world, request + 1, 0, 0);
    }
    for (uint32_t symbol = 0; symbol < 2 && length < 3; symbol++) {
        uint32_t child = 2 * node + 1 + symbol;
        if (symbol == 1 && world->used[child] == 0 && world->used[child - 1] == 0)
            continue;
        world->text[request][length] = symbol;
        world->used[child]++;
        world_walk(world, request, child, length + 1);
        world->used[child]--;
    }
}

START_TEST(test_small_worlds)
{
    static const char *const evictions[] = {"lru", "fifo", "lfu"};
    static const char *const placements[] = {"prompt-end", "fixed:1"};
    for (size_t p = 0; p < 3; p++)
        for (uint64_t units = 0; units <= 7; units++) {
            const struct side *side = &sides[p < 2 ? 0 : 4];
            struct ref_case cell = cell_of(side, placements[p % 2], evictions[_i]);
            cell.model = &ref_models[p < 2 ? 4 : 6]; /* a snapshot weighs as much as a token */
            cell.capacity_bytes = units * cell.model->kv_units * 4;
            cell.min_compute_tokens = 0;
            struct world world = {.cell = &cell};
            world_walk(&world, 0, 0, 0);
            ck_assert_uint_gt(world.traces, 1000);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policies");
    TCase *all = tcase_create("all");
    tcase_add_unchecked_fixture(all, ref_models_open, ref_models_close);
    tcase_set_timeout(all, 600);
    tcase_add_loop_test(all, test_no_foresight_sequential, 0, COUNT(sides));
    tcase_add_loop_test(all, test_no_foresight_recorded, 0, COUNT(sides));
    tcase_add_loop_test(all, test_names_mean_nothing, 0, COUNT(sides));
    tcase_add_loop_test(all, test_no_memory_and_all_memory, 0, COUNT(sides));
    tcase_add_loop_test(all, test_none_passes_the_bound, 0, COUNT(sides));
    tcase_add_test(all, test_every_memory);
    tcase_add_loop_test(all, test_every_parameter_counts, 0, KINDS);
    tcase_add_loop_test(all, test_small_worlds, 0, 3);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
