/* Using a whole path at once
 *
 * What a request uses of a path becomes as young as the request, in the order of the path. Most of
 * it was used together before, by the last request that came this way, and so stands side by side
 * in the list already: then the whole run is taken out and put at the young end. The trail says
 * where a path was walked by other requests, and so where runs end. Each use leaves one run on
 * each chain, so over many requests there are few to move (trail.h), however long the paths. */
#include "policies/eviction/lru.h"

/* ---- KV: the deepest is the oldest, so runs are moved from the deep end of the path upwards ----
 */

/* The KV of places [first, past), which are the end of a span, or all of it. */
static void use_kv_run(struct eviction *lru, uint32_t first, uint32_t past, bool together)
{
    const node_id *nodes = lru->cache->paths->nodes;
    if (together) {
        lru_renew_run(lru, nodes[past - 1], nodes[first]);
        lru->steps++;
        return;
    }
    lru->steps += past - first;
    while (past-- > first)
        lru_renew_run(lru, nodes[past], nodes[past]);
}

static void use_kv_span(struct eviction *lru, struct span span)
{
    const struct trail *trail = &((const struct lists *)lru->state)->kv_trail;
    uint32_t least = span.first == 0 ? 1 : span.first; /* the root has no KV */
    for (uint32_t past = span.past; past > least;) {
        uint32_t begin = marks_previous(&trail->begins, past - 1);
        bool walked = begin != MARKS_NONE && begin >= span.first && trail->numbers[begin] > 0;
        if (begin == MARKS_NONE || begin < least)
            begin = least;
        use_kv_run(lru, begin, past, walked);
        past = begin;
    }
}

void lru_path_used(struct eviction *lru, node_id node)
{
    struct lists *lists = lru->state;
    const struct paths *paths = lru->cache->paths;
    if (node == NODE_ROOT)
        return;
    if (lists->kv_trail.paths == NULL)
        trail_open(&lists->kv_trail, paths);
    if (lists->kv_place == 0)
        lists->kv_place = node + 1;
    struct span span = paths_span(paths, node);
    do {
        use_kv_span(lru, span);
        lru->steps += trail_cover(&lists->kv_trail, span, lists->moment + 1);
    } while (paths_go_up(paths, &span));
}

void lru_path_added(struct eviction *lru, node_id node)
{
    struct lists *lists = lru->state;
    struct span span = paths_span(lru->cache->paths, node);
    if (lists->kv_trail.paths)
        lru->steps += trail_cover(&lists->kv_trail, span, lists->moment + 1);
}

/* ---- snapshots: the shallowest is the oldest, so runs are moved from the root downwards ---- */

static holding_id deepest_on(const struct cache *cache, node_id node)
{
    return snapshot_holding(cache, cache->nodes[node].snapshots - 1);
}

static holding_id shallowest_on(struct eviction *lru, node_id node)
{
    const struct cache *cache = lru->cache;
    uint32_t link = cache->nodes[node].snapshots;
    for (; cache->snapshots[link - 1].next != 0; lru->steps++)
        link = cache->snapshots[link - 1].next;
    return snapshot_holding(cache, link - 1);
}

/* The snapshots of joined nodes in places [first, past) of one piece: they are one run. */
static void use_joined(struct eviction *lru, uint32_t first, uint32_t past)
{
    const struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    uint32_t begin = marks_next(&lists->joined, first);
    lru->steps++;
    if (begin >= past)
        return;
    uint32_t last = marks_previous(&lists->joined, past - 1);
    lru_renew_run(lru, shallowest_on(lru, cache->paths->nodes[begin]),
                  deepest_on(cache, cache->paths->nodes[last]));
}

/* All snapshots of a loose node, one by one. */
static void use_loose(struct eviction *lru, node_id node)
{
    const struct cache *cache = lru->cache;
    holding_id holding = shallowest_on(lru, node);
    for (;;) {
        lru_renew_run(lru, holding, holding);
        lru->steps++;
        uint32_t deeper = holding_snapshot(cache, holding)->deeper;
        if (deeper == 0)
            break;
        holding = snapshot_holding(cache, deeper - 1);
    }
}

static void use_snapshot_piece(struct eviction *lru, uint32_t first, uint32_t past)
{
    struct lists *lists = lru->state;
    while (first < past) {
        uint32_t loose = marks_next(&lists->loose, first);
        if (loose > past)
            loose = past;
        use_joined(lru, first, loose);
        if (loose < past) {
            use_loose(lru, lru->cache->paths->nodes[loose]);
            marks_clear(&lists->loose, loose);
            marks_set(&lists->joined, loose);
        }
        first = loose + 1;
    }
}

