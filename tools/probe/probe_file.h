/* probe_file.h - a run as a calibration, the file that snapsim reads (sim/cost/calib.h). */
#ifndef SNAPSIM_PROBE_FILE_H
#define SNAPSIM_PROBE_FILE_H

#include "tools/probe/probe_measure.h"

/* The run's points and the laws fitted to them. date: "2026-11-29T17:00:00Z"; version: of this
 * program. Texts stay the caller's and the run's; calib_close() frees the rest, also after -1. */
int probe_file_open(struct calibration *out, const struct run *run, const char *name,
                    const char *date, const char *version, struct err *err) MUST_CHECK;

/* Appends the file's text. */
int probe_file_print(const struct run *run, const char *name, const char *date, const char *version,
                     struct text *out, struct err *err) MUST_CHECK;

#endif
