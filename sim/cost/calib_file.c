/* Reading calibrations. Strict: every key is known, every unit is the one of its place, and what is
 * labelled measured names device, program and date. Order does not matter, except that the device
 * is read first: limits are checked where a value stands, so that the error can name its line. */
#include <math.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/cost/calib.h"

struct reader {
    const struct json_document *document;
    struct calibration *calib;
    enum calib_use use;
    struct err *err;
};

/* The place for complaints about an object: its first key, since elements of lists have none. */
static const struct json *place_of(const struct json *object)
{
    return json_first(object) ? json_first(object) : object;
}

static const char *word_at(const void *table, size_t index)
{
    return ((const char *const *)table)[index];
}

/* Every key of the object is in the list, which ends with NULL. */
static int known_keys(const struct reader *reader, const struct json *object,
                      const char *const *known)
{
    for (const struct json *value = json_first(object); value; value = json_next(value)) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], json_key(value)) != 0)
            i++;
        if (known[i])
            continue;
        const char *near = text_nearest(json_key(value), word_at, known);
        return json_fail(reader->document, value, reader->err, "unknown key '%.100s'%s%s%s",
                         json_key(value), near ? " (did you mean '" : "", near ? near : "",
                         near ? "'?)" : "");
    }
    return 0;
}

static int need_object(const struct reader *reader, const struct json *parent, const char *key,
                       const struct json **out)
{
    *out = json_get(parent, key);
    if (*out && json_is_object(*out))
        return 0;
    return json_fail(reader->document, *out ? *out : place_of(parent), reader->err,
                     "%s: an object was expected", key);
}

/* *out stays as it is if the key is absent and not needed. */
static int read_text(const struct reader *reader, const struct json *object, const char *key,
                     bool needed, const char **out)
{
    const struct json *value = json_get(object, key);
    const char *text = json_string(value);
    if (value == NULL && !needed)
        return 0;
    if (text == NULL || (needed && *text == '\0'))
        return json_fail(reader->document, value ? value : place_of(object), reader->err,
                         "%s: a text was expected", key);
    *out = calib_keep_text(reader->calib, text);
    return 0;
}

static int read_u64(const struct reader *reader, const struct json *object, const char *key,
                    bool needed, uint64_t *out)
{
    const struct json *value = json_get(object, key);
    if (value == NULL && !needed)
        return 0;
    if (json_u64(value, out) == 0)
        return 0;
    return json_fail(reader->document, value ? value : place_of(object), reader->err,
                     "%s: a whole number was expected", key);
}

/* A number of at least zero, or above it. From 1e-12 (what is divided by) to 1e24, so that no time
 * can overflow. */
static int read_double(const struct reader *reader, const struct json *object, const char *key,
                       bool above_zero, double *out)
{
    const struct json *value = json_get(object, key);
    if (value && json_is_number(value)) {
        *out = json_double(value);
        if (*out >= (above_zero ? 1e-12 : 0) && *out <= 1e24)
            return 0;
    }
    return json_fail(reader->document, value ? value : place_of(object), reader->err,
                     "%s: a number %s was expected", key, above_zero ? "above 0" : "of 0 or more");
}

/* The label of a value must be one that the file's own label allows. */
static int read_provenance(const struct reader *reader, const struct json *object,
                           enum calib_provenance *out)
{
    const struct json *value = json_get(object, "provenance");
    const char *word = json_string(value);
    for (int i = 0; word && i < CALIB_PROVENANCES; i++) {
        *out = (enum calib_provenance)i;
        if (strcmp(word, calib_provenance_name(*out)) != 0)
            continue;
        if (reader->use == CALIB_TO_COST && *out == CALIB_SIMULATED)
            return json_fail(reader->document, value, reader->err,
                             "provenance: simulated values come from a stand-in for a GPU and "
                             "cannot be used");
        return 0;
    }
    return json_fail(reader->document, value ? value : place_of(object), reader->err,
                     "provenance: published, assumed, measured or simulated was expected");
}

