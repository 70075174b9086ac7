/* probe_file.h - a run as a calibration file (JSON), the one that snapsim reads. */
#ifndef SNAPSIM_PROBE_FILE_H
#define SNAPSIM_PROBE_FILE_H

#include "tools/probe/probe_measure.h"

#define PROBE_FILE_SCHEMA 1

/* Appends the file's text. date: "2026-11-29T17:00:00Z"; version: of this program. */
void probe_file_print(const struct run *run, const char *name, const char *date,
                      const char *version, struct text *out);

#endif
