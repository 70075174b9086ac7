/* Laws from raw points: least squares of relative errors with coefficients of at least zero.
 *
 * A negative coefficient is noise (no chain takes back time), and without the bound it would be
 * extrapolated. With at most four terms the best of all subsets of terms, each solved without the
 * bound, is the exact answer to the bounded problem. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/cost/calib.h"

/* A law's points, as the factors of its terms and the microseconds that they should give. */
struct samples {
    double (*factor)[CALIB_TERMS];
    double *us;
    size_t *place; /* in the calibration */
    size_t count, terms;
};

static void swap_rows(double a[CALIB_TERMS][CALIB_TERMS + 1], size_t i, size_t j)
{
    double kept[CALIB_TERMS + 1];
    memcpy(kept, a[i], sizeof kept);
    memcpy(a[i], a[j], sizeof kept);
    memcpy(a[j], kept, sizeof kept);
}

/* Gauss elimination with pivots; false if two columns say the same. Columns have length 1. */
static bool eliminate(double a[CALIB_TERMS][CALIB_TERMS + 1], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t row = i + 1; row < n; row++)
            if (fabs(a[row][i]) > fabs(a[best][i]))
                best = row;
        swap_rows(a, i, best);
        if (fabs(a[i][i]) < 1e-12)
            return false;
        for (size_t row = 0; row < n; row++) {
            double times = row == i ? 0 : a[row][i] / a[i][i];
            for (size_t column = i; column <= n; column++)
                a[row][column] -= times * a[i][column];
        }
    }
    return true;
}

/* The least squares over the terms in `mask`; rows are divided by their time, so that the right
 * side is 1. False if there is no solution, or one with a negative coefficient. */
