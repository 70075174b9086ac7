/* test_families.c - the placement plug-ins against published tables: facts/papers.md 5.2 and 5.3.
 *
 * 5.2: expected distance from an overlap t, drawn from a given distribution on 1..1024, down to the
 * nearest position at or below it.
 *
 * 5.3: five families of requests on an unlimited store. What reproduces every printed digit:
 *   - Positions are taken from the plug-ins as asked for, a prefix is stored where position <= its
 *     request's length, and its length is then aligned down to 16 (0 is nothing).
 *   - Rules that need no request (every 32, balanced, geometric) are planned for the longest
 *     request seen so far, the present one included, and after each request the store *is* what all
 *     seen requests have at those positions: when the positions move, old prefixes are gone.
 *   - Rules with `branch` are planned for the request that comes, with its own length and its
 *     overlap as the match, and what it stores stays.
 *   - New bytes are those of prefixes that were not in the store just before; hit and cost are
 *     means over all requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/mem.h"
#include "sim/placement.h"
#include "tests/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ALIGN 16u

/* ---- asking a placement ---- */

struct asker {
    struct placement_choice choice;
    struct placement_set set;
    struct positions positions;
    struct node root;
    struct workload workload;
    struct future future;
};

static void asker_open(struct asker *asker, const char *placement)
{
    struct err err = {""};
    *asker = (struct asker){.positions = {.grains = {1, 1, 1, 1}}};
    asker->workload.nodes = &asker->root;
    asker->workload.node_count = 1;
    static const struct schedule nothing;
    asker->future = (struct future){&asker->workload, &nothing, 0, NULL};
    static const struct run_facts facts;
    ck_assert_msg(placement_choose(&asker->choice, placement_list, placement, &err) == 0 &&
                      placement_set_open(&asker->set, &asker->choice, &facts, &asker->future, NULL,
                                         &err) == 0,
                  "%s", err.text);
}

static void asker_close(struct asker *asker)
{
    placement_set_close(&asker->set);
    placement_choice_close(&asker->choice);
    free(asker->positions.items);
}

static void ask(struct asker *asker, uint32_t length, uint32_t match, bool forks)
{
    struct placement_view view = {.prompt_tokens = length,
                                  .end_tokens = length,
                                  .match_tokens = match,
                                  .forks = forks,
                                  .workload = &asker->workload,
                                  .prompt_node = NODE_ROOT};
    asker->positions.count = 0;
    placement_set_plan(&asker->set, &view, &asker->positions);
}

/* ---- 5.2 ---- */

#define N 1024u

enum weights { UNIFORM, TWO_BUMPS, DEEP_ZIPF };

static double weight(enum weights weights, uint32_t t)
{
    if (weights == UNIFORM)
        return 1;
    if (weights == TWO_BUMPS)
        return (t >= 200 && t <= 219) || (t >= 830 && t <= 849);
    return 1.0 / (N - t + 1);
}

static double expected_distance(enum weights weights, const struct positions *positions)
{
    double sum = 0, mass = 0;
    for (uint32_t t = 1; t <= N; t++) {
        uint32_t below = 0;
        for (size_t i = 0; i < positions->count; i++)
            if (positions->items[i].position <= t && positions->items[i].position > below)
                below = positions->items[i].position;
        sum += weight(weights, t) * (t - below);
        mass += weight(weights, t);
    }
    return sum / mass;
}

/* printed: with as many digits as the table has. */
static const struct golden {
    const char *placement;
    const char *printed[3]; /* by weights */
} goldens[] = {
    {"balanced:1", {"256", "268.5", "423.7283"}},
    {"balanced:2", {"170.5", "183.0", "273.8232"}},
    {"balanced:4", {"102.0996", "37.625", "157.4311"}},
    {"balanced:8", {"56.5", "69.0", "83.1149"}},
    {"balanced:16", {"29.6777", "33.0", "41.2136"}},
    {"balanced:32", {"15.0459", "16.65", "19.7847"}},
    {"none", {"512.5", "524.5", "888.634"}},
    {"dyadic", {"170.167", "204.5", "338.3607"}},
};

