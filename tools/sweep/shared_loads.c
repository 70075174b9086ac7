#include "tools/sweep/shared_loads.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/mem.h"
#include "traces/compiled.h"
#include "traces/open.h"

static char *find_file(const char *directory, const char *path)
{
    struct text joined = {0};
    if (path[0] == '/' || directory == NULL)
        return mem_strdup(path);
    text_printf(&joined, "%s/%s", directory, path);
    if (access(joined.data, R_OK) == 0)
        return joined.data;
    text_close(&joined);
    return mem_strdup(path);
}

static struct synth_options synth_of(const struct sweep_trace *trace, const struct config *config)
{
    struct synth_options options = trace->options;
    if (trace->seed_follows)
        options.seed = config->seed;
    return options;
}

static int open_record(struct record **out, const struct sweep_trace *trace, const char *directory,
                       const struct config *config, struct err *err)
{
    if (trace->generated) {
        struct synth_options options = synth_of(trace, config);
        return load_open_generated(out, &options, config, err);
    }
    struct build_options build = config_build_options(config);
    char *path = find_file(directory, trace->text);
    int result = trace_open(path, &build, NULL, out, err);
    free(path);
    return result;
}

/* ---- digests ---- */

static int digest_lines(struct trace_lines *lines, char hex[65], struct err *err)
{
    char *line = NULL;
    size_t length = 0;
    int more = 0;
    while ((more = lines_next(lines, &line, &length, err)) == 1)
        continue;
    if (more == 0)
        lines_sha256(lines, hex);
    return more;
}

static bool is_compiled(struct trace_lines *lines)
{
    size_t length = 0;
    const char *start = lines_peek(lines, &length);
    return compiled_matches(start, length);
}

static int digest_synth(const struct synth_options *options, char hex[65], struct err *err)
{
    struct text content = {0};
    if (synth_write(options, &content, err) != 0)
        return -1;
    struct trace_lines *lines = lines_open_memory(SYNTH_NAME, content.data, content.length);
    int result = digest_lines(lines, hex, err);
    lines_close(lines);
    text_close(&content);
    return result;
}

/* The compiled form holds the digest of its original, and is loaded as fast as it is read. */
static int digest_opened(char hex[65], const struct sweep_trace *trace, const char *directory,
                         const struct config *config, struct err *err)
{
    struct record *record = NULL;
    if (open_record(&record, trace, directory, config, err) != 0)
        return -1;
    memcpy(hex, record->calls->sha256, 65);
    record_close(record);
    return 0;
}

/* The digest of a trace's content, without making a record of it. */
static int digest_trace(char hex[65], const struct sweep_trace *trace, const char *directory,
                        const struct config *config, struct err *err)
{
    struct synth_options options = synth_of(trace, config);
    if (!trace->generated && synth_is_name(trace->text) &&
        synth_parse_name(trace->text, &options, err) != 0)
        return -1;
    if (trace->generated || synth_is_name(trace->text))
        return digest_synth(&options, hex, err);
    char *path = find_file(directory, trace->text);
    struct trace_lines *lines = NULL;
    int result = lines_open_file(&lines, path, err);
    bool compiled = result == 0 && is_compiled(lines);
    if (result == 0 && !compiled)
        result = digest_lines(lines, hex, err);
    lines_close(lines);
    free(path);
    return compiled ? digest_opened(hex, trace, directory, config, err) : result;
}

/* ---- which cells share what ---- */

static bool same_trace(const struct sweep *sweep, const struct sweep_cell *a,
                       const struct sweep_cell *b)
{
    return a->trace == b->trace &&
           (!sweep->traces[a->trace].seed_follows || a->config.seed == b->config.seed);
}

static void find_digest(struct shared_loads *all, struct shared_record *one)
{
    const struct sweep *sweep = all->sweep;
    struct err ignored; /* it is said when a cell needs the trace */
    for (size_t i = 0; i < all->record_count; i++) {
        const struct shared_record *other = &all->records[i];
        if (same_trace(sweep, other->first, one->first) && other->sha256[0] != '?') {
            memcpy(one->sha256, other->sha256, sizeof one->sha256);
            return;
        }
    }
    if (digest_trace(one->sha256, &sweep->traces[one->first->trace], all->directory,
                     &one->first->config, &ignored) != 0)
        memcpy(one->sha256, "?", 2);
}