/* What a value or a point says of itself. A measured value needs a file that says who measured. */
static int read_origin(const struct reader *reader, const struct json *object, bool needs_source,
                       enum calib_provenance *provenance, const char **source)
{
    if (read_provenance(reader, object, provenance) != 0 ||
        read_text(reader, object, "source", false, source) != 0)
        return -1;
    const struct json *value = json_get(object, "provenance");
    bool by_program = *provenance == CALIB_MEASURED || *provenance == CALIB_SIMULATED;
    if (by_program && *provenance != reader->calib->provenance)
        return json_fail(
            reader->document, value, reader->err, "provenance: %s stands in a file that is %s",
            calib_provenance_name(*provenance), calib_provenance_name(reader->calib->provenance));
    if (!by_program && needs_source && *source == NULL)
        return json_fail(reader->document, value, reader->err,
                         "source: where a value is from was expected beside '%s'",
                         calib_provenance_name(*provenance));
    return 0;
}

static int read_value(const struct reader *reader, const struct json *parent, const char *key,
                      const char *unit, bool above_zero, bool needs_source, struct calib_value *out)
{
    static const char *const keys[] = {"value", "unit", "provenance", "source", NULL};
    const struct json *object = json_get(parent, key);
    *out = (struct calib_value){.known = object != NULL};
    if (object == NULL)
        return 0;
    if (need_object(reader, parent, key, &object) != 0 || known_keys(reader, object, keys) != 0 ||
        read_double(reader, object, "value", above_zero, &out->value) != 0)
        return -1;
    const struct json *value = json_get(object, "unit");
    const char *found = json_string(value);
    if (found == NULL || strcmp(found, unit) != 0)
        return json_fail(reader->document, value ? value : place_of(object), reader->err,
                         "%s: unit: '%s' was expected%s%.40s%s", key, unit,
                         found ? ", found '" : "", found ? found : "", found ? "'" : "");
    return read_origin(reader, object, needs_source, &out->provenance, &out->source);
}

/* Texts and whole numbers under any keys. */
static int read_notes(const struct reader *reader, const struct json *parent, const char *key,
                      struct calib_notes *out)
{
    const struct json *object = json_get(parent, key);
    if (object == NULL)
        return 0;
    if (need_object(reader, parent, key, &object) != 0)
        return -1;
    for (const struct json *value = json_first(object); value; value = json_next(value)) {
        struct calib_note note = {.key = calib_keep_text(reader->calib, json_key(value))};
        if (json_string(value))
            note.text = calib_keep_text(reader->calib, json_string(value));
        else if (json_u64(value, &note.number) != 0)
            return json_fail(reader->document, value, reader->err,
                             "%.60s: a text or a whole number was expected", note.key);
        out->note = mem_grow(out->note, &out->capacity, out->count + 1, sizeof *out->note);
        out->note[out->count++] = note;
    }
    return 0;
}

static int read_device(const struct reader *reader, const struct json *top)
{
    static const char *const keys[] = {
        "name",      "driver", "runtime", "sm_count", "memory_bytes", "l2_bytes", "peak_bandwidth",
        "peak_bf16", "pcie",   "nvlink",  "network",  "before",       "after",    NULL};
    struct calib_device *device = &reader->calib->device;
    const struct json *object = NULL;
    bool measured = reader->calib->provenance == CALIB_MEASURED;
    if (need_object(reader, top, "device", &object) != 0 || known_keys(reader, object, keys) != 0 ||
        read_text(reader, object, "name", true, &device->name) != 0 ||
        read_text(reader, object, "driver", measured, &device->driver) != 0 ||
        read_text(reader, object, "runtime", false, &device->runtime) != 0 ||
        read_u64(reader, object, "sm_count", true, &device->sm_count) != 0 ||
        read_u64(reader, object, "memory_bytes", true, &device->memory_bytes) != 0 ||
        read_u64(reader, object, "l2_bytes", true, &device->l2_bytes) != 0 ||
        read_value(reader, object, "peak_bandwidth", "TB/s", true, false,
                   &device->peak_bandwidth) != 0 ||
        read_value(reader, object, "peak_bf16", "TFLOPS", true, false, &device->peak_bf16) != 0 ||
        read_value(reader, object, "pcie", "GB/s", true, false, &device->pcie) != 0 ||
        read_value(reader, object, "nvlink", "GB/s", true, false, &device->nvlink) != 0 ||
        read_value(reader, object, "network", "GB/s", true, false, &device->network) != 0 ||
        read_notes(reader, object, "before", &device->before) != 0 ||
        read_notes(reader, object, "after", &device->after) != 0)
        return -1;
    if (device->sm_count == 0)
        return json_fail(reader->document, json_get(object, "sm_count"), reader->err,
                         "sm_count: a number above 0 was expected");
    if (reader->use == CALIB_TO_COST && (!device->peak_bandwidth.known || !device->peak_bf16.known))
        return json_fail(reader->document, place_of(object), reader->err,
                         "device: peak_bandwidth and peak_bf16 were expected, the limits that "
                         "values are held against");
    return 0;
}

