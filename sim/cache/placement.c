#include "sim/placement.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

static int open_part(struct placement *part, const struct plugin *const *list, const char *text,
                     const struct future *future, struct err *err)
{
    const struct plugin *plugin = NULL;
    if (plugin_parse(list, "placement", text, &plugin, &part->settings, err) != 0)
        return -1;
    part->ops = (const struct placement_ops *)(const void *)plugin;
    part->state = mem_zalloc(plugin->state_size);
    if (part->ops->node_size)
        part->nodes = mem_array(future->workload->node_count, part->ops->node_size);
    if (plugin->offline)
        part->future = future;
    if (part->ops->init)
        part->ops->init(part);
    return 0;
}

int placement_set_open(struct placement_set *out, const struct plugin *const *list,
                       const char *text, const struct future *future, struct err *err)
{
    *out = (struct placement_set){0};
    int result = 0;
    size_t capacity = 0;
    for (const char *rest = text; rest && result == 0;) {
        size_t length = strcspn(rest, "+");
        char *name = mem_strndup(rest, length);
        out->parts = mem_grow_zeroed(out->parts, &capacity, out->count + 1, sizeof *out->parts);
        result =
            length > 0
                ? open_part(&out->parts[out->count++], list, name, future, err)
                : err_set(err, "placement: names joined by '+' were expected, found '%s'", text);
        free(name);
        rest = rest[length] == '+' ? rest + length + 1 : NULL;
    }
    if (result != 0)
        placement_set_close(out);
    return result;
}

void placement_set_close(struct placement_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct placement *part = &set->parts[i];
        if (part->ops && part->ops->fini)
            part->ops->fini(part);
        if (part->ops)
            plugin_free_settings(&part->ops->plugin, part->settings);
        free(part->state);
        free(part->nodes);
    }
    free(set->parts);
    *set = (struct placement_set){0};
}

void placement_set_plan(struct placement_set *set, const struct placement_view *view,
                        struct positions *positions)
{
    positions_clear(positions);
    for (size_t i = 0; i < set->count; i++)
        set->parts[i].ops->plan(&set->parts[i], view, positions);
    positions_settle(positions, view->hit_tokens, view->end_tokens);
}

void placement_set_print(const struct placement_set *set, struct text *out)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct plugin *plugin = &set->parts[i].ops->plugin;
        text_printf(out, "%s", i ? "+" : "");
        param_print_list(plugin->name, plugin->params, set->parts[i].settings, out);
    }
}
