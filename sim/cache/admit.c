/* Storing what a request computed
 *
 *   1. plan     the path above the hit, and on which node each wanted snapshot lies
 *   2. reduce   to what fits into an empty memory
 *   3. pin      what this request stands on
 *   4. room     drop what the policy names until the rest fits
 *   5. commit   KV, shallower first, then snapshots, shallower first
 *   6. unpin, and let go of the stream's snapshot that is replaced */
#include <assert.h>
#include <stdlib.h>

#include "sim/cache/store.h"
#include "sim/core/mem.h"

struct plan {
    const struct request *request;
    const struct lookup *lookup;
    const struct wanted_position *wanted; /* ascending; those before `first` were given up */
    size_t first, count;
    uint32_t kv_end;         /* KV is wanted up to here */
    node_id kv_node;         /* on this node */
    size_t present;          /* wanted snapshots that are there already, to be renewed */
    uint32_t missing_tokens; /* of KV, while room is made */
    node_id resident_node;   /* no KV of the path is resident below this node */
    node_id pin_node;        /* KV up to here may not go: the hit, or the deepest that is renewed */
    uint32_t pin_position;
};

/* The nodes of the request from the deepest one of interest up to the hit's, deepest first. Where
 * KV is a holding, what is resident of the whole path is of interest. */
static void collect_path(struct cache *cache, const struct plan *plan)
{
    const struct node *nodes = cache->workload->nodes;
    cache->path_length = 0;
    node_id deepest = cache->kv_is_holding ? plan->request->reply_node : plan->kv_node;
    for (node_id node = deepest; node != NODE_ROOT; node = nodes[node].parent) {
        if (cache->path_length == cache->path_capacity)
            cache->path = mem_grow(cache->path, &cache->path_capacity, cache->path_length + 1,
                                   sizeof *cache->path);
        cache->path[cache->path_length++] = node;
        if (node == plan->lookup->hit_node)
            break;
    }
}

/* Calls visit for each wanted snapshot that was not given up, with the node that it lies on. */
typedef void visit_wanted(struct cache *cache, struct plan *plan,
                          const struct wanted_position *wanted, node_id node);

static void for_each_wanted(struct cache *cache, struct plan *plan, visit_wanted *visit)
{
    size_t depth = cache->path_length;
    for (size_t i = plan->first; i < plan->count; i++) {
        const struct wanted_position *wanted = &plan->wanted[i];
        while (cache->workload->nodes[cache->path[depth - 1]].end < wanted->position)
            depth--;
        visit(cache, plan, wanted, cache->path[depth - 1]);
    }
}

static void pin_present(struct cache *cache, struct plan *plan,
                        const struct wanted_position *wanted, node_id node)
{
    if (cache->nodes[node].snapshots == 0)
        return;
    uint32_t snapshot = store_find_snapshot(cache, node, wanted->position);
    if (snapshot == SNAPSHOT_NONE)
        return;
    cache->snapshots[snapshot].pinned = true;
    store_use_snapshot(cache, snapshot);
    plan->present++;
    if (workload_node_start(cache->workload, node) + cache->nodes[node].resident < wanted->position)
        return; /* stranded: its KV is not there to be pinned */
    plan->pin_node = node;
    plan->pin_position = wanted->position;
}

/* Where KV is wanted to: the deepest snapshot, or the end of the request where KV is stored
 * whether or not a snapshot needs it (whole pages of it, unless a page is a block). */
