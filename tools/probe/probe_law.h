/* probe_law.h - the laws that summarise a run: time as a sum of a few terms.
 *
 * Each law takes the points of one kind (some of them, by its own rule), and finds coefficients
 * of at least zero that make the squared relative errors least. A coefficient is reported in the
 * unit in which the cost model uses it, so a time per byte becomes a rate. */
#ifndef SNAPSIM_PROBE_LAW_H
#define SNAPSIM_PROBE_LAW_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/probe/probe_measure.h"

#define LAW_TERMS 4

struct law_term {
    const char *name, *unit; /* name NULL ends the terms */
    double invert;           /* 0: the coefficient itself; else the value is invert / coefficient */
};

struct law {
    const char *name; /* in the calibration file */
    const char *form; /* for people */
    enum point_kind kind;
    bool (*takes)(const struct point *point);
    /* The factors of the coefficients; false if it depends on a partner that was not measured.
     * *us may be changed from the whole time to the part that the law is about. */
    bool (*terms)(const struct run *run, const struct measurement *m, double factor[LAW_TERMS],
                  double *us);
    struct law_term term[LAW_TERMS];
};

struct law_fit {
    size_t points;                 /* 0: too few, nothing else is set */
    double coefficient[LAW_TERMS]; /* microseconds per unit of the factor */
    double value[LAW_TERMS];       /* in the term's unit */
    bool known[LAW_TERMS];         /* false if the coefficient is 0 and the value its inverse */
    double mean_error, most_error; /* relative */
};

size_t probe_law_count(void);
const struct law *probe_law_at(size_t index);
struct law_fit probe_law_fit(const struct law *law, const struct run *run);

/* Least squares of relative errors with coefficients >= 0: factor[i] . c ~ us[i]. Returns the sum
 * of squares. terms <= LAW_TERMS. */
double probe_law_solve(const double (*factor)[LAW_TERMS], const double *us, size_t points,
                       size_t terms, double coefficient[LAW_TERMS]);

#endif
