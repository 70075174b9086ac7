/* test_growth.c - one long conversation: what a request costs does not grow with what came before.
 *
 * Steps are counted, not time (cache_steps): nodes, snapshots, and spans of nodes that were looked
 * at. Whatever walks up whole paths takes as many steps for a request as there were requests before
 * it, 4,000 on average below. What is allowed instead:
 *
 *     a path is searched in as many steps as its length has binary digits, on each of a few chains
 *     before that is made possible, a run walks: 256 nodes a request at most (walk.c)
 *     memory in places: each that is in use may have to be looked at, with what it holds, and there
 *     are as many as the capacity has, however long the load: once it is full, no more
 *
 * Left out is belady, which asks for the next use of every node of a path. */
#include <stdlib.h>

#include "policies/list.h"
#include "sim/core/text.h"
#include "tests/inputs.h"
#include "tests/suite.h"

#define BLOCK 64

/* Each prompt is the one before, its reply, and a block more. */
static void write_growing(struct text *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_printf(out, "%s{\"t\":%u,\"in\":%u,\"out\":%u,\"hash_runs\":[[1,%u]]}", i ? "," : "",
                    i, BLOCK * (2 * i + 1), BLOCK, 2 * i + 1);
}

/* Each prompt has one block more in common with the next than the one before had, and ends in two
 * of its own: whoever wrote it went back and said something else. */
static void write_edited(struct text *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_printf(out, "%s{\"t\":%u,\"in\":%u,\"out\":%u,\"hash_runs\":[[1,%u],[%u,2]]}",
                    i ? "," : "", i, BLOCK * (i + 3), BLOCK, i + 1, 10000000 + 2 * i);
}

typedef void write_requests(struct text *out, uint32_t count);

static struct record *open_conversation(write_requests *write, uint32_t count)
{
    static const struct build_options plain;
    struct text lines = {0};
    struct err err = {""};
    struct record *record = NULL;
    text_printf(&lines,
                "{\"id\":\"a\",\"block_size\":%u,\"hash_id_scope\":\"local\",\"start\":0,"
                "\"requests\":[",
                BLOCK);
    write(&lines, count);
    text_printf(&lines, "]}\n");
    int result = trace_open_memory("t", lines.data, lines.length, &plain, NULL, &record, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    text_close(&lines);
    return record;
}

struct growth_cell {
    const char *placement, *eviction, *orphans, *index, *memory, *capacity;
};

static double count_steps(struct record *record, const struct growth_cell *cell)
{
    const char *settings[] = {"placement", cell->placement, "eviction", cell->eviction,
                              "orphans",   cell->orphans,   "index",    cell->index,
                              "memory",    cell->memory,    "capacity", cell->capacity,
                              NULL};
    const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};
    struct config config = input_config(settings);
    struct load load = {0};
    struct result result;
    struct err err = {""};
    int failed =
        record_load(&load, record, false, config.arrival, 0, 0, &err) ||
        replay_config(&result, &config, load.workload, load.schedule, &plugins, NULL, NULL, &err);
    ck_assert_msg(!failed, "%s", err.text);
    double steps = (double)result.steps / (double)result.requests;
    result_close(&result);
    load_close(&load);
    config_close(&config);
    return steps;
}

static const char *const placements[] = {"none", "turn",     "branch", "branch:sight=second",
                                         "last", "fixed:64", "dyadic", "oracle"};
static const char *const evictions[] = {"lru", "lru:refresh=path", "lru:refresh=both", "fifo",
                                        "lfu"};
static const char *const orphans[] = {"drop", "keep", "keep-for-fork"};
static const char *const capacities[] = {"8GiB", "64GiB", "100TB"};
static const char *const memories[] = {"lcm", "elastic", "two-ended", "static:0.5"};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#ifdef SIM_CHECK /* audits look at everything, so there the long loads take too long */
#define REQUESTS 1000
#define TESTS_LONG_LOADS false
#else
#define REQUESTS 8000
#define TESTS_LONG_LOADS true
#endif
#define STEPS_MOST 700

static void must_be_few(struct record *record, const struct growth_cell *cell)
{
    double steps = count_steps(record, cell);
    ck_assert_msg(steps <= STEPS_MOST, "%s, %s, orphans %s, index %s, %s, %s: %.1f steps a request",
                  cell->placement, cell->eviction, cell->orphans, cell->index, cell->memory,
                  cell->capacity, steps);
}

static write_requests *const writers[] = {write_growing, write_edited};

/* Every pair of a placement and an eviction; orphans and capacities take turns. */
START_TEST(steps_do_not_grow)
{
    struct record *record = open_conversation(writers[_i], REQUESTS);
    for (size_t p = 0; p < COUNT(placements); p++) {
        for (size_t e = 0; e < COUNT(evictions); e++) {
            size_t turn = p + e + (size_t)_i;
            struct growth_cell cell = {placements[p], evictions[e], orphans[turn % 3],
                                       "unified",     "ideal",      capacities[p * 2 % 3]};
            must_be_few(record, &cell);
        }
    }
    for (size_t c = 0; c < COUNT(capacities); c++) {
        struct growth_cell cell = {"turn", "lru", "keep", "dual", "ideal", capacities[c]};
        must_be_few(record, &cell);
    }
    record_close(record);
}
END_TEST

/* At a longer load, a request takes not even half as many steps more. */
static void must_not_grow(struct record *record, struct record *longer,
                          const struct growth_cell *cell)
{
    double steps = count_steps(record, cell), more = count_steps(longer, cell);
    ck_assert_msg(more <= 1.5 * (steps < STEPS_MOST / 2 ? STEPS_MOST / 2 : steps),
                  "%s, %s, orphans %s, %s: %.1f steps a request, then %.1f", cell->placement,
                  cell->eviction, cell->orphans, cell->memory, steps, more);
}

START_TEST(full_places_take_no_more)
{
    struct record *record = open_conversation(writers[_i], REQUESTS);
    struct record *longer = open_conversation(writers[_i], 2 * REQUESTS);
    for (size_t m = 0; m < COUNT(memories); m++) {
        for (size_t o = 0; o < COUNT(orphans); o++) {
            struct growth_cell cell = {"turn", "lru", orphans[o], "unified", memories[m], "8GiB"};
            must_not_grow(record, longer, &cell);
        }
    }
    record_close(record);
    record_close(longer);
}
END_TEST

/* The cells that were the worst. */
START_TEST(eight_times_as_long)
{
    static const struct growth_cell cells[] = {
        {"branch", "lru", "drop", "unified", "ideal", "64GiB"},
        {"turn", "lru", "drop", "unified", "ideal", "8GiB"},
        {"turn", "lru:refresh=path", "drop", "unified", "ideal", "100TB"},
        {"turn", "lru", "keep", "unified", "ideal", "100TB"},
    };
    struct record *record = open_conversation(write_growing, REQUESTS);
    struct record *longer = open_conversation(write_growing, 8 * REQUESTS);
    for (size_t i = 0; i < COUNT(cells); i++)
        must_not_grow(record, longer, &cells[i]);
    record_close(record);
    record_close(longer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("growth");
    TCase *tcase = tcase_create("growth");
    tcase_set_timeout(tcase, 120);
    SUITE_LOOP(tcase, steps_do_not_grow, writers);
    if (TESTS_LONG_LOADS) {
        SUITE_LOOP(tcase, full_places_take_no_more, writers);
        tcase_add_test(tcase, eight_times_as_long);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
