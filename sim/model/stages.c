/* Places of attention layers: "4-92/4,93" is every fourth from the 4th to the 92nd, and the 93rd.
 */
#include "sim/model/stages.h"

#include <inttypes.h>
#include <string.h>

#include "sim/core/whole.h"
#include "sim/model/kind.h"

#define PLACES_MAX (2 * LAYERS_MAX)

/* A number from 1 on; -1 if there is none. */
static int read_number(const char **text, uint64_t *out)
{
    *out = 0;
    if (**text < '1' || **text > '9')
        return -1;
    while (**text >= '0' && **text <= '9' && *out <= PLACES_MAX)
        *out = *out * 10 + (uint64_t)(*(*text)++ - '0');
    return *out <= PLACES_MAX ? 0 : -1;
}

/* FIRST[-LAST[/STEP]] */
static int read_run(const char **text, uint64_t *first, uint64_t *last, uint64_t *step)
{
    *step = 1;
    if (read_number(text, first) != 0)
        return -1;
    *last = *first;
    if (**text == '-') {
        ++*text;
        if (read_number(text, last) != 0 || *last < *first)
            return -1;
        if (**text == '/') {
            ++*text;
            return read_number(text, step);
        }
    }
    return 0;
}

/* How many places from first to last, both included, the text names. Places must rise. */
static int count_places(const char *text, uint64_t from, uint64_t to, uint64_t *count)
{
    uint64_t before = 0;
    *count = 0;
    for (;;) {
        uint64_t first = 0, last = 0, step = 0;
        if (read_run(&text, &first, &last, &step) != 0 || first <= before)
            return -1;
        for (uint64_t place = first; place <= last; place += step) {
            *count += place >= from && place <= to;
            before = place;
        }
        if (*text == '\0')
            return 0;
        if (*text++ != ',')
            return -1;
    }
}

int stages_check(const struct model *model, struct err *err)
{
    uint64_t attention = model_layer_count(model, ROLE_ATTENTION);
    uint64_t layers = attention + model_layer_count(model, ROLE_RECURRENT);
    uint64_t all = 0, known = 0;
    size_t groups = 0;
    if (model->attention_at[0] == '\0')
        return 0;
    for (size_t i = 0; i < model->group_count; i++)
        groups += model->groups[i].kind->role != ROLE_FEED_FORWARD;
    if (groups != 2 || attention == 0 || attention == layers)
        return err_set(err, "attention_at: it is for models with one group of recurrent and one of "
                            "attention layers");
    if (count_places(model->attention_at, 1, UINT64_MAX, &all) != 0 ||
        count_places(model->attention_at, 1, layers, &known) != 0)
        return err_set(err,
                       "attention_at: rising places such as 4-92/4,93 were expected, found '%s'",
                       model->attention_at);
    if (all != attention || known != attention)
        return err_set(err,
                       "attention_at: %" PRIu64 " places from 1 to %" PRIu64
                       " were expected, found %" PRIu64,
                       attention, layers, known);
    return 0;
}

uint64_t model_stage_layers(const struct model *model, const struct layer_group *group, uint64_t pp)
{
    uint64_t layers =
        model_layer_count(model, ROLE_RECURRENT) + model_layer_count(model, ROLE_ATTENTION);
    uint64_t most = 0, end = 0;
    if (model->attention_at[0] == '\0' || group->kind->role == ROLE_FEED_FORWARD)
        return whole_ceil(group->count, pp);
    for (uint64_t stage = 0; stage < pp; stage++) {
        uint64_t length = layers / pp + (stage < layers % pp), attention = 0;
        int failed = count_places(model->attention_at, end + 1, end + length, &attention);
        (void)failed; /* model_check() has tried */
        end += length;
        most = whole_larger(most,
                            group->kind->role == ROLE_ATTENTION ? attention : length - attention);
    }
    return most;
}

/* Adds first[-last[/step]]. */
static void add_run(size_t first, size_t last, size_t step, struct text *out)
{
    text_printf(out, "%s%zu", out->length > 0 ? "," : "", first);
    if (last > first)
        text_printf(out, "-%zu", last);
    if (step > 1)
        text_printf(out, "/%zu", step);
}

void stages_describe(const bool *marks, size_t count, struct model *out)
{
    struct text text = {0};
    size_t first = 0, last = 0, step = 0; /* of the run that is open; first 0: none is */
    for (size_t place = 1; place <= count; place++) {
        if (!marks[place - 1])
            continue;
        if (first > 0 && (step == 0 || place - last == step)) {
            step = place - last;
        } else {
            if (first > 0)
                add_run(first, last, step, &text);
            first = place;
            step = 0;
        }
        last = place;
    }
    if (first > 0)
        add_run(first, last, step, &text);
    if (text.length > 0 && text.length < sizeof out->attention_at)
        memcpy(out->attention_at, text.data, text.length + 1);
    text_close(&text);
}
