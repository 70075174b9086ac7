/* Checks of the recurrent layers' kernels: KDA and GDN prefill and decode, short convolution. */
#include <math.h>
#include <string.h>

#include "tools/probe/kda_reference.h"
#include "tools/probe/probe_check.h"

#define CELLS ((size_t)KERNEL_HEAD * KERNEL_HEAD)
/* Products of bf16 operands summed in fp32. 5.2 of the facts: typically 2e-3 to 5e-3. */
#define TENSOR_BOUND 1e-2
#define SINGLE_BOUND 1e-5
/* One rounding to bf16 changes a value by at most 2^-8 = 3.91e-3 of it. */
#define ROUNDING_BOUND 3.92e-3

/* Inputs of a recurrent layer, on both sides. */
struct recurrent {
    struct lab_values query, key, value, raw_gate, raw_beta, a_log, bias, state;
    struct plan plan;
    struct kda_prefill prefill;
};

static void recurrent_inputs(struct lab *lab, const struct check_shape *shape, uint32_t tokens,
                             struct recurrent *r)
{
    size_t heads = shape->heads, size = KERNEL_HEAD;
    size_t gates = shape->scalar ? 1 : size;
    double scale = shape->small_keys ? 1e-4 : 1;
    r->query = probe_lab_bf16(lab, tokens * shape->key_heads * size, 0, scale);
    r->key = probe_lab_bf16(lab, tokens * shape->key_heads * size, 0, scale);
    r->value = probe_lab_bf16(lab, tokens * heads * size, 0, 1);
    r->raw_gate = probe_lab_bf16(lab, tokens * heads * gates, 0, 1);
    r->raw_beta = probe_lab_bf16(lab, tokens * heads, 0, 1);
    r->a_log = probe_lab_fp32(lab, heads, 0, 0.3);
    r->bias = probe_lab_fp32(lab, heads * gates, shape->gate_mean, 0.5);
    /* One slot more than sequences; the slots are used in reverse. */
    r->state = probe_lab_fp32(lab, (shape->sequences + 1) * heads * CELLS, 0, 0.2);
}

static const int32_t *recurrent_slots(struct lab *lab, uint32_t sequences)
{
    int32_t *slot = probe_lab_host(lab, sequences, sizeof(int32_t));
    for (uint32_t i = 0; i < sequences; i++)
        slot[i] = (int32_t)(sequences - i);
    return probe_lab_upload(lab, slot, sequences * sizeof(int32_t));
}

static void recurrent_open(struct lab *lab, const struct check_shape *shape, struct recurrent *r)
{
    probe_plan_open(&r->plan, shape->sequence, shape->sequences, shape->interval);
    recurrent_inputs(lab, shape, r->plan.tokens, r);
    size_t state_bytes = shape->heads * CELLS * sizeof(float);
    size_t snapshot_bytes = shape->snapshot_bf16 ? state_bytes / 2 : state_bytes;
    r->prefill = (struct kda_prefill){
        .query = r->query.device,
        .key = r->key.device,
        .value = r->value.device,
        .raw_gate = r->raw_gate.device,
        .raw_beta = r->raw_beta.device,
        .a_log = r->a_log.device,
        .bias = r->bias.device,
        .tiles = probe_lab_upload(lab, r->plan.tiles, r->plan.tile_count * sizeof(struct kda_tile)),
        .tile_first =
            probe_lab_upload(lab, r->plan.tile_first, (shape->sequences + 1) * sizeof(int32_t)),
        .slot = recurrent_slots(lab, shape->sequences),
        .state = r->state.device,
        .snapshots = probe_lab_device(lab, r->plan.snapshot_count * snapshot_bytes),
        .output = probe_lab_device(lab, (size_t)r->plan.tokens * shape->heads * KERNEL_HEAD * 2),
        .prepared = probe_lab_device(lab, (size_t)r->plan.tile_count * shape->heads *
                                              sizeof(struct kda_prepared)),
        .tile_count = r->plan.tile_count,
        .sequences = shape->sequences,
        .heads = shape->heads,
        .key_heads = shape->key_heads,
        .warps = shape->warps,
        .gate = shape->gate,
        .scalar = shape->scalar,
        .fresh = shape->fresh,
        .snapshot_bf16 = shape->snapshot_bf16,
        .lower_bound = -5};
    if (shape->fresh) /* a fresh prefill must not read the state */
        probe_lab_fill(lab, r->state.device, LAB_POISON, (shape->sequences + 1) * state_bytes);
}

