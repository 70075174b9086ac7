#include "sim/core/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"K", 0x1p10},
    {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},   {NULL, 0},
};

static const struct unit time_units[] = {
    {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {NULL, 0},
};

/* Digits and at most one point; no sign, no exponent, no hexadecimal, whatever strtod accepts. */
static size_t plain_number_length(const char *text)
{
    size_t length = strspn(text, "0123456789.");
    const char *point = memchr(text, '.', length);
    if (length == 0 || (point && memchr(point + 1, '.', length - (size_t)(point + 1 - text))))
        return 0;
    return point && length == 1 ? 0 : length;
}

static int parse_with_unit(const char *text, const struct unit *units, double bare, uint64_t *value)
{
    size_t digits = plain_number_length(text);
    if (digits == 0)
        return -1;
    const char *rest = text + digits;
    while (*rest == ' ')
        rest++;
    double factor = *rest == '\0' ? bare : 0;
    for (const struct unit *unit = units; unit->name && *rest; unit++)
        if (strcmp(rest, unit->name) == 0)
            factor = unit->factor;
    if (factor == 0)
        return -1;
    errno = 0;
    if (factor == 1 && memchr(text, '.', digits) == NULL) { /* exact beyond 2^53 */
        *value = strtoull(text, NULL, 10);
        return errno == 0 ? 0 : -1;
    }
    double product = strtod(text, NULL) * factor;
    if (!(product < 0x1p63))
        return -1;
    *value = (uint64_t)(product + 0.5);
    return 0;
}

/* Without a unit a large whole number can only be bytes, as scripts compute them. "64" is hardly
 * ever meant as bytes, and no memory is that small. */
#define BARE_BYTES_MIN (1u << 20)

static bool lacks_unit(const char *text, uint64_t bytes)
{
    bool is_bare = text[plain_number_length(text)] == '\0';
    return is_bare && bytes > 0 && (bytes < BARE_BYTES_MIN || strchr(text, '.') != NULL);
}

int units_parse_bytes(const char *text, uint64_t *bytes, struct err *err)
{
    if (strcmp(text, "unlimited") == 0) {
        *bytes = UNITS_UNLIMITED;
        return 0;
    }
    if (parse_with_unit(text, byte_units, 1, bytes) != 0)
        return err_set(err,
                       "'%s' is not a size: a number with a unit was expected, "
                       "such as 64GiB, 64G, 1.5TB, 4096B, 0 or unlimited",
                       text);
    if (lacks_unit(text, *bytes))
        return err_set(err, "%s bytes? A unit was expected: %sGiB, or %sB if bytes are meant", text,
                       text, text);
    return 0;
}

int units_parse_duration(const char *text, uint64_t *ns, struct err *err)
{
    if (parse_with_unit(text, time_units, 1e9, ns) != 0)
        return err_set(err,
                       "'%s' is not a time: a number with an optional unit was expected, "
                       "such as 250us, 1.5s or 5min",
                       text);
    return 0;
}

int units_parse_u64(const char *text, uint64_t *value, struct err *err)
{
    size_t digits = strspn(text, "0123456789");
    errno = 0;
    if (digits > 0 && text[digits] == '\0')
        *value = strtoull(text, NULL, 10);
    if (digits == 0 || text[digits] != '\0' || errno != 0)
        return err_set(err, "'%s' is not a whole number", text);
    return 0;
}

int units_parse_double(const char *text, double *value, struct err *err)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(*value) ||
        isspace((unsigned char)*text))
        return err_set(err, "'%s' is not a number", text);
    return 0;
}

int units_parse_length(const char *text, double *inches, struct err *err)
{
    static const struct unit units[] = {{"", 1},          {"in", 1},        {"cm", 1 / 2.54},
                                        {"mm", 1 / 25.4}, {"pt", 1 / 72.0}, {NULL, 0}};
    size_t digits = plain_number_length(text);
    for (const struct unit *unit = units; digits > 0 && unit->name; unit++) {
        if (strcmp(text + digits, unit->name) == 0) {
            *inches = strtod(text, NULL) * unit->factor;
            return 0;
        }
    }
    return err_set(err, "'%s' is not a length: a number was expected, such as 5.5, 3.4in or 86mm",
                   text);
}

const char *units_bytes(uint64_t bytes, char out[UNITS_TEXT])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes == UNITS_UNLIMITED)
        return strcpy(out, "unlimited");
    double value = (double)bytes;
    size_t step = 0;
    for (; value >= 1024 && step + 1 < sizeof names / sizeof *names; step++)
        value /= 1024;
    snprintf(out, UNITS_TEXT, step == 0 ? "%.0f %s" : "%.1f %s", value, names[step]);
    return out;
}

const char *units_bytes_exact(uint64_t bytes, char out[UNITS_TEXT])
{
    static const struct {
        const char *name;
        unsigned shift;
    } binary[] = {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}};
    if (bytes == UNITS_UNLIMITED)
        return strcpy(out, "unlimited");
    size_t i = 0;
    while (binary[i].shift > 0 && (bytes & ((1ull << binary[i].shift) - 1)) != 0)
        i++;
    snprintf(out, UNITS_TEXT, "%" PRIu64 "%s", bytes >> binary[i].shift,
             bytes > 0 ? binary[i].name : "");
    return out;
}

const char *units_grouped(uint64_t value, char out[UNITS_TEXT])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *cursor = out;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *cursor++ = ',';
        *cursor++ = digits[i];
    }
    *cursor = '\0';
    return out;
}
