/* means.h - what memory held over time, by kind. */
#ifndef SNAPSIM_MEANS_H
#define SNAPSIM_MEANS_H

#include "sim/engine/account.h"

/* Amounts times nanoseconds; 128 bits, because a terabyte for a day does not fit in 64. */
__extension__ typedef unsigned __int128 time_sum;

/* From these all bytes by kind follow. */
struct means {
    time_sum kv_tokens, snapshots, live_states, used_bytes, external_bytes;
    uint64_t duration;
    struct cache_stranded stranded; /* sums over so many samples */
    uint64_t stranded_samples;
};

/* Adds what is in memory from a request, by its place in the schedule, until the next one. */
void means_add(struct means *means, const struct cell *cell, uint32_t arrival);

/* Writes them into the result. */
void means_set(const struct means *means, const struct memory *memory, struct result *result);

#endif
