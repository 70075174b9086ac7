/* rng.h - seeded random numbers from named streams.
 *
 * A run draws from streams opened by (seed, name), so that adding a draw in one place never shifts
 * the draws of another. The same (seed, name) gives the same numbers on every machine: integer
 * arithmetic only, and for logarithms a series in + - * /, because libm's log differs by version.
 * The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * OOPSLA 2014), which passes BigCrush and has one word of state. */
#ifndef SNAPSIM_RNG_H
#define SNAPSIM_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

struct rng rng_open(uint64_t seed, const char *name);
uint64_t rng_u64(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t limit);  /* uniform in 0 .. limit-1; limit > 0 */
double rng_unit(struct rng *rng);                     /* uniform in [0, 1) */
double rng_exponential(struct rng *rng, double mean); /* mean in any unit, result in the same */
double rng_lognormal(struct rng *rng, double median, double sigma);

/* Natural logarithm and exponential, the same bits everywhere. Relative error below 1e-14. */
double rng_log(double x); /* x > 0 */
double rng_exp(double x); /* |x| < 700 */

#endif
