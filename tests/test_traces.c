/* Trace reading: what is refused, and in which words; that the same content gives the same workload
 * in every form; and what the shared traces are known to hold. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "sim/core/mem.h"
#include "traces/compiled.h"
#include "traces/lines.h"
#include "traces/open.h"
#include "traces/scan.h"
#include "traces/write_coded.h"

static const struct build_options plain_options;

/* JSON with ' for ", so that it can be read here. */
static char *unquote(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return copy;
}

static int open_text(const char *text, const char *format, struct workload **out, struct err *err)
{
    char *content = unquote(text);
    int result = trace_open_memory("t.jsonl", content, strlen(content), &plain_options, format, out,
                                   err);
    free(content);
    return result;
}

static struct workload *must_open(const char *text)
{
    struct workload *workload = NULL;
    struct err err = {""};
    int result = open_text(text, NULL, &workload, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    ck_assert_msg(workload_check(workload, &err) == 0, "%s", err.text);
    return workload;
}

/* ---- what is refused ---- */

struct bad {
    const char *format, *text, *message;
};

#define C "conversations"
#define M "mooncake"
#define HEAD "{'block_size':64,'hash_id_scope':'global','requests':["
#define ONE "{'in':130,'out':5,'hash_runs':[[1,2]]}"
#define BODY(entries) HEAD entries "]}"
#define REQUEST(rest) BODY("{'in':130,'out':5,'hash_runs':[[1,2]]," rest "}")
#define IN(value) BODY("{'in':" value ",'out':5,'hash_runs':[[1,2]]}")
#define RUNS(value) BODY("{'in':130,'out':5,'hash_runs':" value "}")
#define AT(t) "{'t':" t ",'in':130,'out':5,'hash_runs':[[1,2]]}"
#define SUB(entries) "{'t':4,'type':'subagent','requests':[" entries "]}"
#define GOOD BODY(ONE) "\n"
#define CALL(t, in, ids)                                                                           \
    "{'timestamp':" t ",'input_length':" in ",'output_length':1,'hash_ids':" ids "}"

static const struct bad bad_inputs[] = {
#include "tests/bad_traces.inc"
};
