/* advise.h - a search through placements, evictions and what goes with them.
 *
 * Greedy, by rounds. A round tries every neighbour of the best setting so far: one more placement
 * joined, one left out, an interval doubled or halved, another eviction, orphans the other way. The
 * best neighbour is taken if it hits more; the search ends when none does. Every setting that was
 * tried is remembered, those that cannot be run too, and none is run twice, however it is written.
 * Deterministic: ties go to what was tried first. */
#ifndef SNAPSIM_ADVISE_H
#define SNAPSIM_ADVISE_H

#include "tools/snapsim/snapsim.h"
#include "tools/sweep/load.h"

struct advice {
    struct config config;
    uint64_t hit_tokens, prompt_tokens; /* over the whole load */
    uint64_t half_hit_tokens[2];        /* of the first and of the second half of its requests */
    uint64_t half_prompt_tokens[2];
};

struct advise {
    const struct load *load;
    struct models *models; /* borrowed, with the start's model in it */
    struct advice *tried;  /* the first one is the setting that the search started from */
    size_t count, capacity;
    char **known; /* keys of all settings that were run, with those that failed */
    size_t known_count, known_capacity;
    size_t threads;
    size_t most; /* settings to try at most; at least 1 */
};

/* Searches from a setting: its model, capacity and so on stay, placement, eviction and orphans are
 * varied. err if that setting cannot be run. */
int advise_search(struct advise *advise, const struct config *start, struct err *err) MUST_CHECK;
void advise_close(struct advise *advise);

/* Runs one setting on a load. */
int advise_try(struct advice *out, const struct config *config, struct models *models,
               const struct load *load, struct err *err) MUST_CHECK;

#endif
