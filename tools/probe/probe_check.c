#include "tools/probe/probe_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/probe/kda_reference.h"

/* Lengths below, at and above a tile, positions on and off its bounds, every number of warps. */
static const struct check checks[] = {
    {"kda_prefill_fresh",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 2,
      .key_heads = 2,
      .sequences = 4,
      .interval = 16,
      .warps = 8,
      .fresh = true,
      .gate_mean = -2,
      .sequence = {{1, 0}, {16, 0}, {50, 0}, {97, 0}}}},
    {"kda_prefill_strong",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 1,
      .key_heads = 1,
      .sequences = 2,
      .interval = 32,
      .warps = 4,
      .gate_mean = 3,
      .sequence = {{64, 0}, {70, 5}}}},
    {"kda_prefill_weak",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 1,
      .key_heads = 1,
      .sequences = 1,
      .interval = 64,
      .warps = 1,
      .gate_mean = -6,
      .sequence = {{200, 0}}}},
    {"kda_prefill_positions",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 2,
      .key_heads = 2,
      .sequences = 4,
      .interval = 16,
      .warps = 2,
      .gate_mean = -1,
      .sequence = {{3, 7}, {20, 15}, {33, 1039}, {17, 48}}}},
    {"kda_prefill_softplus",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 1,
      .key_heads = 1,
      .sequences = 2,
      .interval = 16,
      .warps = 8,
      .gate_mean = -2,
      .gate = KERNEL_GATE_SOFTPLUS,
      .snapshot_bf16 = true,
      .sequence = {{45, 0}, {30, 9}}}},
    {"kda_prefill_softplus_strong",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 1,
      .key_heads = 1,
      .sequences = 1,
      .warps = 8,
      .gate_mean = 30,
      .gate = KERNEL_GATE_SOFTPLUS,
      .sequence = {{40, 0}}}},
    {"kda_prefill_small_keys",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 1,
      .key_heads = 1,
      .sequences = 1,
      .warps = 8,
      .gate_mean = -2,
      .small_keys = true,
      .fresh = true,
      .sequence = {{40, 0}}}},
    {"gdn_prefill",
     "gdn_prefill",
     check_recurrent_prefill,
     {.heads = 4,
      .key_heads = 2,
      .sequences = 2,
      .interval = 32,
      .warps = 8,
      .gate_mean = -2,
      .gate = KERNEL_GATE_SOFTPLUS,
      .scalar = true,
      .sequence = {{40, 0}, {37, 21}}}},
    {"kda_resume",
     "kda_prefill",
     check_recurrent_resume,
     {.heads = 2,
      .key_heads = 2,
      .sequences = 1,
      .interval = 48,
      .warps = 4,
      .gate_mean = -2,
      .sequence = {{100, 11}}}},
    {"kda_decode",
     "kda_decode",
     check_recurrent_decode,
     {.heads = 3, .key_heads = 3, .sequences = 4, .gate_mean = -1}},
    {"kda_decode_softplus",
     "kda_decode",
     check_recurrent_decode,
     {.heads = 2, .key_heads = 2, .sequences = 3, .gate_mean = -2, .gate = KERNEL_GATE_SOFTPLUS}},
    {"gdn_decode",
     "gdn_decode",
     check_recurrent_decode,
     {.heads = 4,
      .key_heads = 2,
      .sequences = 3,
      .gate_mean = -2,
      .scalar = true,
      .gate = KERNEL_GATE_SOFTPLUS}},
    {"conv_prefill",
     "conv_prefill",
     check_recurrent_conv_prefill,
     {.channels = 384,
      .sequences = 4,
      .interval = 16,
      .sequence = {{1, 15}, {2, 0}, {64, 0}, {150, 5}}}},
    {"conv_prefill_fresh",
     "conv_prefill",
     check_recurrent_conv_prefill,
     {.channels = 130, .sequences = 2, .fresh = true, .sequence = {{3, 0}, {65, 0}}}},
    {"conv_update", "conv_update", check_recurrent_conv_update, {.channels = 516, .sequences = 4}},
    {"mla_decode_12",
     "mla_decode",
     check_attention_decode,
     {.heads = 12,
      .sequences = 4,
      .page_tokens = 16,
      .split_tokens = 64,
      .sequence = {{1, 0}, {64, 0}, {65, 0}, {200, 0}}}},
    {"mla_decode_20",
     "mla_decode",
     check_attention_decode,
     {.heads = 20, .sequences = 1, .page_tokens = 64, .split_tokens = 256, .sequence = {{150, 0}}}},
    {"mla_decode_96",
     "mla_decode",
     check_attention_decode,
     {.heads = 96, .sequences = 1, .page_tokens = 48, .split_tokens = 64, .sequence = {{100, 0}}}},
    {"mla_prefill",
     "mla_prefill",
     check_attention_prefill,
     {.heads = 1, .sequences = 1, .sequence = {{150, 0}}}},
    {"mla_prefill_prefix",
     "mla_prefill",
     check_attention_prefill,
     {.heads = 2, .sequences = 1, .sequence = {{33, 95}}}},
    {"mla_prefill_one",
     "mla_prefill",
     check_attention_prefill,
     {.heads = 3, .sequences = 1, .sequence = {{1, 64}}}},
    {"kda_prefill_large",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 12,
      .key_heads = 12,
      .sequences = 2,
      .interval = 64,
      .warps = 2,
      .gate_mean = -2,
      .sequence = {{1500, 0}, {700, 333}},
      .large = true}},
    {"kda_prefill_large_8",
     "kda_prefill",
     check_recurrent_prefill,
     {.heads = 40,
      .key_heads = 40,
      .sequences = 4,
      .warps = 8,
      .gate_mean = -2,
      .fresh = true,
      .sequence = {{100, 0}, {300, 0}, {17, 0}, {64, 0}},
      .large = true}},
    {"gdn_prefill_large",
     "gdn_prefill",
     check_recurrent_prefill,
     {.heads = 48,
      .key_heads = 16,
      .sequences = 1,
      .warps = 4,
      .gate_mean = -2,
      .gate = KERNEL_GATE_SOFTPLUS,
      .scalar = true,
      .sequence = {{500, 0}},
      .large = true}},
    {"kda_decode_large",
     "kda_decode",
     check_recurrent_decode,
     {.heads = 96, .key_heads = 96, .sequences = 4, .gate_mean = -1, .large = true}},
    {"conv_prefill_large",
     "conv_prefill",
     check_recurrent_conv_prefill,
     {.channels = 4608,
      .sequences = 2,
      .interval = 512,
      .sequence = {{1500, 0}, {700, 100}},
      .large = true}},
    {"mla_decode_large",
     "mla_decode",
     check_attention_decode,
     {.heads = 96,
      .sequences = 3,
      .page_tokens = 64,
      .split_tokens = 512,
      .sequence = {{4000, 0}, {513, 0}, {2047, 0}},
      .large = true}},
    {"mla_prefill_large",
     "mla_prefill",
     check_attention_prefill,
     {.heads = 12, .sequences = 1, .sequence = {{500, 700}}, .large = true}},
    {"page_gather_large",
     "page_gather",
     check_bytes_gather,
     {.page_tokens = 1536, .sequences = 40, .large = true}},
    {"snapshot_copy",
     "snapshot_copy",
     check_bytes_snapshot,
     {.heads = 36, .channels = 800, .sequences = 3}},
    {"page_gather_16", "page_gather", check_bytes_gather, {.page_tokens = 16, .sequences = 7}},
    {"page_gather_100", "page_gather", check_bytes_gather, {.page_tokens = 100, .sequences = 4}},
    {"plain_small", "plain_copy", check_bytes_plain, {.channels = 1}},
    {"plain_large", "plain_copy", check_bytes_plain, {.channels = 5003}},
    {"random_fill", "random_fill", check_bytes_fill, {.channels = 5000}},
};

