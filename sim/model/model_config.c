#include "sim/model/model_config.h"
bool model_config_is(const struct json *top)
{
    (void)top;
    return false;
}
int model_config_read(struct model *out, const struct json_document *document, struct err *err)
{
    (void)out;
    (void)document;
    (void)err;
    return -1;
}
