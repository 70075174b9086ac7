#include "tools/probe/probe_main.h"

#include <ctype.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/core/units.h"
#include "tools/probe/probe_file.h"
#include "tools/probe/probe_measure.h"

static const char usage[] =
    "usage: probe [options]\n"
    "Checks the kernels of tools/probe against a reference in double precision, measures them on\n"
    "this machine's first GPU, and writes a calibration file for snapsim.\n"
    "\n"
    "  --output FILE   write the calibration; without it nothing is written\n"
    "  --quick         fewer points: under a minute\n"
    "  --only KERNEL   only the points of one kernel\n"
    "  --check         only the checks: right or wrong, nothing timed\n"
    "  --list          print the points and the time that they may take, and stop\n"
    "  --seed N        of the checks' inputs (default 1)\n"
    "  --help          this text\n";

struct options {
    const char *output, *only;
    bool quick, check, list, help;
    uint64_t seed;
};

enum { EXIT_GOOD, EXIT_RUN_FAILED, EXIT_USAGE };

static const char *option_name(const void *table, size_t index)
{
    static const char *const names[] = {"--output", "--quick", "--only", "--check",
                                        "--list",   "--seed",  "--help", NULL};
    (void)table;
    return names[index];
}

static const char *kind_name(const void *table, size_t index)
{
    (void)table;
    return index < POINT_KINDS ? probe_point_name((enum point_kind)index) : NULL;
}

static int parse_only(struct options *options, const char *value, struct err *err)
{
    for (size_t i = 0; i < POINT_KINDS; i++)
        if (strcmp(kind_name(NULL, i), value) == 0) {
            options->only = value;
            return 0;
        }
    const char *near = text_nearest(value, kind_name, NULL);
    return err_set(err, "--only: no kernel '%s'%s%s%s", value, near ? " (did you mean '" : "",
                   near ? near : "", near ? "'?)" : "");
}

/* Before anything is measured for nothing. */
static int require_folder(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    struct text folder = {0};
    text_printf(&folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                slash != NULL ? path : ".");
    int result = access(folder.data, W_OK) == 0
                     ? 0
                     : err_set_errno(err, "--output: write into '%s'", folder.data);
    text_close(&folder);
    return result;
}

static int parse_options(int argc, char **argv, struct options *options, struct err *err)
{
    *options = (struct options){.seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool takes_value = strcmp(flag, "--output") == 0 || strcmp(flag, "--only") == 0 ||
                           strcmp(flag, "--seed") == 0;
        if (takes_value && value == NULL)
            return err_set(err, "%s: a value is missing", flag);
        i += takes_value;
        if (strcmp(flag, "--output") == 0)
            options->output = value;
        else if (strcmp(flag, "--quick") == 0)
            options->quick = true;
        else if (strcmp(flag, "--check") == 0)
            options->check = true;
        else if (strcmp(flag, "--list") == 0)
            options->list = true;
        else if (strcmp(flag, "--help") == 0)
            options->help = true;
        else if (strcmp(flag, "--only") == 0) {
            if (parse_only(options, value, err) != 0)
                return -1;
        } else if (strcmp(flag, "--seed") == 0) {
            struct err reason;
            if (units_parse_u64(value, &options->seed, &reason) != 0)
                return err_set(err, "--seed: %.900s", reason.text);
        } else {
            const char *near = text_nearest(flag, option_name, NULL);
            return err_set(err, "unknown option '%s'%s%s%s", flag, near ? " (did you mean '" : "",
                           near ? near : "", near ? "'?)" : "");
        }
    }
    if (options->check && options->output != NULL)
        return err_set(err, "--check times nothing, so --output has nothing to write");
    return options->output != NULL && !options->list ? require_folder(options->output, err) : 0;
}

static void keep_only(struct grid *grid, const char *kernel)
{
    size_t kept = 0;
    for (size_t i = 0; i < grid->count; i++)
        if (strcmp(probe_point_name(grid->points[i].kind), kernel) == 0)
            grid->points[kept++] = grid->points[i];
    grid->count = kept;
}

static void list_points(const struct grid *grid, FILE *out)
{
    for (size_t i = 0; i < grid->count; i++) {
        struct text line = {0};
        probe_point_print(&grid->points[i], &line);
        fprintf(out, "%s\n", line.data);
        text_close(&line);
    }
    fprintf(out, "%zu points, at most %.0f s\n", grid->count, probe_grid_estimate_s(grid));
}

/* One line per point; the file is for programs, this is for people. */
static void print_results(const struct run *run, FILE *out)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct measurement *m = &run->measurements[i];
        struct text line = {0};
        probe_point_print(m->point, &line);
        if (m->absent)
            fprintf(out, "%-84s absent: %s\n", line.data, m->reason);
        else
            fprintf(out, "%-84s %12.2f us %12.2f .. %.2f\n", line.data, m->us.median, m->us.p10,
                    m->us.p90);
        text_close(&line);
    }
}

/* "NVIDIA H200 NVL" and "measured" -> "nvidia-h200-nvl-measured". */
static void file_name(const struct run *run, struct text *name)
{
    for (const char *c = run->facts.name; *c != '\0'; c++) {
        char lower = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
        text_add(name, &lower, 1);
    }
    text_printf(name, "-%s", calib_provenance_name(run->provenance));
}

static int write_file(const struct run *run, const char *path, const char *version, struct err *err)
{
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) == NULL ||
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        return err_set(err, "the system's clock gives no date");
    struct text name = {0}, file = {0};
    file_name(run, &name);
    int result = probe_file_print(run, name.data, date, version, &file, err);
    text_printf(&file, "\n");
    if (result == 0)
        result = text_write_file(path, file.data, file.length, err);
    text_close(&name);
    text_close(&file);
    return result;
}

static int measure(const struct options *options, const struct grid *grid,
                   const struct probe_clock *clock, const char *version, FILE *out, FILE *messages)
{
    struct run run;
    struct err err;
    size_t checks = probe_check_count();
    const struct run_options settings = {.checks = probe_check_at(0),
                                         .check_count = checks,
                                         .seed = options->seed,
                                         .large = clock->is_gpu,
                                         .check_only = options->check,
                                         .progress = messages};
    int result = probe_measure_open(&run, grid, clock, &settings, &err);
    if (result == 0) {
        print_results(&run, out);
        if (options->output != NULL)
            result = write_file(&run, options->output, version, &err);
    }
    if (result != 0)
        fprintf(messages, "probe: %s\n", err.text);
    probe_measure_close(&run);
    return result == 0 ? EXIT_GOOD : EXIT_RUN_FAILED;
}

int probe_main(int argc, char **argv, const struct probe_clock *clock, const char *version,
               FILE *out, FILE *messages)
{
    struct options options;
    struct err err;
    if (parse_options(argc, argv, &options, &err) != 0) {
        fprintf(messages, "probe: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (options.help) {
        fputs(usage, out);
        return EXIT_GOOD;
    }
    struct grid grid;
    probe_grid_open(&grid, options.quick);
    if (options.only != NULL)
        keep_only(&grid, options.only);
    int status = EXIT_GOOD;
    if (options.list)
        list_points(&grid, out);
    else
        status = measure(&options, &grid, clock, version, out, messages);
    probe_grid_close(&grid);
    return status;
}
