/* paths.h - a workload's tree in an order in which any path is a few spans of neighbours.
 *
 * Each node goes on in its largest branch, so the tree falls into *chains*; the places of a chain
 * are next to each other, and so are those of all that is below a node:
 *
 *     root - A - B - C        chains  root A B C | D E | F      place  root 0  A 1  B 2  C 3
 *             \   \- F                                                 F 4  D 5  E 6
 *              \- D - E       on the way from F to the root: [F], [B A root]
 *
 * A path enters a smaller branch at most log2(nodes) times (Sleator and Tarjan 1983), so what is
 * the same on a whole span - present, dropped, used by the same request - can be found or changed
 * without a look at each node: a path of 64,000 nodes costs a few dozen steps.
 *
 * Making it takes a few steps for each node, which a load with short paths never earns back; so
 * whoever walks long enough makes it then (cache.h). It says nothing that the tree does not say: it
 * is for finding things faster, never for finding other things. */
#ifndef SNAPSIM_PATHS_H
#define SNAPSIM_PATHS_H

#include "sim/core/marks.h"
#include "sim/load/workload.h"

struct paths {
    const struct workload *workload;
    uint32_t *places; /* by node */
    uint32_t *sizes;  /* by node: itself and all below, whose places follow its own */
    node_id *nodes;   /* by place */
    uint32_t *firsts; /* by place: the place where its chain begins */
};

/* The workload must outlive it. */
struct paths *paths_open(const struct workload *workload);
void paths_close(struct paths *paths); /* NULL is allowed */

/* The part of a path that lies on one chain: places [first, past). */
struct span {
    uint32_t first, past;
};

static inline struct span paths_span(const struct paths *paths, node_id node)
{
    uint32_t place = paths->places[node];
    return (struct span){paths->firsts[place], place + 1};
}

/* The span above another one on the way to the root; false if that was the last. */
static inline bool paths_go_up(const struct paths *paths, struct span *span)
{
    if (span->first == 0)
        return false;
    node_id parent = paths->workload->nodes[paths->nodes[span->first]].parent;
    *span = paths_span(paths, parent);
    return true;
}

/* Whether something holds for a node; of a path, it must hold from the root down to some node. */
typedef bool paths_test(const void *user, node_id node);

/* The last node for which it holds on the path down to a node; the root is not asked. Adds the
 * nodes below the one found to *passed, and what it took to *steps. */
node_id paths_last(const struct paths *paths, node_id node, paths_test *test, const void *user,
                   uint64_t *passed, uint64_t *steps);

/* The node on the path down to a node that holds the token before a position; the root for 0. */
node_id paths_at(const struct paths *paths, node_id node, uint32_t position, uint64_t *passed,
                 uint64_t *steps);

/* The node nearest to a node, on the way from it to the root, whose place is marked; the root if
 * there is none. Adds to *passed and *steps as above. */
node_id paths_nearest(const struct paths *paths, node_id node, const struct marks *marks,
                      uint64_t *passed, uint64_t *steps);

#endif
