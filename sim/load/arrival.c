#include "sim/load/arrival.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/digest.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/units.h"

#define DEFAULT_OPEN "open:32"
#define SECOND_NS 1e9

/* Think times where none were recorded, after what kv-cache-tester/v8 shows: medians of 9 s after a
 * tool and 127 s before a person's text; sigma from the 90 % points, 73 s and 1,543 s, as
 * ln(p90 / median) / 1.2816. */
#define TOOL_MEDIAN_S 9.0
#define TOOL_SIGMA 1.633
#define PERSON_MEDIAN_S 127.0
#define PERSON_SIGMA 1.948

enum mode { MODE_SEQUENTIAL, MODE_RECORDED, MODE_POISSON, MODE_OPEN };

struct setting {
    enum mode mode;
    double value; /* conversations per second, or open conversations */
};

#define NUMBER_LEAST 1e-6
#define NUMBER_MOST 1e9

static int parse_number(const char *text, double *value, struct err *err)
{
    if (units_parse_double(text, value, err) != 0 || !(*value >= NUMBER_LEAST) ||
        !(*value <= NUMBER_MOST))
        return err_set(err, "arrival: a number from %g to %g was expected, found '%s'",
                       NUMBER_LEAST, NUMBER_MOST, text);
    return 0;
}

/* *sum += ns, where the whole load must end within the 584 years that 64 bits hold. */
static int add_ns(uint64_t *sum, uint64_t ns, struct err *err)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        return err_set(err, "arrival: the times of the trace add up to more than 584 years");
    return 0;
}

static int parse(const char *how, struct setting *out, struct err *err)
{
    static const char poisson[] = "poisson:", open[] = "open:";
    *out = (struct setting){MODE_SEQUENTIAL, 0};
    if (strcmp(how, "sequential") == 0)
        return 0;
    if (strcmp(how, "recorded") == 0) {
        out->mode = MODE_RECORDED;
        return 0;
    }
    if (strncmp(how, poisson, strlen(poisson)) == 0) {
        out->mode = MODE_POISSON;
        return parse_number(how + strlen(poisson), &out->value, err);
    }
    if (strncmp(how, open, strlen(open)) == 0) {
        out->mode = MODE_OPEN;
        return parse_number(how + strlen(open), &out->value, err);
    }
    return err_set(err,
                   "arrival: auto, sequential, recorded, poisson:RATE or open:N was expected, "
                   "found '%s'",
                   how);
}

int arrival_check(const char *how, struct err *err)
{
    struct setting ignored;
    return strcmp(how, "auto") == 0 ? 0 : parse(how, &ignored, err);
}

static uint64_t draw_think_ns(struct rng *rng, const struct request *request)
{
    bool tool = request->waited_for == WAITED_TOOL;
    double seconds = rng_lognormal(rng, tool ? TOOL_MEDIAN_S : PERSON_MEDIAN_S,
                                   tool ? TOOL_SIGMA : PERSON_SIGMA);
    return (uint64_t)(seconds * SECOND_NS);
}

/* Fills offsets: the recorded ones, or sums of think times along each stream. */
static int fill_offsets(const struct workload *workload, uint64_t seed, uint64_t *offset_ns,
                        struct err *err)
{
    int result = 0;
    struct rng rng = rng_open(seed, "think-times");
    uint64_t *stream_end = mem_array(workload->stream_count, sizeof *stream_end);
    bool *started = mem_array(workload->stream_count, sizeof *started);
    for (uint32_t i = 0; i < workload->request_count && result == 0; i++) {
        const struct request *request = &workload->requests[i];
        uint64_t offset = request->offset_ns;
        if (offset == TIME_UNKNOWN) {
            uint64_t think = request->think_ns;
            if (!started[request->stream])
                think = 0;
            else if (think == TIME_UNKNOWN)
                think = draw_think_ns(&rng, request);
            offset = stream_end[request->stream];
            result = add_ns(&offset, think, err);
        }
        started[request->stream] = true;
        stream_end[request->stream] = offset;
        offset_ns[i] = offset;
    }
    free(stream_end);
    free(started);
    return result;
}

static void fill_durations(const struct workload *workload, const uint64_t *offset_ns,
                           uint64_t *duration_ns)
{
    for (uint32_t i = 0; i < workload->request_count; i++) {
        uint64_t *duration = &duration_ns[workload->requests[i].conversation];
        if (offset_ns[i] > *duration)
            *duration = offset_ns[i];
    }
}

static int fill_starts(const struct workload *workload, const struct setting *setting,
                       uint64_t seed, const uint64_t *duration_ns, uint64_t *start_ns,
                       struct err *err)
{
    uint32_t count = workload->conversation_count;
    double total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += (double)duration_ns[i];
    double gap_ns = SECOND_NS / (setting->value > 0 ? setting->value : 1);
    if (setting->mode == MODE_OPEN) /* rate = open / mean duration */
        gap_ns = total / count / setting->value;
    if (setting->mode == MODE_RECORDED && !workload_has_starts(workload))
        return err_set(err,
                       "arrival: the trace '%s' does not record when conversations start; "
                       "use sequential, poisson:RATE or open:N",
                       workload->name);
    struct rng rng = rng_open(seed, "conversation-starts");
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (setting->mode == MODE_RECORDED) {
            start_ns[i] = workload->conversations[i].start_ns;
            continue;
        }
        start_ns[i] = at;
        uint64_t gap = setting->mode == MODE_SEQUENTIAL ? duration_ns[i]
                                                        : (uint64_t)rng_exponential(&rng, gap_ns);
        if (add_ns(&at, gap, err) != 0 || add_ns(&at, 1, err) != 0)
            return -1;
    }
    return 0;
}

