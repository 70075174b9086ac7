/* snapsim calib - calibrations: what they hold, whether to believe them, laws from raw points. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/cost/calib.h"
#include "sim/cost/calib_band.h"
#include "tools/snapsim/snapsim.h"

#define CALIB_OUTPUT_SCHEMA 1

struct calib_options {
    char *output;
    bool points;
    unsigned format;
};

static const struct param all_params[] = {
    OPTION_FORMAT(struct calib_options, options_table_or_json), PARAM_END};
static const struct param show_params[] = {
    OPTION_SWITCH(struct calib_options, "points", points,
                  "raw points, and what the laws say of each"),
    PARAM_END};
static const struct param fit_params[] = {
    OPTION_OUTPUT(struct calib_options, "FILE", "write the calibration with the fitted laws"),
    PARAM_END};

static void add_names(struct text *out)
{
    char name[CALIB_NAME];
    text_printf(out, "Built in, from published tables, are");
    for (size_t i = 0; calib_builtin_name(i, name); i++)
        text_printf(out, "%s %s", i ? "," : "", name);
    text_printf(out, ". A measured one that was committed as results/calibration/NAME.json is "
                     "NAME-measured.\n");
}

/* Prints what was built, and closes it. */
static int finish(struct text *out, int status)
{
    int printed = print_result(out);
    text_close(out);
    return printed == EXIT_GOOD ? status : printed;
}

static int finish_json(struct json *top, int status)
{
    struct text out = {0};
    json_print(top, true, &out);
    text_printf(&out, "\n");
    json_close(top);
    return finish(&out, status);
}

static void device_line(struct text *out, const char *what, const struct calib_value *value,
                        const char *unit)
{
    if (value->known)
        text_printf(out, "  %-16s %8.5g %-7s %-10s %s\n", what, value->value, unit,
                    calib_provenance_name(value->provenance), value->source ? value->source : "");
}

static void show_device(const struct calibration *calib, struct text *out)
{
    const struct calib_device *device = &calib->device;
    char l2[UNITS_TEXT];
    text_printf(out, "%s: %s, %s\n", calib->name, device->name,
                calib_provenance_name(calib->provenance));
    if (calib->program)
        text_printf(out, "  by %s %s on %s%s%s\n", calib->program, calib->version, calib->date,
                    device->driver ? ", driver " : "", device->driver ? device->driver : "");
    text_printf(out, "  %" PRIu64 " SMs, %.4g GB of memory, %s of L2\n", device->sm_count,
                (double)device->memory_bytes * 1e-9, units_bytes(device->l2_bytes, l2));
    device_line(out, "peak bandwidth", &device->peak_bandwidth, "TB/s");
    device_line(out, "peak bf16", &device->peak_bf16, "TFLOPS");
    device_line(out, "pcie", &device->pcie, "GB/s");
    device_line(out, "nvlink", &device->nvlink, "GB/s");
    device_line(out, "network", &device->network, "GB/s");
}

static void show_law(const struct calibration *calib, enum calib_law_id id, struct text *out)
{
    const struct calib_law *law = &calib->law[id];
    const struct calib_law_facts *facts = calib_law_facts(id);
    if (!law->present)
        return;
    text_printf(out, "\n%s = %s\n", facts->name, law->form);
    for (size_t i = 0; i < calib_law_terms(id); i++)
        device_line(out, facts->term[i].name, &law->term[i], facts->term[i].unit);
    if (law->fit_points > 0)
        text_printf(out, "  fit to %" PRIu64 " points, error %.1f%% on average, %.1f%% at most\n",
                    law->fit_points, 100 * law->fit_mean, 100 * law->fit_most);
}

static void show_points(const struct calibration *calib, struct text *out)
{
    text_printf(out, "\n%12s %12s %8s  point\n", "us", "law, us", "error");
    for (size_t i = 0; i < calib->point_count; i++) {
        const struct calib_point *point = &calib->point[i];
        double us = 0;
        if (point->absent)
            text_printf(out, "%12s %12s %8s  ", "-", "-", "-");
        else if (!calib_point_us(calib, point, &us))
            text_printf(out, "%12.5g %12s %8s  ", point->us.median, "-", "-");
        else
            text_printf(out, "%12.5g %12.5g %+7.1f%%  ", point->us.median, us,
                        100 * (us / point->us.median - 1));
        calib_point_print(point, out);
        if (point->absent)
            text_printf(out, ": %s", point->absent);
        text_printf(out, "\n");
    }
}

