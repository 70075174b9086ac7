/* ref_story.c - stories of requests that run at the same time, worked out on paper. */
#include "tests/ref_story.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define STORY_REQUESTS 6

/* A request is "conversation:prompt" or "conversation:prompt|reply", each letter a token. A unit is
 * 4 bytes. In the steps SLOT is who does it, REQUEST is which:
 *     start SLOT REQUEST hit TOKENS
 *     reserve SLOT kv TOKENS [at POSITION]... [last POSITION] [newest POSITION] yes|no
 *     commit SLOT yes|no        live SLOT yes|no        abort SLOT        end SLOT
 * and what must be true then:
 *     units IN-USE              evicted TOKENS          replaced SNAPSHOTS
 *     kv REQUEST:TOKENS ...     how much of its path is resident
 *     snapshots REQUEST:POSITION ...  all that there are */
struct story {
    const char *name;
    const struct ref_model *model;
    const char *eviction, *memory, *page_tokens;
    bool keep_orphans;
    uint64_t units;
    const char *prompts[STORY_REQUESTS];
    const char *steps; /* separated by semicolons */
};

#define KV_1_STATE_3 (&ref_models[0])
#define KV_1_ONLY (&ref_models[6])

static const struct story stories[] = {
    {
        /* Both share 4 tokens. The second needs 2 more tokens and a snapshot, 5 units: with the 9
         * of the first that is more than 10. The snapshot at 6 may go, its KV may not, as the first
         * one runs: 6 + 5 is still too much. Once it has ended, all may go. */
        .name = "the second of two waits for the first",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 10,
        .prompts = {"0:aaaabb", "1:aaaacc"},
        .steps = "start 0 0 hit 0; reserve 0 kv 6 at 6 yes; commit 0 yes; units 9; "
                 "start 1 1 hit 0; kv 0:6 1:4; reserve 1 kv 6 at 6 no; units 6; snapshots; "
                 "kv 0:6 1:4; end 0; units 0; evicted 6; reserve 1 kv 6 at 6 yes; units 0; "
                 "commit 1 yes; units 9; snapshots 1:6; kv 0:4 1:6; end 1; units 9",
    },
    {
        /* 0 has 9 of 10 units reserved, so 1 gets one of them and no more; also when its token is
         * one of those that 0 would store. */
        .name = "an abort gives back all that was reserved",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 10,
        .prompts = {"0:aaaabb", "1:aaaacc"},
        .steps = "start 0 0 hit 0; reserve 0 kv 6 at 6 yes; start 1 1 hit 0; "
                 "reserve 1 kv 6 at 6 no; reserve 1 kv 1 yes; commit 1 yes; units 1; "
                 "reserve 1 kv 2 no; abort 0; units 1; reserve 1 kv 2 yes; commit 1 yes; "
                 "reserve 1 kv 6 at 6 yes; abort 1; units 0; evicted 2",
    },
    {
        /* What was committed before an abort stays as far as a snapshot needs it. */
        .name = "chunks, and an abort between them",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 20,
        .prompts = {"0:aaaabb"},
        .steps = "start 0 0 hit 0; reserve 0 kv 3 yes; commit 0 yes; units 3; kv 0:3; "
                 "reserve 0 kv 4 at 4 yes; commit 0 yes; units 7; reserve 0 kv 6 yes; "
                 "commit 0 yes; units 9; kv 0:6; abort 0; units 7; kv 0:4; snapshots 0:4; "
                 "evicted 2",
    },
    {
        .name = "chunks where orphans are kept",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .keep_orphans = true,
        .units = 20,
        .prompts = {"0:aaaabb"},
        .steps = "start 0 0 hit 0; reserve 0 kv 4 at 4 yes; commit 0 yes; reserve 0 kv 6 yes; "
                 "commit 0 yes; end 0; units 9; kv 0:6; snapshots 0:4; evicted 0",
    },
    {
        /* 1 and 2 both run on the snapshot at 4 of 0, 7 units. 3 needs 6: 13 is more than 10. */
        .name = "a snapshot that two have pinned survives until both have ended",
        .model = KV_1_STATE_3,
        .eviction = "fifo",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 10,
        .prompts = {"0:aaaa", "1:aaaabb", "2:aaaadd", "3:cccc"},
        .steps = "start 0 0 hit 0; reserve 0 kv 4 at 4 yes; commit 0 yes; end 0; "
                 "start 1 1 hit 4; start 2 2 hit 4; start 3 3 hit 0; reserve 3 kv 3 at 3 no; "
                 "end 1; reserve 3 kv 3 at 3 no; units 7; snapshots 0:4; abort 2; units 7; "
                 "reserve 3 kv 3 at 3 yes; units 0; commit 3 yes; units 6; snapshots 3:3; end 3",
    },
    {
        /* 1 runs on the snapshot at 6. The one at 2 is not pinned: it goes, and only its state. */
        .name = "below a pin only the state of a snapshot leaves",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 13,
        .prompts = {"0:aaaabb", "1:aaaabbcc", "2:dd"},
        .steps = "start 0 0 hit 0; reserve 0 kv 6 at 2 at 6 yes; commit 0 yes; end 0; units 12; "
                 "start 0 1 hit 6; start 1 2 hit 0; reserve 1 kv 2 yes; units 9; kv 0:6; "
                 "snapshots 0:6; evicted 0; abort 1; end 0; units 9",
    },
    {
        /* A page is 4 tokens. Both go on from token 6, in a page that is there: neither needs
         * another. The first to commit takes it, so the second needs a copy, and finds 3 pages. */
        .name = "a fork costs a page more than was reserved",
        .model = KV_1_ONLY,
        .eviction = "lru",
        .memory = "equal",
        .page_tokens = "4",
        .units = 12,
        .prompts = {"0:aaaaaa", "1:aaaaaabb", "2:aaaaaacc"},
        .steps = "start 0 0 hit 0; reserve 0 kv 6 yes; commit 0 yes; end 0; units 8; "
                 "start 1 1 hit 4; start 2 2 hit 4; reserve 1 kv 8 yes; reserve 2 kv 8 yes; "
                 "commit 1 yes; units 8; commit 2 yes; units 12; kv 1:8 2:8; end 1; end 2; "
                 "units 12; evicted 0",
    },
    {
        /* The same in 2 pages: the second finds none while the first runs. Afterwards it may have
         * the page of the first, of which two tokens are not on its own path. */
        .name = "a fork for whose page there is no room",
        .model = KV_1_ONLY,
        .eviction = "lru",
        .memory = "equal",
        .page_tokens = "4",
        .units = 8,
        .prompts = {"0:aaaaaa", "1:aaaaaabb", "2:aaaaaacc"},
        .steps = "start 0 0 hit 0; reserve 0 kv 6 yes; commit 0 yes; end 0; start 1 1 hit 4; "
                 "start 2 2 hit 4; reserve 1 kv 8 yes; reserve 2 kv 8 yes; commit 1 yes; "
                 "commit 2 no; kv 1:8 2:6; reserve 2 kv 8 no; end 1; reserve 2 kv 8 yes; "
                 "kv 1:6 2:6; evicted 2; commit 2 yes; kv 1:6 2:8; units 8; end 2",
    },
    {
        /* A live state is 3 units. 0 has one, and 6 units reserved; then 9 in use: there its
         * snapshot at 3 leaves, which nobody has pinned. */
        .name = "live states have owners",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 9,
        .prompts = {"0:aaaa", "1:bbbb"},
        .steps = "start 0 0 hit 0; live 0 yes; units 3; reserve 0 kv 3 at 3 yes; "
                 "start 1 1 hit 0; live 1 no; commit 0 yes; units 9; live 1 yes; units 9; "
                 "snapshots; kv 0:3; end 0; units 3; abort 1; units 0",
    },
    {
        /* 4 tokens and snapshots at 2 and 4 are 10 units. The second time the one at 2 is the hit,
         * the one at 4 is to be renewed, and one at 3 is reserved: 13 of 15. A live state is too
         * much, as nothing may go. After the commit the one at 3 may, the older one of 3 and 4. */
        .name = "a live state beside a reservation that renews",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 15,
        .prompts = {"0:aaaa"},
        .steps = "start 0 0 hit 0; reserve 0 kv 4 at 2 at 4 yes; commit 0 yes; end 0; units 10; "
                 "start 0 0 hit 2; reserve 0 kv 4 at 3 at 4 yes; live 0 no; units 10; "
                 "commit 0 yes; units 13; live 0 yes; units 13; snapshots 0:2 0:4; end 0; units 10",
    },
    {
        /* The stream's snapshot moves from 2 to 4 when the request that took it ends; one that
         * another request runs on stays. */
        .name = "last",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 40,
        .prompts = {"0:aa", "0:aaaa", "0:aaaabb", "1:aaaacc"},
        .steps = "start 0 0 hit 0; reserve 0 kv 2 last 2 yes; commit 0 yes; end 0; "
                 "start 0 1 hit 2; reserve 0 kv 4 last 4 yes; commit 0 yes; snapshots 0:2 1:4; "
                 "end 0; snapshots 1:4; replaced 1; start 0 2 hit 4; start 1 3 hit 4; "
                 "reserve 0 kv 6 last 6 yes; commit 0 yes; end 0; snapshots 1:4 2:6; "
                 "replaced 1; end 1; snapshots 1:4 2:6",
    },
    {
        /* The stream's newest, at 2 of 0, is evicted before 1 takes one. When 2 ends, there is none
         * before its own that it would replace; when 1 ends after it, that of 2 is. */
        .name = "last, where the newest was evicted",
        .model = KV_1_STATE_3,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 11,
        .prompts = {"0:aa", "0:bbbb", "0:c"},
        .steps = "start 0 0 hit 0; reserve 0 kv 2 at 2 newest 2 yes; commit 0 yes; end 0; "
                 "start 1 1 hit 0; reserve 1 kv 4 last 4 yes; commit 1 yes; snapshots 1:4; "
                 "start 2 2 hit 0; reserve 2 kv 1 last 1 yes; commit 2 yes; end 2; "
                 "snapshots 1:4 2:1; replaced 0; end 1; snapshots 1:4; replaced 1",
    },
    {
        /* 0 starts first and commits last: used last, it is the younger one, so 1 gives way. */
        .name = "age is that of the commit: lru",
        .model = KV_1_ONLY,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 8,
        .prompts = {"0:aaaa", "1:bbbb", "2:cc"},
        .steps = "start 0 0 hit 0; start 1 1 hit 0; reserve 1 kv 4 yes; commit 1 yes; end 1; "
                 "reserve 0 kv 4 yes; commit 0 yes; end 0; start 0 2 hit 0; reserve 0 kv 2 yes; "
                 "kv 0:4 1:2; commit 0 yes; kv 0:4 1:2 2:2; end 0",
    },
    {
        /* All 4 tokens of 0 are there, of which its prompt is one. It comes again, and commits 2 of
         * them: all are young again, so 1 gives way, although its KV was stored later. */
        .name = "a commit makes the whole path young",
        .model = KV_1_ONLY,
        .eviction = "lru",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 8,
        .prompts = {"0:a|aaa", "1:bbbb", "2:cc"},
        .steps = "start 0 0 hit 0; reserve 0 kv 4 yes; commit 0 yes; end 0; start 1 1 hit 0; "
                 "reserve 1 kv 4 yes; commit 1 yes; end 1; start 0 0 hit 0; reserve 0 kv 2 yes; "
                 "commit 0 yes; start 1 2 hit 0; reserve 1 kv 2 yes; kv 0:4 1:2; end 0; abort 1",
    },
    {
        /* lfu counts a request when it starts: of equal counts, 0 was used longest ago. */
        .name = "age is that of the start: lfu",
        .model = KV_1_ONLY,
        .eviction = "lfu",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 8,
        .prompts = {"0:aaaa", "1:bbbb", "2:cc"},
        .steps = "start 0 0 hit 0; start 1 1 hit 0; reserve 1 kv 4 yes; commit 1 yes; end 1; "
                 "reserve 0 kv 4 yes; commit 0 yes; end 0; start 0 2 hit 0; reserve 0 kv 2 yes; "
                 "kv 0:2 1:4; commit 0 yes; end 0",
    },
    {
        /* lfu: 1 has two turns of one request each, 0 one request of many turns. Chunks do not
         * count, so 0 gives way. */
        .name = "lfu counts requests, not chunks",
        .model = KV_1_ONLY,
        .eviction = "lfu",
        .memory = "ideal",
        .page_tokens = "auto",
        .units = 8,
        .prompts = {"0:aaaa", "1:bbbb", "2:cc"},
        .steps = "start 1 1 hit 0; reserve 1 kv 4 yes; commit 1 yes; end 1; start 0 0 hit 0; "
                 "start 1 1 hit 3; reserve 0 kv 1 yes; commit 0 yes; reserve 1 kv 4 yes; "
                 "commit 1 yes; reserve 0 kv 2 yes; commit 0 yes; end 1; reserve 0 kv 3 yes; "
                 "commit 0 yes; reserve 0 kv 4 yes; commit 0 yes; end 0; start 0 2 hit 0; "
                 "reserve 0 kv 2 yes; kv 0:2 1:4; abort 0",
    },
};

