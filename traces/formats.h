/* formats.h - all trace formats. A new one is one file and one line in formats.c. */
#ifndef SNAPSIM_FORMATS_H
#define SNAPSIM_FORMATS_H

#include "sim/trace.h"

extern const struct trace_format trace_format_conversations;
extern const struct trace_format trace_format_mooncake;

/* In the order in which a content is asked for its format; NULL ends it. The compiled form is not
 * among them: it holds a finished workload, see traces/compiled.h. */
extern const struct trace_format *const trace_formats[];

#endif
