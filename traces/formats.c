#include "traces/formats.h"

#include <stddef.h>

const struct trace_format *const trace_formats[] = {
    &trace_format_conversations,
    &trace_format_mooncake,
    NULL,
};
