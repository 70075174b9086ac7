#include "tools/sweep/plugins.h"

#include "policies/list.h"

const struct plugins snapsim_plugins = {placement_list, eviction_list, memory_list};
