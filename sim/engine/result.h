/* result.h - a run as one JSON object, the form in which snapsim publishes numbers.
 *
 *     schema   of this layout; raised when a key changes its meaning
 *     program  name, version
 *     config   every setting, resolved; `snapsim run --config` accepts it
 *     trace    name, sha256 of its content, requests; how many continue another, and how far that
 *              is guessed (struct continuation_counts)
 *     model    name, sha256 of its content, and what the run used: bytes per GPU
 *     result   exact integers, hit_ratio derived from them
 *     digest   of every request's outcome
 *
 * Nothing in it depends on the machine, the time, the number of threads, or on whether the trace
 * was plain, compressed or compiled. */
#ifndef SNAPSIM_RESULT_H
#define SNAPSIM_RESULT_H

#include "sim/engine/replay.h"
#include "sim/vocabulary.h"

uint64_t result_value(const struct result *result, const struct result_field *field);
double result_hit_ratio(const struct result *result);

/* Adds the object's keys to parent. Returns `result`, to which a caller may add numbers. */
struct json *result_write(const struct result *result, const struct workload *workload,
                          const char *version, struct json *parent);

#endif
