/* test_placements.c - which snapshots stand after each request, worked out on paper, and what it
 * costs to ask for them. */
#include <stdlib.h>

#include "policies/list.h"
#include "tests/inputs.h"
#include "tests/suite.h"

#define REQUESTS_MAX 8

struct standing {
    uint64_t snapshots[REQUESTS_MAX]; /* after each request */
    uint64_t snapshot_bytes;
    size_t count;
};

static void note(void *user, const struct request_result *request)
{
    struct standing *standing = user;
    ck_assert_uint_lt(standing->count, REQUESTS_MAX);
    standing->snapshots[standing->count++] = request->bytes.snapshots;
}

/* Replays a conversation in a memory without limit. */
static struct result replay(const char *lines, const char *placement, const char *grain,
                            struct standing *standing)
{
    const char *settings[] = {"placement",  placement,        "capacity", "unlimited", "arrival",
                              "sequential", "snapshot-grain", grain,      NULL};
    const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};
    struct config config = input_config(settings);
    struct err err = {""};
    struct record *record = NULL;
    struct load load = {0};
    struct result result;
    *standing = (struct standing){0};
    int failed = input_trace(lines, NULL, &record, &err) ||
                 record_load(&load, record, true, config.arrival, 0, 0, &err) ||
                 replay_config(&result, &config, load.workload, load.schedule, &plugins, note,
                               standing, &err);
    ck_assert_msg(!failed, "%s", err.text);
    standing->snapshot_bytes = result.sizes.snapshot_bytes;
    load_close(&load);
    record_close(record);
    config_close(&config);
    return result;
}

static void must_stand(const struct standing *standing, const uint64_t *expected, size_t count)
{
    ck_assert_uint_eq(standing->count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(standing->snapshots[i] == expected[i] * standing->snapshot_bytes,
                      "request %zu: %llu snapshots, not %llu", i,
                      (unsigned long long)(standing->snapshots[i] / standing->snapshot_bytes),
                      (unsigned long long)expected[i]);
}

/* Each request continues the one before, and its end is the place of the stream's snapshot:
 *
 *     request   prompt   end   last   fixed:512   standing after it
 *        1        128    192    192               192
 *        2        320    384    384               384         192 is replaced
 *        3        512    512    512      512      512         384 is replaced; 512 is wanted by
 * both 4        640    704    704               512 704     512 stays: `fixed` has asked for it */
START_TEST(last_moves_to_a_place_that_another_placement_wants_too)
{
    static const uint64_t expected[] = {1, 1, 1, 2};
    struct standing standing;
    struct result result =
        replay("{'id':'a','block_size':64,'hash_id_scope':'local','start':0,'requests':["
               "{'t':0,'in':128,'out':64,'hash_runs':[[1,2]]},"
               "{'t':1,'in':320,'out':64,'hash_runs':[[1,5]]},"
               "{'t':2,'in':512,'out':0,'hash_runs':[[1,8]]},"
               "{'t':3,'in':640,'out':64,'hash_runs':[[1,10]]}]}",
               _i ? "fixed:512+last" : "last+fixed:512", "64", &standing);
    must_stand(&standing, expected, 4);
    ck_assert_uint_eq(result.cache.snapshots_taken, 4);
    ck_assert_uint_eq(result.cache.snapshots_replaced, 2);
    result_close(&result);
}
END_TEST

/* The first request takes 192, the end of its prompt, to stay, and 320, its end, as the newest. The
 * second one has the same first 192 tokens, and 8 of its own, which are no whole grain: its end is
 * floored to 192, and that is its hit. So the newest place of the stream is 192, which is there
 * already, and 320 has no purpose any more. */
START_TEST(last_moves_back_to_the_hit)
{
    static const uint64_t expected[] = {2, 1};
    struct standing standing;
    struct result result =
        replay("{'id':'a','block_size':64,'hash_id_scope':'local','start':0,'requests':["
               "{'t':0,'in':192,'out':128,'hash_runs':[[1,3]]},"
               "{'t':1,'in':200,'out':0,'hash_runs':[[1,3]]}]}",
               "last+prompt-end", "64", &standing);
    must_stand(&standing, expected, 2);
    ck_assert_uint_eq(result.sum.hit_tokens, 192);
    ck_assert_uint_eq(result.cache.snapshots_taken, 2);
    ck_assert_uint_eq(result.cache.snapshots_replaced, 1);
    result_close(&result);
}
END_TEST

/* Every token of a prompt of 2^20 asks for a position, and 2^20 / 64 of them are left: memory is
 * for those. What is kept of the others is where the last of them asked. */
START_TEST(dense_positions_take_no_room)
{
    static const struct run_facts facts;
    struct placement_choice choice;
    struct placement_set set;
    struct positions positions = {.grains = {1, 1, 64, 64}};
    struct err err = {""};
    const uint32_t length = 1u << 20;
    ck_assert(placement_choose(&choice, placement_list, "fixed:1", &err) == 0 &&
              placement_set_open(&set, &choice, &facts, NULL, NULL, &err) == 0);
    struct placement_view view = {.prompt_tokens = length, .end_tokens = length};
    placement_set_plan(&set, &view, &positions);
    ck_assert_uint_eq(positions.count, length / 64);
    ck_assert_uint_le(positions.capacity, 2 * length / 64);
    ck_assert_uint_eq(positions.items[0].position, 64);
    ck_assert_uint_eq(positions.items[0].asked, 127);
    ck_assert_uint_eq(positions.items[positions.count - 1].asked, length);
    free(positions.items);
    placement_set_close(&set);
    placement_choice_close(&choice);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placements");
    TCase *tcase = tcase_create("placements");
    tcase_add_loop_test(tcase, last_moves_to_a_place_that_another_placement_wants_too, 0, 2);
    tcase_add_test(tcase, last_moves_back_to_the_hit);
    tcase_add_test(tcase, dense_positions_take_no_room);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
