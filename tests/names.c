#include "tests/names.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/text.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void names_add(struct names *names, const char *text, size_t length)
{
    names->items = mem_grow(names->items, &names->capacity, names->count + 1, sizeof *names->items);
    names->items[names->count++] = mem_strndup(text, length);
}

void names_close(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

bool names_add_value(struct names *names, const struct plugin *plugin, const struct param *param,
                     size_t i)
{
    static const double numbers[] = {1, 1.25, 1.5, 2, 3, 4, 7, 12};
    struct text text = {0};
    text_printf(&text, "%s:%s=", plugin->name, param->name);
    bool more = true;
    switch (param->type) {
    case PARAM_CHOICE:
        more = param->choice[i] != NULL;
        if (more)
            text_printf(&text, "%s", param->choice[i]);
        break;
    case PARAM_BOOL:
        more = i < 2;
        text_printf(&text, "%zu", i);
        break;
    case PARAM_U64:
    case PARAM_DOUBLE:
    case PARAM_BYTES:
    case PARAM_DURATION:
        more = i < COUNT(numbers);
        if (more && (numbers[i] < param->min || (param->max > 0 && numbers[i] > param->max) ||
                     (param->type != PARAM_DOUBLE && numbers[i] != (double)(uint64_t)numbers[i]))) {
            text_close(&text);
            return true;
        }
        if (more)
            text_printf(&text, "%g%s", numbers[i], param->type == PARAM_BYTES ? "B" : "");
        break;
    case PARAM_LENGTH:
    case PARAM_TEXT:
    case PARAM_WORDS:
        more = false;
        break;
    }
    if (more)
        names_add(names, text.data, text.length);
    text_close(&text);
    return more;
}

struct names names_of(const struct plugin *const *list)
{
    struct names names = {0};
    for (; *list; list++) {
        names_add(&names, (*list)->name, strlen((*list)->name));
        for (const struct param *param = (*list)->params; param && param->name; param++)
            for (size_t i = 0; names_add_value(&names, *list, param, i);)
                i++;
    }
    return names;
}
