#include "sim/engine/setup.h"

#include <stdlib.h>

#include "sim/load/arrival.h"

static void set_grains(struct setup *setup)
{
    setup->grains = grains_of(setup->config.snapshot_grain, setup->config.match_unit,
                              model_chunk_tokens(setup->model));
    setup->snapshot_grid_tokens = placement_choice_grid(&setup->placements, &setup->grains);
}

static void set_cache(struct setup *setup)
{
    const struct config *config = &setup->config;
    bool recurrent = setup->sizes.snapshot_bytes > 0;
    setup->cache = (struct cache_settings){
        .recurrent = recurrent,
        .keep_orphans = config->orphans != ORPHANS_DROP,
        .keep_only_for_fork = recurrent && config->orphans == ORPHANS_KEEP_FOR_FORK,
        .dual_index = recurrent && config->index == INDEX_DUAL,
        .match_unit = config->match_unit,
        .min_compute_tokens = config->min_compute_tokens};
}

static int choose_plugins(struct setup *setup, const struct plugins *plugins, struct err *err)
{
    const struct config *config = &setup->config;
    if (placement_choose(&setup->placements, plugins->placements, config->placement, err) != 0 ||
        plugin_choose(&setup->eviction, plugins->evictions, "eviction", config->eviction, err) !=
            0 ||
        plugin_choose(&setup->memory, plugins->memories, "memory", config->memory, err) != 0)
        return -1;
    return 0;
}

static void print_choice(char **text, const struct plugin_choice *choice)
{
    struct text printed = {0};
    plugin_choice_print(choice, &printed);
    free(*text);
    *text = printed.data;
}

/* Plug-ins stand in the config, and so in results, with every parameter. */
static void resolve(struct setup *setup)
{
    struct text placement = {0};
    placement_choice_print(&setup->placements, &placement);
    free(setup->config.placement);
    setup->config.placement = placement.data;
    print_choice(&setup->config.eviction, &setup->eviction);
    print_choice(&setup->config.memory, &setup->memory);
}

int setup_open(struct setup *out, const struct config *config, const struct plugins *plugins,
               struct models *models, struct err *err)
{
    const struct model_content *content = NULL;
    *out = (struct setup){.plan = plugins->plan};
    config_copy(&out->config, config);
    if (choose_plugins(out, plugins, err) != 0 ||
        config_parse_page_tokens(config->page_tokens, &out->page_tokens, &out->pages_are_blocks,
                                 err) != 0 ||
        arrival_check(config->arrival, err) != 0 || config_check_build(config, err) != 0 ||
        models_find(models, config->model, &content, err) != 0 ||
        model_sizes(&content->model, &config->sharding, &out->sizes, err) != 0)
        return -1;
    out->model = &content->model;
    out->model_sha256 = content->sha256;
    if (config->index == INDEX_DUAL && config->orphans != ORPHANS_KEEP)
        return err_set(err, "index: dual knows of no snapshots where it finds KV, so it goes with "
                            "orphans keep");
    out->facts = (struct run_facts){out->model, &out->sizes, config->capacity};
    set_grains(out);
    set_cache(out);
    resolve(out);
    return 0;
}

void setup_close(struct setup *setup)
{
    placement_choice_close(&setup->placements);
    plugin_choice_close(&setup->eviction);
    plugin_choice_close(&setup->memory);
    config_close(&setup->config);
}

int setup_check(const struct config *config, const struct plugins *plugins, struct models *models,
                struct err *err)
{
    struct setup setup;
    int result = setup_open(&setup, config, plugins, models, err);
    setup_close(&setup);
    return result;
}
