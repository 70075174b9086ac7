/* snapsim calib - calibrations: what they hold, whether to believe them, laws from raw points. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/cost/calib.h"
#include "sim/cost/calib_band.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/snapsim.h"

#define CALIB_OUTPUT_SCHEMA 1

struct calib_request {
    const char *name, *other; /* what it is about; the second of a diff */
    const char *output;
    bool json, points;
};

static void help(const struct flag *flags)
{
    fputs(
        "usage: snapsim calib show NAME|FILE [--points] [--format table|json]\n"
        "       snapsim calib check NAME|FILE [--format table|json]\n"
        "       snapsim calib fit NAME|FILE [-o FILE] [--format table|json]\n"
        "       snapsim calib diff A B [--format table|json]\n\n"
        "A calibration is what a GPU's kernels cost: laws with their coefficients, where each is\n"
        "from, and the raw points behind them. tools/probe measures one; built in, from published\n"
        "tables, are",
        stdout);
    char name[CALIB_NAME];
    for (size_t i = 0; calib_builtin_name(i, name); i++)
        printf("%s %s", i ? "," : "", name);
    fputs(".\nA measured one that was committed as results/calibration/NAME.json is "
          "NAME-measured.\n\n"
          "  show    device, laws and where each value is from; json: as a file\n"
          "  check   what a Hopper GPU should show against what this one shows, and whether\n"
          "          anything is faster than the device can be (exit 1)\n"
          "  fit     laws from the raw points, with what they leave unexplained; -o writes a file\n"
          "  diff    coefficients and times of two calibrations, side by side\n\n",
          stdout);
    options_print_flags(flags, stdout);
    fputs("\nexamples:\n"
          "  snapsim calib show h200\n"
          "  snapsim calib show h100 --format json >mine.json\n"
          "  snapsim calib check ./h200-measured.json\n"
          "  snapsim calib fit ./mine.json -o fitted.json\n"
          "  snapsim calib diff h200 ./h200-measured.json\n",
          stdout);
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

static int show(struct calibration *calib, const struct calib_request *request)
{
    struct text out = {0};
    if (request->json) {
        calib_print(calib, &out);
        text_printf(&out, "\n");
        return finish(&out, EXIT_GOOD);
    }
    show_device(calib, &out);
    for (int i = 0; i < CALIB_LAWS; i++)
        show_law(calib, (enum calib_law_id)i, &out);
    if (request->points)
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

static int check(struct calibration *calib, const struct calib_request *request)
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
    if (request->json) {
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

static int fit(struct calibration *calib, const struct calib_request *request)
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
        if (request->output && text_write_file(request->output, file.data, file.length, &err) != 0)
            status = say(EXIT_FAILED, "%s", err.text);
    }
    if (status == EXIT_GOOD)
        status = print_result(request->json ? &file : &out);
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
                const struct calib_request *request)
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
    if (request->json) {
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
    *status = say(text_names_file(name) ? EXIT_FAILED : EXIT_USAGE, "%s", err.text);
    return -1;
}

static int run_diff(struct calibration *a, const struct calib_request *request)
{
    struct calibration b;
    int status = EXIT_FAILED;
    if (load(&b, request->other, &status) != 0)
        return status;
    status = diff(a, &b, request);
    calib_close(&b);
    return status;
}

static const struct verb {
    const char *name;
    size_t names; /* how many calibrations it takes */
    int (*run)(struct calibration *calib, const struct calib_request *request);
} verbs[] = {
    {"show", 1, show}, {"check", 1, check}, {"fit", 1, fit}, {"diff", 2, run_diff}, {NULL, 0, NULL},
};

static const char *verb_name(const void *table, size_t index)
{
    return ((const struct verb *)table)[index].name;
}

static int run(const struct options *options, struct calib_request *request, const char *format)
{
    const struct verb *verb = verbs;
    const char *word = options->count > 0 ? options->positional[0] : "";
    while (verb->name && strcmp(verb->name, word) != 0)
        verb++;
    if (verb->name == NULL) {
        const char *near = *word ? text_nearest(word, verb_name, verbs) : NULL;
        return say(EXIT_USAGE, "calib: show, check, fit or diff was expected%s%s%s%s%s%s",
                   *word ? ", found '" : "", word, *word ? "'" : "", near ? " (did you mean '" : "",
                   near ? near : "", near ? "'?)" : "");
    }
    if (options->count != verb->names + 1)
        return say(EXIT_USAGE, "calib %s: %s expected (snapsim calib --help)", verb->name,
                   verb->names == 1 ? "a calibration was" : "two calibrations were");
    struct err err;
    if (options_parse_json(format, &request->json, &err) != 0)
        return say(EXIT_USAGE, "%s", err.text);
    if (request->output && verb->run != fit)
        return say(EXIT_USAGE, "-o: only calib fit writes a file");
    request->name = options->positional[1];
    request->other = options->positional[2];
    struct calibration calib;
    int status = EXIT_FAILED;
    if (load(&calib, request->name, &status) != 0)
        return status;
    status = verb->run(&calib, request);
    calib_close(&calib);
    return status;
}

int cmd_calib(int argc, char **argv)
{
    const char *words[3] = {NULL, NULL, NULL}, *format = "table";
    struct calib_request request = {0};
    const struct flag table[] = {
        {"--format", "F", "table or json [table]", &format, NULL},
        {"--points", NULL, "show: raw points, and what the laws say of each", NULL,
         &request.points},
        {"-o", "FILE", "fit: write the calibration with the fitted laws", &request.output, NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    struct options options = {.flags = table, .positional = words, .most = 3};
    struct err err;
    if (options_parse(&options, argc, argv, &err) != 0)
        return say(EXIT_USAGE, "%s", err.text);
    if (options.help) {
        help(table);
        return EXIT_GOOD;
    }
    return run(&options, &request, format);
}
