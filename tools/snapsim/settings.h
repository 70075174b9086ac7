/* settings.h - whether the settings of a run name things that exist. */
#ifndef SNAPSIM_SETTINGS_H
#define SNAPSIM_SETTINGS_H

#include "sim/engine/config.h"

/* Checks what the table of settings cannot: plug-ins and their parameters, the model and its
 * sharding, the way of arriving. err names what is wrong and what is near: USAGE_ERROR (snapsim.h)
 * for what the settings say, -1 for what a model's file says. */
int settings_check(const struct config *config, struct err *err) MUST_CHECK;

#endif
