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
}

void hazard_start(struct hazard *hazard, uint32_t group, double start)
{
    hazard->start[group] = start;
    for (uint32_t c = group * hazard->group; c < (group + 1) * hazard->group; c++)
        for (uint32_t b = 0; b < HAZARD_BUCKETS; b++)
            hazard->classes[c].index[b] = (float)(start / (double)(bucket_start(b) + 1));
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
        bool known = b + 1 < HAZARD_BUCKETS && here->time[b + 1] >= hazard->known * (double)(bucket_start(b + 2) - bucket_start(b + 1));
        while (!hazard->myopic && known && top > 0 && chance[top - 1] * t > p * time[top - 1]) {
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

static void shrink(double prior, double start, double tail, const double *uses, const double *time, const double *base, double *rate)
{
    double used = 0, expected = 0, most = 0;
    for (uint32_t b = 0; b < HAZARD_BUCKETS; b++) {
        used += uses[b];
        expected += time[b] * base[b];
        if (time[b] > most * length_of(b))
            most = time[b] / length_of(b);
    }
    prior += most * tail;
    double times = (used + start) / (expected + 1);
    for (uint32_t b = 0; b < HAZARD_BUCKETS; b++)
        rate[b] = (uses[b] + prior * length_of(b) * base[b] * times) / (time[b] + prior * length_of(b));
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
    double most = 0;
    for (uint32_t b = 1; b < HAZARD_BUCKETS; b++)
        if (all_time[b] > most * length_of(b))
            most = all_time[b] / length_of(b);
    for (uint32_t b = 1; b < HAZARD_BUCKETS; b++) {
        double guess = b > 1 ? base[b - 1] / 2 : 1;
        double length = length_of(b) * (hazard->guess + most * hazard->tail);
        base[b] = (all_uses[b] + guess * length) / (all_time[b] + length);
    }
    for (uint32_t first = 0; first < hazard->count; first += hazard->group) {
        double uses[HAZARD_BUCKETS] = {0}, time[HAZARD_BUCKETS] = {0}, group[HAZARD_BUCKETS], rate[HAZARD_BUCKETS];
        for (uint32_t c = first; c < first + hazard->group; c++)
            for (uint32_t b = 0; hazard->classes[c].active && b < HAZARD_BUCKETS; b++) {
                uses[b] += hazard->classes[c].uses[b];
                time[b] += hazard->classes[c].time[b];
            }
        shrink(hazard->prior, hazard->start[first / hazard->group], hazard->tail, uses, time, base, group);
        for (uint32_t c = first; c < first + hazard->group; c++) {
            struct hazard_class *here = &hazard->classes[c];
            shrink(hazard->prior, 1, hazard->tail, here->uses, here->time, hazard->group > 1 ? group : base, rate);
            for (uint32_t b = 0; b < HAZARD_BUCKETS; b++) {
                here->uses[b] *= hazard->decay;
                here->time[b] *= hazard->decay;
            }
            make_index(hazard, here, rate);
        }
    }
}
