/* setup.h - settings, understood.
 *
 * A config is text and numbers as somebody typed them. A set-up is what they mean: the model read,
 * its bytes worked out, every plug-in found with its parameters. It is made once and never changes,
 * so runs, the variants of a search and threads share it.
 *
 *     config --- setup ---+
 *     trace ---- load ----+--- cell: what one run changes (cell.h) --- result */
#ifndef SNAPSIM_SETUP_H
#define SNAPSIM_SETUP_H

#include "sim/cache/cache.h"
#include "sim/engine/config.h"
#include "sim/model/models.h"

/* The plug-ins that settings may name; each list ends with NULL. */
struct plugins {
    const struct plugin *const *placements, *const *evictions, *const *memories;
    const struct plan *plan; /* for those that follow one (sim/bound/plan.h); NULL */
};

struct setup {
    struct config config; /* as it was asked for, but plug-ins with every parameter */
    const struct model *model;
    const char *model_sha256; /* of its content: model_digest() */
    struct model_sizes sizes;
    struct run_facts facts;
    struct placement_choice placements;
    struct plugin_choice eviction, memory;
    uint64_t page_tokens; /* 0: the memory strategy's choice */
    bool pages_are_blocks;
    struct grains grains;
    uint64_t snapshot_grid_tokens; /* of placements with an interval; 0 without one */
    struct cache_settings cache;
    const struct plan *plan; /* of the plug-ins */
};

/* Models are borrowed, and outlive the set-up, which stays where it is until setup_close. err: what
 * does not exist, is out of range, or does not go together. */
int setup_open(struct setup *out, const struct config *config, const struct plugins *plugins,
               struct models *models, struct err *err) MUST_CHECK;
void setup_close(struct setup *setup); /* also after a failed setup_open */

/* Opens a set-up and closes it: whether it can be. */
int setup_check(const struct config *config, const struct plugins *plugins, struct models *models,
                struct err *err) MUST_CHECK;

static inline const struct eviction_ops *setup_eviction(const struct setup *setup)
{
    return (const struct eviction_ops *)(const void *)setup->eviction.plugin;
}

static inline const struct memory_ops *setup_memory(const struct setup *setup)
{
    return (const struct memory_ops *)(const void *)setup->memory.plugin;
}

#endif
