/* units.h - numbers with units, as people type and read them.
 *
 * Reading is strict: the whole word must be a number with an optional unit, in range. On failure a
 * function returns -1 and err says what was found ("'64Gib' is not a size ..."); the caller's flag
 * or key is prefixed by the caller. */
#ifndef SNAPSIM_UNITS_H
#define SNAPSIM_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"

/* Bytes: "64GiB", "1.5 TB", "4096B"; KB/MB/GB/TB decimal, KiB/MiB/GiB/TiB and K/M/G/T binary.
 * "unlimited" is UNITS_UNLIMITED. Without a unit, 0 and whole numbers from 1 MiB on are bytes; a
 * smaller one is refused, because "64" is hardly meant as 64 bytes. */
#define UNITS_UNLIMITED UINT64_MAX
int units_parse_bytes(const char *text, uint64_t *bytes, struct err *err) MUST_CHECK;

/* Nanoseconds: "250us", "1.5s", "10ms", "3min", "2h"; a bare number is seconds. */
int units_parse_duration(const char *text, uint64_t *ns, struct err *err) MUST_CHECK;

/* Inches: "3.4in", "8.5cm", "86mm", "245pt"; a bare number is inches. */
int units_parse_length(const char *text, double *inches, struct err *err) MUST_CHECK;

int units_parse_u64(const char *text, uint64_t *value, struct err *err) MUST_CHECK;
int units_parse_double(const char *text, double *value, struct err *err) MUST_CHECK;

/* "428.6 MiB", "16.0 GiB", "unlimited"; out must hold UNITS_TEXT bytes. Returns out. */
#define UNITS_TEXT 32
const char *units_bytes(uint64_t bytes, char out[UNITS_TEXT]);

/* The shortest exact form that units_parse_bytes reads back: "64GiB", "1000000000B", "0",
 * "unlimited". */
const char *units_bytes_exact(uint64_t bytes, char out[UNITS_TEXT]);

/* "6,040,123,456". */
const char *units_grouped(uint64_t value, char out[UNITS_TEXT]);

#endif