static int show(struct calibration *calib, const struct calib_options *options)
{
    struct text out = {0};
    if (options->format == PRINT_JSON) {
        calib_print(calib, &out);
        text_printf(&out, "\n");
        return finish(&out, EXIT_GOOD);
    }
    show_device(calib, &out);
    for (int i = 0; i < CALIB_LAWS; i++)
        show_law(calib, (enum calib_law_id)i, &out);
    if (options->points)
        show_points(calib, &out);
    else
        text_printf(&out, "\n%zu points (--points prints them)\n", calib->point_count);
    return finish(&out, EXIT_GOOD);
}

static void band_row(const struct band *band, struct text *out)
{
    char expected[64] = "-", value[48] = "-";
    if (band->has_expectation)
        snprintf(expected, sizeof expected, "%.4g .. %.4g", band->low, band->high);
    if (band->verdict != BAND_ABSENT)
        snprintf(value, sizeof value, "%.4g", band->value);
    text_printf(out, "%-26s %-18s %10s %-6s %-8s %-5s  %s\n", band->name, expected, value,
                band->unit, calib_band_verdict_name(band->verdict),
                band->verdict == BAND_ABSENT ? ""
                : band->from_law             ? "law"
                                             : "point",
                band->what);
}

static void band_json(const struct band *band, struct json *list)
{
    struct json *object = json_add_object(list, NULL);
    json_add_string(object, "name", band->name);
    json_add_string(object, "what", band->what);
    json_add_string(object, "unit", band->unit);
    if (band->has_expectation) {
        json_add_double(object, "low", band->low);
        json_add_double(object, "high", band->high);
    }
    if (band->alarm > 0)
        json_add_double(object, band->alarm_is_below ? "alarm_below" : "alarm_above", band->alarm);
    if (band->verdict != BAND_ABSENT) {
        json_add_double(object, "value", band->value);
        json_add_string(object, "from", band->from_law ? "law" : "point");
    }
    json_add_string(object, "verdict", calib_band_verdict_name(band->verdict));
}

/* Whatever is faster than the device, one sentence each; returns how many. */
static size_t broken_limits(const struct calibration *calib, struct text *out, struct json *list)
{
    struct err err;
    size_t broken = 0;
    for (size_t i = 0; i < calib->point_count + CALIB_LAWS; i++) {
        size_t law = i - calib->point_count;
        int result =
            i < calib->point_count
                ? calib_limit_point(&calib->device, &calib->point[i], &err)
                : calib_limit_law(&calib->device, (enum calib_law_id)law, &calib->law[law], &err);
        if (result == 0)
            continue;
        broken++;
        text_printf(out, "IMPOSSIBLE %s\n", err.text);
        json_add_string(list, NULL, err.text);
    }
    return broken;
}

static int check(struct calibration *calib, const struct calib_options *options)
{
    struct text out = {0}, limits = {0};
    struct json *top = json_new_object();
    json_add_u64(top, "schema", CALIB_OUTPUT_SCHEMA);
    json_add_string(top, "name", calib->name);
    json_add_string(top, "device", calib->device.name);
    json_add_string(top, "provenance", calib_provenance_name(calib->provenance));
    struct json *list = json_add_array(top, "bands");
    text_printf(&out, "%s: %s, %s\n%-26s %-18s %10s %-6s %-8s %-5s\n", calib->name,
                calib->device.name, calib_provenance_name(calib->provenance), "band", "expected",
                "found", "", "verdict", "from");
    size_t count[BAND_ABSENT + 1] = {0};
    for (size_t i = 0; i < calib_band_count(); i++) {
        struct band band = calib_band_at(calib, i);
        count[band.verdict]++;
        band_row(&band, &out);
        band_json(&band, list);
    }
    size_t broken = broken_limits(calib, &limits, json_add_array(top, "impossible"));
    if (limits.length > 0)
        text_printf(&out, "\n%s", limits.data);
    text_printf(
        &out, "\n%zu good, %zu outside, %zu alarms, %zu absent; %zu faster than the device\n",
        count[BAND_GOOD], count[BAND_OUTSIDE], count[BAND_ALARM], count[BAND_ABSENT], broken);
    int status = broken > 0 ? EXIT_FAILED : EXIT_GOOD;
    text_close(&limits);
    if (options->format == PRINT_JSON) {
        text_close(&out);
        return finish_json(top, status);
    }
    json_close(top);
    return finish(&out, status);
}

