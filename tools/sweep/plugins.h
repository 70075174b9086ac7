/* plugins.h - the plug-ins that settings may name: every one that there is. */
#ifndef SNAPSIM_PLUGINS_H
#define SNAPSIM_PLUGINS_H

#include "sim/engine/setup.h"

extern const struct plugins snapsim_plugins;

#endif
