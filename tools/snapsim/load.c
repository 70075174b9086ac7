#include "tools/snapsim/load.h"

#include <stdlib.h>

#include "sim/core/mem.h"
#include "traces/open.h"
#include "traces/synth.h"

/* A generated load goes through the same reader as a file, so that its digest is that of the lines
 * that `snapsim trace generate` would have written. */
static int generate(struct workload **out, const struct config *config, struct err *err)
{
    struct synth_options options;
    param_defaults(synth_params, &options);
    options.seed = config->seed;
    struct text lines = {0};
    struct build_options build = config_build_options(config);
    int result = synth_write(&options, &lines, err);
    if (result == 0)
        result = trace_open_memory("generated", lines.data, lines.length, &build, NULL, out, err);
    text_close(&lines);
    return result;
}

int load_open_workload(struct workload **out, const char *path, const char *format,
                       const struct config *config, struct err *err)
{
    struct build_options build = config_build_options(config);
    return path ? trace_open(path, &build, format, out, err) : generate(out, config, err);
}

int load_open(struct load *out, const char *path, const char *format, const struct config *config,
              struct err *err)
{
    *out = (struct load){0};
    if (load_open_workload(&out->workload, path, format, config, err) != 0)
        return -1;
    return schedule_open(&out->schedule, out->workload, config->arrival, config->seed,
                         config->requests, err);
}

void load_close(struct load *load)
{
    schedule_close(load->schedule);
    workload_close(load->workload);
}
