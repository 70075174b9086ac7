/* A calibration as a file. Keys and their order are those of tools/probe. */
#include "sim/cost/calib.h"

static void add_value(struct json *parent, const char *key, const struct calib_value *value,
                      const char *unit)
{
    if (!value->known)
        return;
    struct json *object = json_add_object(parent, key);
    json_add_double(object, "value", value->value);
    json_add_string(object, "unit", unit);
    json_add_string(object, "provenance", calib_provenance_name(value->provenance));
    if (value->source)
        json_add_string(object, "source", value->source);
}

static void add_text(struct json *parent, const char *key, const char *text)
{
    if (text)
        json_add_string(parent, key, text);
}

static void add_notes(struct json *parent, const char *key, const struct calib_notes *notes)
{
    if (notes->count == 0)
        return;
    struct json *object = json_add_object(parent, key);
    for (size_t i = 0; i < notes->count; i++) {
        const struct calib_note *note = &notes->note[i];
        if (note->text)
            json_add_string(object, note->key, note->text);
        else
            json_add_u64(object, note->key, note->number);
    }
}

static void add_device(struct json *top, const struct calib_device *device)
{
    struct json *object = json_add_object(top, "device");
    json_add_string(object, "name", device->name);
    add_text(object, "driver", device->driver);
    add_text(object, "runtime", device->runtime);
    json_add_u64(object, "sm_count", device->sm_count);
    json_add_u64(object, "memory_bytes", device->memory_bytes);
    json_add_u64(object, "l2_bytes", device->l2_bytes);
    add_value(object, "peak_bandwidth", &device->peak_bandwidth, "TB/s");
    add_value(object, "peak_bf16", &device->peak_bf16, "TFLOPS");
    add_value(object, "pcie", &device->pcie, "GB/s");
    add_value(object, "nvlink", &device->nvlink, "GB/s");
    add_value(object, "network", &device->network, "GB/s");
    add_notes(object, "before", &device->before);
    add_notes(object, "after", &device->after);
}

static void add_law(struct json *laws, enum calib_law_id id, const struct calib_law *law)
{
    const struct calib_law_facts *facts = calib_law_facts(id);
    if (!law->present)
        return;
    struct json *object = json_add_object(laws, facts->name);
    json_add_string(object, "form", law->form);
    struct json *coefficients = json_add_object(object, "coefficients");
    for (size_t i = 0; i < calib_law_terms(id); i++)
        add_value(coefficients, facts->term[i].name, &law->term[i], facts->term[i].unit);
    if (law->fit_points == 0)
        return;
    struct json *quality = json_add_object(object, "fit");
    json_add_u64(quality, "points", law->fit_points);
    json_add_double(quality, "mean_relative_error", law->fit_mean);
    json_add_double(quality, "largest_relative_error", law->fit_most);
}

static void add_number(struct json *object, const char *key, uint64_t value)
{
    if (value > 0)
        json_add_u64(object, key, value);
}

static void add_shape(struct json *parent, const struct calib_point *point)
{
    const struct calib_shape *shape = &point->shape;
    struct json *object = json_add_object(parent, "shape");
    json_add_string(object, "model", shape->model);
    add_number(object, "tp", shape->tp);
    add_number(object, "heads", shape->heads);
    add_number(object, "key_heads", shape->key_heads);
    add_number(object, "sequences", shape->sequences);
    add_number(object, "tokens", shape->tokens);
    add_number(object, "context", shape->context);
    add_number(object, "interval", shape->interval);
    add_number(object, "warps", shape->warps);
    add_number(object, "page_tokens", shape->page_tokens);
    add_number(object, "layers", shape->layers);
    add_number(object, "payload_bytes", shape->payload_bytes);
    add_number(object, "piece_bytes", shape->piece_bytes);
    add_number(object, "layer_parts", shape->layer_parts);
    add_number(object, "m", shape->m);
    add_number(object, "n", shape->n);
    add_number(object, "k", shape->k);
    if (point->kernel == CALIB_SNAPSHOT_EMIT)
        json_add_string(object, "snapshot_dtype", shape->snapshot_bf16 ? "bf16" : "fp32");
    if (point->kernel == CALIB_HOST_COPY) {
        json_add_u64(object, "pieces", calib_shape_pieces(shape));
        json_add_string(object, "direction", shape->to_host ? "device_to_host" : "host_to_device");
        json_add_bool(object, "batched", shape->batched);
    }
    if (shape->variant)
        json_add_bool(object, "variant", true);
}

static void add_point(struct json *points, const struct calib_point *point)
{
    struct json *object = json_add_object(points, NULL);
    json_add_string(object, "kernel", calib_kernel_name(point->kernel));
    add_shape(object, point);
    add_text(object, "absent", point->absent);
    if (point->absent)
        return;
    json_add_string(object, "provenance", calib_provenance_name(point->provenance));
    add_text(object, "source", point->source);
    struct json *time = json_add_object(object, "time_us");
    json_add_double(time, "median", point->us.median);
    if (point->us.most > 0) {
        json_add_double(time, "p10", point->us.p10);
        json_add_double(time, "p90", point->us.p90);
        json_add_double(time, "least", point->us.least);
        json_add_double(time, "most", point->us.most);
    }
    add_number(object, "samples", point->samples);
    add_number(object, "launches_per_sample", point->launches);
    add_number(object, "buffer_sets", point->sets);
    json_add_double(object, "dram_bytes", point->dram_bytes);
    json_add_double(object, "flops", point->flops);
}

static void add_checks(struct json *top, const struct calibration *calib)
{
    struct json *checks = json_add_array(top, "checks");
    for (size_t i = 0; i < calib->check_count; i++) {
        struct json *object = json_add_object(checks, NULL);
        json_add_string(object, "name", calib->check[i].name);
        json_add_string(object, "kernel", calib->check[i].kernel);
        json_add_string(object, "worst", calib->check[i].worst);
        json_add_double(object, "error", calib->check[i].error);
        json_add_double(object, "bound", calib->check[i].bound);
    }
}

void calib_print(const struct calibration *calib, struct text *out)
{
    struct json *top = json_new_object();
    json_add_u64(top, "schema", CALIB_SCHEMA);
    json_add_string(top, "kind", "calibration");
    json_add_string(top, "name", calib->name);
    json_add_string(top, "provenance", calib_provenance_name(calib->provenance));
    if (calib->program) {
        struct json *program = json_add_object(top, "program");
        json_add_string(program, "name", calib->program);
        json_add_string(program, "version", calib->version);
        json_add_string(program, "date", calib->date);
    }
    add_device(top, &calib->device);
    add_notes(top, "method", &calib->method);
    struct json *laws = json_add_object(top, "laws");
    for (int i = 0; i < CALIB_LAWS; i++)
        add_law(laws, (enum calib_law_id)i, &calib->law[i]);
    struct json *points = json_add_array(top, "points");
    for (size_t i = 0; i < calib->point_count; i++)
        add_point(points, &calib->point[i]);
    add_checks(top, calib);
    json_print(top, true, out);
    json_close(top);
}

void calib_digest(const struct calibration *calib, char hex[SHA256_TEXT])
{
    struct text text = {0};
    calib_print(calib, &text);
    sha256_of(text.data, text.length, hex);
    text_close(&text);
}
