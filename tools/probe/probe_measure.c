#include "tools/probe/probe_measure.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/probe/probe_device.h"

static void say(const struct run_options *options, const char *kind, const char *text)
{
    if (options->progress == NULL)
        return;
    fprintf(options->progress, "probe: %s%s\n", kind, text);
    fflush(options->progress);
}

static bool kernel_in_grid(const struct grid *grid, const char *kernel)
{
    for (size_t i = 0; i < grid->count; i++) {
        const char *needed = probe_point_facts(grid->points[i].kind)->kernel;
        if (needed != NULL && strcmp(needed, kernel) == 0)
            return true;
    }
    return false;
}

/* Runs the checks that the grid asks for. *failed counts the wrong kernels. */
static int run_checks(struct run *run, const struct run_options *options, size_t *failed,
                      struct err *err)
{
    *failed = 0;
    run->checked = mem_array(options->check_count, sizeof(*run->checked));
    for (size_t i = 0; i < options->check_count; i++) {
        const struct check *check = &options->checks[i];
        bool fill = strcmp(check->kernel, "random_fill") == 0; /* makes the inputs of all */
        if ((!fill && !kernel_in_grid(run->grid, check->kernel)) ||
            (check->shape.large && !options->large))
            continue;
        struct checked *checked = &run->checked[run->checked_count++];
        checked->check = check;
        if (probe_check_run(check, options->seed, &checked->outcome, &checked->passed, err) != 0)
            return -1;
        char line[256];
        snprintf(line, sizeof(line), "%s: %s, error %.1e of %.0e allowed (%s)", check->name,
                 checked->passed ? "right" : "WRONG", checked->outcome.error,
                 checked->outcome.bound, checked->outcome.what);
        say(options, "check ", line);
        *failed += !checked->passed;
    }
    return 0;
}

/* A kernel may be timed if it has checks and all of them passed. */
static bool may_time(const struct run *run, const char *kernel)
{
    bool any = false;
    if (kernel == NULL)
        return true;
    for (size_t i = 0; i < run->checked_count; i++)
        if (strcmp(run->checked[i].check->kernel, kernel) == 0) {
            any = true;
            if (!run->checked[i].passed)
                return false;
        }
    return any;
}

struct calib_point probe_measure_point(const struct run *run, const struct measurement *m)
{
    return (struct calib_point){
        .kernel = probe_point_facts(m->point->kind)->timed,
        .shape = probe_point_shape(m->point),
        .absent = m->absent ? m->reason : NULL,
        .provenance = run->provenance,
        .us = {m->us.median, m->us.p10, m->us.p90, m->us.least, m->us.most},
        .samples = m->us.count,
        .launches = m->launches,
        .sets = m->sets,
        .dram_bytes = probe_point_dram_bytes(m->point),
        .flops = probe_point_flops(m->point),
    };
}

/* Too fast: data came from a cache, or was not moved. */
static int require_possible(const struct run *run, const struct measurement *m, struct err *err)
{
    struct calib_point point = probe_measure_point(run, m);
    if (!(m->us.least > 0))
        return err_set(err, "%s: a time of %g us", probe_point_name(m->point->kind), m->us.least);
    return calib_limit_point(&run->device, &point, err);
}

static int time_point(struct run *run, const struct probe_clock *clock, struct measurement *m,
                      struct err *err)
{
    double samples[GRID_SAMPLES];
    m->sets = probe_point_facts(m->point->kind)->on_device || m->point->kind == POINT_GEMM
                  ? probe_grid_rotation(m->point, run->facts.l2_bytes)
                  : 1;
    m->launches = probe_grid_launches(m->point, run->facts.l2_bytes);
    enum clock_answer answer = clock->open(clock->self, m->point, m->sets, m->launches, err);
    if (answer == CLOCK_ABSENT) {
        m->absent = true;
        snprintf(m->reason, sizeof(m->reason), "%.150s", err->text);
        return 0;
    }
    if (answer != CLOCK_READY)
        return -1;
    int result = 0;
    for (size_t i = 0; i < GRID_SAMPLES && result == 0; i++)
        result = clock->sample(clock->self, &samples[i], err);
    struct err close_err;
    int closed = clock->close(clock->self, &close_err);
    if (result == 0 && closed != 0) {
        *err = close_err;
        return -1;
    }
    if (result != 0)
        return -1;
    m->us = probe_stats_of(samples, GRID_SAMPLES);
    return require_possible(run, m, err);
}

static void say_measurement(const struct run_options *options, const struct measurement *m)
{
    struct text line = {0};
    probe_point_print(m->point, &line);
    if (m->absent)
        text_printf(&line, ": not here: %s", m->reason);
    else
        text_printf(&line, ": %.2f us +- %.1f%%, %.2f TB/s, %.0f TFLOPS", m->us.median,
                    50 * probe_stats_spread(&m->us),
                    probe_point_dram_bytes(m->point) / m->us.median * 1e-6,
                    probe_point_flops(m->point) / m->us.median * 1e-6);
    say(options, "", line.data);
    text_close(&line);
}

static int run_timings(struct run *run, const struct probe_clock *clock,
                       const struct run_options *options, struct err *err)
{
    run->measurements = mem_array(run->grid->count, sizeof(*run->measurements));
    if (options->check_only)
        return 0;
    for (size_t i = 0; i < run->grid->count; i++) {
        const struct point *point = &run->grid->points[i];
        if (!may_time(run, probe_point_facts(point->kind)->kernel))
            continue;
        struct measurement *m = &run->measurements[run->count++];
        m->point = point;
        if (time_point(run, clock, m, err) != 0)
            return -1;
        say_measurement(options, m);
    }
    return 0;
}

int probe_measure_open(struct run *run, const struct grid *grid, const struct probe_clock *clock,
                       const struct run_options *options, struct err *err)
{
    *run =
        (struct run){.grid = grid, .provenance = clock->is_gpu ? CALIB_MEASURED : CALIB_SIMULATED};
    size_t failed;
    if (clock->describe(clock->self, &run->facts, err) != 0 ||
        clock->condition(clock->self, &run->before, err) != 0)
        return -1;
    run->device = probe_device_of(&run->facts, run->provenance);
    if (run->before.other_processes > 0)
        return err_set(err, "%u other processes use this GPU: timings would be theirs too",
                       (unsigned)run->before.other_processes);
    if (run_checks(run, options, &failed, err) != 0 || run_timings(run, clock, options, err) != 0 ||
        clock->condition(clock->self, &run->after, err) != 0)
        return -1;
    if (run->after.other_processes > 0)
        return err_set(err, "%u other processes came to this GPU during the run",
                       (unsigned)run->after.other_processes);
    if (failed > 0)
        return err_set(err, "%zu checks failed, so no file is written", failed);
    for (size_t i = 0; i < grid->count; i++)
        if (!may_time(run, probe_point_facts(grid->points[i].kind)->kernel))
            return err_set(err, "kernel %s has no checks, so no file is written",
                           probe_point_facts(grid->points[i].kind)->kernel);
    return 0;
}

void probe_measure_close(struct run *run)
{
    free(run->checked);
    free(run->measurements);
    *run = (struct run){0};
}
