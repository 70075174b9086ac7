#include <inttypes.h>
#include <stdlib.h>

#include "sim/cache/cache.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

/* What a recount finds. */
struct recount {
    uint32_t *children;
    uint64_t kv_tokens, kv_pages, snapshots;
};

static int check_node(const struct cache *cache, node_id node, struct recount *recount,
                      struct err *err)
{
    const struct cache_node *here = &cache->nodes[node];
    uint32_t start = workload_node_start(cache->workload, node);
    uint32_t end = cache->workload->nodes[node].end;
    node_id parent = cache->workload->nodes[node].parent;
    if (here->resident > end - start || here->resident > here->kept)
        return err_set(err, "node %u: %u tokens resident of %u", node, here->resident, end - start);
    if (here->children > 0 && here->resident != end - start)
        return err_set(err, "node %u: children have KV that it lacks", node);
    if (here->resident > 0) {
        if (cache->nodes[parent].resident != start - workload_node_start(cache->workload, parent))
            return err_set(err, "node %u: KV is resident without that of its parent", node);
        recount->children[parent]++;
        recount->kv_tokens += here->resident;
    }
    uint32_t above = UINT32_MAX;
    for (uint32_t link = here->snapshots; link != 0; link = cache->snapshots[link - 1].next) {
        const struct snapshot *snapshot = &cache->snapshots[link - 1];
        uint32_t below = snapshot->next;
        if (!snapshot->live || snapshot->node != node || snapshot->position >= above ||
            (below != 0 && cache->snapshots[below - 1].deeper != link))
            return err_set(err, "node %u: its list of snapshots is damaged", node);
        uint32_t deepest = cache->settings.dual_index ? end : start + here->resident;
        if (snapshot->position <= start || snapshot->position > deepest)
            return err_set(err, "snapshot at token %u has no KV below it", snapshot->position);
        above = snapshot->position;
        recount->snapshots++;
    }
    bool drops = !cache->kv_is_holding || (cache->forked && !cache->forked[node]);
    uint32_t needed = here->snapshots ? cache->snapshots[here->snapshots - 1].position : 0;
    if (needed < cache_pinned_to(cache, node))
        needed = cache_pinned_to(cache, node);
    if (drops && here->resident > 0 && here->children == 0 && needed != start + here->resident)
        return err_set(err, "node %u: KV that no snapshot needs was kept", node);
    return 0;
}

/* Pages are counted another way than by the changes: in each stretch of page_tokens, every path
 * through it, or to its end within it, holds one. So each page end that is resident counts, and
 * each bare end of a path that is no page end. */
static void count_pages(const struct cache *cache, struct recount *recount)
{
    uint64_t page = cache->memory.page_tokens;
    for (node_id node = 1; node < cache->workload->node_count; node++) {
        const struct cache_node *here = &cache->nodes[node];
        uint64_t start = workload_node_start(cache->workload, node);
        uint64_t end = start + here->resident;
        recount->kv_pages += end / page - start / page;
        if (here->resident > 0 && recount->children[node] == 0 && end % page != 0)
            recount->kv_pages++;
    }
}

/* What the kinds are said to take, against the recount and the capacity. */
static int check_bytes(const struct cache *cache, const struct recount *recount, struct err *err)
{
    const struct memory *memory = &cache->memory;
    struct cache_bytes bytes = cache_count_bytes(cache);
    uint64_t used = recount->kv_tokens * memory->kv_bytes_per_token +
                    recount->snapshots * memory->snapshot_bytes +
                    cache->live_states * memory->state_bytes + bytes.padding;
    if (used != memory->used_bytes || bytes.padding > memory->used_bytes)
        return err_set(err, "%" PRIu64 " bytes in use, %" PRIu64 " by kind", memory->used_bytes,
                       used);
    if (memory->capacity_bytes == UNITS_UNLIMITED)
        return 0;
    uint64_t all = used + bytes.external + bytes.free;
    if (all != memory->capacity_bytes || bytes.free > memory->capacity_bytes)
        return err_set(err, "the kinds add up to %" PRIu64 " bytes of %" PRIu64, all,
                       memory->capacity_bytes);
    return 0;
}

/* Whether the list of a node's children with KV, if lists are kept, has them all, linked both ways.
 */
static bool kin_is_sound(const struct cache *cache, node_id node)
{
    uint32_t count = 0, before = 0;
    for (uint32_t link = cache->kin ? cache->kin[node].first_child : 0; link;
         link = cache->kin[link - 1].next) {
        if (cache->kin[link - 1].previous != before || cache->nodes[link - 1].resident == 0 ||
            cache->workload->nodes[link - 1].parent != node)
            return false;
        before = link;
        count++;
    }
    return cache->kin == NULL || count == cache->nodes[node].children;
}

