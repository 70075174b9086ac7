/* hazard.h - how soon members of a class are used, learned as a load goes by. (prototype) */
#ifndef SNAPSIM_HAZARD_H
#define SNAPSIM_HAZARD_H

#include <stdbool.h>
#include <stdint.h>

#define HAZARD_BUCKETS 64

struct hazard_class {
    double uses[HAZARD_BUCKETS], time[HAZARD_BUCKETS];
    float index[HAZARD_BUCKETS];
    bool active;
    uint16_t parent; /* index of pooled class */
};

struct hazard {
    struct hazard_class *classes;
    uint32_t count;
    double prior, decay, guess, tail, known;
    uint32_t group;
    double start[1024];
    bool myopic;
};

void hazard_open(struct hazard *hazard, uint32_t classes);
void hazard_start(struct hazard *hazard, uint32_t group, double start);
void hazard_close(struct hazard *hazard);
void hazard_spend(struct hazard *hazard, uint32_t class, uint64_t from_age, uint64_t to_age);
void hazard_use(struct hazard *hazard, uint32_t class, uint64_t age);
void hazard_learn(struct hazard *hazard);

static inline uint32_t hazard_bucket(uint64_t age)
{
    if (age < 2)
        return (uint32_t)age;
    uint32_t top = 63 - (uint32_t)__builtin_clzll(age);
    uint32_t bucket = 2 * top + ((age >> (top - 1)) & 1);
    return bucket < HAZARD_BUCKETS ? bucket : HAZARD_BUCKETS - 1;
}

static inline double hazard_index(const struct hazard *hazard, uint32_t class, uint64_t age)
{
    return (double)hazard->classes[class].index[hazard_bucket(age)];
}

#endif
