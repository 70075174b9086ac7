#ifndef SNAPSIM_MODEL_CONFIG_H
#define SNAPSIM_MODEL_CONFIG_H
#include "sim/model/model.h"
bool model_config_is(const struct json *top);
int model_config_read(struct model *out, const struct json_document *document,
                      struct err *err) MUST_CHECK;
#endif
