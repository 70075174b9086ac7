#include "policies/eviction/heap.h"

#include "sim/cache/cache.h"
#include "sim/core/mem.h"

uint64_t heap_within(const struct cache *cache, holding_id holding)
{
    uint32_t position = holding_position(cache, holding);
    return holding_is_kv(cache, holding) ? UINT32_MAX - position : (1ull << 32) + position;
}

bool heap_before(const struct heap_entry *a, const struct heap_entry *b)
{
    if (a->key.first != b->key.first)
        return a->key.first < b->key.first;
    if (a->key.second != b->key.second)
        return a->key.second < b->key.second;
    if (a->key.within != b->key.within)
        return a->key.within < b->key.within;
    return a->holding < b->holding;
}

void heap_put(struct heap *heap, struct heap_entry entry)
{
    size_t at = heap->count++;
    heap->entries = mem_grow(heap->entries, &heap->capacity, heap->count, sizeof *heap->entries);
    for (; at > 0 && heap_before(&entry, &heap->entries[(at - 1) / 2]); at = (at - 1) / 2)
        heap->entries[at] = heap->entries[(at - 1) / 2];
    heap->entries[at] = entry;
}

void heap_pop(struct heap *heap)
{
    struct heap_entry *entries = heap->entries;
    struct heap_entry last = entries[--heap->count];
    size_t at = 0;
    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && heap_before(&entries[child + 1], &entries[child]))
            child++;
        if (!heap_before(&entries[child], &last))
            break;
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = last;
}

bool heap_is_ordered(const struct heap *heap)
{
    for (size_t i = 1; i < heap->count; i++)
        if (heap_before(&heap->entries[i], &heap->entries[(i - 1) / 2]))
            return false;
    return true;
}
