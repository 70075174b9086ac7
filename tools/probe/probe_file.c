#include "tools/probe/probe_file.h"

#include <inttypes.h>

#include "sim/core/json.h"
#include "tools/probe/probe_law.h"

static void add_quantity(struct json *parent, const char *key, double value, const char *unit,
                         const char *provenance)
{
    struct json *object = json_add_object(parent, key);
    json_add_double(object, "value", value);
    json_add_string(object, "unit", unit);
    json_add_string(object, "provenance", provenance);
}

static void add_condition(struct json *parent, const char *key,
                          const struct device_condition *condition)
{
    struct json *object = json_add_object(parent, key);
    json_add_u64(object, "sm_clock_mhz", condition->sm_clock_mhz);
    json_add_u64(object, "memory_clock_mhz", condition->memory_clock_mhz);
    json_add_u64(object, "power_w", condition->power_w);
    json_add_u64(object, "temperature_c", condition->temperature_c);
    json_add_u64(object, "other_processes", condition->other_processes);
}

static void add_device(struct json *top, const struct run *run)
{
    struct json *device = json_add_object(top, "device");
    json_add_string(device, "name", run->facts.name);
    json_add_string(device, "driver", run->facts.driver);
    json_add_string(device, "runtime", run->facts.runtime);
    json_add_u64(device, "sm_count", run->facts.sm_count);
    json_add_u64(device, "memory_bytes", run->facts.memory_bytes);
    json_add_u64(device, "l2_bytes", run->facts.l2_bytes);
    /* A simulated device's peaks are simulated too; a GPU's stand in its data sheet. */
    const char *peaks = run->provenance[0] == 'm' ? "published" : run->provenance;
    if (run->facts.peak_bytes_per_s > 0)
        add_quantity(device, "peak_bandwidth", run->facts.peak_bytes_per_s * 1e-12, "TB/s", peaks);
    if (run->facts.peak_bf16_flops > 0)
        add_quantity(device, "peak_bf16", run->facts.peak_bf16_flops * 1e-12, "TFLOPS", peaks);
    add_condition(device, "before", &run->before);
    add_condition(device, "after", &run->after);
}

static void add_method(struct json *top)
{
    struct json *method = json_add_object(top, "method");
    json_add_u64(method, "samples", GRID_SAMPLES);
    json_add_u64(method, "warm_up_launches", GRID_WARM_UP);
    json_add_string(method, "timing",
                    "events around launches, in a graph except for launch_stream and host_copy; "
                    "median of samples");
    json_add_string(method, "state_layout", "[slot][head][value][key] fp32");
    json_add_string(method, "window_layout", "[slot][3][channel] bf16");
    json_add_string(method, "cache_layout", "[page][token][576] bf16");
    json_add_u64(method, "chunk_tokens", KERNEL_TILE);
}

static void add_laws(struct json *top, const struct run *run)
{
    struct json *laws = json_add_object(top, "laws");
    for (size_t i = 0; i < probe_law_count(); i++) {
        const struct law *law = probe_law_at(i);
        struct law_fit fit = probe_law_fit(law, run);
        if (fit.points == 0)
            continue;
        struct json *object = json_add_object(laws, law->name);
        json_add_string(object, "form", law->form);
        struct json *coefficients = json_add_object(object, "coefficients");
        for (size_t t = 0; t < LAW_TERMS && law->term[t].name != NULL; t++)
            if (fit.known[t])
                add_quantity(coefficients, law->term[t].name, fit.value[t], law->term[t].unit,
                             run->provenance);
        struct json *quality = json_add_object(object, "fit");
        json_add_u64(quality, "points", fit.points);
        json_add_double(quality, "mean_relative_error", fit.mean_error);
        json_add_double(quality, "largest_relative_error", fit.most_error);
    }
}

/* Only what the kind uses is written: a field of 0 does not apply. */
static void add_shape(struct json *parent, const struct point *p)
{
    struct json *shape = json_add_object(parent, "shape");
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {{"tp", p->tp},
                  {"heads", p->heads},
                  {"key_heads", p->key_heads},
                  {"sequences", p->sequences},
                  {"tokens", p->tokens},
                  {"context", p->context},
                  {"interval", p->interval},
                  {"warps", p->warps},
                  {"page_tokens", p->page_tokens},
                  {"layers", p->layers},
                  {"payload_bytes", p->bytes},
                  {"piece_bytes", p->piece_bytes},
                  {"layer_parts", p->layer_parts},
                  {"m", p->m},
                  {"n", p->n},
                  {"k", p->k}};
    json_add_string(shape, "model", p->model);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].value > 0)
            json_add_u64(shape, fields[i].name, fields[i].value);
    if (p->kind == POINT_SNAPSHOT_EMIT)
        json_add_string(shape, "snapshot_dtype", p->snapshot_bf16 ? "bf16" : "fp32");
    if (p->kind == POINT_HOST_COPY) {
        json_add_u64(shape, "pieces", probe_point_piece_count(p));
        json_add_string(shape, "direction", p->to_host ? "device_to_host" : "host_to_device");
        json_add_bool(shape, "batched", p->batched);
    }
    if (p->variant)
        json_add_bool(shape, "variant", true);
}

static void add_points(struct json *top, const struct run *run)
{
    struct json *points = json_add_array(top, "points");
    for (size_t i = 0; i < run->count; i++) {
        const struct measurement *m = &run->measurements[i];
        struct json *object = json_add_object(points, NULL);
        json_add_string(object, "kernel", probe_point_facts(m->point->kind)->name);
        add_shape(object, m->point);
        if (m->absent) {
            json_add_string(object, "absent", m->reason);
            continue;
        }
        json_add_string(object, "provenance", run->provenance);
        struct json *time = json_add_object(object, "time_us");
        json_add_double(time, "median", m->us.median);
        json_add_double(time, "p10", m->us.p10);
        json_add_double(time, "p90", m->us.p90);
        json_add_double(time, "least", m->us.least);
        json_add_double(time, "most", m->us.most);
        json_add_u64(object, "samples", m->us.count);
        json_add_u64(object, "launches_per_sample", m->launches);
        json_add_u64(object, "buffer_sets", m->sets);
        json_add_double(object, "dram_bytes", probe_point_dram_bytes(m->point));
        json_add_double(object, "flops", probe_point_flops(m->point));
    }
}

static void add_checks(struct json *top, const struct run *run)
{
    struct json *checks = json_add_array(top, "checks");
    for (size_t i = 0; i < run->checked_count; i++) {
        const struct checked *checked = &run->checked[i];
        struct json *object = json_add_object(checks, NULL);
        json_add_string(object, "name", checked->check->name);
        json_add_string(object, "kernel", checked->check->kernel);
        json_add_string(object, "worst", checked->outcome.what);
        json_add_double(object, "error", checked->outcome.error);
        json_add_double(object, "bound", checked->outcome.bound);
    }
}

void probe_file_print(const struct run *run, const char *name, const char *date,
                      const char *version, struct text *out)
{
    struct json *top = json_new_object();
    json_add_u64(top, "schema", PROBE_FILE_SCHEMA);
    json_add_string(top, "kind", "calibration");
    json_add_string(top, "name", name);
    json_add_string(top, "provenance", run->provenance);
    struct json *program = json_add_object(top, "program");
    json_add_string(program, "name", "probe");
    json_add_string(program, "version", version);
    json_add_string(program, "date", date);
    add_device(top, run);
    add_method(top);
    add_laws(top, run);
    add_points(top, run);
    add_checks(top, run);
    json_print(top, true, out);
    json_close(top);
}
