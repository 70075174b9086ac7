/* snapsim reuse - how long ago, and how deep, what a prompt shares with earlier ones was last used.
 *
 * What a snapshot is worth depends on both: how long it has to stay, and how much it saves. Counted
 * for a cache without any limit: for each request, the tokens that earlier requests have shown
 * (seen), and the time since the last request through the deepest of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/snapsim/snapsim.h"
#include "tools/sweep/load.h"
#include "tools/view/figure.h"

#define SECOND_NS 1000000000u
#define BINS 33 /* bin 0 is below 1; bin k is 2^(k-1) up to 2^k */
#define WAITS 3

static const char *const waits[WAITS] = {"unknown", "tool", "person"};

struct bin {
    uint64_t requests, tokens;
};

struct reuse {
    struct bin gap_s[WAITS][BINS], depth_tokens[WAITS][BINS];
};

static unsigned bin_of(uint64_t value)
{
    unsigned bin = 0;
    for (; value > 0 && bin + 1 < BINS; value >>= 1)
        bin++;
    return bin;
}

static void count(struct bin *bins, uint64_t value, uint64_t tokens)
{
    struct bin *bin = &bins[bin_of(value)];
    bin->requests++;
    bin->tokens += tokens;
}

static void measure(struct reuse *reuse, const struct workload *workload,
                    const struct schedule *schedule)
{
    const struct node *nodes = workload->nodes;
    uint64_t *last_ns = mem_array(workload->node_count, sizeof *last_ns);
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct arrival *arrival = &schedule->arrivals[i];
        const struct request *request = &workload->requests[arrival->request];
        node_id seen = workload_node_at(workload, request->prompt_node, arrival->seen_tokens);
        if (arrival->seen_tokens > 0) {
            unsigned wait = request->waited_for;
            count(reuse->gap_s[wait], (arrival->at_ns - last_ns[seen]) / SECOND_NS,
                  arrival->seen_tokens);
            count(reuse->depth_tokens[wait], arrival->seen_tokens, arrival->seen_tokens);
        }
        for (node_id node = request->reply_node; node != NODE_ROOT; node = nodes[node].parent)
            last_ns[node] = arrival->at_ns;
    }
    free(last_ns);
}

static void print_bins(const char *of, struct bin bins[WAITS][BINS], struct text *out)
{
    for (int wait = 0; wait < WAITS; wait++) {
        for (int bin = 0; bin < BINS; bin++) {
            const struct bin *one = &bins[wait][bin];
            if (one->requests == 0)
                continue;
            text_printf(out, "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", of,
                        waits[wait], bin == 0 ? 0 : (uint64_t)1 << (bin - 1), (uint64_t)1 << bin,
                        one->requests, one->tokens);
        }
    }
}

static int print_reuse(const struct load *load)
{
    struct text out = {0};
    struct reuse *reuse = mem_zalloc(sizeof *reuse);
    measure(reuse, load->workload, load->schedule);
    text_printf(&out, "%s\n", figure_reuse_columns);
    print_bins("gap_s", reuse->gap_s, &out);
    print_bins("depth_tokens", reuse->depth_tokens, &out);
    int status = print_result(&out);
    free(reuse);
    text_close(&out);
    return status;
}

struct reuse_options {
    struct config config;
    char *trace_format;
};

static const struct param reuse_params[] = {OPTION_TRACE_FORMAT(struct reuse_options), PARAM_END};

static int reuse(const struct call *call)
{
    const struct reuse_options *options = call->settings;
    struct err err;
    struct load load = {0};
    int status = EXIT_GOOD;
    if (arrival_check(options->config.arrival, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (load_open(&load, call->words[0], options->trace_format, &options->config, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    else
        status = print_reuse(&load);
    load_close(&load);
    return status;
}

const struct command cmd_reuse = {
    .name = "reuse",
    .summary = "how long ago, and how deep, a trace reuses its prompts",
    .text = "How long ago, and how deep, what each prompt shares with earlier ones was last used, "
            "as a CSV of histograms: of (gap_s or depth_tokens), waited_for, from, to, requests, "
            "tokens. Of a run's settings, those of the load matter.\n",
    .examples = "  snapsim reuse v8.jsonl.zst >reuse.csv\n"
                "  snapsim plot reuse reuse.csv -o reuse.pdf\n",
    .options_size = sizeof(struct reuse_options),
    .takes_config = true,
    .ways = {{.words = "[TRACE]", .most = 1, .tables = {{NULL, reuse_params, 0}}, .run = reuse}},
};
