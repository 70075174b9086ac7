/* blockmap.h - from a block's number to what is known of it.
 *
 * Traces number blocks in order of first appearance, so numbers come in dense ranges: entries are
 * kept in groups of 64 consecutive numbers, and a hash table finds the group. A long run of numbers
 * that one owner registers at once is kept as one interval. Sparse or renamed numbers work too, and
 * cost more memory. A number is looked up within a space (a conversation, or the whole trace). */
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
    struct blockmap_interval *intervals; /* ascending by space and number, apart from each other */
    size_t interval_count, interval_capacity;
};

/* What is known of a number; owner 0 if nothing is. */
struct block_entry blockmap_find(const struct blockmap *map, uint64_t space, uint64_t number);

/* Registers a number, in place of what was known of it. */
void blockmap_put(struct blockmap *map, uint64_t space, uint64_t number, struct block_entry entry);

/* Registers `count` numbers that nobody has registered: the first as given, each next one ending
 * `step` tokens after the one before. */
void blockmap_put_run(struct blockmap *map, uint64_t space, uint64_t first, uint64_t count,
                      struct block_entry entry, uint32_t step);

void blockmap_clear(struct blockmap *map); /* forgets all, keeps the memory */
void blockmap_close(struct blockmap *map); /* frees it */

#endif