static void must_print(double value, const char *printed, const char *what)
{
    char text[64];
    const char *point = strchr(printed, '.');
    snprintf(text, sizeof text, "%.*f", point ? (int)strlen(point + 1) : 0, value);
    ck_assert_msg(strcmp(text, printed) == 0, "%s: %.6f, not %s", what, value, printed);
}

START_TEST(test_expected_distance)
{
    const struct golden *golden = &goldens[_i];
    struct asker asker;
    asker_open(&asker, golden->placement);
    ask(&asker, N, 0, false);
    for (int weights = UNIFORM; weights <= DEEP_ZIPF; weights++)
        must_print(expected_distance((enum weights)weights, &asker.positions),
                   golden->printed[weights], golden->placement);
    asker_close(&asker);
}
END_TEST

static void must_ask(const char *placement, const uint32_t *wanted, size_t count)
{
    struct asker asker;
    asker_open(&asker, placement);
    ask(&asker, N, 0, false);
    positions_settle(&asker.positions, 0, N);
    ck_assert_uint_eq(asker.positions.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(asker.positions.items[i].position, wanted[i]);
    asker_close(&asker);
}

/* By the rule round-half-even(i (N+1) / (M+1)). The positions that 5.2 lists (513; 342, 684; ...)
 * are the solver's; for one and two they differ by a token and cost the same. */
START_TEST(test_position_vectors)
{
    const uint32_t one[] = {512}, two[] = {342, 683}, four[] = {205, 410, 615, 820};
    const uint32_t dyadic[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
    must_ask("balanced:1", one, COUNT(one));
    must_ask("balanced:2", two, COUNT(two));
    must_ask("balanced:4", four, COUNT(four));
    must_ask("dyadic", dyadic, COUNT(dyadic));
}
END_TEST

/* ---- 5.3: the families ---- */

static const uint32_t diffuse_cuts[] = {
    289, 201, 267, 222, 234, 262, 196, 363, 280, 217, 343, 230, 310, 275, 95,  283, 242, 215,
    483, 195, 487, 324, 400, 256, 159, 324, 427, 463, 284, 267, 469, 213, 321, 431, 332, 361,
    277, 406, 280, 479, 478, 495, 463, 222, 92,  333, 164, 286, 95,  184, 384, 347, 221, 458,
    476, 112, 164, 420, 103, 246, 393, 376, 109, 337, 161, 229, 188, 328, 466, 259, 370, 359};
static const uint32_t adversarial_cuts[] = {
    384, 297, 68,  275, 350, 265, 222, 270, 292, 27,  311, 3,   235, 77,  351, 128, 95,  259,
    205, 188, 133, 218, 337, 105, 4,   48,  374, 349, 336, 278, 278, 172, 238, 119, 317, 309,
    109, 357, 40,  234, 267, 353, 214, 37,  275, 28,  258, 108, 49,  42,  131, 120, 278, 314,
    110, 332, 207, 219, 383, 202, 361, 207, 132, 137, 370, 120, 216, 47,  232, 47,  247, 294};

struct list {
    uint32_t tokens[720];
    uint32_t length;
};

/* Tokens below 1000 are a family's common document; `next` names those that occur once. */
struct family {
    struct list requests[96];
    uint32_t count, next;
};

static void add_run(struct list *list, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        list->tokens[list->length++] = first + i;
}

static void add_request(struct family *family, uint32_t common, uint32_t own)
{
    struct list *list = &family->requests[family->count++];
    add_run(list, 0, common);
    add_run(list, family->next, own);
    family->next += own;
}

static void fill_tree(struct family *family)
{
    for (uint32_t leaf = 0; leaf < 81; leaf++) {
        struct list *list = &family->requests[family->count++];
        uint32_t first_of_depth = 0, nodes = 3;
        for (uint32_t depth = 0, leaves = 27; depth < 4; depth++, leaves /= 3, nodes *= 3) {
            add_run(list, 100000 + (first_of_depth + leaf / leaves) * 20, 20);
            first_of_depth += nodes;
        }
        add_run(list, family->next, 8);
        family->next += 8;
    }
}

enum kind { HOT, CHAT, DIFFUSE, TREE, ADVERSARIAL };
#define KINDS 5

static struct family *family_open(enum kind kind)
{
    struct family *family = mem_zalloc(sizeof *family);
    family->next = 1000;
    for (uint32_t i = 0; i < 72 && (kind == HOT || kind == DIFFUSE || kind == ADVERSARIAL); i++)
        add_request(family,
                    kind == HOT       ? 320
                    : kind == DIFFUSE ? diffuse_cuts[i]
                                      : adversarial_cuts[i],
                    kind == HOT       ? 48
                    : kind == DIFFUSE ? 24
                                      : 32);
    for (uint32_t i = 1; i <= 64 && kind == CHAT; i++)
        add_request(family, 48 + 10 * i, 0);
    if (kind == TREE)
        fill_tree(family);
    return family;
}

/* ---- 5.3: the store ---- */

struct prefix {
    const struct list *of;
    uint32_t length;
};

struct store {
    struct prefix *items;
    size_t count, capacity;
};

static uint32_t common(const struct list *a, const struct list *b)
{
    uint32_t n = 0;
    while (n < a->length && n < b->length && a->tokens[n] == b->tokens[n])
        n++;
    return n;
}

static bool store_has(const struct store *store, const struct prefix *prefix)
{
    for (size_t i = 0; i < store->count; i++)
        if (store->items[i].length == prefix->length &&
            common(store->items[i].of, prefix->of) >= prefix->length)
            return true;
    return false;
}

static void store_add(struct store *store, const struct list *of, const struct positions *at)
{
    for (size_t i = 0; i < at->count; i++) {
        struct prefix prefix = {of, at->items[i].position / ALIGN * ALIGN};
        if (at->items[i].position > of->length || prefix.length == 0 || store_has(store, &prefix))
            continue;
        store->items = mem_grow(store->items, &store->capacity, store->count + 1, sizeof prefix);
        store->items[store->count++] = prefix;
    }
}

struct tally {
    double hit, cost, overlap, stored; /* sums over the requests */
};

static uint32_t longest_seen(const struct family *family, uint32_t count)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < count; i++)
        if (family->requests[i].length > longest)
            longest = family->requests[i].length;
    return longest;
}

