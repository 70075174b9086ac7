/* bench - how long the main things take, and how much memory.
 *
 * Each measurement runs in a child process of its own, a few times; the median is reported, and the
 * child's largest resident size. A fixed piece of arithmetic is timed before and after everything:
 * on a noisy machine, figures are worth as much as these two agree, and ratios to them can be
 * compared between machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "policies/list.h"
#include "sim/bound/bound.h"
#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/engine/result.h"
#include "traces/compiled.h"
#include "traces/open.h"
#include "traces/synth.h"

#define REPEATS 7

static const struct plugins plugins = {placement_list, eviction_list, memory_list, NULL};

struct bench {
    const char *traces; /* the folder of shared traces */
    const char *scratch;
    const char *program; /* build/.../snapsim */
    double base_ms;      /* of the fixed arithmetic */
};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void die(const struct err *err)
{
    fprintf(stderr, "bench: %s\n", err->text);
    exit(1);
}

/* What a measurement does: sets up, then returns the milliseconds of the part that counts. */
typedef double measure(const struct bench *bench, const void *what);

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double in_child(const struct bench *bench, measure *run, const void *what, long *kib)
{
    int ends[2];
    double ms = -1;
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        ms = run(bench, what);
        ssize_t wrote = write(ends[1], &ms, sizeof ms);
        _exit(wrote == sizeof ms ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &ms, sizeof ms) != sizeof ms)
        ms = -1;
    close(ends[0]);
    struct rusage usage;
    int status = 0;
    wait4(child, &status, 0, &usage);
    if (usage.ru_maxrss > *kib)
        *kib = usage.ru_maxrss;
    return ms;
}

static void report(const struct bench *bench, const char *what, const char *target, measure *run,
                   const void *argument, int repeats)
{
    double all[REPEATS];
    long kib = 0;
    for (int i = 0; i < repeats; i++)
        all[i] = in_child(bench, run, argument, &kib);
    qsort(all, (size_t)repeats, sizeof *all, by_value);
    double median = all[repeats / 2];
    if (all[0] < 0) {
        printf("| %s | failed | | | |\n", what);
        return;
    }
    printf("| %s | %.2f | %.2f | %s | %.0f |\n", what, median, median / bench->base_ms, target,
           (double)kib / 1024);
    fflush(stdout);
}

/* 64 MiB folded into a digest: multiplications that wait for each other. */
static double fixed_arithmetic(void)
{
    size_t length = (size_t)64 << 20;
    char *bytes = mem_alloc(length);
    memset(bytes, 1, length);
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double start = now_ms();
        volatile uint64_t digest = digest_bytes(DIGEST_START, bytes, length);
        (void)digest;
        double ms = now_ms() - start;
        best = ms < best ? ms : best;
    }
    free(bytes);
    return best;
}

/* A trace and settings: pairs of name and value, ended by NULL. */
struct replay_case {
    const char *file;
    const char *settings[24];
    int cells; /* how often: the time is divided by it */
    bool timed_load;
};

static void set_all(struct config *config, const char *const *settings)
{
    struct err err;
    config_open(config);
    for (; settings[0]; settings += 2)
        if (config_set(config, settings[0], settings[1], &err) != 0)
            die(&err);
}

static struct record *open_trace(const struct bench *bench, const char *file,
                                 const struct config *config)
{
    struct err err;
    struct record *record = NULL;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", file[0] == '/' ? "" : bench->traces, file);
    struct build_options build = config_build_options(config);
    if (trace_open(path, &build, NULL, &record, &err) != 0)
        die(&err);
    return record;
}

static struct load make_load(struct record *record, const struct config *config)
{
    struct err err;
    struct load load;
    if (record_load(&load, record, true, config->arrival, config->seed, 0, &err) != 0)
        die(&err);
    load.own_record = record;
    return load;
}

static struct load open_case(const struct bench *bench, const struct replay_case *one,
                             struct config *config)
{
    set_all(config, one->settings);
    return make_load(open_trace(bench, one->file, config), config);
}

static double run_replay(const struct bench *bench, const void *what)
{
    const struct replay_case *one = what;
    struct err err;
    struct config config;
    struct load load = open_case(bench, one, &config);
    double start = now_ms();
    for (int i = 0; i < one->cells; i++) {
        struct result result;
        if (replay_config(&result, &config, load.workload, load.schedule, &plugins, NULL, NULL,
                          &err) != 0)
            die(&err);
        result_close(&result);
    }
    return (now_ms() - start) / one->cells;
}