static int compare(const struct cache *cache, const struct recount *recount, struct err *err)
{
    for (node_id node = 0; node < cache->workload->node_count; node++)
        if (recount->children[node] != cache->nodes[node].children || !kin_is_sound(cache, node))
            return err_set(err, "node %u: %u children with KV, counted %u", node,
                           cache->nodes[node].children, recount->children[node]);
    if (recount->kv_tokens != cache->kv_tokens || recount->kv_pages != cache->kv_pages)
        return err_set(
            err, "%" PRIu64 " KV tokens in %" PRIu64 " pages, counted %" PRIu64 " in %" PRIu64,
            cache->kv_tokens, cache->kv_pages, recount->kv_tokens, recount->kv_pages);
    if (recount->snapshots != cache->live_snapshots)
        return err_set(err, "%u snapshots, counted %" PRIu64, cache->live_snapshots,
                       recount->snapshots);
    struct memory_need held = {recount->kv_pages, recount->snapshots, cache->live_states};
    uint64_t expected = cache->memory.ops->expected_bytes(&cache->memory, held);
    if (expected != cache->memory.used_bytes)
        return err_set(err, "%" PRIu64 " bytes in use, counted %" PRIu64, cache->memory.used_bytes,
                       expected);
    if (cache->memory.used_bytes > cache->memory.capacity_bytes)
        return err_set(err, "%" PRIu64 " bytes in use of %" PRIu64, cache->memory.used_bytes,
                       cache->memory.capacity_bytes);
    return check_bytes(cache, recount, err);
}

/* Whether every pin has an owner, and what is pinned is there. */
static int check_pins(const struct cache *cache, struct err *err)
{
    uint32_t *kv = mem_array(cache->workload->node_count, sizeof *kv);
    uint32_t *snapshots = mem_array(cache->snapshot_count, sizeof *snapshots);
    int result = 0;
    for (const struct running *running = cache->running; running; running = running->next) {
        const struct kv_pin *pins[] = {&running->stands_on, &running->reserves_on};
        for (int i = 0; i < 2; i++) {
            kv[pins[i]->node] += pins[i]->node != NODE_ROOT;
            if (pins[i]->position > holding_position(cache, pins[i]->node))
                result = err_set(err, "KV pinned up to token %u is not there", pins[i]->position);
        }
        if (running->found.snapshot != SNAPSHOT_NONE)
            snapshots[running->found.snapshot]++;
        for (size_t i = 0; i < running->renewed_count; i++)
            snapshots[running->renewed[i]]++;
    }
    for (node_id node = 1; node < cache->workload->node_count; node++)
        if (kv[node] != cache->kv_pins[node])
            result = err_set(err, "node %u has %u pins, counted %u", node, cache->kv_pins[node],
                             kv[node]);
    for (uint32_t i = 0; i < cache->snapshot_count; i++)
        if (snapshots[i] != cache->snapshots[i].pins || (snapshots[i] && !cache->snapshots[i].live))
            result = err_set(err, "snapshot at token %u has %u pins, counted %u",
                             cache->snapshots[i].position, cache->snapshots[i].pins, snapshots[i]);
    free(kv);
    free(snapshots);
    return result;
}

/* Whether what is reserved is the sum over running requests, and is room that is there. */
static int check_reserved(const struct cache *cache, struct err *err)
{
    struct memory_need sum = {0};
    uint32_t running_states = 0;
    for (const struct running *running = cache->running; running; running = running->next) {
        sum.kv_pages += running->reserved.kv_pages;
        sum.snapshots += running->reserved.snapshots;
        running_states += running->live_states;
    }
    if (sum.kv_pages != cache->reserved.kv_pages || sum.snapshots != cache->reserved.snapshots)
        return err_set(err, "reservations do not add up");
    return running_states <= cache->live_states ? 0 : err_set(err, "live states without a place");
}

int cache_audit(const struct cache *cache, struct err *err)
{
    struct recount recount = {0};
    int result = -1;
    recount.children = mem_array(cache->workload->node_count, sizeof *recount.children);
    for (node_id node = 1; node < cache->workload->node_count; node++)
        if (check_node(cache, node, &recount, err) != 0)
            goto out;
    count_pages(cache, &recount);
    if (compare(cache, &recount, err) != 0)
        goto out;
    if (check_pins(cache, err) != 0 || check_reserved(cache, err) != 0)
        goto out;
    result = cache->eviction.ops->check(&cache->eviction, err);
    if (result == 0 && cache->memory.ops->check)
        result = cache->memory.ops->check(&cache->memory, err);
out:
    free(recount.children);
    return result;
}