/* One head's prepared inputs for packed tokens [first, first + tokens). */
static struct kda_sequence reference_head(struct lab *lab, const struct check_shape *shape,
                                          const struct recurrent *r, size_t first, size_t tokens,
                                          size_t head)
{
    size_t size = KERNEL_HEAD, source = head / (shape->heads / shape->key_heads);
    double *q = probe_lab_host(lab, tokens * size, sizeof(double));
    double *k = probe_lab_host(lab, tokens * size, sizeof(double));
    double *v = probe_lab_host(lab, tokens * size, sizeof(double));
    double *g = probe_lab_host(lab, tokens * size, sizeof(double));
    double *beta = probe_lab_host(lab, tokens, sizeof(double));
    enum kda_gate gate = shape->gate == KERNEL_GATE_BOUNDED ? KDA_GATE_BOUNDED : KDA_GATE_SOFTPLUS;
    size_t gates = shape->scalar ? 1 : size;
    for (size_t t = 0; t < tokens; t++) {
        size_t from = ((first + t) * shape->key_heads + source) * size;
        size_t own = (first + t) * shape->heads + head;
        memcpy(q + t * size, r->query.host + from, size * sizeof(double));
        memcpy(k + t * size, r->key.host + from, size * sizeof(double));
        memcpy(v + t * size, r->value.host + own * size, size * sizeof(double));
        kda_reference_normalise(q + t * size, size, 1 / sqrt((double)size));
        kda_reference_normalise(k + t * size, size, 1);
        beta[t] = kda_reference_sigmoid(r->raw_beta.host[own]);
        for (size_t i = 0; i < gates; i++)
            g[t * gates + i] = kda_reference_log_decay(gate, -5, r->a_log.host[head],
                                                       r->raw_gate.host[own * gates + i],
                                                       r->bias.host[head * gates + i]);
    }
    return (struct kda_sequence){tokens, size, size, q, k, v, g, beta, shape->scalar};
}

/* The state as the reference wants it, key channel first. */
static double *reference_state(struct lab *lab, const double *device_order)
{
    double *state = probe_lab_host(lab, CELLS, sizeof(double));
    for (size_t v = 0; v < KERNEL_HEAD && device_order != NULL; v++)
        for (size_t k = 0; k < KERNEL_HEAD; k++)
            state[k * KERNEL_HEAD + v] = device_order[v * KERNEL_HEAD + k];
    return state;
}

/* Values of one head out of [tokens][heads][128]. */
static double *head_values(struct lab *lab, const double *all, size_t first, size_t tokens,
                           size_t heads, size_t head)
{
    double *own = probe_lab_host(lab, tokens * KERNEL_HEAD, sizeof(double));
    for (size_t t = 0; t < tokens; t++)
        memcpy(own + t * KERNEL_HEAD, all + ((first + t) * heads + head) * KERNEL_HEAD,
               KERNEL_HEAD * sizeof(double));
    return own;
}

/* What the device left. */
struct prefill_results {
    double *output, *state, *snapshots;
};

static struct prefill_results read_results(struct lab *lab, const struct check_shape *shape,
                                           const struct recurrent *r)
{
    size_t cells = (size_t)r->plan.snapshot_count * shape->heads * CELLS;
    return (struct prefill_results){
        probe_lab_read_bf16(lab, r->prefill.output,
                            (size_t)r->plan.tokens * shape->heads * KERNEL_HEAD),
        probe_lab_read_fp32(lab, r->prefill.state, (shape->sequences + 1) * shape->heads * CELLS),
        shape->snapshot_bf16 ? probe_lab_read_bf16(lab, r->prefill.snapshots, cells)
                             : probe_lab_read_fp32(lab, r->prefill.snapshots, cells)};
}

