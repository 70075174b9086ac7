/* presets.h - the models that snapsim knows by name.
 *
 * Constant data: geometry only, from which model.h computes bytes and flops.h work. Each preset's
 * source says where its geometry stands; [I] marks what was inferred. */
#ifndef SNAPSIM_PRESETS_H
#define SNAPSIM_PRESETS_H

#include <stddef.h>

#include "sim/core/err.h"
#include "sim/model/model.h"

#define PRESETS_DEFAULT "kimi-k3"

/* The preset at a place in the list, or NULL after the last. */
const struct model *presets_at(size_t index);

/* The preset of that name. NULL if there is none; err then names a near one, or all. */
const struct model *presets_find(const char *name, struct err *err);

#endif
