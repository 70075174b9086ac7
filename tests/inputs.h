/* inputs.h - what several tests read: text with ' for ", traces and calibrations. */
#ifndef SNAPSIM_INPUTS_H
#define SNAPSIM_INPUTS_H

#include "sim/cost/calib.h"
#include "sim/engine/replay.h"
#include "traces/open.h"

/* A copy of text with each ' made a ", so that JSON can be read in C; the caller frees it. */
char *input_unquote(const char *text);

/* Opens text, with ' for ", as the trace "t.jsonl"; format and the rest as trace_open_memory. */
int input_trace(const char *text, const char *format, struct record **out, struct err *err);

/* The load that a record makes in the order of an arrival; the record goes with it. The test fails
 * if there is none. */
struct load input_load(struct record *record, const char *arrival);

/* A config with settings: pairs of name and value, ended by NULL; the test fails if one is refused.
 */
struct config input_config(const char *const *settings);

/* Replays a trace in the order that the config says, and closes both. The test fails if that
 * does. */
struct result input_replay(struct config *config, struct record *record,
                           const struct plugins *plugins);

/* The preset of that name, for as long as the program runs; the test fails if there is none. */
const struct model *input_preset(const char *name);

/* The calibration of that name, to cost with; the test fails if it does not load. */
struct calibration input_calib(const char *name);

#endif