/* One head of one sequence: the recurrence up to each snapshot and to the end. */
static void compare_head(struct lab *lab, const struct check_shape *shape,
                         const struct recurrent *r, const struct prefill_results *got,
                         uint32_t sequence, size_t head, struct check_outcome *outcome)
{
    size_t first = (size_t)r->plan.token[sequence], tokens = shape->sequence[sequence].tokens;
    size_t slot = shape->sequences - sequence, done = 0;
    struct kda_sequence whole = reference_head(lab, shape, r, first, tokens, head);
    const double *start = r->state.host + (slot * shape->heads + head) * CELLS;
    double *state = reference_state(lab, shape->fresh ? NULL : start);
    double *output = probe_lab_host(lab, tokens * KERNEL_HEAD, sizeof(double));
    for (uint32_t s = 0; s < r->plan.snapshot_count; s++) {
        if (r->plan.snapshots[s].sequence != sequence)
            continue;
        struct kda_sequence part = kda_reference_part(&whole, done, r->plan.snapshots[s].count);
        kda_reference_recurrence(&part, false, state, output + done * KERNEL_HEAD);
        done = r->plan.snapshots[s].count;
        const double *kept = got->snapshots + (s * shape->heads + head) * CELLS;
        probe_check_compare(outcome, "snapshot", reference_state(lab, kept), state, CELLS,
                            TENSOR_BOUND);
    }
    struct kda_sequence rest = kda_reference_part(&whole, done, tokens);
    kda_reference_recurrence(&rest, false, state, output + done * KERNEL_HEAD);
    const double *final = got->state + (slot * shape->heads + head) * CELLS;
    probe_check_compare(outcome, "final state", reference_state(lab, final), state, CELLS,
                        TENSOR_BOUND);
    probe_check_compare(outcome, "output",
                        head_values(lab, got->output, first, tokens, shape->heads, head), output,
                        tokens * KERNEL_HEAD, TENSOR_BOUND);
}

void check_recurrent_prefill(struct lab *lab, const struct check_shape *shape,
                             struct check_outcome *outcome)
{
    struct recurrent r;
    recurrent_open(lab, shape, &r);
    probe_lab_finish(lab, lab->failed ? 0 : kernel_kda_prefill(NULL, &r.prefill), "kda_prefill");
    struct prefill_results got = read_results(lab, shape, &r);
    for (uint32_t s = 0; s < shape->sequences && !lab->failed; s++)
        for (size_t head = 0; head < shape->heads; head++)
            compare_head(lab, shape, &r, &got, s, head, outcome);
    if (!lab->failed && !shape->fresh) /* slot 0 belongs to nobody */
        probe_check_compare(outcome, "foreign slot", got.state, r.state.host, shape->heads * CELLS,
                            0);
    probe_plan_close(&r.plan);
}

