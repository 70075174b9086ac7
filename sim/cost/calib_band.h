/* calib_band.h - what a Hopper GPU should show, and what a calibration shows.
 *
 * The bands are those of shared facts, models-and-kernels.md 8. They are wide: a probe's own
 * kernels are not the published ones. An alarm means that something is wrong with the machine or
 * the method; what is impossible is faster than the device. */
#ifndef SNAPSIM_CALIB_BAND_H
#define SNAPSIM_CALIB_BAND_H

#include "sim/cost/calib.h"

enum band_verdict {
    BAND_GOOD,    /* as expected */
    BAND_OUTSIDE, /* outside the expectation, without alarm */
    BAND_ALARM,
    BAND_UNJUDGED, /* nothing is known about this device */
    BAND_ABSENT    /* the calibration has nothing to say */
};

struct band {
    const char *name, *what, *unit;
    bool has_expectation; /* false: none is known for this device */
    double low, high;     /* of what is expected */
    double alarm;         /* 0: no alarm */
    bool alarm_is_below;  /* alarm if the value is below it, else above */
    bool from_law;        /* no raw point has the shape, so the law was asked */
    double value;
    enum band_verdict verdict;
};

/* How many bands there are; and one of them, judged. */
size_t calib_band_count(void);
struct band calib_band_at(const struct calibration *calib, size_t index);

const char *calib_band_verdict_name(enum band_verdict verdict);

#endif
