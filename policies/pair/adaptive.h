#ifndef SNAPSIM_ADAPTIVE_H
#define SNAPSIM_ADAPTIVE_H
#include "sim/eviction.h"
#include "sim/placement.h"
void adaptive_plan(struct eviction *eviction, const struct placement_view *view,
                   struct positions *positions);
#endif
