#include "sim/load/paths.h"

#include <stdlib.h>

#include "sim/core/mem.h"

/* Counts what is below each node; children come after their parents, so one pass back will do. */
static void count_sizes(struct paths *paths)
{
    const struct workload *workload = paths->workload;
    for (node_id node = workload->node_count; node-- > 0;) {
        paths->sizes[node]++;
        if (node != NODE_ROOT)
            paths->sizes[workload->nodes[node].parent] += paths->sizes[node];
    }
}

/* The largest branch of each node, the first of equal ones; 0 if there is none. */
static void find_largest(const struct paths *paths, node_id *largest)
{
    const struct workload *workload = paths->workload;
    for (node_id node = 1; node < workload->node_count; node++) {
        node_id *best = &largest[workload->nodes[node].parent];
        if (*best == 0 || paths->sizes[node] > paths->sizes[*best])
            *best = node;
    }
}

/* The largest branch comes right after its node, the others after all of it, in their order.
 * free_places: by node, where its next smaller branch begins. */
static void place_all(struct paths *paths, const node_id *largest, uint32_t *free_places)
{
    const struct node *nodes = paths->workload->nodes;
    free_places[NODE_ROOT] = largest[NODE_ROOT] ? 1 + paths->sizes[largest[NODE_ROOT]] : 1;
    for (node_id node = 1; node < paths->workload->node_count; node++) {
        node_id parent = nodes[node].parent;
        bool goes_on = largest[parent] == node;
        uint32_t place = goes_on ? paths->places[parent] + 1 : free_places[parent];
        if (!goes_on)
            free_places[parent] += paths->sizes[node];
        paths->places[node] = place;
        paths->nodes[place] = node;
        paths->firsts[place] = goes_on ? paths->firsts[place - 1] : place;
        free_places[node] = place + 1 + (largest[node] ? paths->sizes[largest[node]] : 0);
    }
}

struct paths *paths_open(const struct workload *workload)
{
    struct paths *paths = mem_zalloc(sizeof *paths);
    uint32_t count = workload->node_count;
    paths->workload = workload;
    paths->places = mem_array(count, sizeof *paths->places);
    paths->sizes = mem_array(count, sizeof *paths->sizes);
    paths->nodes = mem_array(count, sizeof *paths->nodes);
    paths->firsts = mem_array(count, sizeof *paths->firsts);
    node_id *largest = mem_array(count, sizeof *largest);
    uint32_t *free_places = mem_array(count, sizeof *free_places);
    count_sizes(paths);
    find_largest(paths, largest);
    place_all(paths, largest, free_places);
    free(largest);
    free(free_places);
    return paths;
}

void paths_close(struct paths *paths)
{
    if (paths == NULL)
        return;
    free(paths->places);
    free(paths->sizes);
    free(paths->nodes);
    free(paths->firsts);
    free(paths);
}

/* The last place of a span for whose node it holds; first - 1, which may be before 0, if none. */
static uint32_t last_on(const struct paths *paths, struct span span, paths_test *test,
                        const void *user, uint64_t *steps)
{
    uint32_t low = span.first, high = span.past; /* it holds before low, not from high on */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        node_id node = paths->nodes[middle];
        ++*steps;
        if (node == NODE_ROOT || test(user, node))
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

node_id paths_last(const struct paths *paths, node_id node, paths_test *test, const void *user,
                   uint64_t *passed, uint64_t *steps)
{
    struct span span = paths_span(paths, node);
    do {
        node_id first = paths->nodes[span.first];
        ++*steps;
        if (first == NODE_ROOT || test(user, first)) {
            uint32_t last = last_on(paths, span, test, user, steps);
            *passed += span.past - 1 - last;
            return paths->nodes[last];
        }
        *passed += span.past - span.first;
    } while (paths_go_up(paths, &span));
    return NODE_ROOT;
}

struct goal {
    const struct workload *workload;
    uint32_t position;
};

static bool begins_before(const void *user, node_id node)
{
    const struct goal *goal = user;
    return workload_node_start(goal->workload, node) < goal->position;
}

node_id paths_at(const struct paths *paths, node_id node, uint32_t position, uint64_t *passed,
                 uint64_t *steps)
{
    const struct goal goal = {paths->workload, position};
    return paths_last(paths, node, begins_before, &goal, passed, steps);
}

node_id paths_nearest(const struct paths *paths, node_id node, const struct marks *marks,
                      uint64_t *passed, uint64_t *steps)
{
    struct span span = paths_span(paths, node);
    do {
        uint32_t found = marks_previous(marks, span.past - 1);
        ++*steps;
        if (found != MARKS_NONE && found >= span.first) {
            *passed += span.past - 1 - found;
            return paths->nodes[found];
        }
        *passed += span.past - span.first;
    } while (paths_go_up(paths, &span));
    --*passed; /* the root is what was found */
    return NODE_ROOT;
}
