/* known_models.h - which content stands behind the name of a model.
 *
 * A model may be a file, and a file may change between the parts of a sweep, or before it goes on.
 * Results say the digest of the content that they were made from (model_digest()); two contents
 * behind one name do not belong together, and are refused with both digests. */
#ifndef SNAPSIM_KNOWN_MODELS_H
#define SNAPSIM_KNOWN_MODELS_H

#include "sim/core/json.h"
#include "sim/core/sha256.h"
#include "tools/sweep/cells.h"

struct known_model {
    char *name;               /* as a setting gives it */
    char sha256[SHA256_TEXT]; /* "?" if it cannot be read */
};

/* All zeroes: none is known. Close it in any case. */
struct known_models {
    struct known_model *items;
    size_t count, capacity;
};

/* The models of all cells, as they are now. */
void known_models_open(struct known_models *out, const struct sweep *sweep);
void known_models_close(struct known_models *known);

/* "?" for a name that is not known. */
const char *known_models_sha256(const struct known_models *known, const char *name);

/* err: "model file 'm.json': was sha256 ..., is now ...", unless they are the same, or one is "?".
 */
int known_models_check(const char *name, const char *was, const char *now,
                       struct err *err) MUST_CHECK;

/* Whether the model of a line of results still is what it was; whatever is no result, or says
 * nothing of its model, is good. */
int known_models_check_line(const struct known_models *known, const char *line,
                            struct err *err) MUST_CHECK;

/* Takes in what a result says of its model. err: it is known, with another content. */
int known_models_add_result(struct known_models *known, const struct json *result,
                            struct err *err) MUST_CHECK;

#endif
