#include "policies/pair/hazard.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

/* Buckets: 0: [0,1), 1: [1,2), 2: [2,3), 3: [3,4), 4: [4,6), 5: [6,8), ... */
static uint64_t bucket_start(uint32_t bucket)
{
    if (bucket < 2)
        return bucket;
    return (2ull + bucket % 2) << (bucket / 2 - 1);
}

void hazard_open(struct hazard *hazard, uint32_t classes)
{
    hazard->classes = mem_array(classes, sizeof *hazard->classes);
    hazard->count = classes;
    hazard->prior = 30;
    hazard->decay = 0.9;
    for (uint32_t c = 0; c < classes; c++)
        for (uint32_t b = 0; b < HAZARD_BUCKETS; b++)
            hazard->classes[c].index[b] = (float)(1.0 / (double)(bucket_start(b) + 1));
}

void hazard_close(struct hazard *hazard)
{
    free(hazard->classes);
}

void hazard_spend(struct hazard *hazard, uint32_t class, uint64_t from, uint64_t to)
{
    struct hazard_class *here = &hazard->classes[class];
    here->active = true;
    for (uint32_t b = hazard_bucket(from); from < to; b++) {
        uint64_t end = b + 1 < HAZARD_BUCKETS ? bucket_start(b + 1) : UINT64_MAX;
        if (end > to)
            end = to;
        here->time[b] += (double)(end - from);
        from = end;
    }
}

void hazard_use(struct hazard *hazard, uint32_t class, uint64_t age)
{
    hazard->classes[class].active = true;
    hazard->classes[class].uses[hazard_bucket(age)]++;
}

static void make_index(struct hazard *hazard, struct hazard_class *here, const double *rate)
{
    /* From the last bucket to the first: merge while going on pays more. */
    double chance[HAZARD_BUCKETS], time[HAZARD_BUCKETS], survive[HAZARD_BUCKETS];
    uint32_t top = 0; /* blocks on a stack */
    for (uint32_t b = HAZARD_BUCKETS; b-- > 0;) {
        double length = (double)(bucket_start(b + 1) - bucket_start(b));
        double pass = 1 / (1 + rate[b] * length);
        double p = 1 - pass, t = length * pass, s = pass;
        while (!hazard->myopic && top > 0 && chance[top - 1] * t > p * time[top - 1]) {
            top--;
            p += s * chance[top];
            t += s * time[top];
            s *= survive[top];
        }
        chance[top] = p;
        time[top] = t;
        survive[top++] = s;
        here->index[b] = (float)(p / t);
    }
}

static double length_of(uint32_t b)
{
    return (double)(bucket_start(b + 1) - bucket_start(b));
}

static void shrink(double prior, const double *uses, const double *time, const double *base, double *rate)
{
    for (uint32_t b = 0; b < HAZARD_BUCKETS; b++)
        rate[b] = (uses[b] + prior * length_of(b) * base[b]) / (time[b] + prior * length_of(b));
}

void hazard_learn(struct hazard *hazard)
{
    double all_uses[HAZARD_BUCKETS] = {0}, all_time[HAZARD_BUCKETS] = {0}, base[HAZARD_BUCKETS] = {0};
    for (uint32_t c = 0; c < hazard->count; c++) {
        struct hazard_class *here = &hazard->classes[c];
        for (uint32_t b = 0; here->active && b < HAZARD_BUCKETS; b++) {
            all_uses[b] += here->uses[b];
            all_time[b] += here->time[b];
        }
    }
    for (uint32_t b = 1; b < HAZARD_BUCKETS; b++) {
        double guess = b > 1 ? base[b - 1] / 2 : 1;
        double length = length_of(b) * hazard->guess;
        base[b] = (all_uses[b] + guess * length) / (all_time[b] + length);
    }
    for (uint32_t first = 0; first < hazard->count; first += hazard->group) {
        double uses[HAZARD_BUCKETS] = {0}, time[HAZARD_BUCKETS] = {0}, group[HAZARD_BUCKETS], rate[HAZARD_BUCKETS];
        for (uint32_t c = first; c < first + hazard->group; c++)
            for (uint32_t b = 0; hazard->classes[c].active && b < HAZARD_BUCKETS; b++) {
                uses[b] += hazard->classes[c].uses[b];
                time[b] += hazard->classes[c].time[b];
            }
        shrink(hazard->prior, uses, time, base, group);
        for (uint32_t c = first; c < first + hazard->group; c++) {
            struct hazard_class *here = &hazard->classes[c];
            shrink(hazard->prior, here->uses, here->time, hazard->group > 1 ? group : base, rate);
            for (uint32_t b = 0; b < HAZARD_BUCKETS; b++) {
                here->uses[b] *= hazard->decay;
                here->time[b] *= hazard->decay;
            }
            make_index(hazard, here, rate);
        }
    }
}
