#include "tools/sweep/cells.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/sweep/sweep_key.h"

/* Keys of a file, or of one exclusion: combinations that match in all of them are left out. */
struct key_list {
    struct sweep_key *items;
    size_t count, capacity;
};

struct reader {
    struct sweep_source source;
    struct key_list keys;
    struct key_list *exclusions;
    size_t exclusion_count, exclusion_capacity, cell_capacity;
    const struct json *exclude, *cells;
};

static struct sweep_key *add_key(struct key_list *list, struct sweep_key key)
{
    list->items = mem_grow(list->items, &list->capacity, list->count + 1, sizeof key);
    list->items[list->count] = key;
    return &list->items[list->count++];
}

static void close_keys(struct key_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        sweep_key_close(&list->items[i]);
    free(list->items);
    *list = (struct key_list){0};
}

static int fail_at(const struct reader *reader, const struct json *item, const char *message)
{
    return json_fail(reader->source.document, item, reader->source.err, "%s", message);
}

/* ---- the file ---- */

static int read_key(struct reader *reader, struct key_list *list, const struct json *item,
                    bool adds_traces)
{
    struct sweep_key key;
    if (sweep_key_open(&key, &reader->source, item) != 0)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].entry == key.entry)
            return json_fail(reader->source.document, item, reader->source.err,
                             "setting '%s' appears twice", key.name);
    return sweep_key_read(add_key(list, key), &reader->source, item, adds_traces);
}

static int read_top(struct reader *reader)
{
    const struct json *top = reader->source.document->top;
    struct sweep *sweep = reader->source.sweep;
    if (!json_is_object(top))
        return fail_at(reader, top, "an object was expected");
    for (const struct json *item = json_first(top); item; item = json_next(item)) {
        const char *key = json_key(item);
        bool is_cells = strcmp(key, "cells") == 0;
        if (strcmp(key, "name") == 0) {
            if (!json_string(item))
                return fail_at(reader, item, "name: text was expected");
            free(sweep->name);
            sweep->name = mem_strdup(json_string(item));
        } else if (strcmp(key, "bound") == 0) {
            if (!json_is_bool(item, &sweep->with_limits))
                return fail_at(reader, item, "bound: true or false was expected");
        } else if (is_cells || strcmp(key, "exclude") == 0) {
            if (!json_is_array(item))
                return json_fail(reader->source.document, item, reader->source.err,
                                 "%s: a list of objects was expected", key);
            *(is_cells ? &reader->cells : &reader->exclude) = item;
        } else if (read_key(reader, &reader->keys, item, true) != 0) {
            return -1;
        }
    }
    return 0;
}

/* When all traces of the file's keys are known. */
static int read_exclusions(struct reader *reader)
{
    for (const struct json *rule = json_first(reader->exclude); rule; rule = json_next(rule)) {
        if (!json_is_object(rule) || !json_first(rule))
            return fail_at(reader, reader->exclude,
                           "exclude: a list of objects with settings was expected");
        reader->exclusions =
            mem_grow_zeroed(reader->exclusions, &reader->exclusion_capacity,
                            reader->exclusion_count + 1, sizeof *reader->exclusions);
        struct key_list *keys = &reader->exclusions[reader->exclusion_count++];
        for (const struct json *item = json_first(rule); item; item = json_next(item))
            if (read_key(reader, keys, item, false) != 0)
                return -1;
    }
    return 0;
}

/* ---- cells ---- */

static struct sweep_cell *add_cell(struct reader *reader)
{
    struct sweep *sweep = reader->source.sweep;
    sweep->cells = mem_grow_zeroed(sweep->cells, &reader->cell_capacity, sweep->cell_count + 1,
                                   sizeof *sweep->cells);
    struct sweep_cell *cell = &sweep->cells[sweep->cell_count++];
    config_open(&cell->config);
    return cell;
}

static bool is_excluded(const struct reader *reader, const struct sweep_cell *cell)
{
    for (size_t i = 0; i < reader->exclusion_count; i++) {
        const struct key_list *keys = &reader->exclusions[i];
        size_t matching = 0;
        while (matching < keys->count && sweep_key_matches(&keys->items[matching], cell))
            matching++;
        if (matching == keys->count)
            return true;
    }
    return false;
}

/* All combinations, the last key turning fastest, like the digits of a counter. */
static int expand(struct reader *reader)
{
    const struct key_list *keys = &reader->keys;
    struct sweep *sweep = reader->source.sweep;
    size_t *at = mem_array(keys->count + 1, sizeof *at);
    int result = 0;
    for (bool more = true; more && result == 0;) {
        struct sweep_cell *cell = add_cell(reader);
        for (size_t i = 0; i < keys->count; i++)
            sweep_key_apply(&keys->items[i], at[i], cell);
        if (is_excluded(reader, cell)) {
            config_close(&cell->config);
            sweep->cell_count--;
        }
        if (sweep->cell_count > CELLS_MAX)
            result = err_set(reader->source.err, "%s: at most %u cells were expected",
                             reader->source.document->path, CELLS_MAX);
        more = false;
        for (size_t i = keys->count; i-- > 0 && !more;) {
            more = ++at[i] < keys->items[i].count;
            if (!more)
                at[i] = 0;
        }
    }
    free(at);
    return result;
}