static void fit_row(const struct calibration *calib, enum calib_law_id id,
                    const struct calib_fit *fit, struct text *out)
{
    const struct calib_law_facts *facts = calib_law_facts(id);
    text_printf(out, "%-24s %6zu %6.1f%% %6.1f%%  ", facts->name, fit->points,
                100 * fit->mean_error, 100 * fit->most_error);
    for (size_t i = 0; i < calib_law_terms(id); i++)
        if (fit->known[i])
            text_printf(out, " %s %.5g %s%s", facts->term[i].name, fit->value[i],
                        facts->term[i].unit, ",");
    if (fit->most_error > 0.005) {
        text_printf(out, " worst: ");
        calib_point_print(&calib->point[fit->worst], out);
    }
    text_printf(out, "\n");
}

static int fit(struct calibration *calib, const struct calib_options *options)
{
    struct text out = {0}, file = {0};
    struct err err;
    size_t fitted = 0;
    text_printf(&out, "%-24s %6s %7s %7s   coefficients\n", "law", "points", "mean", "most");
    for (int i = 0; i < CALIB_LAWS; i++) {
        struct calib_fit one = calib_fit_law(calib, (enum calib_law_id)i);
        if (one.points == 0)
            continue;
        fitted++;
        fit_row(calib, (enum calib_law_id)i, &one, &out);
    }
    int status = EXIT_FAILED;
    if (calib_fit_all(calib, &err) != 0) {
        say(EXIT_FAILED, "%s", err.text);
    } else if (fitted == 0) {
        say(EXIT_FAILED, "calibration '%s' has too few points for any law", calib->name);
    } else {
        status = EXIT_GOOD;
        calib_print(calib, &file);
        text_printf(&file, "\n");
        if (options->output && text_write_file(options->output, file.data, file.length, &err) != 0)
            status = say(EXIT_FAILED, "%s", err.text);
    }
    if (status == EXIT_GOOD)
        status = print_result(options->format == PRINT_JSON ? &file : &out);
    text_close(&file);
    text_close(&out);
    return status;
}

static void diff_row(struct text *out, struct json *list, const char *name, const char *term,
                     const char *unit, const double *a, const double *b)
{
    char left[32] = "-", right[32] = "-", ratio[32] = "-";
    struct json *object = json_add_object(list, NULL);
    json_add_string(object, "name", name);
    json_add_string(object, "term", term);
    json_add_string(object, "unit", unit);
    if (a) {
        snprintf(left, sizeof left, "%.5g", *a);
        json_add_double(object, "a", *a);
    }
    if (b) {
        snprintf(right, sizeof right, "%.5g", *b);
        json_add_double(object, "b", *b);
    }
    if (a && b && *a > 0)
        snprintf(ratio, sizeof ratio, "%.3f", *b / *a);
    text_printf(out, "%-26s %-16s %12s %12s %9s  %s\n", name, term, left, right, ratio, unit);
}

static void diff_laws(const struct calibration *a, const struct calibration *b, struct text *out,
                      struct json *list)
{
    for (int i = 0; i < CALIB_LAWS; i++) {
        enum calib_law_id id = (enum calib_law_id)i;
        const struct calib_law_facts *facts = calib_law_facts(id);
        for (size_t term = 0; term < calib_law_terms(id); term++) {
            const struct calib_value *left = &a->law[id].term[term],
                                     *right = &b->law[id].term[term];
            if (left->known || right->known)
                diff_row(out, list, facts->name, facts->term[term].name, facts->term[term].unit,
                         left->known ? &left->value : NULL, right->known ? &right->value : NULL);
        }
    }
}

