#include "policies/pair/hazard.h"

#include <stdlib.h>

#include "sim/core/mem.h"

/* A class that was seen less than this often at some age, in members that passed through it, is
 * judged more by what is expected of it than by itself. */
#define PRIOR_MEMBERS 30

/* How much of what was counted is kept each time the indexes are made. */
#define KEPT 0.9

/* An age that no member of any class has reached is given this share of a member, with half the
 * hazard of the age before it: what is never seen to be used is not expected to be. */
#define UNSEEN_MEMBERS 0.1

static uint64_t span_start(uint32_t span)
{
    return span < 2 ? span : (2ull + span % 2) << (span / 2 - 1);
}

static double span_length(uint32_t span)
{
    return (double)(span_start(span + 1) - span_start(span));
}

void hazard_open(struct hazard *hazard, uint32_t groups, uint32_t group_size)
{
    hazard->group_count = groups;
    hazard->group_size = group_size;
    hazard->classes = mem_array((size_t)groups * group_size, sizeof *hazard->classes);
    hazard->groups = mem_array(groups, sizeof *hazard->groups);
    for (uint32_t group = 0; group < groups; group++)
        hazard_set_start(hazard, group, 1);
}

void hazard_close(struct hazard *hazard)
{
    free(hazard->classes);
    free(hazard->groups);
}

/* Where nothing is known, what is older is less likely to be used: then the least recently used
 * leaves first. */
void hazard_set_start(struct hazard *hazard, uint32_t group, double start)
{
    struct hazard_group *here = &hazard->groups[group];
    here->start = start;
    here->chance = (float)(start < 1 ? start : 1);
    for (uint32_t span = 0; span < HAZARD_SPANS; span++)
        here->index[span] = (float)(start / (double)(span_start(span) + 1));
}

void hazard_spend(struct hazard *hazard, uint32_t class, uint64_t from_age, uint64_t to_age)
{
    struct hazard_class *here = &hazard->classes[class];
    here->is_counted = true;
    uint32_t first = hazard_span(from_age), last = hazard_span(to_age);
    if (first == last) {
        here->time[first] += (double)(to_age - from_age);
        return;
    }
    here->time[first] += (double)(span_start(first + 1) - from_age);
    here->time[last] += (double)(to_age - span_start(last));
    here->passes[first + 1]++;
    here->passes[last]--;
}

/* Brings the time up to date. */
static void settle_time(struct hazard_class *class)
{
    int32_t passes = 0;
    for (uint32_t span = 0; span < HAZARD_SPANS; span++) {
        passes += class->passes[span];
        class->passes[span] = 0;
        class->time[span] += passes * span_length(span);
    }
    class->is_counted = false;
    class->is_known = true;
}

void hazard_use(struct hazard *hazard, uint32_t class, uint64_t age)
{
    hazard->classes[class].is_counted = true;
    hazard->classes[class].uses[hazard_span(age)]++;
}

/* From the last age to the first. A span is merged with what follows it as long as going on pays
 * more than giving up at its end. Within a span the hazard is taken as constant, and a member
 * passes it with a chance of 1 / (1 + hazard x length): uses and time then have the ratio of the
 * hazard, without an exponential. */
static void make_index(const double *rate, float *index, float *chance)
{
    double used[HAZARD_SPANS], time[HAZARD_SPANS], passed[HAZARD_SPANS], all_pass = 1;
    uint32_t merged = 0;
    for (uint32_t span = HAZARD_SPANS; span-- > 0;) {
        double length = span_length(span);
        double pass = 1 / (1 + rate[span] * length);
        double use = 1 - pass, spent = length * pass, left = pass;
        all_pass *= pass;
        while (merged > 0 && used[merged - 1] * spent > use * time[merged - 1]) {
            merged--;
            use += left * used[merged];
            spent += left * time[merged];
            left *= passed[merged];
        }
        used[merged] = use;
        time[merged] = spent;
        passed[merged++] = left;
        index[span] = (float)(use / spent);
    }
    *chance = (float)(1 - all_pass);
}

/* The hazards of what was counted, drawn towards those of a wider one. start: uses that it is
 * given, where the wider one would have 1. */
static void find_rates(const double *uses, const double *time, const double *wider, double start,
                       double *rate)
{
    double used = start, expected = 1;
    for (uint32_t span = 0; span < HAZARD_SPANS; span++) {
        used += uses[span];
        expected += time[span] * wider[span];
    }
    for (uint32_t span = 0; span < HAZARD_SPANS; span++) {
        double prior = PRIOR_MEMBERS * span_length(span);
        rate[span] =
            (uses[span] + prior * wider[span] * (used / expected)) / (time[span] + prior);
    }
}

static void find_common_rates(const double *uses, const double *time, double *rate)
{
    rate[0] = 0;
    for (uint32_t span = 1; span < HAZARD_SPANS; span++) {
        double unseen = UNSEEN_MEMBERS * span_length(span);
        double guess = span > 1 ? rate[span - 1] / 2 : 1;
        rate[span] = (uses[span] + unseen * guess) / (time[span] + unseen);
    }
}

struct counts {
    double uses[HAZARD_SPANS], time[HAZARD_SPANS];
};

static void add_counts(struct counts *sum, const double *uses, const double *time)
{
    for (uint32_t span = 0; span < HAZARD_SPANS; span++) {
        sum->uses[span] += uses[span];
        sum->time[span] += time[span];
    }
}

static void learn_group(struct hazard *hazard, uint32_t group, const struct counts *counts,
                        const double *common)
{
    struct hazard_group *here = &hazard->groups[group];
    double group_rate[HAZARD_SPANS], rate[HAZARD_SPANS];
    find_rates(counts->uses, counts->time, common, here->start, group_rate);
    make_index(group_rate, here->index, &here->chance);
    for (uint32_t i = 0; i < hazard->group_size; i++) {
        struct hazard_class *class = &hazard->classes[group * hazard->group_size + i];
        if (!class->is_known)
            continue;
        find_rates(class->uses, class->time, group_rate, 1, rate);
        make_index(rate, class->index, &class->chance);
        for (uint32_t span = 0; span < HAZARD_SPANS; span++) {
            class->uses[span] *= KEPT;
            class->time[span] *= KEPT;
        }
    }
}

void hazard_learn(struct hazard *hazard)
{
    struct counts *groups = mem_array(hazard->group_count + 1, sizeof *groups);
    struct counts *all = &groups[hazard->group_count];
    for (uint32_t i = 0; i < hazard->group_count * hazard->group_size; i++) {
        struct hazard_class *class = &hazard->classes[i];
        if (class->is_counted)
            settle_time(class);
        if (class->is_known)
            add_counts(&groups[i / hazard->group_size], class->uses, class->time);
    }
    for (uint32_t group = 0; group < hazard->group_count; group++)
        add_counts(all, groups[group].uses, groups[group].time);
    double common[HAZARD_SPANS];
    find_common_rates(all->uses, all->time, common);
    for (uint32_t group = 0; group < hazard->group_count; group++)
        learn_group(hazard, group, &groups[group], common);
    free(groups);
}
