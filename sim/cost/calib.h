/* calib.h - what a GPU's kernels cost: the calibration that all times come from.
 *
 * A calibration is one GPU with one set of kernels: the device's limits, the laws of calib_law.h
 * with their coefficients, and the raw points that the laws came from. Each value says where it is
 * from; nothing published is ever labelled measured, and what a stand-in for a GPU said cannot be
 * used at all. Nothing in a calibration that is in use is faster than the device's peaks allow.
 *
 * calib_load() opens one that is built in, or a file as tools/probe writes it; calib_close() frees
 * it. Texts belong to the calibration. Files are read strictly: errors name the file and line. */
#ifndef SNAPSIM_CALIB_H
#define SNAPSIM_CALIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/core/json.h"
#include "sim/core/sha256.h"
#include "sim/core/text.h"
#include "sim/cost/calib_law.h"

#define CALIB_DEFAULT "h200"
#define CALIB_SCHEMA 1
#define CALIB_TOLERANCE 1.02 /* a data sheet's peak is rounded; more than this is not possible */

enum calib_provenance {
    CALIB_PUBLISHED, /* stands in the source, or follows from it by the arithmetic named there */
    CALIB_ASSUMED,   /* no source has it; `source` says what it was taken from */
    CALIB_MEASURED,  /* by the program, on the device and the day that the file names */
    CALIB_SIMULATED  /* by a stand-in: for tests of the probe only */
};
#define CALIB_PROVENANCES 4

struct calib_value {
    bool known;
    double value; /* in the unit of its place */
    enum calib_provenance provenance;
    const char *source; /* or NULL */
};

/* Whatever else a file says about a device's condition or a method, in its order. */
struct calib_note {
    const char *key, *text; /* text NULL: a number */
    uint64_t number;
};
struct calib_notes {
    struct calib_note *note;
    size_t count, capacity;
};

struct calib_device {
    const char *name, *driver, *runtime; /* the last two NULL if not known */
    uint64_t sm_count, memory_bytes, l2_bytes;
    struct calib_value peak_bandwidth;        /* TB/s */
    struct calib_value peak_bf16;             /* TFLOPS, dense */
    struct calib_value pcie, nvlink, network; /* GB/s each way */
    struct calib_notes before, after;
};

struct calib_law {
    bool present;
    const char *form;
    struct calib_value term[CALIB_TERMS];
    uint64_t fit_points; /* 0: no fit is recorded */
    double fit_mean, fit_most;
};

struct calib_times { /* microseconds of one launch; spread is 0 if only a median is known */
    double median, p10, p90, least, most;
};

struct calib_point {
    enum calib_kernel kernel;
    struct calib_shape shape;
    const char *absent; /* why there is no time, or NULL */
    enum calib_provenance provenance;
    const char *source;
    struct calib_times us;
    uint64_t samples, launches, sets;
    double dram_bytes, flops; /* as the file has them */
};

struct calib_check { /* of a kernel's results against a reference */
    const char *name, *kernel, *worst;
    double error, bound;
};

struct calib_text_pool {
    char **text;
    size_t count, capacity;
};

struct calibration {
    const char *name;
    enum calib_provenance provenance;
    const char *program, *version, *date; /* NULL if no program made it */
    struct calib_device device;
    struct calib_notes method;
    struct calib_law law[CALIB_LAWS];
    struct calib_point *point;
    size_t point_count, point_capacity;
    struct calib_check *check;
    size_t check_count, check_capacity;
    struct calib_text_pool pool; /* what a file's texts are kept in */
};

enum calib_use {
    CALIB_TO_LOOK, /* any readable file */
    CALIB_TO_COST  /* refuses simulated values, and what is faster than the device */
};

/* A name of a built-in calibration, NAME-measured for one that was committed (calib_files.h), or
 * a file if there is a '/' or a ".json" in it. */
int calib_load(struct calibration *out, const char *name_or_path, enum calib_use use,
               struct err *err) MUST_CHECK;
void calib_close(struct calibration *calib);

/* What is built in, in order; false after the last. */
#define CALIB_NAME 64
bool calib_builtin_name(size_t index, char out[CALIB_NAME]);

/* Files (calib_file.c, calib_print.c). What calib_print() wrote reads back as the same calibration
 * and prints as the same bytes. */
int calib_read_file(struct calibration *out, const char *path, enum calib_use use,
                    struct err *err) MUST_CHECK;
int calib_read_text(struct calibration *out, const char *name, const char *source,
                    enum calib_use use, struct err *err) MUST_CHECK;
void calib_print(const struct calibration *calib, struct text *out);

/* The SHA-256 of what calib_print() writes. */
void calib_digest(const struct calibration *calib, char hex[SHA256_TEXT]);

const char *calib_provenance_name(enum calib_provenance provenance);

/* True if the law has all that it needs to give a time. */
bool calib_law_complete(const struct calibration *calib, enum calib_law_id law);

/* Microseconds of one launch by a law that is complete. */
double calib_law_us(const struct calibration *calib, enum calib_law_id law,
                    const struct calib_shape *shape);

/* The law that is about a point, or -1; and what it says of a point's time: for a prefill that
 * writes snapshots the law of the prefill and that of the snapshots together. false: no law. */
int calib_point_law(const struct calib_point *point);
bool calib_point_us(const struct calibration *calib, const struct calib_point *point, double *us);

/* "kda_prefill kimi-k3 tp=8 heads=12 sequences=1 tokens=8192". */
void calib_point_print(const struct calib_point *point, struct text *out);

/* Physical limits (calib_limit.c): -1 if something is faster than the device, err says what. */
int calib_limit_point(const struct calib_device *device, const struct calib_point *point,
                      struct err *err) MUST_CHECK;
int calib_limit_law(const struct calib_device *device, enum calib_law_id id,
                    const struct calib_law *law, struct err *err) MUST_CHECK;

/* Fits (calib_fit.c): coefficients of at least zero that make the squared relative errors of a
 * law's points least; then no rate above the device's peak. */
struct calib_fit {
    size_t points; /* 0: too few, or no solution; then nothing else is set */
    double value[CALIB_TERMS];
    bool known[CALIB_TERMS];
    double mean_error, most_error; /* relative */
    size_t worst;                  /* place of the point with the largest error */
};
struct calib_fit calib_fit_law(const struct calibration *calib, enum calib_law_id law);

/* Replaces each law that has enough points by its fit. err: a point is faster than the device. */
int calib_fit_all(struct calibration *calib, struct err *err) MUST_CHECK;

/* Keeps a copy of a text for as long as the calibration lives. */
const char *calib_keep_text(struct calibration *calib, const char *text);

#endif