static void choose_kv_end(const struct cache *cache, struct plan *plan)
{
    const struct node *nodes = cache->workload->nodes;
    plan->kv_end = plan->count > plan->first ? plan->wanted[plan->count - 1].position : 0;
    if (cache->kv_is_holding && !cache->settings.keep_only_for_fork) {
        uint32_t end = nodes[plan->request->reply_node].end;
        if (!cache->memory.pages_are_blocks)
            end = cache_whole_pages(cache, end) * (uint32_t)cache->memory.page_tokens;
        if (end > plan->kv_end)
            plan->kv_end = end;
    }
    uint32_t prompt_end = nodes[plan->request->prompt_node].end;
    node_id deepest =
        plan->kv_end > prompt_end ? plan->request->reply_node : plan->request->prompt_node;
    plan->kv_node = workload_node_at(cache->workload, deepest, plan->kv_end);
    plan->resident_node = plan->kv_node;
}

/* KV pages that are missing on the path now. Every drop may change that: KV of the path above the
 * hit may go, and where a branch beside the path goes, the page that both had cut is the path's. */
static uint64_t missing_pages(const struct cache *cache, struct plan *plan)
{
    node_id node = plan->resident_node;
    while (node != NODE_ROOT && cache->nodes[node].resident == 0)
        node = cache->workload->nodes[node].parent;
    plan->resident_node = node; /* while room is made, KV only goes */
    uint32_t from = workload_node_start(cache->workload, node) + cache->nodes[node].resident;
    plan->missing_tokens = plan->kv_end > from ? plan->kv_end - from : 0;
    return cache_pages(cache, from, plan->kv_end, cache->nodes[node].children == 0);
}

/* Whether these bytes would fit without pages and places: if they do, what is dropped or refused
 * is the price of the memory strategy. */
static bool fits_as_bytes(const struct cache *cache, uint64_t kv_tokens, uint64_t snapshots)
{
    const struct memory *memory = &cache->memory;
    return kv_tokens * memory->kv_bytes_per_token + snapshots * memory->snapshot_bytes +
               cache->live_states * memory->state_bytes <=
           memory->capacity_bytes;
}

static void count_uncached(struct cache *cache, bool bytes_fit)
{
    cache->counters.uncached_requests++;
    cache->counters.split_uncached += bytes_fit;
}

static void refuse(struct cache *cache, const struct plan *plan, struct memory_need need)
{
    const struct memory_need kv = {.kv_pages = need.kv_pages};
    cache->wants = cache->memory.ops->fits_empty(&cache->memory, kv) ? PART_SNAPSHOT : PART_KV;
    count_uncached(cache, fits_as_bytes(cache, plan->kv_end, need.snapshots));
}

/* Step 2. Gives up shallower snapshots until the request fits alone; false if it never does. */
static bool reduce(struct cache *cache, struct plan *plan)
{
    uint64_t consumed = plan->lookup->snapshot != SNAPSHOT_NONE;
    size_t least = cache->kv_is_holding ? 0 : 1; /* without a snapshot, dropped KV is no use */
    for (;;) {
        size_t wanted = plan->count - plan->first;
        struct memory_need need = {cache_pages(cache, 0, plan->kv_end, true), consumed + wanted,
                                   cache->live_states};
        if (cache->memory.ops->fits_empty(&cache->memory, need))
            return true;
        if (wanted <= least) {
            refuse(cache, plan, need);
            return false;
        }
        plan->first++;
        cache->counters.snapshots_refused++;
        if (wanted == 1) /* the end was that of the snapshot that was given up */
            choose_kv_end(cache, plan);
    }
}

static void pin(struct cache *cache, const struct plan *plan, bool pinned)
{
    if (plan->lookup->snapshot != SNAPSHOT_NONE)
        cache->snapshots[plan->lookup->snapshot].pinned = pinned;
    cache->pinned_node = pinned ? plan->pin_node : NODE_ROOT;
    cache->pinned_position = pinned ? plan->pin_position : 0;
}

static void empty_place(struct cache *cache, uint32_t place)
{
    struct memory_holder holder;
    while (cache->memory.ops->next_in_place(&cache->memory, place, &holder)) {
        if (holder.is_snapshot)
            store_drop_snapshot(cache, holder.id);
        else
            store_drop_pages(cache, holder.id, holder.kv_pages);
    }
}