/* One story at work. */
struct teller {
    const struct story *story;
    struct twin twin;
    const char *step;
    char *rest; /* of the step, for strtok_r */
};

static void fail_step(const struct teller *teller, const char *what)
{
    char where[200];
    snprintf(where, sizeof where, "%s, at '%s'", teller->story->name, teller->step);
    twin_fail(&teller->twin, where, what);
}

static void must(const struct teller *teller, int result, const struct err *err)
{
    if (result != 0)
        fail_step(teller, err->text);
}

static void must_be(const struct teller *teller, uint64_t is, uint64_t expected)
{
    char what[80];
    snprintf(what, sizeof what, "it is %" PRIu64 ", not %" PRIu64, is, expected);
    if (is != expected)
        fail_step(teller, what);
}

static const char *next_word(struct teller *teller)
{
    return strtok_r(NULL, " ", &teller->rest);
}

static uint32_t next_number(struct teller *teller)
{
    const char *word = next_word(teller);
    ck_assert_msg(word != NULL, "%s", teller->step);
    return (uint32_t)strtoul(word, NULL, 10);
}

static bool said_yes(const char *word)
{
    return strcmp(word, "yes") == 0;
}

static void tell_reserve(struct teller *teller)
{
    struct ref_wanted items[8];
    struct ref_wishes wanted = {.items = items};
    struct err err;
    bool done;
    uint32_t slot = next_number(teller);
    next_word(teller); /* kv */
    uint32_t kv_end = next_number(teller);
    const char *word = next_word(teller);
    for (; strcmp(word, "yes") != 0 && strcmp(word, "no") != 0; word = next_word(teller)) {
        bool last = strcmp(word, "last") == 0;
        uint32_t position = next_number(teller);
        if (strcmp(word, "at") != 0)
            wanted.newest = position;
        if (strcmp(word, "newest") != 0)
            items[wanted.count++] = (struct ref_wanted){position, position, last, 0};
    }
    must(teller, twin_reserve(&teller->twin, slot, kv_end, &wanted, &done, &err), &err);
    must_be(teller, done, said_yes(word));
}