/* The dual bound; settings as in a replay. */
static double run_bound(const struct bench *bench, const void *what)
{
    struct err err;
    struct bound bound;
    struct config config;
    struct models models = {0};
    struct setup setup;
    struct load load = open_case(bench, what, &config);
    double start = now_ms();
    if (setup_open(&setup, &config, &plugins, &models, &err) != 0)
        die(&err);
    const struct bound_input input = replay_bound_input(&setup, load.workload, load.schedule);
    bound_find(&bound, NULL, &input, 400);
    return now_ms() - start;
}

static double run_load(const struct bench *bench, const void *what)
{
    const struct replay_case *one = what;
    struct config config;
    set_all(&config, one->settings);
    double start = now_ms();
    struct load load = make_load(open_trace(bench, one->file, &config), &config);
    double ms = now_ms() - start;
    load_close(&load);
    return ms;
}

/* Writes the compiled form beside, then times reading it. */
static double run_compiled(const struct bench *bench, const void *what)
{
    const struct replay_case *one = what;
    struct err err;
    struct config config;
    char path[1024];
    set_all(&config, one->settings);
    struct load load = make_load(open_trace(bench, one->file, &config), &config);
    snprintf(path, sizeof path, "%s/bench.snapsim", bench->scratch);
    if (compiled_write(load.workload, path, &err) != 0)
        die(&err);
    load_close(&load);
    double start = now_ms();
    load = make_load(open_trace(bench, path, &config), &config);
    double ms = now_ms() - start;
    load_close(&load);
    unlink(path);
    return ms;
}

/* The sweep of 48 cells that the Marconi paper's artifact does: 4 policies, 12 capacities. */
static double run_marconi(const struct bench *bench, const void *what)
{
    static const char *const placements[] = {"fixed:32", "branch+reply-end", "turn", "prompt-end"};
    (void)what;
    struct err err;
    double start = now_ms();
    static const char *const none[] = {"model", "marconi-7b", NULL};
    struct config config;
    set_all(&config, none);
    struct load load = make_load(open_trace(bench, "marconi/agent.jsonl.zst", &config), &config);
    for (int i = 0; i < 48; i++) {
        struct result result;
        char capacity[32];
        snprintf(capacity, sizeof capacity, "%dGB", 5 + 10 * (i / 4));
        if (config_set(&config, "placement", placements[i % 4], &err) != 0 ||
            config_set(&config, "capacity", capacity, &err) != 0 ||
            replay_config(&result, &config, load.workload, load.schedule, &plugins, NULL, NULL,
                          &err) != 0)
            die(&err);
        result_close(&result);
    }
    return now_ms() - start;
}

/* Ten million generated requests: made, ordered and replayed in one process. */
static double run_ten_million(const struct bench *bench, const void *what)
{
    (void)bench;
    (void)what;
    struct err err;
    struct synth_options options;
    param_defaults(synth_params, &options);
    options.conversations = 610000;
    struct build_options build_options = {.share_system = true};
    double start = now_ms();
    struct build *build = build_open(&build_options);
    struct record *record = NULL;
    struct config config;
    struct result result;
    config_open(&config);
    if (synth_build(&options, build, &err) != 0 || build_finish(build, &record, &err) != 0)
        die(&err);
    build_close(build);
    struct load load = make_load(record, &config);
    if (replay_config(&result, &config, load.workload, load.schedule, &plugins, NULL, NULL, &err) !=
        0)
        die(&err);
    fprintf(stderr, "bench: %llu generated requests, hit ratio %.4f\n",
            (unsigned long long)result.requests, result_hit_ratio(&result));
    return now_ms() - start;
}