/* Stores what request i makes storable; returns the bytes that are new. */
static uint64_t store_request(struct store *store, struct asker *asker, bool branches,
                              const struct family *family, uint32_t i, uint32_t overlap)
{
    const struct list *self = &family->requests[i];
    struct store before = {0};
    if (branches) {
        bool forks = false;
        for (uint32_t j = 0; j < i; j++)
            forks |= common(self, &family->requests[j]) == overlap &&
                     family->requests[j].length > overlap && self->length > overlap;
        ask(asker, self->length, overlap, forks);
        before.items = mem_array(store->count + 1, sizeof *before.items);
        before.count = store->count;
        if (store->count)
            memcpy(before.items, store->items, store->count * sizeof *store->items);
        store_add(store, self, &asker->positions);
    } else {
        ask(asker, longest_seen(family, i + 1), 0, false);
        before = *store;
        *store = (struct store){0};
        for (uint32_t j = 0; j <= i; j++)
            store_add(store, &family->requests[j], &asker->positions);
    }
    uint64_t bytes = 0;
    for (size_t k = 0; k < store->count; k++)
        if (!store_has(&before, &store->items[k]))
            bytes += 2048 + 256 * (uint64_t)store->items[k].length;
    free(before.items);
    return bytes;
}

static struct tally run_family(const struct family *family, const char *placement)
{
    struct tally tally = {0};
    struct store store = {0};
    struct asker asker;
    asker_open(&asker, placement);
    for (uint32_t i = 0; i < family->count; i++) {
        const struct list *self = &family->requests[i];
        uint32_t overlap = 0, reuse = 0;
        for (uint32_t j = 0; j < i; j++)
            if (common(self, &family->requests[j]) > overlap)
                overlap = common(self, &family->requests[j]);
        for (size_t k = 0; k < store.count; k++)
            if (store.items[k].length <= overlap && store.items[k].length > reuse &&
                common(self, store.items[k].of) >= store.items[k].length)
                reuse = store.items[k].length;
        uint64_t bytes =
            store_request(&store, &asker, strstr(placement, "branch") != NULL, family, i, overlap);
        double squares = (double)overlap * overlap - (double)reuse * reuse;
        tally.hit += overlap ? (double)reuse / overlap : 0;
        tally.cost +=
            (overlap - reuse) + 0.002 * squares + (reuse ? 1e-4 * 2048 : 0) + 2e-5 * (double)bytes;
        tally.overlap += overlap;
        tally.stored += (double)store.count;
    }
    asker_close(&asker);
    free(store.items);
    return tally;
}

