/* snapsim list - the plug-ins, from the tables that parse their names. */
#include <string.h>

#include "sim/eviction.h"
#include "sim/model/presets.h"
#include "tools/snapsim/snapsim.h"
#include "traces/open.h"

static void print_plugin(const struct plugin *plugin)
{
    printf("%-14s %s\n", plugin->name, plugin->summary);
    for (const struct param *entry = plugin->params; entry && entry->name; entry++) {
        printf("%14s   %s=", "", entry->name);
        for (size_t i = 0; entry->type == PARAM_CHOICE && entry->choice[i]; i++)
            printf("%s%s", i ? "|" : "", entry->choice[i]);
        printf("%s [%s] %s\n", entry->type == PARAM_CHOICE ? "" : "N", entry->default_text,
               entry->help);
    }
}

static int list_plugins(const struct plugin *const *list)
{
    for (size_t i = 0; list[i]; i++)
        print_plugin(list[i]);
    return EXIT_GOOD;
}

static int list_models(void)
{
    for (size_t i = 0; presets_at(i); i++)
        printf("%-18s %s\n", presets_at(i)->name, presets_at(i)->summary);
    return EXIT_GOOD;
}

static int list_formats(void)
{
    for (size_t i = 0; trace_format_name(NULL, i); i++)
        printf("%-14s %s\n", trace_format_name(NULL, i), trace_format_summary(i));
    return EXIT_GOOD;
}

int cmd_list(int argc, char **argv)
{
    static const char usage[] = "usage: snapsim list placements|evictions|memories|models|formats\n"
                                "\nexample:\n  snapsim list placements\n";
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return EXIT_GOOD;
    }
    if (argc != 2) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "placements") == 0)
        return list_plugins(snapsim_plugins.placements);
    if (strcmp(argv[1], "evictions") == 0)
        return list_plugins(snapsim_plugins.evictions);
    if (strcmp(argv[1], "memories") == 0)
        return list_plugins(snapsim_plugins.memories);
    if (strcmp(argv[1], "models") == 0)
        return list_models();
    if (strcmp(argv[1], "formats") == 0)
        return list_formats();
    return say(EXIT_USAGE,
               "list: placements, evictions, memories, models or formats was expected, "
               "found '%s'",
               argv[1]);
}
