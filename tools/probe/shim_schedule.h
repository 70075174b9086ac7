/* shim_schedule.h - in which order the host shim runs what a GPU would run at once. */
#ifndef SNAPSIM_PROBE_SHIM_SCHEDULE_H
#define SNAPSIM_PROBE_SHIM_SCHEDULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum shim_order {
    SHIM_FORWARD, /* lowest number first, asynchronous copies as late as allowed */
    SHIM_REVERSE, /* highest number first, asynchronous copies at once */
    SHIM_RANDOM,  /* any runnable lane, copies late or at once, by seed */
    SHIM_ORDERS
};

/* For all kernels run from now on. */
void shim_set_order(enum shim_order order, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
