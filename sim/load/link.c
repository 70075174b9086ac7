#include "sim/load/link.h"

#include <stdlib.h>

#include "sim/core/mem.h"

/* Entries of one chain, by how far along it they end, in a Fenwick tree: its node k stands for the
 * k & -k entries up to the k-th. A node lists those of its entries that are in, oldest first,
 * without those that a later one outdoes, being no harder to continue. So least_in rises in the
 * list, and the latest that fits is found by halving. */
struct index {
    const struct link_item *items;
    uint32_t count;
    uint32_t *sorted; /* items by chain and blocks */
    uint32_t *rank;   /* of each item in sorted */
    uint32_t *range;  /* of each rank: where its chain starts in sorted */
    size_t *list;     /* of each node: where its list starts in entries */
    uint32_t *length; /* of each node's list */
    uint32_t *entries;
};

struct sort_key {
    struct block_at at;
    uint32_t item;
};

static int by_place(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    if (x->at.chain != y->at.chain)
        return x->at.chain < y->at.chain ? -1 : 1;
    if (x->at.blocks != y->at.blocks)
        return x->at.blocks < y->at.blocks ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static void index_open(struct index *index, const struct link_item *items, uint32_t count)
{
    struct sort_key *keys = mem_array(count, sizeof *keys);
    *index = (struct index){.items = items, .count = count};
    index->sorted = mem_array(count, sizeof *index->sorted);
    index->rank = mem_array(count, sizeof *index->rank);
    index->range = mem_array(count, sizeof *index->range);
    index->list = mem_array(count, sizeof *index->list);
    index->length = mem_array(count, sizeof *index->length);
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (struct sort_key){items[i].kept, i};
    qsort(keys, count, sizeof *keys, by_place);
    size_t room = 0;
    for (uint32_t r = 0; r < count; r++) {
        bool same = r > 0 && keys[r - 1].at.chain == keys[r].at.chain;
        index->sorted[r] = keys[r].item;
        index->rank[keys[r].item] = r;
        index->range[r] = same ? index->range[r - 1] : r;
        uint32_t node = r - index->range[r] + 1;
        index->list[r] = room;
        room += node & -node;
    }
    index->entries = mem_array(room, sizeof *index->entries);
    free(keys);
}

static void index_close(struct index *index)
{
    free(index->sorted);
    free(index->rank);
    free(index->range);
    free(index->list);
    free(index->length);
    free(index->entries);
}

static void enter(struct index *index, uint32_t item, uint64_t *steps)
{
    const struct link_item *items = index->items;
    uint32_t start = index->range[index->rank[item]];
    for (uint32_t node = index->rank[item] - start + 1;
         start + node <= index->count && index->range[start + node - 1] == start;
         node += node & -node) {
        uint32_t at = start + node - 1, *list = index->entries + index->list[at];
        uint32_t length = index->length[at];
        for (; length > 0 && items[list[length - 1]].least_in >= items[item].least_in; ++*steps)
            length--;
        list[length] = item;
        index->length[at] = length + 1;
        ++*steps;
    }
}

/* How many of the sorted items end before, or at, a place. */
static uint32_t count_up_to(const struct index *index, struct block_at at, uint64_t *steps)
{
    uint32_t low = 0, high = index->count;
    for (; low < high; ++*steps) {
        uint32_t middle = low + (high - low) / 2;
        struct sort_key key = {index->items[index->sorted[middle]].kept, 0}, wanted = {at, 0};
        if (by_place(&key, &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The latest entry + 1 that ends on a chain within its first blocks and fits a prompt of `in`. */
static uint32_t find_on_chain(const struct index *index, struct block_at at, uint64_t in,
                              uint64_t *steps)
{
    uint32_t best = 0, end = count_up_to(index, at, steps);
    if (end == 0 || index->items[index->sorted[end - 1]].kept.chain != at.chain)
        return 0;
    uint32_t start = index->range[end - 1];
    for (uint32_t node = end - start; node > 0; node -= node & -node) {
        const uint32_t *list = index->entries + index->list[start + node - 1];
        uint32_t low = 0, high = index->length[start + node - 1];
        for (; low < high; ++*steps) {
            uint32_t middle = low + (high - low) / 2;
            if (index->items[list[middle]].least_in <= in)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && list[low - 1] + 1 > best)
            best = list[low - 1] + 1;
        ++*steps;
    }
    return best;
}

static uint32_t find_latest(struct chains *chains, const struct index *index,
                            const struct link_item *item)
{
    uint32_t best = 0;
    for (struct block_at at = item->path; at.chain != CHAIN_NONE;
         at = chains->items[at.chain].parent) {
        uint32_t found = find_on_chain(index, at, item->in, &chains->steps);
        best = found > best ? found : best;
    }
    return best > 0 ? best - 1 : LINK_NONE;
}

void link_stream(struct chains *chains, struct link_item *items, uint32_t count)
{
    struct index index = {0};
    uint32_t entered = 0;
    for (uint32_t j = 0; j < count; j++) {
        struct link_item *item = &items[j];
        item->continues = LINK_NONE;
        if (j == 0)
            continue;
        const struct link_item *before = &items[j - 1];
        bool has_blocks =
            before->kept.chain != CHAIN_NONE && chains_through(chains, before->kept, item->path);
        item->too_short = has_blocks && item->in < before->least_in;
        if (has_blocks && !item->too_short) {
            item->continues = j - 1; /* none is later */
            continue;
        }
        if (index.sorted == NULL)
            index_open(&index, items, count);
        for (; entered < j; entered++)
            if (items[entered].kept.chain != CHAIN_NONE)
                enter(&index, entered, &chains->steps);
        item->continues = find_latest(chains, &index, item);
    }
    index_close(&index);
}
