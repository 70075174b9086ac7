/* probe_work.h - the memory and the arguments with which a point's kernel is launched.
 *
 * Every buffer exists `sets` times, one behind the other, and launch i uses set i modulo sets: so
 * that no launch finds its data in a cache that an earlier one filled. Inputs are random. Only for
 * kinds whose facts say on_device. */
#ifndef SNAPSIM_PROBE_WORK_H
#define SNAPSIM_PROBE_WORK_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "sim/core/err.h"
#include "tools/probe/probe_point.h"

struct work;

int probe_work_open(struct work **out, const struct point *point, uint32_t sets, uint32_t seed,
                    struct err *err) MUST_CHECK;
void probe_work_close(struct work *work);

/* Returns 0 or the number of a CUDA error. */
int probe_work_launch(const struct work *work, uint32_t index, void *stream);

/* Fills the outputs of all sets with NaN; after each set was launched, asks whether any is left. */
int probe_work_poison(struct work *work, struct err *err) MUST_CHECK;
int probe_work_verify(const struct work *work, struct err *err) MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
