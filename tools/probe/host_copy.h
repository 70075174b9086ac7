/* host_copy.h - copies between pinned host memory and the device: whole, in pieces one call each,
 * or in pieces with one call for all. */
#ifndef SNAPSIM_PROBE_HOST_COPY_H
#define SNAPSIM_PROBE_HOST_COPY_H

#include <cuda_runtime.h>

#include "tools/probe/probe_clock.h"

struct host_copy;

int host_copy_open(struct host_copy **out, const struct point *point, struct err *err) MUST_CHECK;
void host_copy_close(struct host_copy *copy); /* NULL allowed */

/* Puts one copy of the whole payload on the stream. */
int host_copy_start(struct host_copy *copy, cudaStream_t stream, struct err *err) MUST_CHECK;

/* Compares what arrived with what was sent. */
int host_copy_verify(struct host_copy *copy, struct err *err) MUST_CHECK;

#endif
