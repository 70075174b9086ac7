/* calib_files.h - calibrations that are a part of the program, from any directory, installed or
 * not.
 *
 * sim/cost/published/NAME.json is the calibration NAME: data sheets, and the laws and tables of
 * shared facts (models-and-kernels.md) 4 and 8; nothing there was measured by this project.
 * results/calibration/NAME.json is NAME-measured: a file gets there from tools/probe on a machine
 * with that GPU, and is committed with its log. There may be none. */
#ifndef SNAPSIM_CALIB_FILES_H
#define SNAPSIM_CALIB_FILES_H

#include "sim/core/embed.h"

#define CALIB_MEASURED_SUFFIX "-measured"
#define CALIB_MEASURED_FOLDER "results/calibration"

extern const struct embedded_file calib_published[], calib_measured[];

#endif
