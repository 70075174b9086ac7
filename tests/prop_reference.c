/* prop_reference.c - the fast cache against the reference model, on thousands of small traces.
 *
 * Each case is drawn from one seed: a trace, a made-up model, and a cell. A failure prints the
 * seed, the cell and the trace; SNAPSIM_TEST_SEED=N runs that one case again, in every group.
 * SNAPSIM_TEST_CASES=N runs N times as many. In SIM_CHECK builds the fast code also audits itself
 * after every request. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tests/ref_case.h"
#include "tests/suite.h"

#define CASES_PER_GROUP 8400
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What a group of cases is restricted to, so that a failure says where to look. */
static const struct group {
    const char *name;
    bool pages;   /* KV pages of more than one token */
    bool holding; /* KV is a holding of its own */
    bool offline; /* belady, else the online policies */
    bool named;   /* the blocks of replies are known */
} groups[] = {
    {"snapshots", false, false, false, false},       {"snapshots-pages", true, false, false, false},
    {"snapshots-belady", false, false, true, false}, {"kv", false, true, false, false},
    {"kv-pages", true, true, false, false},          {"kv-belady", true, true, true, false},
    {"named-replies", false, false, false, true},    {"named-replies-kv", true, true, false, true},
};

static const char *const placements[] = {
    "none",
    "fixed:1",
    "fixed:3",
    "fixed:7",
    "fixed:64+turn",
    "prompt-end",
    "reply-end",
    "turn",
    "turn:bounds=1",
    "last",
    "branch",
    "branch:sight=second",
    "system-prompt",
    "ladder:2",
    "ladder:1.35",
    "ladder:ratio=1.5,from=end",
    "balanced:3",
    "balanced:16",
    "sqrt",
    "dyadic",
    "turn+fixed:4",
    "branch+prompt-end",
    "branch:sight=second+last",
    "last+prompt-end",
    "last+reply-end",
    "last+fixed:5",
    "system-prompt+branch+turn",
    "ladder:2+branch:sight=second",
    "oracle",
    "oracle+fixed:5",
    "fixed:67+fixed:2",
};

static const char *const evictions[] = {
    "lru", "lru:refresh=path", "lru:refresh=both", "fifo", "lfu",
};

static void draw_trace(struct ref_trace *trace, struct rng *rng, const struct group *group)
{
    static const struct ref_shape shapes[] = {
        {8, 2, 12, 4}, {16, 3, 24, 8}, {24, 4, 40, 10}, {40, 2, 16, 3}, {10, 2, 170, 70},
    };
    *trace = (struct ref_trace){0};
    trace->block_tokens = rng_below(rng, 2) ? 1 : 2 + (uint32_t)rng_below(rng, 7);
    trace->local_numbers = rng_below(rng, 4) == 0;
    trace->drop_replies = rng_below(rng, 4) == 0;
    trace->keep_partial = rng_below(rng, 4) == 0;
    trace->declares = rng_below(rng, 3) == 0;
    if (group->named) {
        trace->block_tokens = 1;
        trace->drop_replies = trace->keep_partial = false;
        trace->replies_named = true;
    }
    ref_trace_draw(trace, rng, &shapes[rng_below(rng, COUNT(shapes))]);
}

static uint64_t draw_capacity(struct rng *rng, const struct ref_trace *trace,
                              const struct ref_model *model)
{
    uint64_t tokens = 0, kind = rng_below(rng, 20);
    if (kind == 0)
        return 0;
    if (kind == 1)
        return UNITS_UNLIMITED;
    for (uint32_t i = 0; i < trace->count; i++)
        if (tokens < 2u * (trace->drawn[i].in + trace->drawn[i].out))
            tokens = 2u * (trace->drawn[i].in + trace->drawn[i].out);
    uint64_t most = tokens * model->kv_units * 4 + 6u * model->snapshot_units * 4;
    return rng_below(rng, (most >> rng_below(rng, 4)) + 1);
}

