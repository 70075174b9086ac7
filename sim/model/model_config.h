/* model_config.h - models from a Hugging Face config.json.
 *
 * Such a file tells a model's geometry in keys that differ by family. A family that is known is a
 * row of a table: what its recurrent and its attention layers are, and so which keys hold their
 * widths. Which layer is which follows from whatever key says so. Keys that have no bearing on
 * sizes or work are ignored; those that are needed and absent are named together, and so is a
 * family that is not known. Nothing is guessed: a model of another family needs a file of one's own
 * (model.h). */
#ifndef SNAPSIM_MODEL_CONFIG_H
#define SNAPSIM_MODEL_CONFIG_H

#include "sim/model/model.h"

/* True if the document looks like a config.json and not like a model. */
bool model_config_is(const struct json *top);

int model_config_read(struct model *out, const struct json_document *document,
                      struct err *err) MUST_CHECK;

#endif
