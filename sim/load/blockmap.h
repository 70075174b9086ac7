/* blockmap.h - from a block's number to what is known of it.
 *
 * Traces number blocks in order of first appearance, so numbers come in dense ranges: entries are
 * kept in groups of 64 consecutive numbers, and a hash table finds the group. Sparse or renamed
 * numbers work too and cost more memory. A number is looked up within a space (a conversation, or
 * the whole trace). */
#ifndef SNAPSIM_BLOCKMAP_H
#define SNAPSIM_BLOCKMAP_H

#include <stddef.h>
#include <stdint.h>

struct block_entry {
    uint32_t owner; /* index + 1 of whoever registered the number, 0 if nobody did */
    uint32_t end;   /* position in tokens where the block ends */
};

struct blockmap {
    struct blockmap_slot *slots; /* open addressing, a power of two */
    size_t slot_count, used;
    struct block_entry *groups; /* 64 entries each */
    size_t group_capacity;
};

/* The entry of a number, or NULL if its group has none. Valid until the next blockmap_put. */
struct block_entry *blockmap_find(const struct blockmap *map, uint64_t space, uint64_t number);

/* The entry of a number, made if need be. */
struct block_entry *blockmap_put(struct blockmap *map, uint64_t space, uint64_t number);

void blockmap_clear(struct blockmap *map); /* forgets all, keeps the memory */
void blockmap_close(struct blockmap *map); /* frees it */

#endif
