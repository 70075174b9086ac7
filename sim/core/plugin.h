/* plugin.h - how a placement, an eviction or a memory strategy is named and set up.
 *
 * Each kind has one constant table of functions per plug-in, which starts with a struct plugin.
 * "name:key=value,key=value" picks a table and fills its settings; the core allocates settings and
 * state, zeroed, and frees them. */
#ifndef SNAPSIM_PLUGIN_H
#define SNAPSIM_PLUGIN_H

#include "sim/core/param.h"

struct plugin {
    const char *name;           /* the word of the command line and of JSON */
    const char *summary;        /* one line for `snapsim list` and the man page */
    const struct param *params; /* or NULL */
    size_t settings_size;       /* of the struct that params describe */
    int (*check)(const void *settings, struct err *err); /* what params cannot say; optional */
    size_t state_size;                                   /* of what the plug-in keeps for a run */
    bool offline; /* sees the future (future.h): a limit, not a policy */
};

/* Finds the plug-in that a text like "lru:refresh=hit" names in a list that ends with NULL, and
 * makes its settings. kind is the word for errors ("eviction"). The caller frees settings with
 * plugin_free_settings. */
int plugin_parse(const struct plugin *const *list, const char *kind, const char *text,
                 const struct plugin **found, void **settings, struct err *err) MUST_CHECK;
void plugin_free_settings(const struct plugin *plugin, void *settings);

/* A plug-in with its settings, parsed once and shared by all runs that use it. */
struct plugin_choice {
    const struct plugin *plugin; /* NULL: none was chosen */
    void *settings;
};

int plugin_choose(struct plugin_choice *out, const struct plugin *const *list, const char *kind,
                  const char *text, struct err *err) MUST_CHECK; /* as plugin_parse */
void plugin_choice_close(struct plugin_choice *choice);
void plugin_choice_print(const struct plugin_choice *choice, struct text *out);

#endif