static size_t find_record(struct shared_loads *all, const struct sweep_cell *cell)
{
    for (size_t i = 0; i < all->record_count; i++) {
        const struct sweep_cell *first = all->records[i].first;
        if (same_trace(all->sweep, first, cell) &&
            config_same_record(&first->config, &cell->config))
            return i;
    }
    struct shared_record one = {.first = cell};
    find_digest(all, &one);
    all->records =
        mem_grow(all->records, &all->record_capacity, all->record_count + 1, sizeof *all->records);
    all->records[all->record_count] = one;
    return all->record_count++;
}

static size_t find_load(struct shared_loads *all, const struct sweep_cell *cell)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct sweep_cell *first = all->loads[i].first;
        if (first->trace == cell->trace && config_same_schedule(&first->config, &cell->config))
            return i;
    }
    struct shared_load load = {.first = cell, .record = find_record(all, cell)};
    all->loads = mem_grow(all->loads, &all->capacity, all->count + 1, sizeof *all->loads);
    all->loads[all->count] = load;
    return all->count++;
}

void shared_loads_open(struct shared_loads *out, const struct sweep *sweep, const char *directory)
{
    *out = (struct shared_loads){.sweep = sweep,
                                 .directory = directory,
                                 .of_cell = mem_array(sweep->cell_count, sizeof *out->of_cell)};
    pthread_mutex_init(&out->lock, NULL);
    for (size_t i = 0; i < sweep->cell_count; i++)
        out->of_cell[i] = find_load(out, &sweep->cells[i]);
}

const char *shared_loads_sha256(const struct shared_loads *loads, size_t cell)
{
    return loads->records[loads->loads[loads->of_cell[cell]].record].sha256;
}

/* ---- taking and dropping ---- */

void shared_loads_expect(struct shared_loads *loads, size_t cell)
{
    struct shared_load *load = &loads->loads[loads->of_cell[cell]];
    if (load->uses++ == 0)
        loads->records[load->record].uses++;
}

/* Opens what is not open yet. A failure is remembered: the next cell need not try. */
static void make_ready(struct shared_loads *all, struct shared_load *one)
{
    const struct config *config = &one->first->config;
    struct shared_record *shared = &all->records[one->record];
    if (one->failed || one->load.schedule)
        return;
    if (!shared->record && open_record(&shared->record, &all->sweep->traces[one->first->trace],
                                       all->directory, config, &one->err) != 0)
        one->failed = true;
    else if (load_make(&one->load, shared->record, false, config, &one->err) != 0)
        one->failed = true;
}

int shared_loads_take(struct shared_loads *loads, size_t cell, struct load *out, struct err *err)
{
    struct shared_load *one = &loads->loads[loads->of_cell[cell]];
    pthread_mutex_lock(&loads->lock);
    make_ready(loads, one);
    bool failed = one->failed;
    if (failed)
        *err = one->err;
    else
        *out = one->load;
    pthread_mutex_unlock(&loads->lock);
    return failed ? -1 : 0;
}

static void close_record(struct shared_record *shared)
{
    record_close(shared->record);
    shared->record = NULL;
}

void shared_loads_drop(struct shared_loads *loads, size_t cell)
{
    struct shared_load *one = &loads->loads[loads->of_cell[cell]];
    struct shared_record *shared = &loads->records[one->record];
    pthread_mutex_lock(&loads->lock);
    if (--one->uses == 0) {
        load_close(&one->load);
        if (--shared->uses == 0)
            close_record(shared);
    }
    pthread_mutex_unlock(&loads->lock);
}

uint64_t shared_loads_bytes(const struct shared_loads *loads)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < loads->record_count; i++)
        if (loads->records[i].record)
            bytes += record_bytes(loads->records[i].record);
    for (size_t i = 0; i < loads->count; i++)
        bytes += load_bytes(&loads->loads[i].load);
    return bytes;
}

void shared_loads_close(struct shared_loads *loads)
{
    for (size_t i = 0; i < loads->count; i++)
        load_close(&loads->loads[i].load);
    for (size_t i = 0; i < loads->record_count; i++)
        close_record(&loads->records[i]);
    free(loads->loads);
    free(loads->records);
    free(loads->of_cell);
    pthread_mutex_destroy(&loads->lock);
    *loads = (struct shared_loads){0};
}
