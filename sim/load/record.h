/* record.h - what a trace says, and the loads that are made of it.
 *
 *     record     who sent what: requests with their times, their blocks, whom they continue
 *     schedule   when each request comes: of the record, and of the setting of arrival
 *     tree       where each request lies: of the record, and of the order in which they come
 *
 * The tree needs the order, because the blocks of a reply are named by the first request that
 * comes and goes on from it (build.h). Where no order that a setting can give changes the tree
 * (order_matters says how that is known), one tree serves all; else each load has its own. */
#ifndef SNAPSIM_RECORD_H
#define SNAPSIM_RECORD_H

#include "sim/load/arrival.h"
#include "sim/load/chains.h"

/* The blocks of one request. */
struct record_path {
    struct block_at prompt; /* the last block of its prompt, a partial one included */
    struct block_at full;   /* the last full one */
    struct block_at end;    /* the last of its reply where that is known, else as prompt */
    uint32_t in;            /* tokens of the prompt */
    uint32_t line;
};

struct record {
    /* Everything but the tree, until a tree that serves all orders is made; then with it. */
    struct workload *calls;

    /* Whether the tree depends on the order of arrival. It does not if, for every request i whose
     * reply, or last partial block, another goes on from, the block behind the full blocks of i on
     * the path of that other one is used by requests of one conversation only, and these come in
     * one order in every schedule (record.c, find_order). */
    bool order_matters;

    /* Until no tree is to be made any more: */
    struct chains chains;
    struct record_path *paths; /* of each request */
};

static inline bool record_reply_is_known(const struct record_path *path)
{
    return path->prompt.chain != path->end.chain || path->prompt.blocks != path->end.blocks;
}

/* For build.c: finds out what needs all requests. order_of_stream_unknown: there is a stream whose
 * requests may come in another order than that of the record. */
void record_finish(struct record *record, bool order_of_stream_unknown);

void record_close(struct record *record); /* NULL is allowed */

/* A workload, and the order in which its requests come. */
struct load {
    const struct workload *workload;
    struct schedule *schedule;
    struct workload *own_tree; /* NULL: the workload is the record's */
    struct record *own_record; /* closed with the load; NULL: somebody else's */
};

/* Makes a load of a record, which must outlive it. last: no other will be made of it, so that the
 * record may be used up. how, seed, limit: as for schedule_open. Close *out, also on failure. */
int record_load(struct load *out, struct record *record, bool last, const char *how, uint64_t seed,
                uint64_t limit, struct err *err) MUST_CHECK;
void load_close(struct load *load);

/* The memory that a record, or what a load has of its own, takes. */
uint64_t record_bytes(const struct record *record);
uint64_t load_bytes(const struct load *load);

#endif
