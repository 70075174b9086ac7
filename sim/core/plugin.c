#include "sim/core/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

static const char *name_at(const void *table, size_t index)
{
    const struct plugin *const *list = table;
    return list[index] ? list[index]->name : NULL;
}

static int unknown(const struct plugin *const *list, const char *kind, const char *name,
                   struct err *err)
{
    struct text known = {0};
    const char *near = text_nearest(name, name_at, list);
    if (near)
        text_printf(&known, " (did you mean '%s'?)", near);
    else
        text_printf(&known, "; known:");
    for (size_t i = 0; !near && list[i]; i++)
        text_printf(&known, " %s", list[i]->name);
    err_set(err, "%s: there is none called '%s'%.800s", kind, name, known.data);
    text_close(&known);
    return -1;
}

int plugin_parse(const struct plugin *const *list, const char *kind, const char *text,
                 const struct plugin **found, void **settings, struct err *err)
{
    const char *colon = strchr(text, ':');
    char *name = colon ? mem_strndup(text, (size_t)(colon - text)) : mem_strdup(text);
    const struct plugin *plugin = NULL;
    for (size_t i = 0; list[i] && !plugin; i++)
        if (strcmp(list[i]->name, name) == 0)
            plugin = list[i];
    int result = 0;
    if (!plugin) {
        result = unknown(list, kind, name, err);
        goto out;
    }
    *found = plugin;
    *settings = mem_zalloc(plugin->settings_size);
    param_defaults(plugin->params, *settings);
    char whose[128];
    snprintf(whose, sizeof whose, "%s '%s'", kind, name);
    if (colon && colon[1] == '\0')
        result = err_set(err, "%s: parameters were expected behind '%s'", whose, text);
    else if (colon)
        result = param_parse_list(plugin->params, *settings, colon + 1, whose, err);
    struct err reason;
    if (result == 0 && plugin->check && plugin->check(*settings, &reason) != 0)
        result = err_set(err, "%s: %.900s", whose, reason.text);
    if (result != 0) {
        plugin_free_settings(plugin, *settings);
        *settings = NULL;
    }
out:
    free(name);
    return result;
}

void plugin_free_settings(const struct plugin *plugin, void *settings)
{
    if (settings == NULL)
        return;
    param_free(plugin->params, settings);
    free(settings);
}

int plugin_choose(struct plugin_choice *out, const struct plugin *const *list, const char *kind,
                  const char *text, struct err *err)
{
    *out = (struct plugin_choice){0};
    if (plugin_parse(list, kind, text, &out->plugin, &out->settings, err) == 0)
        return 0;
    *out = (struct plugin_choice){0};
    return -1;
}

void plugin_choice_close(struct plugin_choice *choice)
{
    if (choice->plugin)
        plugin_free_settings(choice->plugin, choice->settings);
    *choice = (struct plugin_choice){0};
}

void plugin_choice_print(const struct plugin_choice *choice, struct text *out)
{
    param_print_list(choice->plugin->name, choice->plugin->params, choice->settings, out);
}