static int read_law(const struct reader *reader, const struct json *object, enum calib_law_id id)
{
    static const char *const keys[] = {"form", "coefficients", "fit", NULL};
    static const char *const fit_keys[] = {"points", "mean_relative_error",
                                           "largest_relative_error", NULL};
    const struct calib_law_facts *facts = calib_law_facts(id);
    struct calib_law *law = &reader->calib->law[id];
    const struct json *coefficients = NULL, *fit = json_get(object, "fit");
    const char *names[CALIB_TERMS + 1] = {NULL};
    *law = (struct calib_law){.present = true};
    for (size_t i = 0; i < calib_law_terms(id); i++)
        names[i] = facts->term[i].name;
    if (known_keys(reader, object, keys) != 0 ||
        read_text(reader, object, "form", true, &law->form) != 0 ||
        need_object(reader, object, "coefficients", &coefficients) != 0 ||
        known_keys(reader, coefficients, names) != 0)
        return -1;
    for (size_t i = 0; i < calib_law_terms(id); i++)
        if (read_value(reader, coefficients, names[i], facts->term[i].unit,
                       facts->term[i].scale > 0, true, &law->term[i]) != 0)
            return -1;
    if (fit &&
        (need_object(reader, object, "fit", &fit) != 0 || known_keys(reader, fit, fit_keys) != 0 ||
         read_u64(reader, fit, "points", true, &law->fit_points) != 0 ||
         read_double(reader, fit, "mean_relative_error", false, &law->fit_mean) != 0 ||
         read_double(reader, fit, "largest_relative_error", false, &law->fit_most) != 0))
        return -1;
    struct err reason;
    if (reader->use == CALIB_TO_COST &&
        calib_limit_law(&reader->calib->device, id, law, &reason) != 0)
        return json_fail(reader->document, place_of(coefficients), reader->err, "%s", reason.text);
    return 0;
}

static int read_laws(const struct reader *reader, const struct json *top)
{
    const char *names[CALIB_LAWS + 1] = {NULL};
    const struct json *laws = NULL, *object = NULL;
    for (int i = 0; i < CALIB_LAWS; i++)
        names[i] = calib_law_facts((enum calib_law_id)i)->name;
    if (need_object(reader, top, "laws", &laws) != 0 || known_keys(reader, laws, names) != 0)
        return -1;
    for (int i = 0; i < CALIB_LAWS; i++)
        if (json_get(laws, names[i]) && (need_object(reader, laws, names[i], &object) != 0 ||
                                         read_law(reader, object, (enum calib_law_id)i) != 0))
            return -1;
    return 0;
}

/* One of two words; *second says which. Absent is the first. */
static int read_word(const struct reader *reader, const struct json *object, const char *key,
                     const char *first, const char *other, bool *second)
{
    const struct json *value = json_get(object, key);
    const char *word = json_string(value);
    *second = word && strcmp(word, other) == 0;
    if (value == NULL || *second || (word && strcmp(word, first) == 0))
        return 0;
    return json_fail(reader->document, value, reader->err, "%s: %s or %s was expected", key, first,
                     other);
}

