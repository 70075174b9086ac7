/* load.h - the trace and the schedule that a configuration asks for. */
#ifndef SNAPSIM_LOAD_H
#define SNAPSIM_LOAD_H

#include "sim/engine/config.h"
#include "sim/load/arrival.h"

struct load {
    struct workload *workload;
    struct schedule *schedule;
};

/* path NULL: a generated load. One that does not give its seed takes the configuration's. */
int load_open_workload(struct workload **out, const char *path, const char *format,
                       const struct config *config, struct err *err) MUST_CHECK;

int load_open(struct load *out, const char *path, const char *format, const struct config *config,
              struct err *err) MUST_CHECK;
void load_close(struct load *load);

#endif
