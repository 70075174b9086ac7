/* hazard.h - how soon members of a class are used again, learned as a load goes by.
 *
 * A *class* is a kind of thing that is kept, as "the end of a first, short reply". Its members are
 * watched from an event (they are made, or used) until the next. For each class and each span of
 * age, two per octave, the table counts uses, and the time that all members spent at that age:
 *
 *     hazard = uses / time             at that age
 *
 * What a member of some age is worth per unit of time, if it is worth 1 when it is used, is its
 * *index*: the best, over all later ages at which one could give up on it, of
 *
 *     (chance of a use until then) / (expected time until the use, or until then)
 *
 * This is the index of Gittins (1979) for an arm that pays once. A class whose uses come late has a
 * high index before they come, so its members are kept through their dry time, if that pays.
 *
 * Classes come in groups. What a class has not shown yet it is expected to share with its group,
 * and the group with all: each expects of an age what the wider one shows there, times how much
 * more often than the wider one it is used as a whole. */
#ifndef SNAPSIM_HAZARD_H
#define SNAPSIM_HAZARD_H

#include <stdbool.h>
#include <stdint.h>

/* Ages are whole ticks. With ticks of 1/64 s the last span begins after 36 hours. */
#define HAZARD_SPANS 48

struct hazard_class {
    double uses[HAZARD_SPANS], time[HAZARD_SPANS];
    int32_t passes[HAZARD_SPANS]; /* not in `time` yet: how many passed all of a span, less how many
                                     did of the one before */
    float index[HAZARD_SPANS];
    float chance;  /* that a new member is ever used */
    bool is_counted; /* since the indexes were made */
    bool is_known;   /* index and chance are its own */
};

struct hazard_group {
    float index[HAZARD_SPANS];
    float chance;
    double start; /* how often its members are used, in uses of an ordinary one, until seen */
};

struct hazard {
    struct hazard_class *classes;
    struct hazard_group *groups;
    uint32_t group_count, group_size; /* group g has the classes from g * group_size on */
};

void hazard_open(struct hazard *hazard, uint32_t groups, uint32_t group_size);
void hazard_close(struct hazard *hazard);

/* Before anything is learned: how often a group is used, compared with others. */
void hazard_set_start(struct hazard *hazard, uint32_t group, double start);

/* A member passed from one age to another without a use; it was used at an age. */
void hazard_spend(struct hazard *hazard, uint32_t class, uint64_t from_age, uint64_t to_age);
void hazard_use(struct hazard *hazard, uint32_t class, uint64_t age);

/* Makes the indexes from all that was counted, and forgets a tenth of it. */
void hazard_learn(struct hazard *hazard);

/* [0,1) [1,2) [2,3) [3,4) [4,6) [6,8) [8,12) ... : the two top bits of the age. */
static inline uint32_t hazard_span(uint64_t age)
{
    if (age < 2)
        return (uint32_t)age;
    uint32_t top = 63 - (uint32_t)__builtin_clzll(age);
    uint32_t span = 2 * top + (uint32_t)(age >> (top - 1) & 1);
    return span < HAZARD_SPANS ? span : HAZARD_SPANS - 1;
}

static inline double hazard_index(const struct hazard *hazard, uint32_t class, uint64_t age)
{
    const struct hazard_class *here = &hazard->classes[class];
    uint32_t span = hazard_span(age);
    return (double)(here->is_known ? here->index[span]
                                   : hazard->groups[class / hazard->group_size].index[span]);
}

static inline double hazard_chance(const struct hazard *hazard, uint32_t class)
{
    const struct hazard_class *here = &hazard->classes[class];
    return (double)(here->is_known ? here->chance
                                   : hazard->groups[class / hazard->group_size].chance);
}

#endif