size_t probe_check_count(void)
{
    return sizeof(checks) / sizeof(checks[0]);
}

const struct check *probe_check_at(size_t index)
{
    return &checks[index];
}

/* How bad an outcome is: above 1 fails. NaN is worst. */
static double badness(double error, double bound)
{
    if (isnan(error))
        return INFINITY;
    if (bound > 0)
        return error / bound;
    return error > 0 ? INFINITY : 0;
}

void probe_check_compare(struct check_outcome *outcome, const char *what, const double *got,
                         const double *want, size_t count, double bound)
{
    double error = kda_reference_error(got, want, count);
    if (outcome->what[0] != '\0' &&
        badness(error, bound) <= badness(outcome->error, outcome->bound))
        return;
    outcome->error = error;
    outcome->bound = bound;
    snprintf(outcome->what, sizeof(outcome->what), "%s", what);
}

void probe_check_equal(struct check_outcome *outcome, const char *what, const void *got,
                       const void *want, size_t bytes)
{
    double differs = memcmp(got, want, bytes) != 0, zero = 0;
    probe_check_compare(outcome, what, &differs, &zero, 1, 0);
}

int probe_check_run(const struct check *check, uint64_t seed, struct check_outcome *outcome,
                    bool *passed, struct err *err)
{
    struct lab lab = probe_lab_open(seed, err);
    memset(outcome, 0, sizeof(*outcome));
    check->run(&lab, &check->shape, outcome);
    if (!lab.failed && !probe_lab_guards(&lab)) {
        outcome->error = INFINITY;
        snprintf(outcome->what, sizeof(outcome->what), "written behind an output");
    }
    int result = lab.failed ? -1 : 0;
    *passed =
        !lab.failed && outcome->what[0] != '\0' && badness(outcome->error, outcome->bound) <= 1;
    probe_lab_close(&lab);
    return result;
}
