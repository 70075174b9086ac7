/* keymap.h - from a pair of numbers to a small number: a hash table with open addressing. */
#ifndef SNAPSIM_KEYMAP_H
#define SNAPSIM_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

struct keymap {
    struct keymap_slot {
        uint64_t a, b;
        uint32_t value; /* 0 if the slot is free */
    } * slots;
    size_t slot_count, used; /* a power of two, at most half of it used */
};

uint32_t keymap_find(const struct keymap *map, uint64_t a, uint64_t b); /* 0: it is not there */

/* Sets the value, which is not 0, of a pair. */
void keymap_put(struct keymap *map, uint64_t a, uint64_t b, uint32_t value);

/* Forgets all. The time is that of what was put since it was empty, never that of the largest
 * content that it ever had. */
void keymap_clear(struct keymap *map);
void keymap_close(struct keymap *map);

#endif
