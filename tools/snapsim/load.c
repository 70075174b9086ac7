#include "tools/snapsim/load.h"

#include <stdlib.h>

#include "sim/core/mem.h"
#include "traces/open.h"
#include "traces/synth.h"

int load_open_workload(struct workload **out, const char *path, const char *format,
                       const struct config *config, struct err *err)
{
    struct build_options build = config_build_options(config);
    struct synth_options synth;
    struct text name = {0};
    int result = 0;
    if (path == NULL)
        path = SYNTH_NAME;
    if (!synth_is_name(path) || synth_name_gives_seed(path))
        return trace_open(path, &build, format, out, err);
    result = synth_parse_name(path, &synth, err);
    synth.seed = config->seed;
    synth_print_name(&synth, &name);
    if (result == 0)
        result = trace_open(name.data, &build, NULL, out, err);
    text_close(&name);
    return result;
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
