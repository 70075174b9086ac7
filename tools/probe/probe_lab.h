/* probe_lab.h - a bench for checking one kernel: inputs, outputs, and who frees them.
 *
 * A lab owns all memory it hands out, on the host and on the device. Its error is sticky: after a
 * failure every call does nothing and returns zeros, so that a check is written straight through
 * and asks once at the end. Device memory has a guard behind it that probe_lab_guards looks at. */
#ifndef SNAPSIM_PROBE_LAB_H
#define SNAPSIM_PROBE_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/core/rng.h"
#include "tools/probe/kernels.h"

struct lab {
    struct rng rng;
    bool failed;
    struct err *err;
    void **host;
    size_t host_count, host_capacity;
    struct lab_memory *device;
    size_t device_count, device_capacity;
};

/* The same numbers on both sides: exactly representable in the device's type. */
struct lab_values {
    double *host;
    void *device;
};

#define LAB_POISON 0xff /* NaN as bf16 and as fp32 */

struct lab probe_lab_open(uint64_t seed, struct err *err);
void probe_lab_close(struct lab *lab);

void *probe_lab_host(struct lab *lab, size_t count, size_t element_size); /* zeroed */
void *probe_lab_device(struct lab *lab, size_t bytes);                    /* poisoned */
void *probe_lab_upload(struct lab *lab, const void *host, size_t bytes);  /* a device copy */

/* count values mean + scale * normal. */
struct lab_values probe_lab_bf16(struct lab *lab, size_t count, double mean, double scale);
struct lab_values probe_lab_fp32(struct lab *lab, size_t count, double mean, double scale);

/* Device values as doubles. */
double *probe_lab_read_bf16(struct lab *lab, const void *device, size_t count);
double *probe_lab_read_fp32(struct lab *lab, const void *device, size_t count);
void *probe_lab_read(struct lab *lab, const void *device, size_t bytes);
void probe_lab_fill(struct lab *lab, void *device, unsigned char byte, size_t bytes);

/* Waits for a launch. */
void probe_lab_finish(struct lab *lab, int code, const char *kernel);

/* False if a kernel wrote behind any of the lab's device memory. */
bool probe_lab_guards(struct lab *lab);

#endif