/* A second prefill from the first snapshot of sequence 0: bit for bit what the whole one gave. */
void check_recurrent_resume(struct lab *lab, const struct check_shape *shape,
                            struct check_outcome *outcome)
{
    struct recurrent r;
    recurrent_open(lab, shape, &r);
    probe_lab_finish(lab, lab->failed ? 0 : kernel_kda_prefill(NULL, &r.prefill), "kda_prefill");
    size_t count = r.plan.snapshots[0].count, row = shape->heads * KERNEL_HEAD;
    size_t tokens = shape->sequence[0].tokens - count, bytes = shape->heads * CELLS * sizeof(float);
    struct plan_sequence rest = {(uint32_t)tokens, shape->sequence[0].position + (uint32_t)count};
    struct plan plan;
    probe_plan_open(&plan, &rest, 1, 0);
    struct kda_prefill second = r.prefill;
    int32_t slot = 0;
    size_t keys = count * shape->key_heads * KERNEL_HEAD;
    second.query += keys;
    second.key += keys;
    second.value += count * row;
    second.raw_gate += count * shape->heads * (shape->scalar ? 1 : KERNEL_HEAD);
    second.raw_beta += count * shape->heads;
    second.tiles = probe_lab_upload(lab, plan.tiles, plan.tile_count * sizeof(struct kda_tile));
    second.tile_first = probe_lab_upload(lab, plan.tile_first, 2 * sizeof(int32_t));
    second.slot = probe_lab_upload(lab, &slot, sizeof(slot));
    second.state = probe_lab_upload(lab, probe_lab_read(lab, r.prefill.snapshots, bytes), bytes);
    second.output = probe_lab_device(lab, tokens * row * 2);
    second.tile_count = plan.tile_count;
    second.sequences = 1;
    second.fresh = false;
    probe_lab_finish(lab, lab->failed ? 0 : kernel_kda_prefill(NULL, &second), "kda_prefill");
    const unsigned char *whole =
        probe_lab_read(lab, r.prefill.output, (size_t)r.plan.tokens * row * 2);
    probe_check_equal(outcome, "resumed output",
                      probe_lab_read(lab, second.output, tokens * row * 2), whole + count * row * 2,
                      tokens * row * 2);
    const unsigned char *states =
        probe_lab_read(lab, r.prefill.state, (shape->sequences + 1) * bytes);
    probe_check_equal(outcome, "resumed state", probe_lab_read(lab, second.state, bytes),
                      states + shape->sequences * bytes, bytes);
    probe_plan_close(&plan);
    probe_plan_close(&r.plan);
}

void check_recurrent_decode(struct lab *lab, const struct check_shape *shape,
                            struct check_outcome *outcome)
{
    struct recurrent r;
    uint32_t batch = shape->sequences;
    recurrent_inputs(lab, shape, batch, &r);
    struct kda_decode decode = {
        r.query.device,
        r.key.device,
        r.value.device,
        r.raw_gate.device,
        r.raw_beta.device,
        r.a_log.device,
        r.bias.device,
        recurrent_slots(lab, batch),
        r.state.device,
        probe_lab_device(lab, (size_t)batch * shape->heads * KERNEL_HEAD * 2),
        batch,
        shape->heads,
        shape->key_heads,
        shape->gate,
        shape->scalar,
        -5};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_kda_decode(NULL, &decode), "kda_decode");
    double *got =
        probe_lab_read_bf16(lab, decode.output, (size_t)batch * shape->heads * KERNEL_HEAD);
    double *states = probe_lab_read_fp32(lab, decode.state, (batch + 1) * shape->heads * CELLS);
    double output[KERNEL_HEAD];
    for (uint32_t s = 0; s < batch && !lab->failed; s++)
        for (size_t head = 0; head < shape->heads; head++) {
            size_t cell = ((batch - s) * shape->heads + head) * CELLS;
            struct kda_sequence token = reference_head(lab, shape, &r, s, 1, head);
            double *state = reference_state(lab, r.state.host + cell);
            kda_reference_recurrence(&token, false, state, output);
            probe_check_compare(outcome, "state", reference_state(lab, states + cell), state, CELLS,
                                SINGLE_BOUND);
            probe_check_compare(outcome, "output", got + (s * shape->heads + head) * KERNEL_HEAD,
                                output, KERNEL_HEAD, ROUNDING_BOUND);
        }
    probe_check_compare(outcome, "foreign slot", states, r.state.host, shape->heads * CELLS, 0);
}

/* [4][channels] as the reference's [channels][4]. */
static double *reference_weight(struct lab *lab, const double *weight, size_t channels)
{
    double *turned = probe_lab_host(lab, channels * KDA_CONV_WIDTH, sizeof(double));
    for (size_t c = 0; c < channels; c++)
        for (size_t j = 0; j < KDA_CONV_WIDTH; j++)
            turned[c * KDA_CONV_WIDTH + j] = weight[j * channels + c];
    return turned;
}