/* "REQUEST:NUMBER ...": the tokens that are resident, or where snapshots stand. */
static void check_list(struct teller *teller, bool snapshots)
{
    struct twin *twin = &teller->twin;
    uint64_t count = 0;
    for (const char *word = next_word(teller); word; word = next_word(teller), count++) {
        unsigned arrival, number;
        ck_assert_msg(sscanf(word, "%u:%u", &arrival, &number) == 2, "%s", teller->step);
        if (snapshots)
            must_be(teller, ref_snapshot_at(twin->model, twin->paths[arrival][number]) != NULL, 1);
        else
            must_be(teller, twin_resident(twin, arrival), number);
    }
    if (snapshots)
        must_be(teller, twin->model->snapshot_count, count);
}

static void check_fact(struct teller *teller, const char *fact)
{
    const struct ref_cache *model = teller->twin.model;
    if (strcmp(fact, "kv") == 0)
        check_list(teller, false);
    else if (strcmp(fact, "snapshots") == 0)
        check_list(teller, true);
    else if (strcmp(fact, "units") == 0)
        must_be(teller, ref_used_bytes(model), 4u * next_number(teller));
    else if (strcmp(fact, "evicted") == 0)
        must_be(teller, model->counters.kv_tokens_evicted, next_number(teller));
    else if (strcmp(fact, "replaced") == 0)
        must_be(teller, model->counters.snapshots_replaced, next_number(teller));
    else
        fail_step(teller, "no such step");
}

