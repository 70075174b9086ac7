#include "tools/probe/probe_stats.h"

#include <assert.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

struct stats probe_stats_of(double *samples, size_t count)
{
    assert(count > 0);
    qsort(samples, count, sizeof(double), compare);
    struct stats stats = {.count = count,
                          .median = quantile(samples, count, 0.5),
                          .p10 = quantile(samples, count, 0.1),
                          .p90 = quantile(samples, count, 0.9),
                          .least = samples[0],
                          .most = samples[count - 1]};
    return stats;
}

double probe_stats_spread(const struct stats *stats)
{
    return stats->median > 0 ? (stats->p90 - stats->p10) / stats->median : 0;
}
