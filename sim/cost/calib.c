#include "sim/cost/calib.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/cost/calib_files.h"

static const char *const provenances[CALIB_PROVENANCES] = {"published", "assumed", "measured",
                                                           "simulated"};

const char *calib_provenance_name(enum calib_provenance provenance)
{
    assert((unsigned)provenance < CALIB_PROVENANCES);
    return provenances[provenance];
}

static const struct embedded_file *find_file(const struct embedded_file *file, const char *name,
                                             size_t length)
{
    while (file->name &&
           (strncmp(file->name, name, length) != 0 || strcmp(file->name + length, ".json") != 0))
        file++;
    return file->name ? file : NULL;
}

/* stem: how long the name is without its suffix. */
static int load_measured(struct calibration *out, const char *name, size_t stem, enum calib_use use,
                         struct err *err)
{
    char path[ERR_TEXT_SIZE];
    const struct embedded_file *file = find_file(calib_measured, name, stem);
    if (file) {
        snprintf(path, sizeof path, CALIB_MEASURED_FOLDER "/%.200s", file->name);
        return calib_read_text(out, path, file->text, use, err);
    }
    int shown = stem < 100 ? (int)stem : 100;
    return err_set(err,
                   "there is no calibration '%.100s': nobody has measured one yet; on a machine "
                   "with that GPU, make probe && build/probe --output " CALIB_MEASURED_FOLDER
                   "/%.*s.json, then build again",
                   name, shown, name);
}

bool calib_builtin_name(size_t index, char out[CALIB_NAME])
{
    const char *name = calib_published[index].name;
    if (name == NULL)
        return false;
    snprintf(out, CALIB_NAME, "%.*s", (int)(strlen(name) - strlen(".json")), name);
    return true;
}

static const char *name_at(const void *table, size_t index)
{
    return ((const char *const *)table)[index];
}

#define NAMES_MAX 64

static int load_builtin(struct calibration *out, const char *name, enum calib_use use,
                        struct err *err)
{
    char kept[NAMES_MAX][CALIB_NAME];
    const char *names[NAMES_MAX + 2] = {CALIB_DEFAULT}; /* of those equally near, the default */
    const struct embedded_file *file = find_file(calib_published, name, strlen(name));
    if (file)
        return calib_read_text(out, file->name, file->text, use, err);
    struct text known = {0};
    for (size_t i = 0; i < NAMES_MAX && calib_builtin_name(i, kept[i]); i++) {
        names[i + 1] = kept[i];
        text_printf(&known, "%s%s", i ? ", " : "", kept[i]);
    }
    const char *near = text_nearest(name, name_at, names);
    if (near)
        err_set(err, "there is no calibration '%.100s' (did you mean '%s'?)", name, near);
    else
        err_set(err, "there is no calibration '%.100s'; %s are built in, others are files", name,
                known.data);
    text_close(&known);
    return -1;
}

int calib_load(struct calibration *out, const char *name_or_path, enum calib_use use,
               struct err *err)
{
    if (text_names_file(name_or_path))
        return calib_read_file(out, name_or_path, use, err);
    size_t length = strlen(name_or_path), suffix = strlen(CALIB_MEASURED_SUFFIX);
    if (length > suffix && strcmp(name_or_path + length - suffix, CALIB_MEASURED_SUFFIX) == 0)
        return load_measured(out, name_or_path, length - suffix, use, err);
    return load_builtin(out, name_or_path, use, err);
}

void calib_close(struct calibration *calib)
{
    for (size_t i = 0; i < calib->pool.count; i++)
        free(calib->pool.text[i]);
    free(calib->pool.text);
    free(calib->device.before.note);
    free(calib->device.after.note);
    free(calib->method.note);
    free(calib->point);
    free(calib->check);
    *calib = (struct calibration){0};
}

const char *calib_keep_text(struct calibration *calib, const char *text)
{
    struct calib_text_pool *pool = &calib->pool;
    pool->text = mem_grow(pool->text, &pool->capacity, pool->count + 1, sizeof *pool->text);
    pool->text[pool->count] = mem_strdup(text);
    return pool->text[pool->count++];
}

