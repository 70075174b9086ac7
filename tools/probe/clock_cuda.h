/* clock_cuda.h - a GPU as the probe's clock: CUDA events around graphs of launches. */
#ifndef SNAPSIM_PROBE_CLOCK_CUDA_H
#define SNAPSIM_PROBE_CLOCK_CUDA_H

#include "tools/probe/probe_clock.h"

struct cuda_clock;

/* Touches no GPU yet: that happens when it is asked to describe itself. */
struct cuda_clock *clock_cuda_open(void);
void clock_cuda_close(struct cuda_clock *clock);
struct probe_clock clock_cuda_interface(struct cuda_clock *clock);

#endif
