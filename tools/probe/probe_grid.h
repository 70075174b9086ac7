/* probe_grid.h - which points a run measures: the shapes of K3 at TP1, TP8 and TP16, Kimi Linear
 * and Qwen3.5, spread as widely as the laws need and no wider than six minutes allow. */
#ifndef SNAPSIM_PROBE_GRID_H
#define SNAPSIM_PROBE_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/probe/probe_point.h"

struct grid {
    struct point *points;
    size_t count, capacity;
};

#define GRID_WARM_UP 5
#define GRID_SAMPLES 20
#define GRID_SAMPLE_US 200.0      /* a sample lasts at least this long: events resolve 0.5 us */
#define GRID_L2_BYTES (64u << 20) /* for the plan; a run uses the device's own */
/* A cache that is not strictly least-recently-used keeps a share of what lies a few sizes back; at
 * eight sizes that share is below what the spread of the samples shows anyway. */
#define GRID_L2_SIZES 8.0
#define GRID_MOST_SETS 8192

void probe_grid_open(struct grid *grid, bool quick);
void probe_grid_close(struct grid *grid);

/* How many sets of buffers a point rotates through, so that each finds its data several times the
 * L2 cache away; and how many launches one sample times, at least every set once. */
uint32_t probe_grid_rotation(const struct point *point, uint64_t l2_bytes);
uint32_t probe_grid_launches(const struct point *point, uint64_t l2_bytes);

/* Seconds that a run of the grid may take, allocation and inputs included. */
double probe_grid_estimate_s(const struct grid *grid);

#endif
