#include "sim/core/rng.h"

#include <assert.h>

#define LN2 0.69314718055994530942

struct rng rng_open(uint64_t seed, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a of the name, mixed with the seed below */
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    struct rng rng = {hash};
    rng.state = rng_u64(&rng) ^ seed;
    rng_u64(&rng);
    return rng;
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *rng, uint64_t limit)
{
    assert(limit > 0);
    uint64_t reject = -limit % limit; /* 2^64 mod limit: draws below it would favour small values */
    uint64_t draw = rng_u64(rng);
    while (draw < reject)
        draw = rng_u64(rng);
    return draw % limit;
}

double rng_unit(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

/* x = m 2^k with m in [0.75, 1.5); log m = 2 artanh((m-1)/(m+1)), |argument| <= 0.2. */
double rng_log(double x)
{
    assert(x > 0);
    int k = 0;
    while (x >= 1.5) {
        x *= 0.5;
        k++;
    }
    while (x < 0.75) {
        x *= 2;
        k--;
    }
    double t = (x - 1) / (x + 1), square = t * t, power = t, sum = 0;
    for (int i = 1; i <= 21; i += 2) {
        sum += power / i;
        power *= square;
    }
    return k * LN2 + 2 * sum;
}

/* exp x = 2^k exp r with |r| <= ln2/2, the rest by its power series. */
double rng_exp(double x)
{
    assert(x < 700 && x > -700);
    int k = (int)(x / LN2 + (x < 0 ? -0.5 : 0.5));
    double r = x - k * LN2, term = 1, sum = 1;
    for (int i = 1; i <= 16; i++) {
        term *= r / i;
        sum += term;
    }
    for (; k > 0; k--)
        sum *= 2;
    for (; k < 0; k++)
        sum *= 0.5;
    return sum;
}

double rng_exponential(struct rng *rng, double mean)
{
    return -mean * rng_log(1 - rng_unit(rng));
}

/* A normal draw as the sum of 12 uniforms (Irwin-Hall): no trigonometry, tails cut at 6 sigma. */
double rng_lognormal(struct rng *rng, double median, double sigma)
{
    double normal = -6;
    for (int i = 0; i < 12; i++)
        normal += rng_unit(rng);
    return median * rng_exp(sigma * normal);
}
