/* snapsim sweep - many settings, many threads, one stable list of results. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"
#include "tools/snapsim/journal.h"
#include "tools/snapsim/known_models.h"
#include "tools/snapsim/limits.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/shared_loads.h"
#include "tools/snapsim/snapsim.h"
#include "traces/lines.h"

#define THREADS_MAX 1024
#define PROGRESS_INTERVAL_NS 200000000u
#define SAMPLES 5              /* that a dry run takes at most */
#define SAMPLES_NS 2000000000u /* after which it takes no more */

struct sweep_flags {
    const char *threads, *output, *shard, *trace_dir;
    bool dry_run, resume, force;
};

/* What the threads share. Everything behind the lock; the rest is const while they run. */
struct crew {
    const struct sweep *sweep;
    struct shared_loads *loads;
    struct limits_memo *limits;
    const struct known_models *models; /* as the identity has them */
    const size_t *todo;                /* the cells to run, in order */
    size_t todo_count;
    uint64_t identity;
    atomic_size_t next; /* index into todo */
    pthread_mutex_t lock;
    struct journal *journal;
    size_t done, failed;
    struct err first_failure;
    bool broken; /* a line could not be written: stop */
    struct err err;
    uint64_t started_ns, printed_ns;
};

/* Set by a signal, read by all threads: only a lock-free atomic may be both. */
static atomic_int interrupted;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler sets it");

