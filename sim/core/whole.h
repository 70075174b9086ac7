/* whole.h - arithmetic of whole numbers. */
#ifndef SNAPSIM_WHOLE_H
#define SNAPSIM_WHOLE_H

#include <stdint.h>

#include "sim/core/err.h"

static inline uint64_t whole_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* a / b, rounded up; b over 0. */
static inline uint64_t whole_ceil(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* The greatest common divisor; of a number and 0 that number. */
static inline uint64_t whole_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The least common multiple of two numbers over 0; -1 if it is above 2^64. */
MUST_CHECK static inline int whole_multiple(uint64_t a, uint64_t b, uint64_t *out)
{
    return __builtin_mul_overflow(a / whole_divisor(a, b), b, out) ? -1 : 0;
}

#endif
