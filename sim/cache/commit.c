/* Storing what an admission says */
#include "sim/cache/admission.h"
#include "sim/cache/walk.h"
#include "sim/core/mem.h"

/* A stream owns a snapshot that `last` alone has asked for, until another stream's `last` comes to
 * the same place. What any other placement has asked for is nobody's, and stays so. */
static void set_owner(struct cache *cache, uint32_t snapshot, uint32_t owner)
{
    if (owner == 0 || cache->snapshots[snapshot].stream != 0)
        cache->snapshots[snapshot].stream = owner;
}

static void commit_snapshot(struct cache *cache, struct admission *admission,
                            const struct wanted_position *wanted, node_id node)
{
    uint32_t stream = admission->running->context.request->stream;
    uint32_t owner = wanted->newest_only ? stream + 1 : 0;
    uint32_t snapshot = SNAPSHOT_NONE;
    if (cache->nodes[node].snapshots != 0)
        snapshot = store_find_snapshot(cache, node, wanted->position);
    if (snapshot == SNAPSHOT_NONE) {
        store_snapshot(cache, node, wanted, owner);
        return;
    }
    set_owner(cache, snapshot, owner);
    cache->eviction.ops->used(&cache->eviction, snapshot_holding(cache, snapshot));
}

/* The deepest node of the request whose KV may change: the last one that gets some, or, where KV is
 * a holding, has some. */
static node_id deepest_changed(struct cache *cache, const struct admission *admission)
{
    if (!cache->kv_is_holding)
        return admission->kv_node;
    const struct node *nodes = cache->workload->nodes;
    uint64_t passed = 0;
    node_id resident =
        walk_to_resident(cache, admission->running->context.request->reply_node, &passed);
    return nodes[resident].end > nodes[admission->kv_node].end ? resident : admission->kv_node;
}

/* The nodes of the path whose KV changes, deepest first: those that lack some, and, where KV is a
 * holding, those that are resident below the match. Above both all is there, and used already. */
static void collect_path(struct cache *cache, const struct admission *admission)
{
    const struct node *nodes = cache->workload->nodes;
    uint32_t match_end = nodes[admission->match_node].end;
    cache->path_length = 0;
    node_id node = deepest_changed(cache, admission);
    for (; node != NODE_ROOT; node = nodes[node].parent) {
        uint32_t length = nodes[node].end - nodes[nodes[node].parent].end;
        if (nodes[node].end <= match_end && cache->nodes[node].resident == length)
            break;
        if (cache->path_length == cache->path_capacity)
            cache->path = mem_grow(cache->path, &cache->path_capacity, cache->path_length + 1,
                                   sizeof *cache->path);
        cache->path[cache->path_length++] = node;
    }
    cache->steps += cache->path_length;
}

/* Stores the KV of the path, and makes what was there below the match, a reply that was given
 * before, as young as the rest. */
static void commit_kv(struct cache *cache, const struct admission *admission)
{
    const struct node *nodes = cache->workload->nodes;
    uint32_t match_end = nodes[admission->match_node].end;
    collect_path(cache, admission);
    for (size_t i = cache->path_length; i-- > 0;) {
        node_id node = cache->path[i];
        uint32_t start = nodes[nodes[node].parent].end;
        uint32_t end = nodes[node].end < admission->kv_end ? nodes[node].end : admission->kv_end;
        if (end > start + cache->nodes[node].resident)
            store_kv(cache, node, end);
        else if (start >= match_end && cache->kv_is_holding && cache->nodes[node].resident > 0)
            cache->eviction.ops->added(&cache->eviction, node, holding_position(cache, node));
    }
}

void commit_admission(struct cache *cache, struct admission *admission)
{
    commit_kv(cache, admission);
    admission_for_each(cache, admission, commit_snapshot);
}

/* The stream's newest snapshot is this one: the one before goes, if it still is the stream's. */
static void own_newest(struct cache *cache, uint32_t snapshot, uint32_t stream)
{
    if (cache->newest_of == NULL)
        cache->newest_of = mem_array(cache->workload->stream_count, sizeof *cache->newest_of);
    const struct newest before = cache->newest_of[stream];
    cache->newest_of[stream] = (struct newest){snapshot, cache->snapshots[snapshot].serial};
    const struct snapshot *old = &cache->snapshots[before.snapshot];
    if (before.snapshot == snapshot || !old->live || old->serial != before.serial ||
        old->stream != stream + 1 || old->pins > 0)
        return;
    store_drop_snapshot(cache, before.snapshot);
    cache->counters.snapshots_replaced++;
}

/* Whether it was stored now, or was there before, as the hit. */
void commit_newest(struct cache *cache, const struct running *running)
{
    if (running->newest == 0)
        return;
    const struct request *request = running->context.request;
    uint64_t passed = 0;
    node_id node = walk_to_position(cache, request->reply_node, running->newest, &passed);
    uint32_t snapshot = store_find_snapshot(cache, node, running->newest);
    if (snapshot == SNAPSHOT_NONE)
        return;
    if (snapshot == running->found.snapshot)
        set_owner(cache, snapshot, request->stream + 1);
    own_newest(cache, snapshot, request->stream);
}
