/* kind_fields.h - the words in which a kind says what fields its layers have.
 *
 * Ranges keep every product below 2^63: a matrix is at most 2^14 * 2^14 * 2^14 elements, a group
 * 2^10 layers, an expert 3 * 2^16 * 2^16 weights and there are 2^14 of them. */
#ifndef SNAPSIM_KIND_FIELDS_H
#define SNAPSIM_KIND_FIELDS_H

#include "sim/model/kind.h"

#define HEADS_MAX 16384
#define DIM_MAX 16384
#define WIDE_MAX 1048576

#define NEEDED(field, largest, help)                                                               \
    PARAM(struct layer_group, field, PARAM_U64, NULL, 1, largest, help)
#define OPTIONAL(field, default_, largest, help)                                                   \
    PARAM(struct layer_group, field, PARAM_U64, default_, 0, largest, help)
#define FLAG(field, default_, help)                                                                \
    PARAM(struct layer_group, field, PARAM_BOOL, default_, 0, 1, help)
#define COUNT NEEDED(count, LAYERS_MAX, "layers of this shape")
#define CONV OPTIONAL(conv_kernel, "4", 64, "taps of the short convolution; 0 is none")

#endif
