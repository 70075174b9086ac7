/* slab.h - memory in slabs, each cut into units of one class at a time: what `lcm` and `elastic`
 * have in common.
 *
 *     slab 0  [kv kv kv .. ..]      class KV, 3 of 5 units in use
 *     slab 1  [state state . |]     class STATE, 2 of 3 in use; what is no whole unit is padding
 *     slab 2  [               ]     free: of no class
 *
 * A holder - a node, a snapshot, or the running request's live states - has a stack of runs, each
 * of some units in one slab; which units of a slab they are does not matter. Each slab lists its
 * runs. A slab whose units are all free is of no class again.
 *
 * Age: a slab is as old as its newest holder, and a holder as the moment of its last use. Slabs
 * in use stand in a heap per class by an age that is never above their own; it is made exact when
 * it comes up. Of equally old slabs the lower number is first. What running requests use is as
 * young as the oldest of them, so nothing of it is ever in a slab that slab_oldest() names. */
#ifndef SNAPSIM_SLAB_H
#define SNAPSIM_SLAB_H

#include "sim/load/trail.h"
#include "sim/memory.h"

enum slab_class { SLAB_FREE, SLAB_KV, SLAB_STATE };
#define SLAB_CLASSES 3

#define SLAB_NONE UINT32_MAX

struct slab {
    uint32_t used;       /* units */
    uint32_t runs;       /* 1 + the first of them, or 0 */
    uint32_t next, prev; /* 1 + slab: with free units of its class; next also of the free ones */
    uint32_t at;         /* its entry in the heap of its class */
    uint8_t class_, last_class;
};

struct slab_run {
    uint32_t holder, slab, count;
    uint32_t below;      /* 1 + the next run of the holder's stack, or 0 */
    uint32_t next, prev; /* 1 + run: of the slab's list; next also of the free ones */
};

struct slab_heap {
    uint64_t *entries; /* smallest first: an age << 32, and the slab */
    size_t count, capacity;
};

/* The state of a strategy. Set by slab_open's caller: */
struct slabs {
    uint64_t slab_bytes;
    uint64_t unit_bytes[SLAB_CLASSES]; /* of classes KV and STATE */
    uint64_t per_snapshot, per_live_state;
    bool fresh_first; /* a new slab before free units in slabs that others began */

    /* Kept by slab.c: */
    uint64_t per_slab[SLAB_CLASSES]; /* units */
    uint64_t total;                  /* slabs; UNITS_UNLIMITED */
    uint64_t free_slabs;             /* of them, of no class */
    uint64_t free_units[SLAB_CLASSES], held_slabs[SLAB_CLASSES];
    struct slab *slabs;
    size_t slab_count, slab_capacity; /* ever touched */
    struct slab_run *runs;
    size_t run_count, run_capacity;
    uint32_t free_slab, free_run;   /* 1 + the first, or 0 */
    uint32_t partial[SLAB_CLASSES]; /* 1 + the first slab with free units, or 0 */
    uint32_t open[SLAB_CLASSES];    /* 1 + the slab that the running request began, or 0 */
    struct slab_heap heaps[SLAB_CLASSES];
    uint32_t *tops, *ages; /* by holder: 1 + its last run, and 1 + moment */
    struct trail trail;    /* of the paths that were used, once there is memory.paths */
    size_t tops_capacity, ages_capacity;
    uint32_t now, since; /* 1 + moment: the present one; at which the oldest request started */
};

/* Checks that a slab holds at least one unit of each class, and makes the rest. */
int slab_open(struct memory *memory, struct err *err) MUST_CHECK;
void slab_fini(struct memory *memory);

/* Slabs that units of both classes would take beyond some that are there. */
uint64_t slab_needed(const struct slabs *slabs, const uint64_t *units, const uint64_t *there);

/* Units of both classes for a need. */
void slab_units(const struct slabs *slabs, struct memory_need need, uint64_t *units);

/* The slab of a class that was used longest ago, if nothing in it is in use now; or SLAB_NONE. */
uint32_t slab_oldest(struct memory *memory, enum slab_class class_);

/* The last use of a slab that slab_oldest() has named, as 1 + moment. */
uint32_t slab_age(const struct slabs *slabs, uint32_t slab);

/* The hooks of memory.h, all but falls_short. */
bool slab_fits_empty(const struct memory *memory, struct memory_need need);
void slab_kv_grow(struct memory *memory, node_id node, uint64_t pages);
void slab_kv_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone);
void slab_snapshot_add(struct memory *memory, uint32_t snapshot);
void slab_snapshot_drop(struct memory *memory, uint32_t snapshot);
void slab_live_add(struct memory *memory);
void slab_live_drop(struct memory *memory);
uint64_t slab_expected_bytes(const struct memory *memory, struct memory_need held);
uint64_t slab_unusable_bytes(const struct memory *memory, enum part part);
void slab_begin(struct memory *memory, uint32_t moment, uint32_t since);
void slab_used(struct memory *memory, uint32_t snapshot);
void slab_path_used(struct memory *memory, node_id node);
bool slab_next_in_place(const struct memory *memory, uint32_t place, struct memory_holder *holder);
int slab_check(const struct memory *memory, struct err *err);

#define SLAB_HOOKS                                                                                 \
    .fini = slab_fini, .fits_empty = slab_fits_empty, .kv_grow = slab_kv_grow,                     \
    .kv_shrink = slab_kv_shrink, .snapshot_add = slab_snapshot_add,                                \
    .snapshot_drop = slab_snapshot_drop, .live_add = slab_live_add, .live_drop = slab_live_drop,   \
    .expected_bytes = slab_expected_bytes, .unusable_bytes = slab_unusable_bytes,                  \
    .begin = slab_begin, .used = slab_used, .path_used = slab_path_used,                           \
    .next_in_place = slab_next_in_place, .check = slab_check

#endif