/* A setting of a single cell: one value, over what the file gives it. */
static int read_own(struct reader *reader, struct sweep_cell *cell, const struct json *item)
{
    struct sweep_key key;
    if (sweep_key_open(&key, &reader->source, item) != 0)
        return -1;
    int result = sweep_key_read_one(&key, &reader->source, item);
    if (result == 0)
        sweep_key_apply(&key, 0, cell);
    sweep_key_close(&key);
    return result;
}

static int read_named_cell(struct reader *reader, const struct json *object)
{
    if (!json_is_object(object) || !json_string(json_get(object, "label")))
        return fail_at(reader, reader->cells,
                       "cells: objects with a \"label\" and settings were expected");
    struct sweep_cell *cell = add_cell(reader);
    cell->label = mem_strdup(json_string(json_get(object, "label")));
    for (size_t i = 0; i < reader->keys.count; i++)
        if (reader->keys.items[i].count == 1)
            sweep_key_apply(&reader->keys.items[i], 0, cell);
    for (const struct json *item = json_first(object); item; item = json_next(item))
        if (strcmp(json_key(item), "label") != 0 && read_own(reader, cell, item) != 0)
            return -1;
    return 0;
}

static int read_cells(struct reader *reader)
{
    bool varies = reader->cells == NULL;
    for (size_t i = 0; i < reader->keys.count; i++)
        varies |= reader->keys.items[i].count > 1;
    if (varies && expand(reader) != 0)
        return -1;
    for (const struct json *object = json_first(reader->cells); object; object = json_next(object))
        if (read_named_cell(reader, object) != 0)
            return -1;
    if (reader->source.sweep->cell_count == 0)
        return err_set(reader->source.err, "%s: no cell is left", reader->source.document->path);
    return 0;
}

/* Without a trace, a load is generated with all defaults. */
static void default_trace(struct reader *reader)
{
    if (reader->source.sweep->trace_count > 0)
        return;
    struct sweep_trace trace = {.text = mem_strdup("{}"), .generated = true, .seed_follows = true};
    param_defaults(synth_params, &trace.options);
    sweep_source_add_trace(&reader->source, &trace);
}

/* ---- the sweep ---- */

static char *names_of_varied(const struct key_list *keys)
{
    struct text names = {0};
    text_add(&names, "", 0);
    for (size_t i = 0; i < keys->count; i++)
        if (keys->items[i].count > 1)
            text_printf(&names, "%s%s", names.length ? " " : "", keys->items[i].name);
    return names.data;
}

/* Each model is read once, here: all cells see one content, however long the sweep runs. One that
 * cannot be read fails the cells that name it. */
static void read_models(struct sweep *sweep)
{
    const struct model_content *ignored = NULL;
    struct err reason;
    for (size_t i = 0; i < sweep->cell_count; i++)
        if (models_find(sweep->models, sweep->cells[i].config.model, &ignored, &reason) != 0)
            continue;
}

static int read_sweep(struct reader *reader)
{
    if (read_top(reader) != 0)
        return -1;
    reader->source.sweep->varied = names_of_varied(&reader->keys);
    default_trace(reader);
    if (read_exclusions(reader) != 0 || read_cells(reader) != 0)
        return -1;
    read_models(reader->source.sweep);
    return 0;
}

int sweep_open(struct sweep *out, const char *path, struct err *err)
{
    *out = (struct sweep){.name = mem_strdup("sweep"), .models = mem_zalloc(sizeof *out->models)};
    struct json_document document = {0};
    struct reader reader = {.source = {.document = &document, .sweep = out, .err = err}};
    int result = json_open_file(&document, path, err);
    if (result == 0)
        result = read_sweep(&reader);
    close_keys(&reader.keys);
    for (size_t i = 0; i < reader.exclusion_count; i++)
        close_keys(&reader.exclusions[i]);
    free(reader.exclusions);
    json_close_document(&document);
    if (result != 0)
        sweep_close(out);
    return result;
}

void sweep_close(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->trace_count; i++)
        free(sweep->traces[i].text);
    for (size_t i = 0; i < sweep->cell_count; i++) {
        free(sweep->cells[i].label);
        config_close(&sweep->cells[i].config);
    }
    free(sweep->traces);
    free(sweep->cells);
    models_close(sweep->models);
    free(sweep->models);
    free(sweep->name);
    free(sweep->varied);
    *sweep = (struct sweep){0};
}

void sweep_describe_cell(const struct sweep *sweep, size_t cell, struct text *out)
{
    if (sweep->cells[cell].label)
        text_printf(out, " label=%s", sweep->cells[cell].label);
    if (sweep->trace_count > 1)
        text_printf(out, " trace=%s", sweep->traces[sweep->cells[cell].trace].text);
    config_print_changed(&sweep->cells[cell].config, sweep->varied, " ", "=", out);
}