static int read_flag(const struct reader *reader, const struct json *object, const char *key,
                     bool *out)
{
    const struct json *value = json_get(object, key);
    *out = false;
    if (value == NULL || json_is_bool(value, out))
        return 0;
    return json_fail(reader->document, value, reader->err, "%s: true or false was expected", key);
}

static int read_shape(const struct reader *reader, const struct json *object,
                      struct calib_shape *shape)
{
    static const char *const keys[] = {"model",       "tp",
                                       "heads",       "key_heads",
                                       "sequences",   "tokens",
                                       "context",     "interval",
                                       "warps",       "page_tokens",
                                       "layers",      "payload_bytes",
                                       "piece_bytes", "layer_parts",
                                       "m",           "n",
                                       "k",           "pieces",
                                       "direction",   "batched",
                                       "variant",     "snapshot_dtype",
                                       NULL};
    const struct {
        const char *key;
        uint64_t *field;
    } numbers[] = {{"tp", &shape->tp},
                   {"heads", &shape->heads},
                   {"key_heads", &shape->key_heads},
                   {"sequences", &shape->sequences},
                   {"tokens", &shape->tokens},
                   {"context", &shape->context},
                   {"interval", &shape->interval},
                   {"warps", &shape->warps},
                   {"page_tokens", &shape->page_tokens},
                   {"layers", &shape->layers},
                   {"payload_bytes", &shape->payload_bytes},
                   {"piece_bytes", &shape->piece_bytes},
                   {"layer_parts", &shape->layer_parts},
                   {"m", &shape->m},
                   {"n", &shape->n},
                   {"k", &shape->k}};
    if (known_keys(reader, object, keys) != 0 ||
        read_text(reader, object, "model", true, &shape->model) != 0)
        return -1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (read_u64(reader, object, numbers[i].key, false, numbers[i].field) != 0)
            return -1;
    uint64_t pieces = 0;
    if (read_word(reader, object, "snapshot_dtype", "fp32", "bf16", &shape->snapshot_bf16) != 0 ||
        read_word(reader, object, "direction", "host_to_device", "device_to_host",
                  &shape->to_host) != 0 ||
        read_flag(reader, object, "batched", &shape->batched) != 0 ||
        read_flag(reader, object, "variant", &shape->variant) != 0 ||
        read_u64(reader, object, "pieces", false, &pieces) != 0)
        return -1;
    if (json_get(object, "pieces") && pieces != calib_shape_pieces(shape))
        return json_fail(reader->document, json_get(object, "pieces"), reader->err,
                         "pieces: %llu was expected for this shape",
                         (unsigned long long)calib_shape_pieces(shape));
    return 0;
}

/* A file counts bytes and FLOP as this program does, or the two speak of different things. */
static int read_count(const struct reader *reader, const struct json *object, const char *key,
                      double expected, double *out)
{
    if (read_double(reader, object, key, false, out) != 0)
        return -1;
    if (fabs(*out - expected) <= 1e-6 * expected)
        return 0;
    return json_fail(reader->document, json_get(object, key), reader->err,
                     "%s: %.10g was expected for this shape", key, expected);
}

static int read_times(const struct reader *reader, const struct json *object,
                      struct calib_point *point)
{
    static const char *const keys[] = {"median", "p10", "p90", "least", "most", NULL};
    const struct json *times = NULL;
    bool by_program = point->provenance == CALIB_MEASURED || point->provenance == CALIB_SIMULATED;
    struct calib_times *us = &point->us;
    if (need_object(reader, object, "time_us", &times) != 0 ||
        known_keys(reader, times, keys) != 0 ||
        read_double(reader, times, "median", true, &us->median) != 0)
        return -1;
    if (!by_program && json_get(times, "most") == NULL)
        return 0;
    if (read_double(reader, times, "p10", true, &us->p10) != 0 ||
        read_double(reader, times, "p90", true, &us->p90) != 0 ||
        read_double(reader, times, "least", true, &us->least) != 0 ||
        read_double(reader, times, "most", true, &us->most) != 0)
        return -1;
    if (us->least <= us->p10 && us->p10 <= us->median && us->median <= us->p90 &&
        us->p90 <= us->most)
        return 0;
    return json_fail(reader->document, place_of(times), reader->err,
                     "time_us: least <= p10 <= median <= p90 <= most was expected");
}

