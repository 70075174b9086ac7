/* presets.h - the models that snapsim knows by name: sim/model/presets/NAME.json, files as users
 * write them, which are a part of the program. Each preset's source says where its geometry stands;
 * [I] marks what was inferred. */
#ifndef SNAPSIM_PRESETS_H
#define SNAPSIM_PRESETS_H

#include <stddef.h>

#include "sim/core/embed.h"
#include "sim/model/model.h"

#define PRESETS_DEFAULT "kimi-k3"

extern const struct embedded_file preset_files[];

/* The preset at a place in the list; false after the last. */
bool presets_at(size_t index, struct model *out);

/* The preset of that name or alias, in letters of any case. err names a near one, or all. */
int presets_find(struct model *out, const char *name, struct err *err) MUST_CHECK;

#endif