/* A sweep by the program itself; what: the number of threads, as text. */
static double run_sweep(const struct bench *bench, const void *what)
{
    double start = now_ms();
    pid_t child = fork();
    if (child == 0) {
        char target[1024];
        snprintf(target, sizeof target, "%s/bench.jsonl", bench->scratch);
        execl(bench->program, bench->program, "sweep", "tools/bench/thousand.json", "--trace-dir",
              bench->traces, "-j", (const char *)what, "--output", target, "--force", (char *)NULL);
        _exit(1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0 ? now_ms() - start : -1;
}

#define KV_ONLY                                                                                    \
    "model", "llama-3.1-8b", "memory", "equal", "page-tokens", "trace", "replies", "drop",         \
        "partial-blocks", "keep", "min-compute-tokens", "0", "capacity", "640000MiB"

static const struct replay_case mooncake_lru = {
    "mooncake/conversation_trace.jsonl.zst", {KV_ONLY, NULL}, 20, false};
static const struct replay_case mooncake_belady = {
    "mooncake/conversation_trace.jsonl.zst", {KV_ONLY, "eviction", "belady", NULL}, 5, false};
static const struct replay_case coding = {"kv-cache-tester/v8.jsonl.zst", {NULL}, 5, false};
static const struct replay_case coding_large = {
    "kv-cache-tester/v8.jsonl.zst", {"capacity", "4TiB", NULL}, 5, false};
static const struct replay_case coding_path = {
    "kv-cache-tester/v8.jsonl.zst",
    {"capacity", "4TiB", "eviction", "lru:refresh=path", NULL},
    3,
    false};
static const struct replay_case coding_kept = {
    "kv-cache-tester/v8.jsonl.zst",
    {"memory", "equal", "capacity", "1TiB", "orphans", "keep", NULL},
    3,
    false};
static const struct replay_case coding_fixed = {
    "kv-cache-tester/v8.jsonl.zst", {"placement", "fixed:64", "capacity", "1TiB", NULL}, 1, false};

/* Every memory strategy with pages, at the default capacity and where little fits. */
static void report_strategies(const struct bench *bench)
{
    static const char *const capacities[] = {"64GiB", "8GiB"};
    for (size_t i = 0; memory_list[i]; i++) {
        const char *name = memory_list[i]->name;
        for (int c = 0; c < 2 && strcmp(name, "ideal") != 0; c++) {
            const struct replay_case one = {
                "kv-cache-tester/v8.jsonl.zst",
                {"tp", "8", "kv-dtype", "fp8", "memory", name, "capacity", capacities[c], NULL},
                3,
                false};
            char what[100];
            snprintf(what, sizeof what, "coding, K3 TP8 fp8, turn, LRU, %s, %s", name,
                     capacities[c]);
            report(bench, what, "250", run_replay, &one, 5);
        }
    }
}

static void report_all(const struct bench *bench)
{
    report(bench, "load Mooncake conversation, JSONL + zstd", "30", run_load, &mooncake_lru,
           REPEATS);
    report(bench, "load Mooncake conversation, compiled", "3", run_compiled, &mooncake_lru,
           REPEATS);
    report(bench, "load coding trace, JSONL + zstd", "1000", run_load, &coding, REPEATS);
    report(bench, "load coding trace, compiled", "20", run_compiled, &coding, REPEATS);
    report(bench, "Mooncake, KV only, LRU, 10,000 blocks", "1", run_replay, &mooncake_lru, REPEATS);
    report(bench, "Mooncake, KV only, optimum, 10,000 blocks", "8", run_replay, &mooncake_belady,
           REPEATS);
    report(bench, "coding, K3, turn, LRU, ideal, 64 GiB", "50", run_replay, &coding, REPEATS);
    report(bench, "the same, 4 TiB", "50", run_replay, &coding_large, REPEATS);
    report(bench, "the same, 4 TiB, refresh=path", "50", run_replay, &coding_path, REPEATS);
    report(bench, "coding, K3, turn, LRU, equal pages, orphans kept, 1 TiB", "250", run_replay,
           &coding_kept, REPEATS);
    report_strategies(bench);
    report(bench, "coding, K3, fixed:64, LRU, ideal, 1 TiB", "-", run_replay, &coding_fixed, 3);
    report(bench, "coding, K3, dual bound, 64 GiB, 400 prices", "-", run_bound, &coding, 3);
    report(bench, "48-cell Marconi sweep, load included", "1000", run_marconi, NULL, 3);
    report(bench, "1,000 cells of the coding trace, one thread", "-", run_sweep, "1", 1);
    report(bench, "1,000 cells of the coding trace, two threads", "60000", run_sweep, "2", 1);
    report(bench, "10 M generated requests, all of it", "60000", run_ten_million, NULL, 1);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("usage: bench TRACES SCRATCH PROGRAM\n", stderr);
        return 2;
    }
    struct bench bench = {.traces = argv[1], .scratch = argv[2], .program = argv[3]};
    bench.base_ms = fixed_arithmetic();
    printf("Fixed arithmetic (64 MiB digest): %.2f ms before", bench.base_ms);
    printf("\n\n| what | ms, median | times the arithmetic | target, ms | MiB "
           "|\n|---|---|---|---|---|\n");
    fflush(stdout);
    report_all(&bench);
    printf("\nFixed arithmetic afterwards: %.2f ms\n", fixed_arithmetic());
    return 0;
}
