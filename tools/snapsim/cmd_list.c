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

static void list_plugins(const struct plugin *const *list, struct text *out)
{
    for (size_t i = 0; list[i]; i++)
        print_plugin(list[i], out);
}

static void list_models(const struct plugin *const *unused, struct text *out)
{
    (void)unused;
    struct model model;
    for (size_t i = 0; presets_at(i, &model); i++)
        text_printf(out, "%-18s %s\n", model.name, model.summary);
}

static void list_formats(const struct plugin *const *unused, struct text *out)
{
    (void)unused;
    for (size_t i = 0; trace_format_name(NULL, i); i++)
        text_printf(out, "%-14s %s\n", trace_format_name(NULL, i), trace_format_summary(i));
}

int cmd_list(int argc, char **argv)
{
    static const char usage[] = "usage: snapsim list placements|evictions|memories|models|formats\n"
                                "\nexample:\n  snapsim list placements\n";
    const struct {
        const char *name;
        void (*list)(const struct plugin *const *plugins, struct text *out);
        const struct plugin *const *plugins;
    } lists[] = {
        {"placements", list_plugins, snapsim_plugins.placements},
        {"evictions", list_plugins, snapsim_plugins.evictions},
        {"memories", list_plugins, snapsim_plugins.memories},
        {"models", list_models, NULL},
        {"formats", list_formats, NULL},
    };
    if (argc != 2) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    struct text out = {0};
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        text_printf(&out, "%s", usage);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(argv[1], lists[i].name) == 0)
            lists[i].list(lists[i].plugins, &out);
    int status = out.length > 0
                     ? print_result(&out)
                     : say(EXIT_USAGE,
                           "list: placements, evictions, memories, models or formats was expected, "
                           "found '%s'",
                           argv[1]);
    text_close(&out);
    return status;
}