static int read_time(const struct reader *reader, const struct json *object,
                     struct calib_point *point)
{
    struct err reason;
    enum calib_kernel kernel = point->kernel;
    if (read_origin(reader, object, true, &point->provenance, &point->source) != 0 ||
        read_times(reader, object, point) != 0 ||
        read_u64(reader, object, "samples", false, &point->samples) != 0 ||
        read_u64(reader, object, "launches_per_sample", false, &point->launches) != 0 ||
        read_u64(reader, object, "buffer_sets", false, &point->sets) != 0 ||
        read_count(reader, object, "dram_bytes", calib_shape_bytes(kernel, &point->shape),
                   &point->dram_bytes) != 0 ||
        read_count(reader, object, "flops", calib_shape_flops(kernel, &point->shape),
                   &point->flops) != 0)
        return -1;
    if (reader->use == CALIB_TO_COST &&
        calib_limit_point(&reader->calib->device, point, &reason) != 0)
        return json_fail(reader->document, json_get(object, "time_us"), reader->err, "%s",
                         reason.text);
    return 0;
}

static int read_point(const struct reader *reader, const struct json *object,
                      struct calib_point *out)
{
    static const char *const keys[] = {"kernel",
                                       "shape",
                                       "absent",
                                       "provenance",
                                       "source",
                                       "time_us",
                                       "samples",
                                       "flops",
                                       "dram_bytes",
                                       "buffer_sets",
                                       "launches_per_sample",
                                       NULL};
    const char *names[CALIB_KERNELS + 1] = {NULL};
    const struct json *kernel = json_get(object, "kernel"), *shape = NULL;
    const char *word = json_string(kernel);
    int found = 0;
    for (int i = 0; i < CALIB_KERNELS; i++)
        names[i] = calib_kernel_name((enum calib_kernel)i);
    while (found < CALIB_KERNELS && !(word && strcmp(names[found], word) == 0))
        found++;
    if (found == CALIB_KERNELS) {
        const char *near = word ? text_nearest(word, word_at, names) : NULL;
        return json_fail(reader->document, kernel ? kernel : place_of(object), reader->err,
                         "kernel: a kernel was expected%s%.60s%s%s%s%s", word ? ", found '" : "",
                         word ? word : "", word ? "'" : "", near ? " (did you mean '" : "",
                         near ? near : "", near ? "'?)" : "");
    }
    *out = (struct calib_point){.kernel = (enum calib_kernel)found};
    out->shape = calib_shape_of(out->kernel);
    if (known_keys(reader, object, keys) != 0 ||
        need_object(reader, object, "shape", &shape) != 0 ||
        read_shape(reader, shape, &out->shape) != 0 ||
        read_text(reader, object, "absent", false, &out->absent) != 0)
        return -1;
    return out->absent ? 0 : read_time(reader, object, out);
}

/* A list of objects under a key; absent is empty. */
static int need_list(const struct reader *reader, const struct json *top, const char *key,
                     const struct json **first)
{
    const struct json *list = json_get(top, key);
    *first = NULL;
    if (list && !json_is_array(list))
        return json_fail(reader->document, list, reader->err, "%s: a list was expected", key);
    for (*first = json_first(list); *first; *first = json_next(*first))
        if (!json_is_object(*first))
            return json_fail(reader->document, list, reader->err,
                             "%s: a list of objects was expected", key);
    *first = json_first(list);
    return 0;
}

static int read_points(const struct reader *reader, const struct json *top)
{
    struct calibration *calib = reader->calib;
    const struct json *object = NULL;
    if (need_list(reader, top, "points", &object) != 0)
        return -1;
    for (; object; object = json_next(object)) {
        calib->point = mem_grow(calib->point, &calib->point_capacity, calib->point_count + 1,
                                sizeof *calib->point);
        if (read_point(reader, object, &calib->point[calib->point_count++]) != 0)
            return -1;
    }
    return 0;
}

