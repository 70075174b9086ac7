#include "tools/sweep/load.h"

#include <stdlib.h>

#include "sim/core/mem.h"
#include "traces/open.h"
#include "traces/synth.h"

int load_open_generated(struct record **out, const struct synth_options *options,
                        const struct config *config, struct err *err)
{
    struct build_options build = config_build_options(config);
    struct text name = {0};
    synth_print_name(options, &name);
    int result = trace_open(name.data, &build, NULL, out, err);
    text_close(&name);
    return result;
}

bool load_seed_follows(const char *path)
{
    return path == NULL || (synth_is_name(path) && !synth_name_gives_seed(path));
}

int load_open_record(struct record **out, const char *path, const char *format,
                     const struct config *config, struct err *err)
{
    struct build_options build = config_build_options(config);
    struct synth_options synth;
    if (!load_seed_follows(path))
        return trace_open(path, &build, format, out, err);
    if (synth_parse_name(path ? path : SYNTH_NAME, &synth, err) != 0)
        return -1;
    synth.seed = config->seed;
    return load_open_generated(out, &synth, config, err);
}

int load_make(struct load *out, struct record *record, bool last, const struct config *config,
              struct err *err)
{
    return record_load(out, record, last, config->arrival, config->seed, config->requests, err);
}

int load_open(struct load *out, const char *path, const char *format, const struct config *config,
              struct err *err)
{
    struct record *record = NULL;
    *out = (struct load){0};
    if (load_open_record(&record, path, format, config, err) != 0)
        return -1;
    int result = load_make(out, record, true, config, err);
    out->own_record = record;
    return result;
}
