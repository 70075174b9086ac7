#include "sim/placement.h"
#include "sim/eviction.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/whole.h"

int placement_choose(struct placement_choice *out, const struct plugin *const *list,
                     const char *text, struct err *err)
{
    *out = (struct placement_choice){0};
    int result = 0;
    size_t capacity = 0;
    for (const char *rest = text; rest && result == 0;) {
        size_t length = strcspn(rest, "+");
        char *name = mem_strndup(rest, length);
        out->parts = mem_grow_zeroed(out->parts, &capacity, out->count + 1, sizeof *out->parts);
        result =
            length > 0
                ? plugin_choose(&out->parts[out->count++], list, "placement", name, err)
                : err_set(err, "placement: names joined by '+' were expected, found '%s'", text);
        free(name);
        rest = rest[length] == '+' ? rest + length + 1 : NULL;
    }
    if (result != 0)
        placement_choice_close(out);
    return result;
}

void placement_choice_close(struct placement_choice *choice)
{
    for (size_t i = 0; i < choice->count; i++)
        plugin_choice_close(&choice->parts[i]);
    free(choice->parts);
    *choice = (struct placement_choice){0};
}

void placement_choice_print(const struct placement_choice *choice, struct text *out)
{
    for (size_t i = 0; i < choice->count; i++) {
        text_printf(out, "%s", i ? "+" : "");
        plugin_choice_print(&choice->parts[i], out);
    }
}

uint64_t placement_choice_grid(const struct placement_choice *choice, const struct grains *grains)
{
    uint64_t grid = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const struct plugin_choice *part = &choice->parts[i];
        const struct placement_ops *ops = (const struct placement_ops *)(const void *)part->plugin;
        if (ops->interval) {
            uint64_t own = grains_grid_in_force(grains, ops->interval(part->settings));
            grid = grid ? whole_divisor(grid, own) : own;
        }
    }
    return grid;
}

static int open_part(struct placement *part, const struct plugin_choice *choice,
                     const struct run_facts *facts, const struct future *future,
                     struct eviction *partner, struct err *err)
{
    const struct plugin *plugin = choice->plugin;
    *part = (struct placement){.ops = (const struct placement_ops *)(const void *)plugin,
                               .settings = choice->settings,
                               .facts = facts,
                               .workload = future ? future->workload : NULL,
                               .future = plugin->offline ? future : NULL};
    if (part->ops->partner && part->ops->partner != partner->ops)
        return err_set(err, "placement: '%s' is one half of a pair, and goes with eviction '%s'",
                       plugin->name, part->ops->partner->plugin.name);
    part->partner = part->ops->partner ? partner : NULL;
    part->state = mem_zalloc(plugin->state_size);
    if (part->ops->node_size)
        part->nodes = mem_array(future->workload->node_count, part->ops->node_size);
    if (part->ops->init)
        part->ops->init(part);
    return 0;
}

int placement_set_open(struct placement_set *out, const struct placement_choice *choice,
                       const struct run_facts *facts, const struct future *future,
                       struct eviction *partner, struct err *err)
{
    *out = (struct placement_set){.parts = mem_array(choice->count, sizeof *out->parts)};
    for (; out->count < choice->count; out->count++)
        if (open_part(&out->parts[out->count], &choice->parts[out->count], facts, future, partner,
                      err) != 0)
            return -1;
    return 0;
}

void placement_set_close(struct placement_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct placement *part = &set->parts[i];
        if (part->ops->fini)
            part->ops->fini(part);
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

void remembered_open(struct remembered *remembered, const struct workload *workload)
{
    remembered->nodes = mem_array(workload->node_count, sizeof *remembered->nodes);
}

void remembered_close(struct remembered *remembered)
{
    free(remembered->nodes);
    marks_close(&remembered->places);
}

void remembered_set(struct remembered *remembered, const struct placement_view *view, node_id node,
                    bool is_in)
{
    remembered->nodes[node] = is_in;
    if (remembered->places.levels == 0)
        return;
    if (is_in)
        marks_set(&remembered->places, view->paths->places[node]);
    else
        marks_clear(&remembered->places, view->paths->places[node]);
}

static node_id next_far(struct remembered *remembered, const struct placement_view *view,
                        node_id node, uint64_t *steps)
{
    uint64_t passed = 0;
    if (remembered->places.levels == 0) {
        marks_open(&remembered->places, view->workload->node_count);
        for (node_id other = 1; other < view->workload->node_count; other++)
            if (remembered->nodes[other])
                marks_set(&remembered->places, view->paths->places[other]);
    }
    node = paths_nearest(view->paths, node, &remembered->places, &passed, steps);
    return view->workload->nodes[node].end > view->hit_tokens ? node : NODE_ROOT;
}

node_id remembered_next(struct remembered *remembered, const struct placement_view *view,
                        node_id node, uint64_t *steps)
{
    const struct node *nodes = view->workload->nodes;
    if (view->paths)
        return next_far(remembered, view, node, steps);
    for (; nodes[node].end > view->hit_tokens; node = nodes[node].parent, ++*steps)
        if (remembered->nodes[node])
            return node;
    return NODE_ROOT;
}
