/* stages.h - where a model's layers are, and what pipeline stages get of them. */
#ifndef SNAPSIM_STAGES_H
#define SNAPSIM_STAGES_H

#include "sim/model/model.h"

/* That attention_at is well formed, and names as many places as there are attention layers. */
int stages_check(const struct model *model, struct err *err) MUST_CHECK;

/* Writes attention_at for marks[0 .. count), true where a layer is attention, or leaves it empty if
 * that does not fit. */
void stages_describe(const bool *marks, size_t count, struct model *out);

#endif