static bool solve_subset(const struct samples *samples, unsigned mask, double out[CALIB_TERMS])
{
    size_t which[CALIB_TERMS], n = 0;
    double length[CALIB_TERMS], a[CALIB_TERMS][CALIB_TERMS + 1] = {{0}};
    memset(out, 0, CALIB_TERMS * sizeof *out);
    for (size_t term = 0; term < samples->terms; term++) {
        if ((mask >> term & 1U) == 0)
            continue;
        double sum = 0;
        for (size_t p = 0; p < samples->count; p++) {
            double one = samples->factor[p][term] / samples->us[p];
            sum += one * one;
        }
        if (!(sum > 0))
            return false;
        length[n] = sqrt(sum);
        which[n++] = term;
    }
    for (size_t p = 0; p < samples->count; p++)
        for (size_t i = 0; i < n; i++) {
            double row = samples->factor[p][which[i]] / samples->us[p] / length[i];
            for (size_t j = 0; j < n; j++)
                a[i][j] += row * (samples->factor[p][which[j]] / samples->us[p] / length[j]);
            a[i][n] += row;
        }
    if (!eliminate(a, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        out[which[i]] = a[i][n] / a[i][i] / length[i];
        if (!(out[which[i]] >= 0))
            return false;
    }
    return true;
}

static double relative_error(const struct samples *samples, size_t p, const double c[CALIB_TERMS])
{
    double sum = 0;
    for (size_t term = 0; term < samples->terms; term++)
        sum += samples->factor[p][term] * c[term];
    return sum / samples->us[p] - 1;
}

/* Returns the sum of squares, or infinity if there is no solution. */
static double solve(const struct samples *samples, double out[CALIB_TERMS])
{
    double least = INFINITY, trial[CALIB_TERMS];
    memset(out, 0, CALIB_TERMS * sizeof *out);
    if (samples->count < samples->terms)
        return INFINITY;
    for (unsigned mask = 1; mask < 1U << samples->terms; mask++) {
        double sum = 0;
        if (!solve_subset(samples, mask, trial))
            continue;
        for (size_t p = 0; p < samples->count; p++) {
            double error = relative_error(samples, p, trial);
            sum += error * error;
        }
        if (sum < least) {
            least = sum;
            memcpy(out, trial, sizeof trial);
        }
    }
    return least;
}

/* What the snapshots added to the prefill of the same shape; false if that was not timed, or if
 * they added less than timings can tell. */
static bool subtract_prefill(const struct calibration *calib, const struct calib_point *point,
                             double *us)
{
    for (size_t i = 0; i < calib->point_count; i++) {
        const struct calib_point *other = &calib->point[i];
        const struct calib_shape *a = &point->shape, *b = &other->shape;
        if (other->kernel != CALIB_KDA_PREFILL || other->absent || b->variant ||
            strcmp(a->model, b->model) != 0 || a->tp != b->tp || a->heads != b->heads ||
            a->sequences != b->sequences || a->tokens != b->tokens)
            continue;
        *us -= other->us.median;
        return *us > 0.01 * other->us.median;
    }
    return false;
}

static void gather(const struct calibration *calib, enum calib_law_id law, struct samples *out)
{
    const struct calib_law_facts *facts = calib_law_facts(law);
    size_t room = calib->point_count + 1;
    *out = (struct samples){.factor = mem_array(room, sizeof *out->factor),
                            .us = mem_array(room, sizeof *out->us),
                            .place = mem_array(room, sizeof *out->place)};
    while (out->terms < calib_law_terms(law) && !facts->term[out->terms].optional)
        out->terms++;
    for (size_t i = 0; i < calib->point_count; i++) {
        const struct calib_point *point = &calib->point[i];
        if (point->kernel != facts->kernel || point->absent || !facts->takes(&point->shape))
            continue;
        double us = point->us.median;
        if (point->kernel == CALIB_SNAPSHOT_EMIT && !subtract_prefill(calib, point, &us))
            continue;
        facts->factors(facts->kernel, &point->shape, calib->device.sm_count,
                       out->factor[out->count]);
        out->us[out->count] = us;
        out->place[out->count++] = i;
    }
}

static void release(struct samples *samples)
{
    free(samples->factor);
    free(samples->us);
    free(samples->place);
}

static double piece_bytes(const struct samples *samples, size_t p)
{
    return samples->factor[p][HOST_RATE] / samples->factor[p][HOST_PER_PIECE];
}

/* Both regimes of a host copy for a cliff at `below`: the small pieces' only term is their bytes.
 * Returns the sum of squares. */
static double solve_with_cliff(const struct samples *all, double below, double large[CALIB_TERMS],
                               double *small)
{
    struct samples above = {.factor = mem_array(all->count, sizeof *above.factor),
                            .us = mem_array(all->count, sizeof *above.us),
                            .terms = all->terms};
    double xx = 0, x = 0, squares = 0;
    size_t few = 0;
    for (size_t p = 0; p < all->count; p++) {
        if (piece_bytes(all, p) >= below) {
            memcpy(above.factor[above.count], all->factor[p], sizeof *above.factor);
            above.us[above.count++] = all->us[p];
            continue;
        }
        double one = all->factor[p][HOST_RATE] / all->us[p];
        xx += one * one;
        x += one;
        few++;
    }
    if (few > 0) { /* sum of (c one - 1)^2 at its least */
        *small = x / xx;
        squares = (double)few - x * x / xx;
    }
    squares += solve(&above, large);
    release(&above);
    return squares;
}

/* Tries a cliff at each size of a piece, and none. It must be worth its two terms: without one the
 * squares would have to be half as large again. */
static void fit_cliff(const struct samples *samples, const struct calib_law_facts *facts,
                      double c[CALIB_TERMS], struct calib_fit *fit)
{
    double least = solve(samples, c) / 1.5, trial[CALIB_TERMS], small = 0;
    if (least < 1e-6 * (double)samples->count) /* a tenth of a percent: there is nothing to find */
        return;
    for (size_t p = 0; p < samples->count; p++) {
        double below = piece_bytes(samples, p);
        double squares = solve_with_cliff(samples, below, trial, &small);
        if (small <= 0 || !(squares < least))
            continue;
        least = squares;
        memcpy(c, trial, sizeof trial);
        fit->known[HOST_SMALL_RATE] = fit->known[HOST_SMALL_BELOW] = true;
        fit->value[HOST_SMALL_RATE] = facts->term[HOST_SMALL_RATE].scale / small;
        fit->value[HOST_SMALL_BELOW] = below;
    }
}

static double error_of(const struct samples *samples, size_t p, const double c[CALIB_TERMS],
                       const struct calib_law_facts *facts, const struct calib_fit *fit)
{
    if (facts->cliff && fit->known[HOST_SMALL_BELOW] &&
        piece_bytes(samples, p) < fit->value[HOST_SMALL_BELOW])
        return samples->factor[p][HOST_RATE] * facts->term[HOST_SMALL_RATE].scale /
                   fit->value[HOST_SMALL_RATE] / samples->us[p] -
               1;
    return relative_error(samples, p, c);
}

/* No rate is above the device's peak: work that hides behind other work (snapshots behind a serial
 * chain) would seem to move faster, and what is extrapolated from that would be impossible. */
static void bound_rates(const struct calib_device *device, const struct calib_law_facts *facts,
                        size_t terms, double c[CALIB_TERMS])
{
    for (size_t term = 0; term < terms; term++) {
        const char *unit = facts->term[term].unit;
        double peak = 0;
        if (strcmp(unit, "TB/s") == 0 && device->peak_bandwidth.known)
            peak = device->peak_bandwidth.value;
        else if (strcmp(unit, "TFLOPS") == 0 && device->peak_bf16.known)
            peak = device->peak_bf16.value * (facts->kernel == CALIB_GEMM_FP8 ? 2 : 1);
        else if (strcmp(unit, "GB/s") == 0 && device->pcie.known)
            peak = device->pcie.value;
        if (peak > 0 && c[term] < facts->term[term].scale / peak)
            c[term] = facts->term[term].scale / peak;
    }
}

static void finish(const struct samples *samples, const struct calib_law_facts *facts,
                   const double c[CALIB_TERMS], struct calib_fit *fit)
{
    fit->points = samples->count;
    for (size_t term = 0; term < samples->terms; term++) {
        double scale = facts->term[term].scale;
        fit->known[term] = scale == 0 || c[term] > 0;
        fit->value[term] = scale == 0 ? c[term] : c[term] > 0 ? scale / c[term] : 0;
    }
    for (size_t p = 0; p < samples->count; p++) {
        double error = fabs(error_of(samples, p, c, facts, fit));
        fit->mean_error += error / (double)samples->count;
        if (error > fit->most_error) {
            fit->most_error = error;
            fit->worst = samples->place[p];
        }
    }
}

struct calib_fit calib_fit_law(const struct calibration *calib, enum calib_law_id law)
{
    const struct calib_law_facts *facts = calib_law_facts(law);
    struct calib_fit fit = {0};
    struct samples samples;
    double c[CALIB_TERMS];
    gather(calib, law, &samples);
    if (samples.terms > 0 && isfinite(solve(&samples, c))) {
        if (facts->cliff)
            fit_cliff(&samples, facts, c, &fit);
        bound_rates(&calib->device, facts, samples.terms, c);
        finish(&samples, facts, c, &fit);
    }
    release(&samples);
    return fit;
}

/* What the points of a law have in common: the weakest of their labels. */
static enum calib_provenance label_of(const struct calibration *calib, enum calib_law_id law)
{
    const struct calib_law_facts *facts = calib_law_facts(law);
    bool any_published = false, any_assumed = false;
    for (size_t i = 0; i < calib->point_count; i++) {
        const struct calib_point *point = &calib->point[i];
        if (point->absent || point->kernel != facts->kernel || !facts->takes(&point->shape))
            continue;
        if (point->provenance == CALIB_SIMULATED)
            return CALIB_SIMULATED;
        any_published |= point->provenance == CALIB_PUBLISHED;
        any_assumed |= point->provenance == CALIB_ASSUMED;
    }
    return any_assumed ? CALIB_ASSUMED : any_published ? CALIB_PUBLISHED : CALIB_MEASURED;
}

static void replace_law(struct calibration *calib, enum calib_law_id id,
                        const struct calib_fit *fit)
{
    struct calib_law *law = &calib->law[id];
    enum calib_provenance label = label_of(calib, id);
    const char *source = label == CALIB_MEASURED || label == CALIB_SIMULATED
                             ? NULL
                             : "snapsim calib fit, from the points of this file";
    *law = (struct calib_law){.present = true,
                              .form = calib_law_facts(id)->form,
                              .fit_points = fit->points,
                              .fit_mean = fit->mean_error,
                              .fit_most = fit->most_error};
    for (size_t term = 0; term < calib_law_terms(id); term++)
        if (fit->known[term])
            law->term[term] = (struct calib_value){true, fit->value[term], label, source};
}

int calib_fit_all(struct calibration *calib, struct err *err)
{
    for (size_t i = 0; i < calib->point_count; i++)
        if (calib_limit_point(&calib->device, &calib->point[i], err) != 0)
            return -1;
    for (int i = 0; i < CALIB_LAWS; i++) {
        struct calib_fit fit = calib_fit_law(calib, (enum calib_law_id)i);
        if (fit.points > 0)
            replace_law(calib, (enum calib_law_id)i, &fit);
    }
    return 0;
}
