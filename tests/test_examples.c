/* Policies of tests/examples: what the context, expiry and pairs give to a policy. */
#include <stdlib.h>

#include "policies/list.h"
#include "sim/core/units.h"
#include "tests/examples/examples.h"
#include "tests/inputs.h"
#include "tests/suite.h"

static const struct plugin *const placements[] = {&example_pause.plugin,
                                                  &example_thrifty_placement.plugin, NULL};
static const struct plugin *const evictions[] = {&example_ttl.plugin, &example_thrifty.plugin,
                                                 NULL};
static const struct plugins examples = {placements, evictions, memory_list, NULL};
static const struct plugins mixed = {placement_list, evictions, memory_list, NULL};

/* One conversation: 100 tokens and a reply of 40 at 0 s, then prompts that go on. A reply's end is
 * a snapshot at 140, 240 and 340. */
static const char busy_then_idle[] =
    "{'id':'a','block_size':1,'hash_id_scope':'local','start':0,'requests':["
    "{'t':0,'in':100,'out':40,'hash_runs':[[1,100]]},"
    "{'t':50,'in':200,'out':40,'hash_runs':[[1,200]]},"
    "{'t':200,'in':300,'out':40,'hash_runs':[[1,300]]},"
    "{'t':201,'in':400,'out':40,'hash_runs':[[1,400]]}]}\n";

static struct result run(const struct plugins *plugins, const char *text,
                         const char *const *settings)
{
    struct err err = {""};
    struct record *record = NULL;
    struct config config = input_config(settings);
    ck_assert_msg(input_trace(text, NULL, &record, &err) == 0, "%s", err.text);
    return input_replay(&config, record, plugins);
}

/* With 100 s to live, the snapshot of 50 s (at 240) is gone at 200 s: hits 0, 140, 0, 340. With
 * 150 s it is just not too old: 0, 140, 240, 340. KV goes with it, as orphans do, or as a holding
 * of its own. */
static const struct {
    const char *eviction, *orphans;
    uint64_t hit_tokens, snapshots_evicted;
} lives[] = {
    {"ttl:100s", "drop", 480, 2}, /* at 200 s those at 140 and 240 */
    {"ttl:100s", "keep", 480, 2},
    {"ttl:150s", "drop", 720, 1}, /* at 201 s the one at 140, which was used at 50 s */
    {"ttl:150s", "keep", 720, 1},
};

START_TEST(ttl_counts_seconds)
{
    const char *settings[] = {"placement", "reply-end",       "eviction", lives[_i].eviction,
                              "orphans",   lives[_i].orphans, NULL};
    struct result result = run(&mixed, busy_then_idle, settings);
    ck_assert_uint_eq(result.sum.hit_tokens, lives[_i].hit_tokens);
    ck_assert_uint_eq(result.cache.snapshots_evicted, lives[_i].snapshots_evicted);
    result_close(&result);
}
END_TEST

/* Busy within 60 s: the request at 200 s came 150 s after the one before, whose reply had 40
 * tokens: no snapshot there, so the one at 201 s starts from 240. With replies of 40 counted as
 * short, all take one. */
static const struct {
    const char *placement;
    uint64_t hit_tokens, snapshots_taken;
} pauses[] = {
    {"pause:60s", 140 + 240 + 240, 3},
    {"pause:150s", 140 + 240 + 340, 4},
    {"pause:60s,short_out=40", 140 + 240 + 340, 4},
};

START_TEST(placement_sees_the_request_before)
{
    const char *settings[] = {"placement", pauses[_i].placement, "eviction", "ttl:3600s", NULL};
    struct result result = run(&examples, busy_then_idle, settings);
    ck_assert_uint_eq(result.sum.hit_tokens, pauses[_i].hit_tokens);
    ck_assert_uint_eq(result.cache.snapshots_taken, pauses[_i].snapshots_taken);
    result_close(&result);
}
END_TEST

/* Twelve turns, each of 100 more tokens with a reply of 40 that comes back: each starts from the
 * reply before, so prompt ends are of no use, and after eight of them none is taken any more. */
START_TEST(halves_of_a_pair_share_what_they_learn)
{
    struct text lines = {0};
    text_printf(&lines, "{'id':'a','block_size':1,'hash_id_scope':'local','requests':[");
    for (int i = 1; i <= 12; i++)
        text_printf(&lines, "%s{'t':%d,'in':%d,'out':40,'hash_runs':[[1,%d]]}", i > 1 ? "," : "", i,
                    100 * i, 100 * i);
    text_printf(&lines, "]}\n");
    const char *settings[] = {"placement", "thrifty", "eviction", "thrifty", NULL};
    struct result result = run(&examples, lines.data, settings);
    ck_assert_uint_eq(result.cache.snapshots_taken, 8 + 12);
    ck_assert_uint_eq(result.sum.hit_tokens, 11 * 40 + 100 * (11 * 12 / 2));
    result_close(&result);
    text_close(&lines);
}
END_TEST

START_TEST(half_a_pair_is_refused)
{
    const char *settings[] = {"placement", "thrifty", "eviction", "ttl:3600s", NULL};
    struct err err = {""};
    struct record *record = NULL;
    struct load load;
    struct result result;
    struct config config = input_config(settings);
    ck_assert_int_eq(input_trace(busy_then_idle, NULL, &record, &err), 0);
    ck_assert_int_eq(record_load(&load, record, true, "auto", 1, 0, &err), 0);
    ck_assert_int_eq(
        replay_config(&result, &config, load.workload, load.schedule, &examples, NULL, NULL, &err),
        -1);
    ck_assert_str_eq(err.text, "placement: 'thrifty' is one half of a pair, and goes with eviction "
                               "'thrifty'");
    result_close(&result);
    load_close(&load);
    record_close(record);
    config_close(&config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("examples");
    TCase *tcase = tcase_create("examples");
    SUITE_LOOP(tcase, ttl_counts_seconds, lives);
    SUITE_LOOP(tcase, placement_sees_the_request_before, pauses);
    tcase_add_test(tcase, halves_of_a_pair_share_what_they_learn);
    tcase_add_test(tcase, half_a_pair_is_refused);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
