#include "tools/view/plugin_text.h"

#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/mem.h"

const struct plugin *const *plugin_text_list(const char *setting)
{
    static const struct {
        const char *setting;
        const struct plugin *const *list;
    } named[] = {
        {"placement", placement_list}, {"eviction", eviction_list}, {"memory", memory_list}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(named[i].setting, setting) == 0)
            return named[i].list;
    return NULL;
}

static bool is_default(const struct param *entry, const void *settings, const void *defaults)
{
    struct text value = {0}, usual = {0};
    text_add(&value, "", 0);
    text_add(&usual, "", 0);
    param_print_value(entry, settings, &value);
    param_print_value(entry, defaults, &usual);
    bool same = strcmp(value.data, usual.data) == 0;
    text_close(&value);
    text_close(&usual);
    return same;
}

static bool counts_something(const struct param *entry)
{
    return entry->type == PARAM_U64 || entry->type == PARAM_BYTES || entry->type == PARAM_DURATION;
}

static void print_short(const struct plugin *plugin, const void *settings, struct text *out)
{
    void *defaults = mem_zalloc(plugin->settings_size);
    param_defaults(plugin->params, defaults);
    text_printf(out, "%s", plugin->name);
    char separator = ':';
    for (const struct param *entry = plugin->params; entry && entry->name; entry++) {
        bool main = entry == plugin->params;
        bool is_told = main && counts_something(entry) && strcmp(entry->default_text, "0") != 0;
        if (is_default(entry, settings, defaults) && !is_told)
            continue;
        text_printf(out, "%c", separator);
        if (!main)
            text_printf(out, "%s=", entry->name);
        param_print_value(entry, settings, out);
        separator = ',';
    }
    plugin_free_settings(plugin, defaults);
}

/* What to do with one part of a text: print it, or look for a parameter. */
struct visit {
    bool is_short;
    const char *parameter; /* NULL: print */
    bool found;
};

static void visit_part(const struct plugin *const *list, const char *part, struct visit *visit,
                       struct text *out)
{
    const struct plugin *plugin = NULL;
    void *settings = NULL;
    struct err ignored;
    if (plugin_parse(list, "plug-in", part, &plugin, &settings, &ignored) != 0) {
        if (!visit->parameter)
            text_printf(out, "%s", part);
        return;
    }
    const struct param *entry =
        visit->parameter ? param_find(plugin->params, visit->parameter) : NULL;
    if (entry && !visit->found)
        param_print_value(entry, settings, out);
    visit->found = visit->found || entry != NULL;
    if (!visit->parameter && visit->is_short)
        print_short(plugin, settings, out);
    else if (!visit->parameter)
        param_print_list(plugin->name, plugin->params, settings, out);
    plugin_free_settings(plugin, settings);
}

static void visit_parts(const struct plugin *const *list, const char *text, struct visit *visit,
                        struct text *out)
{
    char *copy = mem_strdup(text), *rest = NULL;
    bool first = true;
    text_add(out, "", 0);
    for (char *part = strtok_r(copy, "+", &rest); part; part = strtok_r(NULL, "+", &rest)) {
        if (!first && !visit->parameter)
            text_add(out, "+", 1);
        visit_part(list, part, visit, out);
        first = false;
    }
    free(copy);
}

void plugin_text_long(const struct plugin *const *list, const char *text, struct text *out)
{
    struct visit visit = {.is_short = false};
    visit_parts(list, text, &visit, out);
}

void plugin_text_short(const struct plugin *const *list, const char *text, struct text *out)
{
    struct visit visit = {.is_short = true};
    visit_parts(list, text, &visit, out);
}

bool plugin_text_parameter(const struct plugin *const *list, const char *text,
                           const char *parameter, struct text *out)
{
    struct visit visit = {.parameter = parameter};
    visit_parts(list, text, &visit, out);
    return visit.found;
}

const struct param *plugin_text_parameter_at(const struct plugin *const *list, size_t index)
{
    for (size_t i = 0; list[i]; i++)
        for (const struct param *entry = list[i]->params; entry && entry->name; entry++)
            if (index-- == 0)
                return entry;
    return NULL;
}
