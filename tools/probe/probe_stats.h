/* probe_stats.h - what is kept of repeated timings. */
#ifndef SNAPSIM_PROBE_STATS_H
#define SNAPSIM_PROBE_STATS_H

#include <stddef.h>

struct stats {
    size_t count;
    double median, p10, p90, least, most;
};

/* Sorts the samples in place. count > 0; no sample is NaN. A quantile lies between the two samples
 * next to it, in proportion. */
struct stats probe_stats_of(double *samples, size_t count);

/* (p90 - p10) / median: how far the samples lie apart. */
double probe_stats_spread(const struct stats *stats);

#endif
