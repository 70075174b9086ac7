/* belady - offline: what is next used furthest in the future leaves first, and what is new may be
 * refused (it goes at once if everything else is needed sooner).
 *
 * Optimal where all that can be dropped costs the same and its next use is worth the same (Belady
 * 1966, Mattson et al. 1970; with refusal, McGeoch and Sleator 1991). KV alone, in a model without
 * recurrent layers, is close to that, but no more than close: a node is used as a whole here, so
 * the last token of a prompt, which is always computed, and a last page that is no whole one count
 * as if they were hit. With room for 3 tokens and the prompts abc, de, abc, de, this keeps abc and
 * hits 2 tokens; ab and d would have hit 3.
 *
 * With snapshots it is a heuristic: a snapshot's next use is the next request that comes through
 * its position, and among equals the shallower one goes first, because the deeper one will serve.
 * Before that, of holdings with the same next use, KV goes before snapshots, and what was used
 * longer ago first. */
#include <stdlib.h>

#include "policies/eviction/rank.h"
#include "sim/core/mem.h"

#define NEVER UINT32_MAX

struct per_holding {
    struct rank_mark mark;
    uint32_t last; /* arrival of the last use */
};

struct belady {
    struct rank rank;
    size_t *first;      /* by arrival: where its path's next uses start */
    uint32_t *next_use; /* for each node of each path, deepest first: the arrival after this one */
    uint32_t *current;  /* by node: its next use after the request that is being served */
    uint32_t arrival;
};

static struct heap_key key_of(struct eviction *eviction, holding_id holding)
{
    const struct belady *belady = eviction->state;
    const struct cache *cache = eviction->cache;
    bool is_kv = holding_is_kv(cache, holding);
    node_id node = is_kv ? holding : holding_snapshot(cache, holding)->node;
    uint64_t last = ((const struct per_holding *)eviction->holdings)[holding].last;
    return (struct heap_key){NEVER - belady->current[node], (uint64_t)!is_kv << 32 | last,
                             heap_within(cache, holding)};
}

static node_id path_end(const struct eviction *eviction, uint32_t arrival)
{
    uint32_t request = eviction->future->schedule->arrivals[arrival].request;
    return eviction->future->workload->requests[request].reply_node;
}

/* One pass forward to lay out the paths, one back to fill in who comes next through each node. A
 * path here ends with the reply; a later *prompt* makes a use. */
static void find_next_uses(struct eviction *eviction)
{
    struct belady *belady = eviction->state;
    const struct node *nodes = eviction->future->workload->nodes;
    uint32_t count = eviction->future->schedule->count;
    belady->first = mem_array((size_t)count + 1, sizeof *belady->first);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        for (node_id node = path_end(eviction, i); node != NODE_ROOT; node = nodes[node].parent)
            length++;
        belady->first[i + 1] = belady->first[i] + length;
    }
    belady->next_use = mem_array(belady->first[count], sizeof *belady->next_use);
    for (uint32_t node = 0; node < eviction->future->workload->node_count; node++)
        belady->current[node] = NEVER;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t request = eviction->future->schedule->arrivals[i].request;
        uint32_t prompt_tokens = workload_prompt_tokens(eviction->future->workload, request);
        size_t at = belady->first[i];
        for (node_id node = path_end(eviction, i); node != NODE_ROOT; node = nodes[node].parent) {
            belady->next_use[at++] = belady->current[node];
            if (nodes[node].end <= prompt_tokens)
                belady->current[node] = i;
        }
    }
}

static int init(struct eviction *eviction, struct err *err)
{
    (void)err;
    struct belady *belady = eviction->state;
    belady->rank.key_of = key_of;
    belady->current = mem_array(eviction->future->workload->node_count, sizeof *belady->current);
    find_next_uses(eviction);
    eviction->refreshes_path = true;
    return 0;
}

static void fini(struct eviction *eviction)
{
    struct belady *belady = eviction->state;
    free(belady->first);
    free(belady->next_use);
    free(belady->current);
    rank_fini(eviction);
}

static void begin(struct eviction *eviction, const struct context *context)
{
    struct belady *belady = eviction->state;
    const struct node *nodes = eviction->future->workload->nodes;
    size_t at = belady->first[context->arrival];
    belady->arrival = context->arrival;
    for (node_id node = context->request->reply_node; node != NODE_ROOT; node = nodes[node].parent)
        belady->current[node] = belady->next_use[at++];
}

static void used(struct eviction *eviction, holding_id holding)
{
    uint32_t arrival = ((const struct belady *)eviction->state)->arrival;
    ((struct per_holding *)eviction->holdings)[holding].last = arrival;
    rank_push(eviction, holding);
}

static void added(struct eviction *eviction, holding_id holding, uint32_t from)
{
    (void)from;
    used(eviction, holding);
}

const struct eviction_ops eviction_belady = {
    .plugin = {.name = "belady",
               .summary = "offline: what is next used furthest ahead leaves first",
               .state_size = sizeof(struct belady),
               .offline = true},
    .flags = EVICTION_REFUSES,
    .holding_size = sizeof(struct per_holding),
    .init = init,
    .fini = fini,
    .begin = begin,
    .added = added,
    .used = used,
    .gone = rank_gone,
    .choose = rank_victim,
    .check = rank_check,
};