static void on_interrupt(int signal)
{
    (void)signal;
    atomic_store(&interrupted, 1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void write_sweep_object(const struct crew *crew, size_t cell, struct json *parent)
{
    struct json *object = json_add_object(parent, "sweep");
    json_add_string(object, "name", crew->sweep->name);
    json_add_hex(object, "digest", crew->identity);
    json_add_u64(object, "cell", cell);
    json_add_u64(object, "cells", crew->sweep->cell_count);
    if (crew->sweep->cells[cell].label)
        json_add_string(object, "label", crew->sweep->cells[cell].label);
}

static int run_setup(struct result *result, const struct sweep_cell *cell, struct models *models,
                     const struct load *load, struct err *err)
{
    struct setup setup;
    int failed = setup_open(&setup, &cell->config, &snapsim_plugins, models, err);
    if (failed == 0)
        failed = replay_run(result, &setup, load->workload, load->schedule, NULL, NULL, err);
    setup_close(&setup);
    return failed;
}

/* Runs one cell and makes its line; false if the cell failed (the line then says why). */
static bool run_cell(const struct crew *crew, size_t index, struct text *line, struct err *err)
{
    const struct sweep_cell *cell = &crew->sweep->cells[index];
    struct load load = {0};
    struct result result = {0};
    struct json *top = json_new_object();
    struct limits limits;
    bool good = shared_loads_take(crew->loads, index, &load, err) == 0 &&
                run_setup(&result, cell, crew->sweep->models, &load, err) == 0 &&
                (!crew->sweep->with_limits ||
                 limits_memo_find(crew->limits, &limits, &cell->config, &load,
                                  crew->loads->of_cell[index], crew->sweep->models, err) == 0);
    if (good) {
        struct json *values = result_write(&result, load.workload, snapsim_version, top);
        if (crew->sweep->with_limits)
            limits_write(&limits, values);
    } else {
        json_add_u64(top, "schema", RESULT_SCHEMA);
        config_write(&cell->config, json_add_object(top, "config"));
        struct json *trace = json_add_object(top, "trace");
        json_add_string(trace, "name", crew->sweep->traces[cell->trace].text);
        json_add_string(top, "error", err->text);
    }
    write_sweep_object(crew, index, top);
    json_print(top, false, line);
    json_close(top);
    result_close(&result); /* a run can be good and its limits fail */
    shared_loads_drop(crew->loads, index);
    return good;
}

static void print_progress(struct crew *crew)
{
    uint64_t now = now_ns();
    bool last = crew->done == crew->todo_count;
    if (!isatty(STDERR_FILENO) || (!last && now - crew->printed_ns < PROGRESS_INTERVAL_NS))
        return;
    crew->printed_ns = now;
    double seconds = (double)(now - crew->started_ns) / 1e9;
    double rate = seconds > 0 ? (double)crew->done / seconds : 0;
    double left = rate > 0 ? (double)(crew->todo_count - crew->done) / rate : 0;
    fprintf(stderr, "\rsnapsim: %zu of %zu cells, %.1f/s, %.0f s left %s", crew->done,
            crew->todo_count, rate, left, last ? "\n" : "");
}

static void *work(void *user)
{
    struct crew *crew = user;
    struct text line = {0};
    for (;;) {
        size_t at = atomic_fetch_add(&crew->next, 1);
        if (at >= crew->todo_count || atomic_load(&interrupted))
            break;
        text_clear(&line);
        struct err reason;
        bool good = run_cell(crew, crew->todo[at], &line, &reason);
        pthread_mutex_lock(&crew->lock);
        if (!good && crew->failed++ == 0)
            crew->first_failure = reason;
        if (!crew->broken &&
            journal_add(crew->journal, crew->todo[at], line.data, line.length, &crew->err) != 0)
            crew->broken = true;
        crew->done++;
        bool stop = crew->broken;
        print_progress(crew);
        pthread_mutex_unlock(&crew->lock);
        if (stop)
            break;
    }
    text_close(&line);
    return NULL;
}

static void run_crew(struct crew *crew, size_t threads)
{
    pthread_t *handles = mem_array(threads, sizeof *handles);
    size_t started = 0;
    crew->started_ns = now_ns();
    pthread_mutex_init(&crew->lock, NULL);
    while (started + 1 < threads && pthread_create(&handles[started], NULL, work, crew) == 0)
        started++;
    work(crew); /* this thread is one of them */
    for (size_t i = 0; i < started; i++)
        pthread_join(handles[i], NULL);
    pthread_mutex_destroy(&crew->lock);
    free(handles);
}

/* Two sweeps with this in common give the same lines: all settings, and the content of all traces
 * and models. */
static uint64_t identity_of(const struct sweep *sweep, const struct shared_loads *loads,
                            const struct known_models *models)
{
    uint64_t digest = DIGEST_START;
    if (sweep->with_limits)
        digest = digest_u64(digest, LIMITS_STEPS);
    for (size_t i = 0; i < sweep->cell_count; i++) {
        struct text text = {0};
        struct json *object = json_new_object();
        config_write(&sweep->cells[i].config, object);
        json_print(object, false, &text);
        json_close(object);
        text_printf(&text, " %s %s %s", shared_loads_sha256(loads, i),
                    known_models_sha256(models, sweep->cells[i].config.model),
                    sweep->cells[i].label ? sweep->cells[i].label : "");
        digest = digest_bytes(digest, text.data, text.length);
        text_close(&text);
    }
    return digest;
}

/* "I/N": of N parts, part I, the cells I, I + N, I + 2N ... counted from 1. */
static int parse_shard(const char *text, uint64_t *part, uint64_t *parts, struct err *err)
{
    *part = *parts = 1;
    if (text == NULL)
        return 0;
    const char *slash = strchr(text, '/');
    char *first = mem_strndup(text, slash ? (size_t)(slash - text) : 0);
    int result = -1;
    if (slash && options_parse_count(slash + 1, "shard", 1000000, parts, err) == 0)
        result = options_parse_count(first, "shard", *parts, part, err);
    free(first);
    return result == 0
               ? 0
               : err_set(err, "--shard: I/N with I from 1 to N was expected, found '%s'", text);
}

static void print_cells(const struct crew *crew, struct text *out)
{
    for (size_t i = 0; i < crew->todo_count; i++) {
        struct text cell = {0};
        sweep_describe_cell(crew->sweep, crew->todo[i], &cell);
        text_printf(out, "%zu%s\n", crew->todo[i], cell.data ? cell.data : "");
        text_close(&cell);
    }
}

/* What the loads of all cells take, and what a run of one cell does. */
static void measure(const struct crew *crew, size_t one, uint64_t *shared, uint64_t *run)
{
    struct load load = {0};
    struct err ignored; /* it is said when the cell runs */
    for (size_t i = 0; i < crew->todo_count; i++)
        if (shared_loads_take(crew->loads, crew->todo[i], &load, &ignored) == 0 &&
            crew->todo[i] == one)
            *run = load.workload->node_count * (sizeof(struct cache_node) + 8);
    *shared = shared_loads_bytes(crew->loads);
}

/* Cells that a dry run really runs, in order, and how long they took together. */
struct samples {
    size_t at[SAMPLES]; /* indexes into todo */
    size_t count;
    uint64_t ns;
};

static bool is_sampled(const struct samples *samples, size_t at)
{
    for (size_t i = 0; i < samples->count; i++)
        if (samples->at[i] == at)
            return true;
    return false;
}

static void add_sample(struct samples *samples, size_t at)
{
    size_t i = samples->count++;
    for (; i > 0 && samples->at[i - 1] > at; i--)
        samples->at[i] = samples->at[i - 1];
    samples->at[i] = at;
}

/* Runs a few cells, evenly spread: some settings cost many times what others do. The middle comes
 * first and its neighbours last, so that they are spread when the time is over as well. */
static int take_samples(const struct crew *crew, struct samples *samples, struct err *err)
{
    static const size_t tenths[SAMPLES] = {5, 1, 9, 3, 7};
    for (size_t i = 0; i < SAMPLES && samples->ns < SAMPLES_NS; i++) {
        size_t at = crew->todo_count * tenths[i] / 10;
        if (is_sampled(samples, at)) /* there are fewer cells than samples */
            continue;
        struct text line = {0};
        struct err reason;
        uint64_t start = now_ns();
        bool good = run_cell(crew, crew->todo[at], &line, &reason);
        samples->ns += now_ns() - start;
        text_close(&line);
        if (!good)
            return err_set(err, "cell %zu would fail: %.900s", crew->todo[at], reason.text);
        add_sample(samples, at);
    }
    return 0;
}

/* "cell 24 took 0.012 s", or "cells 5, 15 and 25 took 0.012 s each, on average". */
static void print_samples(const struct crew *crew, const struct samples *samples, struct text *out)
{
    text_printf(out, samples->count == 1 ? "cell" : "cells");
    for (size_t i = 0; i < samples->count; i++)
        text_printf(out, "%s %zu",
                    i == 0                   ? ""
                    : i + 1 < samples->count ? ","
                                             : " and",
                    crew->todo[samples->at[i]]);
    text_printf(out, " took %.3f s%s", (double)samples->ns / 1e9 / (double)samples->count,
                samples->count == 1 ? "" : " each, on average");
}

static int dry_run(const struct crew *crew, size_t threads, struct text *out)
{
    char bytes[UNITS_TEXT];
    struct samples samples = {.count = 0};
    struct err err;
    uint64_t shared = 0, run = 0;
    print_cells(crew, out);
    if (crew->todo_count == 0)
        return print_result(out);
    measure(crew, crew->todo[crew->todo_count / 2], &shared, &run);
    if (take_samples(crew, &samples, &err) != 0)
        return say(EXIT_FAILED, "%s", err.text);
    double mean = (double)samples.ns / 1e9 / (double)samples.count;
    text_printf(out, "%zu cells; ", crew->todo_count);
    print_samples(crew, &samples, out);
    text_printf(out, ", so about %.1f s on %zu threads; %s shared",
                mean * (double)crew->todo_count / (double)threads, threads,
                units_bytes(shared, bytes));
    text_printf(out, " and about %s a thread, snapshots not counted\n", units_bytes(run, bytes));
    return print_result(out);
}

/* --output names a results file (*.jsonl, *.zst) or a directory, which is made. */
static int target_path(char **out, const char *output, struct err *err)
{
    struct text path = {0};
    *out = NULL;
    if (output == NULL)
        return 0;
    size_t length = strlen(output);
    bool is_file = (length > 6 && strcmp(output + length - 6, ".jsonl") == 0) ||
                   (length > 4 && strcmp(output + length - 4, ".zst") == 0);
    if (!is_file && mkdir(output, 0777) != 0 && errno != EEXIST)
        return err_set_errno(err, "create the directory '%s'", output);
    text_printf(&path, is_file ? "%s" : "%s/results.jsonl", output);
    *out = path.data;
    return 0;
}

static size_t *choose_cells(const struct sweep *sweep, const struct journal *journal, uint64_t part,
                            uint64_t parts, size_t *count)
{
    size_t *todo = mem_array(sweep->cell_count, sizeof *todo);
    *count = 0;
    for (size_t i = (size_t)part - 1; i < sweep->cell_count; i += (size_t)parts)
        if (journal == NULL || !journal_has(journal, i))
            todo[(*count)++] = i;
    return todo;
}

static int finish(const struct crew *crew, const char *target)
{
    struct err err;
    if (crew->broken)
        return say(EXIT_FAILED, "%s", crew->err.text);
    if (crew->done < crew->todo_count && target == NULL && journal_finish(crew->journal, &err) != 0)
        return say(EXIT_FAILED, "%s", err.text);
    if (crew->done < crew->todo_count)
        return say(EXIT_FAILED, "interrupted: %zu of %zu cells done%s", crew->done,
                   crew->todo_count, target ? "; --resume goes on from there" : "");
    if (journal_finish(crew->journal, &err) != 0)
        return say(EXIT_FAILED, "%s", err.text);
    if (crew->failed > 0)
        return say(EXIT_FAILED, "%zu of %zu cells failed, one of them: %s", crew->failed,
                   crew->todo_count, crew->first_failure.text);
    return EXIT_GOOD;
}

/* Whether a line of results is one of this sweep. */
static bool is_of_sweep(const char *target, const char *line, uint64_t identity)
{
    struct json_document document;
    struct err ignored;
    char expected[24];
    if (json_open_text(&document, target, line, &ignored) != 0)
        return false;
    snprintf(expected, sizeof expected, "0x%016" PRIx64, identity);
    const struct json *sweep = json_get(document.top, "sweep");
    const char *digest = sweep ? json_string(json_get(sweep, "digest")) : NULL;
    bool same = digest && strcmp(digest, expected) == 0;
    json_close_document(&document);
    return same;
}

/* A results file that --resume finds finished must be of this sweep. */
static int check_complete(const struct crew *crew, const char *target)
{
    struct err err, reason;
    struct trace_lines *lines = NULL;
    char *line = NULL;
    size_t length = 0;
    int more = lines_open_file(&lines, target, &err), changed = 0;
    if (more == 0)
        more = lines_next(lines, &line, &length, &err);
    int status = EXIT_GOOD;
    bool same = more == 1 && is_of_sweep(target, line, crew->identity);
    while (more == 1 && !same &&
           (changed = known_models_check_line(crew->models, line, &reason)) == 0)
        more = lines_next(lines, &line, &length, &err);
    if (more < 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else if (changed != 0)
        status = say(EXIT_FAILED, "'%s': %s; --force starts anew", target, reason.text);
    else if (!same)
        status = say(EXIT_FAILED, "'%s' is of another sweep; --force starts anew", target);
    else
        say(EXIT_GOOD, "'%s' is complete", target);
    lines_close(lines);
    return status;
}

static int sweep(struct crew *crew, const struct sweep_flags *flags, size_t threads, uint64_t part,
                 uint64_t parts)
{
    struct err err;
    char *target = NULL;
    size_t *todo = NULL;
    struct text out = {0};
    bool complete = false;
    int status = EXIT_GOOD;
    uint64_t journal_identity = digest_bytes(digest_u64(crew->identity, part << 32 | parts),
                                             snapsim_version, strlen(snapsim_version));
    if (!flags->dry_run && (target_path(&target, flags->output, &err) != 0 ||
                            journal_open(&crew->journal, target, journal_identity, crew->models,
                                         crew->sweep->cell_count, flags->resume, flags->force,
                                         &complete, &err) != 0)) {
        status = say(EXIT_FAILED, "%s", err.text);
        goto out;
    }
    if (complete) {
        status = check_complete(crew, target);
        goto out;
    }
    todo = choose_cells(crew->sweep, crew->journal, part, parts, &crew->todo_count);
    crew->todo = todo;
    for (size_t i = 0; i < crew->todo_count; i++)
        shared_loads_expect(crew->loads, todo[i]);
    if (flags->dry_run) {
        status = dry_run(crew, threads, &out);
        goto out;
    }
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    run_crew(crew, threads);
    status = finish(crew, target);
out:
    journal_close(crew->journal);
    text_close(&out);
    free(todo);
    free(target);
    return status;
}

static void help(const struct flag *flags)
{
    fputs("usage: snapsim sweep SWEEP.json [options]\n\n"
          "Replays all combinations of the settings that a file lists. The results are JSON lines\n"
          "in a stable order, the same for any number of threads. The file is described in\n"
          "snapsim-sweep(5).\n\n",
          stdout);
    options_print_flags(flags, stdout);
    fputs("\nexamples:\n"
          "  snapsim sweep sweep.json --dry-run\n"
          "  snapsim sweep sweep.json -j 8 --output out\n"
          "  snapsim table out --rows placement --columns capacity\n",
          stdout);
}

int cmd_sweep(int argc, char **argv)
{
    struct sweep_flags flags = {.threads = "1"};
    const struct flag table[] = {
        {"-j", "N", "threads [1]", &flags.threads, NULL},
        {"--output", "DIR|FILE", "where results go: DIR/results.jsonl, or a .jsonl or .zst file",
         &flags.output, NULL},
        {"--resume", NULL, "go on with what an earlier run left there", NULL, &flags.resume},
        {"--force", NULL, "replace what is there", NULL, &flags.force},
        {"--shard", "I/N", "run only part I of N; snapsim merge puts parts together", &flags.shard,
         NULL},
        {"--trace-dir", "DIR", "where relative paths of traces are looked up first",
         &flags.trace_dir, NULL},
        {"--dry-run", NULL, "print the cells and an estimate of time and memory", NULL,
         &flags.dry_run},
        {NULL, NULL, NULL, NULL, NULL}};
    const char *path = NULL;
    struct options options = {.flags = table, .positional = &path, .most = 1};
    struct err err;
    uint64_t threads = 1, part = 1, parts = 1;
    if (options_parse(&options, argc, argv, &err) != 0)
        return say(EXIT_USAGE, "%s", err.text);
    if (options.help) {
        help(table);
        return EXIT_GOOD;
    }
    if (path == NULL)
        return say(EXIT_USAGE, "sweep: a file was expected (snapsim sweep --help)");
    if (options_parse_count(flags.threads, "-j", THREADS_MAX, &threads, &err) != 0 ||
        parse_shard(flags.shard, &part, &parts, &err) != 0)
        return say(EXIT_USAGE, "%s", err.text);
    struct sweep cells;
    if (sweep_open(&cells, path, &err) != 0)
        return say(EXIT_FAILED, "%s", err.text);
    struct shared_loads loads;
    shared_loads_open(&loads, &cells, flags.trace_dir);
    struct limits_memo limits;
    limits_memo_open(&limits);
    struct known_models models;
    known_models_open(&models, &cells);
    struct crew crew = {.sweep = &cells, .loads = &loads, .limits = &limits, .models = &models};
    crew.identity = identity_of(&cells, &loads, &models);
    int status = sweep(&crew, &flags, (size_t)threads, part, parts);
    known_models_close(&models);
    limits_memo_close(&limits);
    shared_loads_close(&loads);
    sweep_close(&cells);
    return status;
}