static int read_checks(const struct reader *reader, const struct json *top)
{
    static const char *const keys[] = {"name", "kernel", "worst", "error", "bound", NULL};
    struct calibration *calib = reader->calib;
    const struct json *object = NULL;
    if (need_list(reader, top, "checks", &object) != 0)
        return -1;
    for (; object; object = json_next(object)) {
        struct calib_check check = {0};
        if (known_keys(reader, object, keys) != 0 ||
            read_text(reader, object, "name", true, &check.name) != 0 ||
            read_text(reader, object, "kernel", true, &check.kernel) != 0 ||
            read_text(reader, object, "worst", true, &check.worst) != 0 ||
            read_double(reader, object, "error", false, &check.error) != 0 ||
            read_double(reader, object, "bound", false, &check.bound) != 0)
            return -1;
        calib->check = mem_grow(calib->check, &calib->check_capacity, calib->check_count + 1,
                                sizeof *calib->check);
        calib->check[calib->check_count++] = check;
    }
    return 0;
}

static int read_head(const struct reader *reader, const struct json *top)
{
    static const char *const keys[] = {"schema",  "kind",   "name",   "provenance",
                                       "program", "device", "method", "laws",
                                       "points",  "checks", NULL};
    static const char *const program_keys[] = {"name", "version", "date", NULL};
    struct calibration *calib = reader->calib;
    const struct json *program = json_get(top, "program"), *kind = json_get(top, "kind");
    uint64_t schema = 0;
    if (!json_is_object(top) || json_string(kind) == NULL ||
        strcmp(json_string(kind), "calibration") != 0)
        return json_fail(reader->document, kind ? kind : top, reader->err,
                         "an object with \"kind\": \"calibration\" was expected");
    if (json_u64(json_get(top, "schema"), &schema) != 0 || schema != CALIB_SCHEMA)
        return json_fail(reader->document, json_get(top, "schema") ? json_get(top, "schema") : kind,
                         reader->err, "schema: %d was expected", CALIB_SCHEMA);
    if (known_keys(reader, top, keys) != 0 ||
        read_text(reader, top, "name", true, &calib->name) != 0 ||
        read_provenance(reader, top, &calib->provenance) != 0)
        return -1;
    bool by_program = calib->provenance == CALIB_MEASURED || calib->provenance == CALIB_SIMULATED;
    if (program == NULL && !by_program)
        return 0;
    if (need_object(reader, top, "program", &program) != 0 ||
        known_keys(reader, program, program_keys) != 0 ||
        read_text(reader, program, "name", true, &calib->program) != 0 ||
        read_text(reader, program, "version", true, &calib->version) != 0 ||
        read_text(reader, program, "date", true, &calib->date) != 0)
        return -1;
    return 0;
}

static int read_document(struct json_document *document, struct calibration *out,
                         enum calib_use use, struct err *err)
{
    struct reader reader = {document, out, use, err};
    const struct json *top = document->top;
    *out = (struct calibration){0};
    int result = read_head(&reader, top) != 0 || read_device(&reader, top) != 0 ||
                         read_notes(&reader, top, "method", &out->method) != 0 ||
                         read_laws(&reader, top) != 0 || read_points(&reader, top) != 0 ||
                         read_checks(&reader, top) != 0
                     ? -1
                     : 0;
    if (result != 0)
        calib_close(out);
    json_close_document(document);
    return result;
}

int calib_read_file(struct calibration *out, const char *path, enum calib_use use, struct err *err)
{
    struct json_document document;
    return json_open_file(&document, path, err) == 0 ? read_document(&document, out, use, err) : -1;
}

int calib_read_text(struct calibration *out, const char *name, const char *source,
                    enum calib_use use, struct err *err)
{
    struct json_document document;
    return json_open_text(&document, name, source, err) == 0
               ? read_document(&document, out, use, err)
               : -1;
}
