/* load.h - the trace and the schedule that a configuration asks for. */
#ifndef SNAPSIM_LOAD_H
#define SNAPSIM_LOAD_H

#include "sim/engine/config.h"
#include "sim/load/record.h"
#include "traces/synth.h"

/* A load that is generated, named by its options. */
int load_open_generated(struct record **out, const struct synth_options *options,
                        const struct config *config, struct err *err) MUST_CHECK;

/* Whether a path, or none, stands for a generated load whose seed is the configuration's. */
bool load_seed_follows(const char *path);

/* path NULL: a generated load. One that does not give its seed takes the configuration's. */
int load_open_record(struct record **out, const char *path, const char *format,
                     const struct config *config, struct err *err) MUST_CHECK;

/* The load of one run; its record goes with it. */
int load_open(struct load *out, const char *path, const char *format, const struct config *config,
              struct err *err) MUST_CHECK;

/* The load of a record for a configuration; last: no other is made of the record. */
int load_make(struct load *out, struct record *record, bool last, const struct config *config,
              struct err *err) MUST_CHECK;

#endif
