/* probe_measure.h - a whole run: checks, then timings, then laws.
 *
 * Order and refusals are the method: nothing is timed whose checks failed or are missing; a timing
 * that beats the device's peak is no timing; and a run in which anything of that kind happened, or
 * in which another process used the GPU, ends with an error and leaves no file. */
#ifndef SNAPSIM_PROBE_MEASURE_H
#define SNAPSIM_PROBE_MEASURE_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/cost/calib.h"
#include "tools/probe/probe_check.h"
#include "tools/probe/probe_clock.h"
#include "tools/probe/probe_grid.h"
#include "tools/probe/probe_stats.h"

struct measurement {
    const struct point *point;
    bool absent; /* this machine cannot do it */
    char reason[160];
    uint32_t sets, launches; /* per sample */
    struct stats us;         /* of one launch */
};

struct checked {
    const struct check *check;
    struct check_outcome outcome;
    bool passed;
};

struct run {
    const struct grid *grid;
    enum calib_provenance provenance; /* measured or simulated */
    struct device_facts facts;
    struct calib_device device; /* the same as a calibration has it; its texts are in facts */
    struct device_condition before, after;
    struct checked *checked;
    size_t checked_count;
    struct measurement *measurements;
    size_t count;
};

struct run_options {
    const struct check *checks; /* the table of probe_check, or a test's own */
    size_t check_count;
    uint64_t seed;
    bool large;      /* also the checks for a GPU alone */
    bool check_only; /* time nothing */
    FILE *progress;  /* or NULL */
};

/* Always leaves something to close, which must not move. -1: no file may be written, err says why.
 */
int probe_measure_open(struct run *run, const struct grid *grid, const struct probe_clock *clock,
                       const struct run_options *options, struct err *err) MUST_CHECK;
void probe_measure_close(struct run *run);

/* A measurement as a calibration has it; its texts are the run's. */
struct calib_point probe_measure_point(const struct run *run, const struct measurement *m);

#endif
