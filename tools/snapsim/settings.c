#include "tools/snapsim/settings.h"

#include "sim/load/arrival.h"
#include "sim/placement.h"
#include "tools/snapsim/snapsim.h"

static int check_plugin(const struct plugin *const *list, const char *kind, const char *text,
                        struct err *err)
{
    const struct plugin *plugin = NULL;
    void *settings = NULL;
    if (plugin_parse(list, kind, text, &plugin, &settings, err) != 0)
        return -1;
    plugin_free_settings(plugin, settings);
    return 0;
}

static int check_placement(const char *text, struct err *err)
{
    static const struct workload nothing = {.node_count = 1};
    static const struct schedule never;
    const struct future future = {&nothing, &never, 0, NULL};
    struct placement_set set;
    if (placement_set_open(&set, snapsim_plugins.placements, text, &future, err) != 0)
        return -1;
    placement_set_close(&set);
    return 0;
}

int settings_check(const struct config *config, struct err *err)
{
    struct model model;
    struct model_sizes sizes;
    uint64_t page_tokens = 0;
    bool pages_are_blocks = false;
    if (check_placement(config->placement, err) != 0 ||
        check_plugin(snapsim_plugins.evictions, "eviction", config->eviction, err) != 0 ||
        check_plugin(snapsim_plugins.memories, "memory", config->memory, err) != 0 ||
        config_parse_page_tokens(config->page_tokens, &page_tokens, &pages_are_blocks, err) != 0 ||
        arrival_check(config->arrival, err) != 0 || model_load(&model, config->model, err) != 0)
        return -1;
    return model_sizes(&model, &config->sharding, &sizes, err);
}
