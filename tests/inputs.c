#include "tests/inputs.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/model/presets.h"

char *input_unquote(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return copy;
}

int input_trace(const char *text, const char *format, struct record **out, struct err *err)
{
    static const struct build_options plain;
    char *content = input_unquote(text);
    int result = trace_open_memory("t.jsonl", content, strlen(content), &plain, format, out, err);
    free(content);
    return result;
}

struct load input_load(struct record *record, const char *arrival)
{
    struct load load;
    struct err err = {""};
    ck_assert_msg(record_load(&load, record, true, arrival, 1, 0, &err) == 0, "%s", err.text);
    load.own_record = record;
    return load;
}

struct config input_config(const char *const *settings)
{
    struct config config;
    struct err err = {""};
    config_open(&config);
    for (; settings[0]; settings += 2)
        ck_assert_msg(config_set(&config, settings[0], settings[1], &err) == 0, "%s", err.text);
    return config;
}

struct result input_replay(struct config *config, struct record *record,
                           const struct plugins *plugins)
{
    struct err err = {""};
    struct load load;
    struct result result;
    ck_assert_msg(record_load(&load, record, true, config->arrival, config->seed, 0, &err) == 0,
                  "%s", err.text);
    ck_assert_msg(replay_config(&result, config, load.workload, load.schedule, plugins, NULL, NULL,
                                &err) == 0,
                  "%s", err.text);
    load_close(&load);
    record_close(record);
    config_close(config);
    return result;
}

const struct model *input_preset(const char *name)
{
    static struct model kept[64];
    static size_t count = 0;
    struct err err = {""};
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i].name, name) == 0)
            return &kept[i];
    ck_assert_uint_lt(count, 64);
    ck_assert_msg(presets_find(&kept[count], name, &err) == 0, "%s", err.text);
    return &kept[count++];
}

struct calibration input_calib(const char *name)
{
    struct calibration calib;
    struct err err = {""};
    ck_assert_msg(calib_load(&calib, name, CALIB_TO_COST, &err) == 0, "%s", err.text);
    return calib;
}
