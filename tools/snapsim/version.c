#include "tools/snapsim/snapsim.h"

#ifndef SNAPSIM_VERSION
#define SNAPSIM_VERSION "unknown"
#endif

const char snapsim_version[] = SNAPSIM_VERSION;
