#include "tests/inputs.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

char *input_unquote(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return copy;
}

int input_trace(const char *text, const char *format, struct workload **out, struct err *err)
{
    static const struct build_options plain;
    char *content = input_unquote(text);
    int result = trace_open_memory("t.jsonl", content, strlen(content), &plain, format, out, err);
    free(content);
    return result;
}

struct calibration input_calib(const char *name)
{
    struct calibration calib;
    struct err err = {""};
    ck_assert_msg(calib_load(&calib, name, CALIB_TO_COST, &err) == 0, "%s", err.text);
    return calib;
}
