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

void hazard_learn(struct hazard *hazard)
{
    double all_uses[HAZARD_BUCKETS] = {0}, all_time[HAZARD_BUCKETS] = {0};
    for (uint32_t c = 0; c < hazard->count; c++) {
        struct hazard_class *here = &hazard->classes[c];
        if (!here->active)
            continue;
        for (uint32_t b = 0; b < HAZARD_BUCKETS; b++) {
            all_uses[b] += here->uses[b];
            all_time[b] += here->time[b];
        }
    }
    double base[HAZARD_BUCKETS];
    for (uint32_t b = 0; b < HAZARD_BUCKETS; b++) {
        double length = (double)(bucket_start(b + 1) - bucket_start(b));
        double guess = 1.0 / (double)(bucket_start(b) + 1);
        base[b] = (all_uses[b] + guess * length) / (all_time[b] + length);
    }
    for (uint32_t c = 0; c < hazard->count; c++) {
        struct hazard_class *here = &hazard->classes[c];
        double rate[HAZARD_BUCKETS];
        for (uint32_t b = 0; b < HAZARD_BUCKETS; b++) {
            double prior = hazard->prior * (double)(bucket_start(b + 1) - bucket_start(b));
            rate[b] = (here->uses[b] + prior * base[b]) / (here->time[b] + prior);
            here->uses[b] *= hazard->decay;
            here->time[b] *= hazard->decay;
        }
        make_index(hazard, here, rate);
    }
}
