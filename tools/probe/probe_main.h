/* probe_main.h - the command line of the probe, for any clock.
 *
 *     probe [--quick] [--only KERNEL] [--list] [--seed N] [--output FILE]
 *
 * Returns the exit status: 0 good, 1 the run failed (no file is written), 2 usage. */
#ifndef SNAPSIM_PROBE_MAIN_H
#define SNAPSIM_PROBE_MAIN_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "tools/probe/probe_clock.h"

/* Results on out, all else on messages. version: of this program. */
int probe_main(int argc, char **argv, const struct probe_clock *clock, const char *version,
               FILE *out, FILE *messages);

#ifdef __cplusplus
}
#endif

#endif
