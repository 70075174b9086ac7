/* names.h - the registries of plug-ins as texts, for tests that loop over all of them. */
#ifndef SNAPSIM_NAMES_H
#define SNAPSIM_NAMES_H

#include <stddef.h>

#include "sim/core/plugin.h"

struct names {
    char **items;
    size_t count, capacity;
};

/* Every plug-in of a list with its defaults, and with each value of each parameter. */
struct names names_of(const struct plugin *const *list);
void names_close(struct names *names);

/* Adds "plugin:parameter=value" for the i-th of some values that suit a parameter; false after the
 * last. */
bool names_add_value(struct names *names, const struct plugin *plugin, const struct param *param,
                     size_t i);

#endif
