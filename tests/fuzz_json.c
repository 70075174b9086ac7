/* Reads arbitrary bytes as the JSON files of a user: a model, a calibration (to look at or to take
 * times from) or the settings of a run. The first byte chooses. What is accepted must come back
 * from what is written of it, and whatever is computed of it must be a number. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/cost/calib.h"
#include "sim/cost/calib_band.h"
#include "sim/engine/config.h"
#include "sim/model/model.h"
#include "sim/model/model_config.h"
#include "tests/fuzz_require.h"

static void require_place(const struct err *err)
{
    require(strncmp(err->text, "fuzz:", 5) == 0, "an error without a place", err);
}

static void same(const struct text *first, const struct text *second, const char *what)
{
    struct err err = {""};
    require(first->length == second->length &&
                memcmp(first->data, second->data, first->length) == 0,
            what, &err);
}

static void print_model(const struct model *model, struct text *out)
{
    struct json *object = json_new_object();
    model_to_json(model, object);
    json_print(object, true, out);
    json_close(object);
}

static bool read_model(const char *source, struct model *out, struct err *err)
{
    struct json_document document;
    if (json_open_text(&document, "fuzz", source, err) != 0)
        return false;
    int result = model_config_is(document.top) ? model_config_read(out, &document, err)
                                               : model_read_json(out, &document, document.top, err);
    json_close_document(&document);
    return result == 0;
}

static void try_model(const char *source)
{
    struct model model, again;
    struct err err = {""};
    struct text first = {0}, second = {0};
    if (!read_model(source, &model, &err)) {
        require_place(&err);
        return;
    }
    print_model(&model, &first);
    require(read_model(first.data, &again, &err), "a written model was refused", &err);
    print_model(&again, &second);
    same(&first, &second, "a written model differs");
    for (uint64_t tp = 1; tp <= 16; tp *= 4) {
        struct sharding sharding;
        struct model_sizes sizes;
        param_defaults(sharding_params, &sharding);
        sharding.tp = sharding.pp = tp;
        if (model_sizes(&model, &sharding, &sizes, &err) != 0)
            continue;
        (void)model_break_even_tokens(&sizes);
        require(model_page_tokens(&sizes, model_default_align(&model)) > 0, "no page", &err);
    }
    text_close(&first);
    text_close(&second);
}

static void use_calibration(struct calibration *calib)
{
    struct err err = {""};
    double us = 0;
    for (size_t i = 0; i < calib->point_count; i++) {
        if (calib_point_us(calib, &calib->point[i], &us))
            require(isfinite(us) && us >= 0, "a time that is none", &err);
        if (calib_limit_point(&calib->device, &calib->point[i], &err) != 0)
            require(err.text[0] != '\0', "a limit without a reason", &err);
    }
    for (size_t i = 0; i < calib_band_count(); i++) {
        struct band band = calib_band_at(calib, i);
        require(band.verdict == BAND_ABSENT || isfinite(band.value), "a band of no number", &err);
    }
}

static void try_calibration(const char *source, enum calib_use use)
{
    struct calibration calib, again;
    struct err err = {""};
    struct text first = {0}, second = {0};
    if (calib_read_text(&calib, "fuzz", source, use, &err) != 0) {
        require_place(&err);
        return;
    }
    calib_print(&calib, &first);
    int result = calib_read_text(&again, "again", first.data, use, &err);
    require(result == 0, "a written calibration was refused", &err);
    calib_print(&again, &second);
    same(&first, &second, "a written calibration differs");
    calib_close(&again);
    use_calibration(&calib);
    text_clear(&second);
    if (calib_fit_all(&calib, &err) == 0)
        calib_print(&calib, &second);
    text_close(&first);
    text_close(&second);
    calib_close(&calib);
}

static bool read_config(const char *source, struct config *out, struct err *err)
{
    struct json_document document;
    if (json_open_text(&document, "fuzz", source, err) != 0)
        return false;
    int result = config_read(out, &document, document.top, err);
    json_close_document(&document);
    return result == 0;
}

static void try_config(const char *source)
{
    struct config config, again;
    struct err err = {""};
    struct text first = {0}, second = {0};
    config_open(&config);
    if (!read_config(source, &config, &err)) {
        require_place(&err);
        config_close(&config);
        return;
    }
    struct json *object = json_new_object();
    config_write(&config, object);
    json_print(object, true, &first);
    json_close(object);
    config_open(&again);
    require(read_config(first.data, &again, &err), "written settings were refused", &err);
    object = json_new_object();
    config_write(&again, object);
    json_print(object, true, &second);
    json_close(object);
    same(&first, &second, "written settings differ");
    config_close(&again);
    config_close(&config);
    text_close(&first);
    text_close(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length < 1)
        return 0;
    char *source = mem_alloc(length);
    memcpy(source, bytes + 1, length - 1);
    source[length - 1] = '\0';
    if (bytes[0] == 'm')
        try_model(source);
    else if (bytes[0] == 'l')
        try_calibration(source, CALIB_TO_LOOK);
    else if (bytes[0] == 'c')
        try_calibration(source, CALIB_TO_COST);
    else if (bytes[0] == 's')
        try_config(source);
    free(source);
    return 0;
}