static int diff(const struct calibration *a, const struct calibration *b,
                const struct calib_options *options)
{
    struct text out = {0};
    struct json *top = json_new_object();
    json_add_u64(top, "schema", CALIB_OUTPUT_SCHEMA);
    json_add_string(top, "a", a->name);
    json_add_string(top, "b", b->name);
    text_printf(&out, "a: %s, %s, %s\nb: %s, %s, %s\n\n%-26s %-16s %12s %12s %9s\n", a->name,
                a->device.name, calib_provenance_name(a->provenance), b->name, b->device.name,
                calib_provenance_name(b->provenance), "law", "coefficient", "a", "b", "b / a");
    diff_laws(a, b, &out, json_add_array(top, "coefficients"));
    text_printf(&out, "\n%-26s %-16s %12s %12s %9s\n", "what follows", "", "a", "b", "b / a");
    struct json *list = json_add_array(top, "bands");
    for (size_t i = 0; i < calib_band_count(); i++) {
        struct band left = calib_band_at(a, i), right = calib_band_at(b, i);
        if (left.verdict != BAND_ABSENT || right.verdict != BAND_ABSENT)
            diff_row(&out, list, left.name, "", left.unit,
                     left.verdict != BAND_ABSENT ? &left.value : NULL,
                     right.verdict != BAND_ABSENT ? &right.value : NULL);
    }
    if (options->format == PRINT_JSON) {
        text_close(&out);
        return finish_json(top, EXIT_GOOD);
    }
    json_close(top);
    return finish(&out, EXIT_GOOD);
}

/* A name that is not built in is usage, a bad file is not. */
static int load(struct calibration *out, const char *name, int *status)
{
    struct err err;
    if (calib_load(out, name, CALIB_TO_LOOK, &err) == 0)
        return 0;
    bool is_file = strchr(name, '/') || strstr(name, ".json");
    *status = say(is_file ? EXIT_FAILED : EXIT_USAGE, "%s", err.text);
    return -1;
}

/* Loads one calibration and looks at it. */
static int look(const struct call *call,
                int (*at)(struct calibration *calib, const struct calib_options *options))
{
    struct calibration calib;
    int status = EXIT_FAILED;
    if (load(&calib, call->words[0], &status) != 0)
        return status;
    status = at(&calib, call->settings);
    calib_close(&calib);
    return status;
}

static int run_show(const struct call *call)
{
    return look(call, show);
}

static int run_check(const struct call *call)
{
    return look(call, check);
}

static int run_fit(const struct call *call)
{
    return look(call, fit);
}

static int run_diff(const struct call *call)
{
    struct calibration a, b;
    int status = EXIT_FAILED;
    if (load(&a, call->words[0], &status) != 0)
        return status;
    if (load(&b, call->words[1], &status) == 0) {
        status = diff(&a, &b, call->settings);
        calib_close(&b);
    }
    calib_close(&a);
    return status;
}

#define ONE .words = "NAME|FILE", .missing = "a calibration was", .least = 1, .most = 1
const struct command cmd_calib = {
    .name = "calib",
    .summary = "what a GPU's kernels cost: laws, sources, checks, fits",
    .text = "A calibration is what a GPU's kernels cost: laws with their coefficients, where each "
            "is from, and the raw points behind them. tools/probe measures one.\n",
    .add_text = add_names,
    .examples = "  snapsim calib show h200\n"
                "  snapsim calib show h100 --format json >mine.json\n"
                "  snapsim calib check ./h200-measured.json\n"
                "  snapsim calib fit ./mine.json -o fitted.json\n"
                "  snapsim calib diff h200 ./h200-measured.json\n",
    .options_size = sizeof(struct calib_options),
    .ways = {{.name = "show",
              .summary = "device, laws and where each value is from; json: as a file",
              ONE,
              .tables = {{NULL, all_params, 0}, {NULL, show_params, 0}},
              .run = run_show},
             {.name = "check",
              .summary = "what a Hopper GPU should show against what this one shows, and whether "
                         "anything is faster than the device can be (exit 1)",
              ONE,
              .tables = {{NULL, all_params, 0}},
              .run = run_check},
             {.name = "fit",
              .summary = "laws from the raw points, with what they leave unexplained; -o writes "
                         "a file",
              ONE,
              .tables = {{NULL, all_params, 0}, {NULL, fit_params, 0}},
              .run = run_fit},
             {.name = "diff",
              .summary = "coefficients and times of two calibrations, side by side",
              .words = "A B",
              .missing = "two calibrations were",
              .least = 2,
              .most = 2,
              .tables = {{NULL, all_params, 0}},
              .run = run_diff}},
};
