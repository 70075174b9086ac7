/* ref_pages.h - the slow, obvious model of memory strategies: every page is an entry in an array.
 *
 * It is told what the real strategy is told. It knows the sizes from the model's bytes and the
 * settings (ref_sizes.c), places each page by the rules as they are written down, one by one and by
 * looking at all of them (ref_pages.c), and says what is short (ref_short.c). The spies of
 * ref_spy.c let both run, and compare
 *
 *   - once: page_tokens, place_bytes, quota_bytes;
 *   - after every step: used_bytes, moved_bytes, moved_places, and unusable_bytes for each part;
 *   - at every request: each holder's pages in their order, with their places;
 *   - when asked: fits_empty, the whole shortage, and what next_in_place names. In which order a
 *     place is emptied is the strategy's own affair.
 *
 * Units: a page of KV, and a piece or a slot of a state; in a pool both are of one size, and in a
 * fixed split that of states is a byte. */
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
enum kind { POOL, SPLIT, SLABS, TWO_ENDED };

/* Holder 0 is the live states, 1 + n a node, 1 + nodes + s a snapshot. */
struct page {
    uint32_t place, index;
};

struct holder {
    struct page *pages; /* in the order in which it got them */
    size_t count, capacity;
    uint32_t age; /* 1 + arrival of its last use */
};

/* A slab, or an end: owners of its pages. A list of places has the first at the end. */
struct place {
    int class_, last_class; /* 0: free, or never used */
    uint32_t *owners;
    size_t count;
};

struct list {
    uint32_t *items;
    size_t count, capacity;
};

struct page_model {
    enum kind kind;
    uint64_t capacity_bytes, page_tokens, quota_bytes, slab_bytes;
    uint64_t unit_bytes[3];                    /* of KV and STATE */
    uint64_t per_page, per_snapshot, per_live; /* units */
    uint64_t hysteresis;
    bool fresh_first, compaction;

    struct holder *holders;
    uint32_t holder_count; /* the highest that ever had a page, and one */
    struct place *places;
    size_t place_count, place_capacity;
    struct list free_places, partial[3];
    uint32_t open[3], now;
    uint64_t moved_bytes, moved_places;
    uint64_t pressure[3]; /* shortages in a row that found the other kind's slab older */
    uint64_t counts[3];   /* units in use where they have no place */
};

/* ref_sizes.c: all of the above that does not change, from a memory before its init. */
void ref_pages_open(struct page_model *model, const struct memory *asked);

/* ref_pages.c */
void ref_pages_close(struct page_model *model);
void ref_pages_take(struct page_model *model, uint32_t holder, int class_, uint64_t units);
void ref_pages_give(struct page_model *model, uint32_t holder, uint64_t units);
void ref_pages_shrink(struct page_model *model, const struct memory *memory, node_id node,
                      uint64_t pages, bool gone);
void ref_pages_compare(const struct page_model *model, const struct memory *memory, bool all);
uint32_t ref_pages_add_place(struct page_model *model, int class_, size_t units);
size_t ref_place_used(const struct place *place);
size_t ref_place_extent(const struct place *end); /* units up to the last in use */
uint64_t ref_pages_slabs_in_use(const struct page_model *model);

/* ref_short.c */
uint64_t ref_pages_ceil(uint64_t a, uint64_t b);
uint64_t ref_pages_per_slab(const struct page_model *model, int class_);
bool ref_pages_fits_empty(const struct page_model *model, struct memory_need need);
bool ref_pages_falls_short(struct page_model *model, struct memory_need need,
                           struct memory_shortage *shortage);
uint64_t ref_pages_unusable(const struct page_model *model, enum part part);
void ref_pages_check_holder(const struct page_model *model, const struct memory *memory,
                            uint32_t place, bool found, const struct memory_holder *holder);

/* A list of strategies for `struct plugins`, each the real one with the model beside it. Failures
 * end the test. */
const struct plugin *const *ref_pages_list(void);

/* How many steps were compared so far. */
uint64_t ref_pages_steps(void);

#endif