/* Drops what is in the place that is short, or one candidate of the policy; false if there is none.
 */
static bool drop_one(struct cache *cache, const struct memory_shortage *shortage)
{
    if (shortage->place) {
        empty_place(cache, shortage->place);
        cache->counters.drops++;
        return true;
    }
    struct eviction *eviction = &cache->eviction;
    enum part part = shortage->part;
    struct victim victim = eviction->ops->choose(eviction, part);
    if (victim.holding == HOLDING_NONE && shortage->other_helps) {
        part = PART_ANY;
        victim = eviction->ops->choose(eviction, part);
    }
    if (victim.holding == HOLDING_NONE)
        return false;
    assert(holding_droppable(cache, victim.holding, part));
    if (holding_is_kv(cache, victim.holding))
        store_drop_kv(cache, victim.holding, shortage->kv_pages, victim.down_to);
    else
        store_drop_snapshot(cache, holding_snapshot_id(cache, victim.holding));
    cache->counters.drops++;
    return true;
}

/* Step 4. */
static bool make_room(struct cache *cache, struct plan *plan)
{
    const struct memory_ops *memory = cache->memory.ops;
    uint64_t snapshots = cache->live_snapshots;
    struct memory_shortage shortage;
    struct memory_need need = {.kv_pages = missing_pages(cache, plan),
                               .snapshots = plan->count - plan->first - plan->present};
    bool stuck = false, bytes_fit = false; /* once they fit, they do */
    while (!stuck && memory->falls_short(&cache->memory, need, &shortage)) {
        if (!bytes_fit && !(memory->flags & MEMORY_EXACT))
            bytes_fit = fits_as_bytes(cache, cache->kv_tokens + plan->missing_tokens,
                                      cache->live_snapshots + need.snapshots);
        cache->wants = shortage.wants;
        stuck = !drop_one(cache, &shortage);
        cache->counters.split_evictions += bytes_fit && !stuck;
        need.kv_pages = missing_pages(cache, plan);
    }
    cache->counters.snapshots_evicted += snapshots - cache->live_snapshots;
    if (!stuck)
        return true;
    count_uncached(cache, bytes_fit);
    return false;
}

static void unpin_present(struct cache *cache, struct plan *plan,
                          const struct wanted_position *wanted, node_id node)
{
    (void)plan;
    uint32_t snapshot = store_find_snapshot(cache, node, wanted->position);
    if (snapshot != SNAPSHOT_NONE)
        cache->snapshots[snapshot].pinned = false;
}

/* A stream owns what it took last; a snapshot that somebody wants for itself is nobody's. */
static void own_newest(struct cache *cache, uint32_t snapshot, uint32_t stream)
{
    if (cache->stream_newest == NULL)
        cache->stream_newest =
            mem_array(cache->workload->stream_count, sizeof *cache->stream_newest);
    uint32_t before = cache->stream_newest[stream];
    cache->stream_newest[stream] = snapshot + 1;
    if (before == 0 || before == snapshot + 1 || cache->snapshots[before - 1].stream != stream + 1)
        return;
    store_drop_snapshot(cache, before - 1);
    cache->counters.snapshots_replaced++;
}

static void commit_snapshot(struct cache *cache, struct plan *plan,
                            const struct wanted_position *wanted, node_id node)
{
    uint32_t stream = plan->request->stream;
    uint32_t owner = wanted->newest_only ? stream + 1 : 0;
    uint32_t snapshot = SNAPSHOT_NONE;
    if (cache->nodes[node].snapshots != 0)
        snapshot = store_find_snapshot(cache, node, wanted->position);
    if (snapshot == SNAPSHOT_NONE) {
        store_snapshot(cache, node, wanted, owner);
        return;
    }
    cache->snapshots[snapshot].pinned = false;
    if (owner == 0 || cache->snapshots[snapshot].stream != 0) /* taken to stay, it stays */
        cache->snapshots[snapshot].stream = owner;
    cache->eviction.ops->used(&cache->eviction, snapshot_holding(cache, snapshot));
}

