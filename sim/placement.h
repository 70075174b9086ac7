/* placement.h - the interface of placements: at which positions snapshots are taken.
 *
 * A placement sees one request after it was looked up, and names positions. The cache floors them
 * to the grain, drops those that this request does not compute (at or below its hit), and takes the
 * rest. Placements joined with '+' each see the request; the union is taken. */
#ifndef SNAPSIM_PLACEMENT_H
#define SNAPSIM_PLACEMENT_H

#include "sim/context.h"
#include "sim/core/plugin.h"
#include "sim/future.h"
#include "sim/load/paths.h"

struct eviction;
struct eviction_ops;

struct placement_view {
    const struct context *context;
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
    const struct paths *paths; /* NULL at first; set before some request, where paths are long */
};

/* Tokens to whose multiples positions are moved down; at least 1. A server has a state where a step
 * of its prefill ends, and it ends one wherever it wants a state: at ends, and at the multiples of
 * an interval that it is told to keep. Anywhere else only its kernels give states, within a step,
 * where a chunk ends. Steps shorter than a chunk are not made. */
struct grains {
    uint64_t end;      /* of ends of prompts and replies */
    uint64_t grid;     /* of multiples of an interval */
    uint64_t interior; /* of all else, and of an interval below a chunk */
    uint64_t chunk;    /* of the kernels */
};

/* grain: put in the place of all of these, unless 0. match_unit: what hits are multiples of, so
 * that snapshots elsewhere would be of no use; 0 or 1: nothing. chunk: of the model's kernels. */
struct grains grains_of(uint64_t grain, uint64_t match_unit, uint64_t chunk);

/* The tokens of which all positions on the grid of an interval are multiples: the interval itself,
 * unless they are moved. */
uint64_t grains_grid_in_force(const struct grains *grains, uint64_t interval);

/* A position asked for. */
struct wanted_position {
    uint32_t position; /* tokens; floored to the grain when it is added */
    uint32_t asked;    /* before flooring */
    bool newest_only;  /* nobody but `last` asks for it: a newer one of the stream replaces it */
};

struct positions {
    struct wanted_position *items;
    size_t count, capacity;
    uint32_t newest; /* the place of the stream's newest snapshot, floored; 0 if nobody says so */
    struct grains grains;
};

/* Forgets all positions; the grains stay. */
void positions_clear(struct positions *positions);

/* Ends of prompts and replies are exact by default, and so are the multiples of an interval that
 * the user chose, unless it is shorter than a chunk; all else is interior. What falls on the
 * position added just before is joined with it at once, so that dense rules cost no memory. */
void positions_add_end(struct positions *positions, uint32_t position);
void positions_add_interior(struct positions *positions, uint64_t position);

/* An end whose snapshot is the stream's newest one. When it is in, or is there already, even as
 * the hit, the one of an earlier request that still is the stream's own goes. */
void positions_add_newest_end(struct positions *positions, uint32_t position);

/* All multiples of an interval above one position and up to another. Takes a step for each that is
 * left after flooring, not for each multiple. */
void positions_add_multiples(struct positions *positions, uint64_t interval, uint32_t above,
                             uint32_t end);

/* Sorts, makes unique (the larger `asked` stays, newest_only only if all say so) and keeps only
 * positions above `above` and up to `end`. */
void positions_settle(struct positions *positions, uint32_t above, uint32_t end);

/* Nodes that a placement remembers, to find them again on the paths that come by. */
struct remembered {
    bool *nodes;         /* by node */
    struct marks places; /* the same by place, once there is view->paths */
};

void remembered_open(struct remembered *remembered, const struct workload *workload);
void remembered_close(struct remembered *remembered);
void remembered_set(struct remembered *remembered, const struct placement_view *view, node_id node,
                    bool is_in);

/* The first remembered node from a node upwards that ends above the hit; the root if there is none.
 * Adds what it took to *steps. */
node_id remembered_next(struct remembered *remembered, const struct placement_view *view,
                        node_id node, uint64_t *steps);

struct placement {
    const struct placement_ops *ops;
    const void *settings;
    void *state;
    void *nodes; /* ops->node_size bytes for each node, zeroed */
    const struct run_facts *facts;
    const struct workload *workload;
    const struct future *future; /* NULL unless the plug-in is offline */
    struct eviction *partner;    /* NULL unless ops->partner is set */
    uint64_t steps;              /* nodes and spans looked at; kept by the plug-in */
};

struct placement_ops {
    struct plugin plugin;
    size_t node_size;
    /* The other half of a pair: this placement goes only with that eviction, and finds what both
     * know in placement->partner->state; its own state_size is 0. */
    const struct eviction_ops *partner;
    void (*init)(struct placement *placement); /* optional */
    void (*fini)(struct placement *placement); /* optional */
    /* Optional: the interval of which its positions are multiples. */
    uint64_t (*interval)(const void *settings);
    void (*plan)(struct placement *placement, const struct placement_view *view,
                 struct positions *positions);
};

/* The placements that a text like "turn+fixed:4096" names, with their settings. Immutable. */
struct placement_choice {
    struct plugin_choice *parts;
    size_t count;
};

/* err: names that are not in the list, bad settings; *out is then empty. */
int placement_choose(struct placement_choice *out, const struct plugin *const *list,
                     const char *text, struct err *err) MUST_CHECK;
void placement_choice_close(struct placement_choice *choice);
void placement_choice_print(const struct placement_choice *choice, struct text *out);

/* The grid in force of those parts that have an interval (of several, their common divisor); 0 if
 * none has. */
uint64_t placement_choice_grid(const struct placement_choice *choice, const struct grains *grains);

/* The same at work in one run. */
struct placement_set {
    struct placement *parts;
    size_t count;
};

/* All but *out is borrowed, and outlives the set. partner: the run's eviction. err: a half of a
 * pair without the other. */
int placement_set_open(struct placement_set *out, const struct placement_choice *choice,
                       const struct run_facts *facts, const struct future *future,
                       struct eviction *partner, struct err *err) MUST_CHECK;
void placement_set_close(struct placement_set *set);
void placement_set_plan(struct placement_set *set, const struct placement_view *view,
                        struct positions *positions);

#endif
