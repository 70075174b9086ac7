#include "tools/snapsim/shared_loads.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/mem.h"
#include "traces/open.h"

static char *find_file(const char *directory, const char *path)
{
    struct text joined = {0};
    if (path[0] == '/' || directory == NULL)
        return mem_strdup(path);
    text_printf(&joined, "%s/%s", directory, path);
    if (access(joined.data, R_OK) == 0)
        return joined.data;
    text_close(&joined);
    return mem_strdup(path);
}

static int open_workload(struct workload **out, const struct sweep_trace *trace,
                         const char *directory, const struct config *config, struct err *err)
{
    struct build_options build = config_build_options(config);
    int result = 0;
    if (trace->generated) {
        struct text name = {0};
        struct synth_options options = trace->options;
        if (trace->seed_follows)
            options.seed = config->seed;
        synth_print_name(&options, &name);
        result = trace_open(name.data, &build, NULL, out, err);
        text_close(&name);
        return result;
    }
    char *path = find_file(directory, trace->text);
    result = trace_open(path, &build, NULL, out, err);
    free(path);
    return result;
}

static bool same_workload(const struct sweep *sweep, const struct cell *a, const struct cell *b)
{
    return a->trace == b->trace && config_same_workload(&a->config, &b->config) &&
           (!sweep->traces[a->trace].seed_follows || a->config.seed == b->config.seed);
}

static void open_load(struct shared_loads *all, const struct sweep *sweep, const char *directory,
                      const struct cell *cell)
{
    struct shared_load load = {.first = cell};
    const struct config *config = &cell->config;
    for (size_t i = 0; i < all->count && !load.workload; i++)
        if (same_workload(sweep, all->loads[i].first, cell))
            load.workload = all->loads[i].workload;
    if (!load.workload)
        load.owns_workload = open_workload(&load.workload, &sweep->traces[cell->trace], directory,
                                           config, &load.err) == 0;
    if (load.workload && schedule_open(&load.schedule, load.workload, config->arrival, config->seed,
                                       config->requests, &load.err) != 0)
        load.schedule = NULL;
    all->loads = mem_grow(all->loads, &all->capacity, all->count + 1, sizeof *all->loads);
    all->loads[all->count++] = load;
}

void shared_loads_open(struct shared_loads *out, const struct sweep *sweep, const char *directory)
{
    *out = (struct shared_loads){.of_cell = mem_array(sweep->cell_count, sizeof *out->of_cell)};
    for (size_t i = 0; i < sweep->cell_count; i++) {
        const struct cell *cell = &sweep->cells[i];
        size_t found = 0;
        while (found < out->count &&
               !(out->loads[found].first->trace == cell->trace &&
                 config_same_schedule(&out->loads[found].first->config, &cell->config)))
            found++;
        if (found == out->count)
            open_load(out, sweep, directory, cell);
        out->of_cell[i] = found;
    }
}

void shared_loads_close(struct shared_loads *loads)
{
    for (size_t i = 0; i < loads->count; i++) {
        schedule_close(loads->loads[i].schedule);
        if (loads->loads[i].owns_workload)
            workload_close(loads->loads[i].workload);
    }
    free(loads->loads);
    free(loads->of_cell);
    *loads = (struct shared_loads){0};
}
