/* probe_clock.h - who says how long a point takes: a GPU, or in tests a stand-in.
 *
 * A clock times points one at a time: open, sample as often as wanted, close. What it says is
 * labelled measured if it is a GPU, simulated if it is anything else. */
#ifndef SNAPSIM_PROBE_CLOCK_H
#define SNAPSIM_PROBE_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "sim/core/err.h"
#include "tools/probe/probe_point.h"

struct device_facts {
    char name[128], driver[64], runtime[64];
    uint32_t sm_count;
    uint64_t memory_bytes, l2_bytes;
    /* 0 if not known; the link is to the host, each way. peak_source says where from, "" for a
     * stand-in, whose peaks are simulated too. probe_device.h knows those of data sheets. */
    double peak_bytes_per_s, peak_bf16_flops, peak_link_bytes_per_s;
    char peak_source[96];
};

/* Before and after a run; a value of 0 was not to be had. */
struct device_condition {
    uint32_t sm_clock_mhz, memory_clock_mhz, power_w, temperature_c;
    uint32_t other_processes;
};

enum clock_answer { CLOCK_FAILED = -1, CLOCK_READY = 0, CLOCK_ABSENT = 1 };

struct probe_clock {
    void *self;
    bool is_gpu;
    int (*describe)(void *self, struct device_facts *facts, struct err *err);
    int (*condition)(void *self, struct device_condition *condition, struct err *err);
    /* Makes ready to time `launches` launches per sample over `sets` sets of buffers, warm-up done.
     * CLOCK_ABSENT: this machine cannot do it, err says why. */
    enum clock_answer (*open)(void *self, const struct point *point, uint32_t sets,
                              uint32_t launches, struct err *err);
    int (*sample)(void *self, double *us, struct err *err); /* of one launch, on average */
    int (*close)(void *self, struct err *err); /* -1 also if an output was left unwritten */
};

#ifdef __cplusplus
}
#endif

#endif
