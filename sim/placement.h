/* placement.h - the interface of placements: at which positions snapshots are taken.
 *
 * A placement sees one request after it was looked up, and names positions. The cache floors them
 * to the grain, drops those that this request does not compute (at or below its hit), and takes the
 * rest. Placements joined with '+' each see the request; the union is taken. */
#ifndef SNAPSIM_PLACEMENT_H
#define SNAPSIM_PLACEMENT_H

#include "sim/core/plugin.h"
#include "sim/future.h"

struct eviction;

struct placement_view {
    uint32_t arrival;       /* its place in the order */
    uint32_t prompt_tokens; /* n: the prompt is [0, n) */
    uint32_t end_tokens;    /* where the reply ends; n if replies are not kept */
    uint32_t hit_tokens;
    uint32_t match_tokens;
    bool forks; /* what is stored goes on at match_tokens, in another direction than the prompt */
    uint32_t system_tokens; /* where the system prompt ends, 0 if not known */
    const uint32_t *bounds; /* ends of the messages of the prompt */
    uint32_t bound_count;
    const struct workload *workload; /* for walking up from the prompt's node; only nodes that this
                                        and earlier requests walk may be looked at */
    node_id prompt_node;
};

/* A position asked for. */
struct wanted_position {
    uint32_t position; /* tokens; floored to the grain when it is added */
    uint32_t asked;    /* before flooring */
    bool newest_only;  /* the stream's snapshot taken like this before goes when this one is in */
};

struct positions {
    struct wanted_position *items;
    size_t count, capacity;
    uint64_t interior_grain, end_grain; /* tokens; at least 1 */
};

/* Ends of prompts and replies are exact by default; all else is interior. */
void positions_add_end(struct positions *positions, uint32_t position);
void positions_add_newest_end(struct positions *positions, uint32_t position);
void positions_add_interior(struct positions *positions, uint64_t position);

/* Sorts, makes unique (the larger `asked` stays, newest_only only if all say so) and keeps only
 * positions above `above` and up to `end`. */
void positions_settle(struct positions *positions, uint32_t above, uint32_t end);

struct placement {
    const struct placement_ops *ops;
    void *settings, *state;
    void *nodes;                 /* ops->node_size bytes for each node, zeroed */
    const struct future *future; /* NULL unless the plug-in is offline */
    struct eviction *pair;       /* of the same name as this placement, or NULL */
};

struct placement_ops {
    struct plugin plugin;
    size_t node_size;
    void (*init)(struct placement *placement); /* optional */
    void (*fini)(struct placement *placement); /* optional */
    void (*plan)(struct placement *placement, const struct placement_view *view,
                 struct positions *positions);
};

/* Placements joined with '+'. */
struct placement_set {
    struct placement *parts;
    size_t count;
};

/* future: of the run; it must outlive the set. */
int placement_set_open(struct placement_set *out, const struct plugin *const *list,
                       const char *text, const struct future *future, struct err *err) MUST_CHECK;
void placement_set_close(struct placement_set *set);
void placement_set_plan(struct placement_set *set, const struct placement_view *view,
                        struct positions *positions);
void placement_set_print(const struct placement_set *set, struct text *out);

#endif