/* Stores the KV of the path, and makes what was there below the match, a reply that was given
 * before, as young as the rest. */
static void commit_kv(struct cache *cache, const struct plan *plan)
{
    const struct node *nodes = cache->workload->nodes;
    bool below_match = plan->lookup->match_node == NODE_ROOT;
    for (size_t i = cache->path_length; i-- > 0;) {
        node_id node = cache->path[i];
        uint32_t end = nodes[node].end < plan->kv_end ? nodes[node].end : plan->kv_end;
        bool grows = end > nodes[nodes[node].parent].end + cache->nodes[node].resident;
        if (grows)
            store_kv(cache, node, end);
        else if (below_match && cache->kv_is_holding && cache->nodes[node].resident > 0)
            cache->eviction.ops->added(&cache->eviction, node, holding_position(cache, node));
        below_match = below_match || node == plan->lookup->match_node;
    }
}

static void commit(struct cache *cache, struct plan *plan)
{
    commit_kv(cache, plan);
    for_each_wanted(cache, plan, commit_snapshot);
}

/* Step 6, after the pins are gone. */
static void replace_newest(struct cache *cache, const struct plan *plan)
{
    for (size_t i = plan->first; i < plan->count; i++) {
        const struct wanted_position *wanted = &plan->wanted[i];
        if (!wanted->newest_only)
            continue;
        node_id node = workload_node_at(cache->workload, plan->kv_node, wanted->position);
        uint32_t snapshot = store_find_snapshot(cache, node, wanted->position);
        if (snapshot != SNAPSHOT_NONE)
            own_newest(cache, snapshot, plan->request->stream);
    }
}

/* An eviction that refuses chooses among what is new, too: all goes in, then out until it fits. */
static void trim(struct cache *cache)
{
    struct memory_shortage shortage;
    struct memory_need nothing = {0};
    uint64_t snapshots = cache->live_snapshots;
    while (cache->memory.ops->falls_short(&cache->memory, nothing, &shortage)) {
        bool bytes_fit = fits_as_bytes(cache, cache->kv_tokens, cache->live_snapshots);
        cache->wants = shortage.wants;
        bool dropped = drop_one(cache, &shortage);
        assert(dropped && "everything is droppable when nothing is pinned");
        (void)dropped;
        cache->counters.split_evictions += bytes_fit;
    }
    cache->counters.snapshots_evicted += snapshots - cache->live_snapshots;
}

/* Steps 3 to 6. */
static void store_plan(struct cache *cache, struct plan *plan, bool refuses)
{
    collect_path(cache, plan);
    for_each_wanted(cache, plan, pin_present);
    pin(cache, plan, true);
    if (plan->present > 0)
        store_use_path(cache, plan->pin_node);
    bool fits = refuses || make_room(cache, plan);
    if (fits)
        commit(cache, plan);
    else
        for_each_wanted(cache, plan, unpin_present);
    pin(cache, plan, false);
    if (fits)
        replace_newest(cache, plan);
    if (refuses)
        trim(cache);
}

void cache_admit(struct cache *cache, const struct request *request, const struct lookup *lookup,
                 const struct positions *wanted)
{
    struct plan plan = {.request = request,
                        .lookup = lookup,
                        .wanted = wanted->items,
                        .count = wanted->count,
                        .pin_node = lookup->hit_node,
                        .pin_position = lookup->hit_tokens};
    bool refuses = cache->refuses;
    choose_kv_end(cache, &plan);
    if (plan.kv_end > 0 && (refuses || reduce(cache, &plan)))
        store_plan(cache, &plan, refuses);
    if (cache->memory.used_bytes > cache->counters.peak_bytes)
        cache->counters.peak_bytes = cache->memory.used_bytes;
}
