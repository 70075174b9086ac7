/* interned.h - from names to small numbers: equal names, equal numbers. */
#ifndef SNAPSIM_INTERNED_H
#define SNAPSIM_INTERNED_H

#include "sim/load/keymap.h"

struct interned {
    struct interned_name *names; /* that of number n is names[n - 1] */
    uint32_t count;
    size_t capacity;
    struct keymap by_hash; /* hash and length of a name -> the last number with them */
};

uint32_t interned_number(struct interned *interned, const char *name, size_t length); /* from 1 */
void interned_close(struct interned *interned);

#endif
