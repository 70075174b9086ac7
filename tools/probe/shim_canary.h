/* shim_canary.h - kernels with a planted fault each, to prove that the host shim notices. */
#ifndef SNAPSIM_PROBE_SHIM_CANARY_H
#define SNAPSIM_PROBE_SHIM_CANARY_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum canary {
    CANARY_NONE,            /* the same kernel without a fault */
    CANARY_NO_BARRIER,      /* reads what another warp writes */
    CANARY_NO_WARP_BARRIER, /* reads what another lane writes */
    CANARY_NO_WAIT,         /* reads an asynchronous copy that was not waited for */
    CANARY_HALF_BARRIER,    /* half of the block ends before a barrier: aborts */
    CANARY_HALF_SHUFFLE,    /* half of a warp shuffles: aborts */
    CANARY_MISALIGNED,      /* loads a matrix from an odd address: aborts */
    CANARY_COUNT
};

/* Runs the kernel; false if its result is wrong. */
bool shim_canary_run(enum canary fault);

#ifdef __cplusplus
}
#endif

#endif