/* ---- 5.3: the table ---- */

static const struct row {
    const char *placement;
    const char *hit_and_cost[KINDS][2];
    const char *stored; /* mean number of stored prefixes of `hot`, where it is given */
} rows[] = {
    {"none",
     {{"0.0000", "517.511"},
      {"0.0000", "693.966"},
      {"0.0000", "487.497"},
      {"0.0000", "55.941"},
      {"0.0000", "310.043"}},
     NULL},
    {"fixed:32",
     {{"0.9861", "2.176"},
      {"0.9247", "36.776"},
      {"0.9201", "34.408"},
      {"0.5333", "26.249"},
      {"0.8402", "29.790"}},
     "46.5"},
    {"balanced:16",
     {{"0.9861", "2.149"},
      {"0.9015", "79.814"},
      {"0.9299", "31.650"},
      {"0.7704", "13.219"},
      {"0.8439", "25.929"}},
     "51.5"},
    {"ladder:2",
     {{"0.7889", "137.980"},
      {"0.9552", "18.564"},
      {"0.6913", "195.377"},
      {"0.5926", "25.496"},
      {"0.7103", "93.930"}},
     "41.5"},
    {"ladder:1.35",
     {{"0.9368", "37.675"},
      {"0.9552", "18.564"},
      {"0.8450", "89.199"},
      {"0.7704", "13.219"},
      {"0.8004", "60.803"}},
     NULL},
    {"branch+prompt-end",
     {{"0.9722", "9.436"},
      {"0.9552", "18.559"},
      {"0.8929", "44.665"},
      {"0.5531", "24.746"},
      {"0.7826", "47.389"}},
     NULL},
    {"branch+ladder:2",
     {{"0.9833", "4.101"},
      {"0.9552", "18.564"},
      {"0.9187", "38.825"},
      {"0.6815", "19.405"},
      {"0.8568", "29.162"}},
     NULL},
};
static const char *const mean_overlaps[KINDS] = {"315.556", "362.25", "291.458", "50.370",
                                                 "202.917"};

START_TEST(test_families)
{
    const struct row *row = &rows[_i];
    for (int kind = HOT; kind <= ADVERSARIAL; kind++) {
        struct family *family = family_open((enum kind)kind);
        struct tally tally = run_family(family, row->placement);
        char what[64];
        snprintf(what, sizeof what, "%s, family %d", row->placement, kind);
        must_print(tally.hit / family->count, row->hit_and_cost[kind][0], what);
        must_print(tally.cost / family->count, row->hit_and_cost[kind][1], what);
        must_print(tally.overlap / family->count, mean_overlaps[kind], what);
        if (kind == HOT && row->stored)
            must_print(tally.stored / family->count, row->stored, what);
        free(family);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("families");
    TCase *tables = tcase_create("tables");
    tcase_set_timeout(tables, 60);
    tcase_add_loop_test(tables, test_expected_distance, 0, COUNT(goldens));
    tcase_add_test(tables, test_position_vectors);
    tcase_add_loop_test(tables, test_families, 0, COUNT(rows));
    suite_add_tcase(suite, tables);
    return suite_run(suite);
}