void check_recurrent_conv_prefill(struct lab *lab, const struct check_shape *shape,
                                  struct check_outcome *outcome)
{
    struct plan plan;
    probe_plan_open(&plan, shape->sequence, shape->sequences, shape->interval);
    size_t channels = shape->channels, window = KERNEL_WINDOW * channels;
    uint32_t emits = plan.snapshot_count + shape->sequences;
    struct lab_values input = probe_lab_bf16(lab, plan.tokens * channels, 0, 1);
    struct lab_values weight = probe_lab_fp32(lab, 4 * channels, 0, 0.5);
    struct lab_values windows = probe_lab_bf16(lab, shape->sequences * window, 0, 1);
    struct conv_prefill conv = {
        .input = input.device,
        .weight = weight.device,
        .windows = shape->fresh ? NULL : windows.device,
        .sequence_token = probe_lab_upload(lab, plan.token, shape->sequences * sizeof(int32_t)),
        .runs = probe_lab_upload(lab, plan.runs, plan.run_count * sizeof(struct conv_run)),
        .emits = probe_lab_upload(lab, plan.emits, emits * sizeof(struct conv_emit)),
        .output = probe_lab_device(lab, plan.tokens * channels * 2),
        .windows_out = probe_lab_device(lab, emits * window * 2),
        .run_count = plan.run_count,
        .emit_count = emits,
        .channels = shape->channels};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_conv_prefill(NULL, &conv), "conv_prefill");
    double *got = probe_lab_read_bf16(lab, conv.output, plan.tokens * channels);
    double *kept = probe_lab_read_bf16(lab, conv.windows_out, emits * window);
    double *turned = reference_weight(lab, weight.host, channels);
    for (uint32_t e = 0; e < emits; e++) {
        /* From the start each time, so that a snapshot's window stands on its own. */
        size_t s = (size_t)plan.emits[e].sequence, first = (size_t)plan.token[s] * channels;
        size_t tokens = (size_t)plan.emits[e].count;
        double *state = probe_lab_host(lab, window, sizeof(double));
        double *output = probe_lab_host(lab, tokens * channels, sizeof(double));
        if (!shape->fresh)
            memcpy(state, windows.host + s * window, window * sizeof(double));
        kda_reference_convolve(input.host + first, tokens, channels, turned, state, output);
        probe_check_compare(outcome, "output", got + first, output, tokens * channels,
                            ROUNDING_BOUND);
        probe_check_compare(outcome, "window", kept + e * window, state, window, 0);
    }
    probe_plan_close(&plan);
}

void check_recurrent_conv_update(struct lab *lab, const struct check_shape *shape,
                                 struct check_outcome *outcome)
{
    size_t channels = shape->channels, window = KERNEL_WINDOW * channels;
    uint32_t batch = shape->sequences;
    struct lab_values input = probe_lab_bf16(lab, batch * channels, 0, 1);
    struct lab_values weight = probe_lab_fp32(lab, 4 * channels, 0, 0.5);
    struct lab_values windows = probe_lab_bf16(lab, (batch + 1) * window, 0, 1);
    struct conv_update conv = {input.device,
                               weight.device,
                               recurrent_slots(lab, batch),
                               windows.device,
                               probe_lab_device(lab, batch * channels * 2),
                               batch,
                               shape->channels};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_conv_update(NULL, &conv), "conv_update");
    double *got = probe_lab_read_bf16(lab, conv.output, batch * channels);
    double *kept = probe_lab_read_bf16(lab, conv.windows, (batch + 1) * window);
    double *turned = reference_weight(lab, weight.host, channels);
    double *output = probe_lab_host(lab, channels, sizeof(double));
    for (uint32_t s = 0; s < batch; s++) {
        double *state = windows.host + (batch - s) * window;
        kda_reference_convolve(input.host + s * channels, 1, channels, turned, state, output);
        probe_check_compare(outcome, "output", got + s * channels, output, channels,
                            ROUNDING_BOUND);
    }
    /* All windows moved on, the foreign one untouched. */
    probe_check_compare(outcome, "windows", kept, windows.host, (batch + 1) * window, 0);
}