bool calib_law_complete(const struct calibration *calib, enum calib_law_id law)
{
    const struct calib_law_facts *facts = calib_law_facts(law);
    if (!calib->law[law].present)
        return false;
    for (size_t i = 0; i < calib_law_terms(law); i++)
        if (!facts->term[i].optional && !calib->law[law].term[i].known)
            return false;
    return true;
}

/* Pieces below the cliff go at a rate of their own. */
static bool below_cliff(const struct calib_law *law, const struct calib_shape *shape)
{
    uint64_t pieces = calib_shape_pieces(shape);
    return law->term[HOST_SMALL_RATE].known && law->term[HOST_SMALL_BELOW].known && pieces > 1 &&
           (double)shape->payload_bytes < law->term[HOST_SMALL_BELOW].value * (double)pieces;
}

double calib_law_us(const struct calibration *calib, enum calib_law_id id,
                    const struct calib_shape *shape)
{
    const struct calib_law_facts *facts = calib_law_facts(id);
    const struct calib_law *law = &calib->law[id];
    double factor[CALIB_TERMS] = {0}, us = 0;
    assert(calib_law_complete(calib, id));
    if (facts->cliff && below_cliff(law, shape))
        return (double)shape->payload_bytes * facts->term[HOST_SMALL_RATE].scale /
               law->term[HOST_SMALL_RATE].value;
    facts->factors(facts->kernel, shape, calib->device.sm_count, factor);
    for (size_t i = 0; i < calib_law_terms(id); i++) {
        double value = law->term[i].value, scale = facts->term[i].scale;
        if (!facts->term[i].optional)
            us += scale > 0 ? factor[i] * scale / value : factor[i] * value;
    }
    return us;
}

int calib_point_law(const struct calib_point *point)
{
    for (int i = 0; i < CALIB_LAWS; i++) {
        const struct calib_law_facts *facts = calib_law_facts((enum calib_law_id)i);
        if (facts->kernel == point->kernel && facts->takes(&point->shape))
            return i;
    }
    return -1;
}

bool calib_point_us(const struct calibration *calib, const struct calib_point *point, double *us)
{
    int law = calib_point_law(point);
    if (law < 0 || !calib_law_complete(calib, (enum calib_law_id)law))
        return false;
    *us = calib_law_us(calib, (enum calib_law_id)law, &point->shape);
    if (point->kernel == CALIB_SNAPSHOT_EMIT) {
        if (!calib_law_complete(calib, LAW_KDA_PREFILL))
            return false;
        *us += calib_law_us(calib, LAW_KDA_PREFILL, &point->shape);
    }
    return true;
}

void calib_point_print(const struct calib_point *point, struct text *out)
{
    const struct calib_shape *shape = &point->shape;
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {{"tp", shape->tp},
                  {"heads", shape->heads},
                  {"sequences", shape->sequences},
                  {"tokens", shape->tokens},
                  {"context", shape->context},
                  {"interval", shape->interval},
                  {"page_tokens", shape->page_tokens},
                  {"layers", shape->layers},
                  {"bytes", shape->payload_bytes},
                  {"piece_bytes", shape->piece_bytes},
                  {"layer_parts", shape->layer_parts},
                  {"m", shape->m},
                  {"n", shape->n},
                  {"k", shape->k}};
    text_printf(out, "%s", calib_kernel_name(point->kernel));
    if (strcmp(shape->model, "-") != 0)
        text_printf(out, " %s", shape->model);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value > 0)
            text_printf(out, " %s=%" PRIu64, fields[i].name, fields[i].value);
    if (shape->variant)
        text_printf(out, " warps=%" PRIu64, shape->warps);
    if (shape->snapshot_bf16)
        text_printf(out, " bf16");
    if (point->kernel == CALIB_HOST_COPY)
        text_printf(out, " %s%s", shape->to_host ? "to_host" : "to_device",
                    shape->batched ? " batched" : "");
}