struct sort_key {
    uint64_t at_ns;
    uint32_t order, request;
};

static int by_time(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->request > y->request) - (x->request < y->request);
}

/* Walks down in time, marking nodes: what a prompt finds marked was seen before. */
void schedule_fill_seen(struct schedule *schedule, const struct workload *workload)
{
    const struct node *nodes = workload->nodes;
    bool *seen = mem_array(workload->node_count, sizeof *seen);
    seen[NODE_ROOT] = true;
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct request *request = &workload->requests[schedule->arrivals[i].request];
        node_id node = request->prompt_node;
        for (; !seen[node]; node = nodes[node].parent)
            seen[node] = true;
        schedule->arrivals[i].seen_tokens = nodes[node].end;
        for (node = request->reply_node; !seen[node]; node = nodes[node].parent)
            seen[node] = true;
    }
    free(seen);
}

/* Finds for each request the one before it in its stream. */
static void fill_turns(const struct workload *workload, struct schedule *schedule)
{
    struct arrival *arrivals = schedule->arrivals;
    uint32_t *newest = mem_array(workload->stream_count, sizeof *newest); /* 1 + place, or 0 */
    for (uint32_t i = 0; i < schedule->count; i++) {
        uint32_t *link = &newest[workload->requests[arrivals[i].request].stream];
        if (*link != 0) {
            arrivals[i].before = *link - 1;
            arrivals[i].turn = arrivals[*link - 1].turn + 1;
        }
        *link = i + 1;
    }
    free(newest);
}

static int sort_arrivals(const struct workload *workload, const uint64_t *offset_ns,
                         const uint64_t *start_ns, uint64_t limit, struct schedule *schedule,
                         struct err *err)
{
    uint32_t count = workload->request_count;
    struct sort_key *keys = mem_array(count, sizeof *keys);
    bool sorted = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct request *request = &workload->requests[i];
        keys[i] = (struct sort_key){start_ns[request->conversation], request->order, i};
        if (add_ns(&keys[i].at_ns, offset_ns[i], err) != 0) {
            free(keys);
            return -1;
        }
        sorted = sorted && (i == 0 || by_time(&keys[i - 1], &keys[i]) < 0);
    }
    if (!sorted)
        qsort(keys, count, sizeof *keys, by_time);
    schedule->count = limit > 0 && limit < count ? (uint32_t)limit : count;
    schedule->total = count;
    schedule->arrivals = mem_array(count, sizeof *schedule->arrivals);
    schedule->order_digest = DIGEST_START;
    for (uint32_t i = 0; i < count; i++) {
        schedule->arrivals[i] =
            (struct arrival){.request = keys[i].request, .at_ns = keys[i].at_ns};
        schedule->order_digest = digest_u64(schedule->order_digest, keys[i].request);
    }
    schedule->order_digest |= schedule->order_digest == 0;
    free(keys);
    return 0;
}

int schedule_open(struct schedule **out, const struct workload *workload, const char *how,
                  uint64_t seed, uint64_t limit, struct err *err)
{
    if (strcmp(how, "auto") == 0)
        how = workload_has_starts(workload) ? "recorded" : DEFAULT_OPEN;
    struct setting setting;
    if (parse(how, &setting, err) != 0)
        return -1;
    uint64_t *offset_ns = mem_array(workload->request_count, sizeof *offset_ns);
    uint64_t *duration_ns = mem_array(workload->conversation_count, sizeof *duration_ns);
    uint64_t *start_ns = mem_array(workload->conversation_count, sizeof *start_ns);
    int result = fill_offsets(workload, seed, offset_ns, err);
    if (result == 0) {
        fill_durations(workload, offset_ns, duration_ns);
        result = fill_starts(workload, &setting, seed, duration_ns, start_ns, err);
    }
    struct schedule *schedule = mem_zalloc(sizeof *schedule);
    struct text options = {0};
    text_printf(&options, "--arrival %s --seed %llu", how, (unsigned long long)seed);
    schedule->setting = options.data;
    schedule->how = mem_strdup(how);
    if (result == 0)
        result = sort_arrivals(workload, offset_ns, start_ns, limit, schedule, err);
    if (result == 0) {
        fill_turns(workload, schedule);
        *out = schedule;
    } else {
        schedule_close(schedule);
    }
    free(offset_ns);
    free(duration_ns);
    free(start_ns);
    return result;
}

void schedule_close(struct schedule *schedule)
{
    if (schedule == NULL)
        return;
    free(schedule->arrivals);
    free(schedule->how);
    free(schedule->setting);
    free(schedule);
}
