/* calib_measured.h - results/calibration/NAME.json, which the Makefile makes a part of the program:
 * the calibration NAME-measured, from any directory, installed or not. A file gets there from
 * tools/probe on a machine with that GPU, and is committed with its log. There may be none. */
#ifndef SNAPSIM_CALIB_MEASURED_H
#define SNAPSIM_CALIB_MEASURED_H

#define CALIB_MEASURED_SUFFIX "-measured"
#define CALIB_MEASURED_FOLDER "results/calibration"

struct calib_measured {
    const char *name, *text; /* "h200.json" and what it holds */
};
extern const struct calib_measured calib_measured[]; /* ends with a NULL name */

#endif
