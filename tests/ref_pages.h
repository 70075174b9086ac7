/* ref_pages.h - the slow, obvious model of memory strategies: every page is an entry in an array.
 *
 * It is told what the real strategy is told, places each page by the rules as they are written
 * down, one by one and by looking at all of them, and compares after every step: which page of
 * which place each holder has, in order, and what is in use, unusable, moved and short. */
#ifndef SNAPSIM_REF_PAGES_H
#define SNAPSIM_REF_PAGES_H

#include <check.h>

#include "sim/memory.h"

/* Check's own assertions tell another process where they are each time, which is slow. */
void ref_pages_expect(bool good, const char *what, const char *file, int line);
#define expect(good) ref_pages_expect(good, #good, __FILE__, __LINE__)

#define HOLDERS_MAX 200000u
#define NOBODY UINT32_MAX

enum { KV = 1, STATE = 2 };
enum kind { POOL, SLABS, TWO_ENDED };

/* Holder 0 is the live states, 1 + n a node, 1 + nodes + s a snapshot. */
struct page {
    uint32_t place, index;
};

struct holder {
    struct page *pages; /* in the order in which it got them */
    size_t count, capacity;
    uint32_t age;
};

/* A slab, or an end: owners of its pages. A list of places has the first at the end. */
struct place {
    int class_; /* 0: free */
    uint32_t *owners;
    size_t count;
};

struct list {
    uint32_t *items;
    size_t count, capacity;
};

struct page_model {
    enum kind kind;
    uint64_t unit_bytes[3];
    uint64_t per_snapshot, per_live, slab_bytes, slabs; /* slabs: at most */
    bool fresh_first, compaction;
    struct holder *holders;
    uint32_t holder_count; /* the highest that ever had a page, and one */
    struct place *places;
    size_t place_count, place_capacity;
    struct list free_places, partial[3];
    uint32_t open[3], now;
    uint64_t moved_bytes;
    uint64_t counts[3]; /* in use where pages have no place; 0: live states */
};

void ref_pages_take(struct page_model *model, const struct memory *memory, uint32_t holder,
                    int class_, uint64_t pages);
void ref_pages_give(struct page_model *model, uint32_t holder, uint64_t pages);
void ref_pages_shrink(struct page_model *model, const struct memory *memory, node_id node,
                      uint64_t pages, bool gone);
void ref_pages_compare(const struct page_model *model, const struct memory *memory, bool all);
void ref_pages_compare_shortage(const struct page_model *model, struct memory_need need,
                                bool is_short, const struct memory_shortage *shortage);
bool ref_pages_two_ends_fit(const struct page_model *model, const struct memory *memory,
                            struct memory_need need);
uint32_t ref_pages_add_place(struct page_model *model, int class_, size_t units);

/* A list of strategies for `struct plugins`, each the real one with the model beside it. Failures
 * end the test. */
const struct plugin *const *ref_pages_list(void);

/* How many steps were compared so far. */
uint64_t ref_pages_steps(void);

#endif
