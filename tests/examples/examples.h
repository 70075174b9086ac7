/* examples.h - policies that are written as the README says, one file each. */
#ifndef SNAPSIM_EXAMPLES_H
#define SNAPSIM_EXAMPLES_H

#include "sim/eviction.h"
#include "sim/placement.h"

extern const struct eviction_ops example_ttl, example_thrifty;
extern const struct placement_ops example_pause, example_thrifty_placement;

#endif
