/* list.h - every plug-in that there is. Adding one: its .c file, and one line in list.c. */
#ifndef SNAPSIM_POLICY_LIST_H
#define SNAPSIM_POLICY_LIST_H

#include "sim/core/plugin.h"

/* Each ends with NULL, and is in the order in which `snapsim list` prints. */
extern const struct plugin *const placement_list[];
extern const struct plugin *const eviction_list[];
extern const struct plugin *const memory_list[];

/* What follows a plan (sim/bound/plan.h), and runs with one only. */
extern const struct plugin *const planned_placement_list[];
extern const struct plugin *const planned_eviction_list[];

#endif