static void tell_step(struct teller *teller, const char *step)
{
    char copy[120];
    struct twin *twin = &teller->twin;
    struct err err;
    bool done = false;
    teller->step = step;
    snprintf(copy, sizeof copy, "%s", step);
    const char *verb = strtok_r(copy, " ", &teller->rest);
    if (strcmp(verb, "start") == 0) {
        uint32_t slot = next_number(teller), arrival = next_number(teller);
        must(teller, twin_start(twin, slot, arrival, &err), &err);
        next_word(teller); /* hit */
        must_be(teller, twin->slots[slot].model.hit, next_number(teller));
    } else if (strcmp(verb, "reserve") == 0) {
        tell_reserve(teller);
    } else if (strcmp(verb, "commit") == 0) {
        must(teller, twin_commit(twin, next_number(teller), &done, &err), &err);
        must_be(teller, done, said_yes(next_word(teller)));
    } else if (strcmp(verb, "live") == 0) {
        must(teller, twin_add_live_state(twin, next_number(teller), &done, &err), &err);
        must_be(teller, done, said_yes(next_word(teller)));
    } else if (strcmp(verb, "abort") == 0) {
        must(teller, twin_abort(twin, next_number(teller), &err), &err);
    } else if (strcmp(verb, "end") == 0) {
        must(teller, twin_end(twin, next_number(teller), &err), &err);
    } else {
        check_fact(teller, verb);
    }
}

