/* param_json.h - settings from an object of a JSON document. */
#ifndef SNAPSIM_PARAM_JSON_H
#define SNAPSIM_PARAM_JSON_H

#include "sim/core/json.h"
#include "sim/core/param.h"

/* Sets one field from a number, a word, or true or false. err names file, line and key. */
int param_set_json(const struct param *entry, void *settings, const struct json_document *document,
                   const struct json *value, struct err *err) MUST_CHECK;

/* Sets all that an object holds. A key that no table has is refused: "WHAT 'key'", with the nearest
 * one. */
int param_read_json(const struct param_table *tables, void *settings, const char *what,
                    const struct json_document *document, const struct json *object,
                    struct err *err) MUST_CHECK;

#endif
