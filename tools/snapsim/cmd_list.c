/* snapsim list - the plug-ins, from the tables that parse their names. */
#include <string.h>

#include "sim/eviction.h"
#include "sim/model/presets.h"
#include "tools/snapsim/snapsim.h"
#include "traces/open.h"

static void print_plugin(const struct plugin *plugin, struct text *out)
{
    text_printf(out, "%-14s %s\n", plugin->name, plugin->summary);
    for (const struct param *entry = plugin->params; entry && entry->name; entry++) {
        text_printf(out, "%14s   %s=", "", entry->name);
        for (size_t i = 0; entry->type == PARAM_CHOICE && entry->choice[i]; i++)
            text_printf(out, "%s%s", i ? "|" : "", entry->choice[i]);
        text_printf(out, "%s [%s] %s\n", entry->type == PARAM_CHOICE ? "" : "N",
                    entry->default_text, entry->help);
    }
}

static int finish(struct text *out)
{
    int status = print_result(out);
    text_close(out);
    return status;
}

static int list_plugins(const struct plugin *const *list)
{
    struct text out = {0};
    for (size_t i = 0; list[i]; i++)
        print_plugin(list[i], &out);
    return finish(&out);
}

static int list_placements(const struct call *call)
{
    (void)call;
    return list_plugins(snapsim_plugins.placements);
}

static int list_evictions(const struct call *call)
{
    (void)call;
    return list_plugins(snapsim_plugins.evictions);
}

static int list_memories(const struct call *call)
{
    (void)call;
    return list_plugins(snapsim_plugins.memories);
}

static int list_models(const struct call *call)
{
    (void)call;
    struct model model;
    struct text out = {0};
    for (size_t i = 0; presets_at(i, &model); i++)
        text_printf(&out, "%-18s %s\n", model.name, model.summary);
    return finish(&out);
}

static int list_formats(const struct call *call)
{
    (void)call;
    struct text out = {0};
    for (size_t i = 0; trace_format_name(NULL, i); i++)
        text_printf(&out, "%-14s %s\n", trace_format_name(NULL, i), trace_format_summary(i));
    return finish(&out);
}

const struct command cmd_list = {
    .name = "list",
    .summary = "placements, evictions, memories, models, formats",
    .text = "Lists what settings may name, with the parameters of each.\n",
    .examples = "  snapsim list placements\n",
    .ways = {{.name = "placements", .run = list_placements},
             {.name = "evictions", .run = list_evictions},
             {.name = "memories", .run = list_memories},
             {.name = "models", .run = list_models},
             {.name = "formats", .run = list_formats}},
};
