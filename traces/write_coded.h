/* write_coded.h - writes a workload as run-coded conversations, which traces/run_coded.c reads.
 *
 * What is read back is the same tree and the same requests. Lost is what a workload does not hold:
 * names, models, the roles of messages (a bound within the system prompt is written as `s`, others
 * as `u`), and how a system prompt divides into tools and text. Block numbers are new, and global:
 * whatever was local or shared in the original is by now decided. */
#ifndef SNAPSIM_WRITE_CODED_H
#define SNAPSIM_WRITE_CODED_H

#include "sim/core/text.h"
#include "sim/load/workload.h"

/* Appends one line for each conversation. err, and nothing is appended, if the workload has partial
 * blocks with an identity of their own, for which the format has no words. */
int write_coded(const struct workload *workload, struct text *out, struct err *err) MUST_CHECK;

#endif