static void draw_cell(struct ref_case *cell, struct rng *rng, const struct group *group,
                      const struct ref_trace *trace, uint64_t seed)
{
    static const char *const pages[] = {"2", "3", "4", "5", "6", "7", "trace"};
    static const uint64_t grains[] = {0, 0, 1, 1, 1, 4}, compute[] = {0, 1, 1, 3};
    *cell = (struct ref_case){0};
    cell->placement = placements[seed % COUNT(placements)];
    cell->eviction =
        group->offline ? "belady" : evictions[seed / COUNT(placements) % COUNT(evictions)];
    cell->model = &ref_models[rng_below(rng, REF_MODEL_COUNT - (group->holding ? 0 : 1))];
    cell->keep_orphans = group->holding && rng_below(rng, 4);
    if (!cell->keep_orphans && group->holding) /* the one without recurrent layers */
        cell->model = &ref_models[REF_MODEL_COUNT - 1];
    bool equal = group->pages || rng_below(rng, 2);
    cell->memory = equal ? "equal" : "ideal";
    cell->page_tokens = group->pages ? pages[rng_below(rng, COUNT(pages))] : equal ? "1" : "auto";
    cell->grain = grains[rng_below(rng, COUNT(grains))];
    cell->min_compute_tokens = compute[rng_below(rng, COUNT(compute))];
    cell->arrival = rng_below(rng, 2) ? "recorded" : "sequential";
    cell->capacity_bytes = draw_capacity(rng, trace, cell->model);
}

static int run_case(const struct group *group, uint64_t seed, struct text *report)
{
    struct rng rng = rng_open(seed, group->name);
    struct ref_trace trace;
    struct ref_case cell;
    struct err err = {""};
    draw_trace(&trace, &rng, group);
    draw_cell(&cell, &rng, group, &trace, seed);
    int result = ref_case_compare(&cell, &trace, &err);
    if (result != 0) {
        text_printf(report, "group %s, SNAPSIM_TEST_SEED=%" PRIu64 "\n%s\n", group->name, seed,
                    err.text);
        ref_case_print(&cell, report);
        ref_trace_print(&trace, report);
    }
    ref_trace_close(&trace);
    return result;
}

START_TEST(test_fast_equals_model)
{
    const struct group *group = &groups[_i];
    uint64_t from = suite_number("SNAPSIM_TEST_SEED", 0);
    uint64_t count = CASES_PER_GROUP * suite_number("SNAPSIM_TEST_CASES", 1);
    if (getenv("SNAPSIM_TEST_SEED"))
        count = 1;
    struct text report = {0};
    int result = 0;
    for (uint64_t seed = from; seed < from + count && result == 0; seed++)
        result = run_case(group, seed, &report);
    if (result != 0)
        fprintf(stderr, "%s", report.data);
    text_close(&report);
    ck_assert_msg(result == 0, "%s: the fast code and the model differ, see above", group->name);
}
END_TEST

/* ---- the model of the trace itself ---- */

static uint32_t common(const uint32_t *a, const uint32_t *b, uint32_t length)
{
    uint32_t n = 0;
    while (n < length && a[n] == b[n])
        n++;
    return n;
}

/* Where blocks are single tokens and all are known, the lists found by number are, up to the names
 * of tokens, the texts from which the numbers were made. */
START_TEST(test_resolved_lists_are_the_texts)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct rng rng = rng_open(seed, "texts");
        struct ref_trace trace;
        draw_trace(&trace, &rng, &groups[COUNT(groups) - 1]);
        struct ref_request *requests = ref_trace_resolve(&trace, NULL);
        for (uint32_t i = 0; i < trace.count; i++)
            for (uint32_t j = 0; j < i; j++) {
                uint32_t a = requests[i].end_tokens, b = requests[j].end_tokens;
                uint32_t shorter = a < b ? a : b;
                uint32_t found = common(requests[i].tokens, requests[j].tokens, shorter);
                uint32_t drawn = common(trace.drawn[i].text, trace.drawn[j].text, shorter);
                if (trace.local_numbers &&
                    trace.drawn[i].conversation != trace.drawn[j].conversation)
                    drawn = 0;
                if (found != drawn)
                    ck_abort_msg("seed %" PRIu64 ": requests %u and %u share %u tokens, not %u",
                                 seed, i, j, drawn, found);
            }
        ref_requests_close(requests, trace.count);
        ref_trace_close(&trace);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reference");
    TCase *random = tcase_create("random");
    tcase_add_unchecked_fixture(random, ref_models_open, ref_models_close);
    tcase_set_timeout(random, 3600);
    tcase_add_test(random, test_resolved_lists_are_the_texts);
    tcase_add_loop_test(random, test_fast_equals_model, 0, COUNT(groups));
    suite_add_tcase(suite, random);
    return suite_run(suite);
}