static void use_snapshot_span(struct eviction *lru, struct span span)
{
    struct trail *trail = &((struct lists *)lru->state)->snapshot_trail;
    if (span.first == span.past)
        return;
    for (uint32_t place = span.first; place < span.past;) {
        uint32_t end = trail_piece_end(trail, place, span.past);
        use_snapshot_piece(lru, place, end);
        place = end;
    }
    lru->steps += trail_cover(trail, span, ((const struct lists *)lru->state)->moment + 1);
}

static void open_snapshots(struct eviction *lru)
{
    struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    uint32_t count = cache->workload->node_count;
    trail_open(&lists->snapshot_trail, cache->paths);
    marks_open(&lists->joined, count);
    marks_open(&lists->loose, count);
    for (uint32_t place = marks_next(&cache->with_snapshots, 0); place < count;
         place = marks_next(&cache->with_snapshots, place + 1))
        marks_set(&lists->loose, place);
}

#define SPANS_MAX 34 /* of one path: each is in a tree twice as large as that of the next */

void lru_snapshots_used(struct eviction *lru, node_id node, uint32_t position)
{
    const struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    if (lists->snapshot_trail.paths == NULL)
        open_snapshots(lru);
    if (node == NODE_ROOT)
        return;
    struct span spans[SPANS_MAX] = {paths_span(cache->paths, node)};
    uint32_t count = 1;
    for (struct span span = spans[0]; paths_go_up(cache->paths, &span);)
        spans[count++] = span;
    spans[0].past--; /* its snapshots may be used in part, so they are used one by one */
    while (count > 0)
        use_snapshot_span(lru, spans[--count]);
    uint32_t link = cache->nodes[node].snapshots ? shallowest_on(lru, node) + 1 : 0;
    while (link != 0 && holding_snapshot(cache, link - 1)->position <= position) {
        lru->ops->used(lru, link - 1);
        lru->steps++;
        uint32_t deeper = holding_snapshot(cache, link - 1)->deeper;
        link = deeper ? snapshot_holding(cache, deeper - 1) + 1 : 0;
    }
}

void lru_snapshot_moved(struct eviction *lru, node_id node)
{
    struct lists *lists = lru->state;
    if (lists->snapshot_trail.paths == NULL)
        return;
    uint32_t place = lru->cache->paths->places[node];
    marks_clear(&lists->joined, place);
    if (lru->cache->nodes[node].snapshots != 0)
        marks_set(&lists->loose, place);
    else
        marks_clear(&lists->loose, place);
}

void lru_path_fini(struct eviction *lru)
{
    struct lists *lists = lru->state;
    trail_close(&lists->kv_trail);
    trail_close(&lists->snapshot_trail);
    marks_close(&lists->joined);
    marks_close(&lists->loose);
}

/* Whether two places are of one piece that was walked. */
static bool together(const struct trail *trail, uint32_t place, uint32_t next)
{
    return trail->paths->firsts[place] == trail->paths->firsts[next] &&
           trail_piece_end(trail, place, next + 1) > next && trail_number(trail, place) > 0;
}

static int check_kv(const struct eviction *lru, struct err *err)
{
    const struct trail *trail = &((const struct lists *)lru->state)->kv_trail;
    const struct cache *cache = lru->cache;
    uint32_t count = trail->paths ? cache->workload->node_count : 0;
    for (uint32_t place = 1; place + 1 < count; place++) {
        node_id node = cache->paths->nodes[place], next = cache->paths->nodes[place + 1];
        if (cache->nodes[next].resident > 0 && together(trail, place, place + 1) &&
            lru_link(lru, next + 1)->younger != node + 1)
            return err_set(err, "lru: KV of node %u is not beside that of node %u", next, node);
    }
    return 0;
}

int lru_path_check(const struct eviction *lru, struct err *err)
{
    const struct lists *lists = lru->state;
    const struct cache *cache = lru->cache;
    const struct trail *trail = &lists->snapshot_trail;
    uint32_t before = MARKS_NONE; /* the joined place before, if nothing loose came since */
    uint32_t count = trail->paths ? cache->workload->node_count : 0;
    for (uint32_t place = 1; place < count; place++) {
        node_id node = cache->paths->nodes[place];
        bool joined = marks_has(&lists->joined, place), loose = marks_has(&lists->loose, place);
        if ((int)joined + (int)loose != (cache->nodes[node].snapshots != 0))
            return err_set(err, "lru: node %u is neither joined nor loose, or both", node);
        if (loose)
            before = MARKS_NONE;
        if (!joined)
            continue;
        uint32_t link = cache->nodes[node].snapshots;
        while (cache->snapshots[link - 1].next != 0)
            link = cache->snapshots[link - 1].next;
        uint32_t older = lru_link(lru, snapshot_holding(cache, link - 1) + 1)->older;
        if (before != MARKS_NONE && together(trail, before, place) &&
            older != deepest_on(cache, cache->paths->nodes[before]) + 1)
            return err_set(err, "lru: snapshots of node %u are not beside those above", node);
        before = place;
    }
    return check_kv(lru, err);
}
