/* settings.h - the set-up of a command's settings, and whose fault it is if there is none. */
#ifndef SNAPSIM_SETTINGS_H
#define SNAPSIM_SETTINGS_H

#include "sim/engine/setup.h"

/* setup_open() with the plug-ins of this program. Returns 0; USAGE_ERROR (snapsim.h) for what the
 * settings say; or -1 for what a model's file says. Close *out in any case. */
int settings_open(struct setup *out, const struct config *config, struct models *models,
                  struct err *err) MUST_CHECK;

/* The same, with the set-up closed again. */
int settings_check(const struct config *config, struct models *models, struct err *err) MUST_CHECK;

#endif