static void read_prompts(struct ref_trace *trace, const struct story *story)
{
    *trace = (struct ref_trace){.block_tokens = 1, .replies_named = true, .number_factor = 1};
    trace->drawn = mem_array(STORY_REQUESTS, sizeof *trace->drawn);
    for (; trace->count < STORY_REQUESTS && story->prompts[trace->count]; trace->count++) {
        struct ref_drawn *drawn = &trace->drawn[trace->count];
        const char *prompt = story->prompts[trace->count];
        drawn->conversation = (uint32_t)(prompt[0] - '0');
        drawn->at = trace->count;
        drawn->text = mem_array(strlen(prompt), sizeof *drawn->text);
        for (const char *letter = prompt + 2; *letter; letter++) {
            if (*letter == '|')
                drawn->in = drawn->out;
            else
                drawn->text[drawn->out++] = (uint32_t)(*letter - 'a');
        }
        drawn->in = strchr(prompt, '|') ? drawn->in : drawn->out;
        drawn->out -= drawn->in;
    }
}

const size_t story_count = sizeof stories / sizeof *stories;

void story_tell(size_t index)
{
    const struct story *story = &stories[index];
    struct teller teller = {.story = story, .step = "open"};
    struct ref_trace trace;
    struct err err;
    read_prompts(&trace, story);
    const struct ref_case cell = {.model = story->model,
                                  .placement = "none",
                                  .eviction = story->eviction,
                                  .memory = story->memory,
                                  .page_tokens = story->page_tokens,
                                  .arrival = "sequential",
                                  .keep_orphans = story->keep_orphans,
                                  .capacity_bytes = 4 * story->units,
                                  .grain = 1,
                                  .min_compute_tokens = 1};
    must(&teller, twin_open(&teller.twin, &cell, &trace, STORY_REQUESTS, &err), &err);
    char *steps = mem_strdup(story->steps), *rest = NULL;
    for (char *step = strtok_r(steps, ";", &rest); step; step = strtok_r(NULL, ";", &rest))
        tell_step(&teller, step + strspn(step, " "));
    free(steps);
    twin_close(&teller.twin);
    ref_trace_close(&trace);
}
