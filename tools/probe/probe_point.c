#include "tools/probe/probe_point.h"

#include <assert.h>
#include <inttypes.h>

static const struct point_kind_facts kinds[POINT_KINDS] = {
    [POINT_LAUNCH_STREAM] = {"launch_stream", NULL, "an empty kernel, one launch after another",
                             false},
    [POINT_LAUNCH_GRAPH] = {"launch_graph", NULL, "an empty kernel as one of many in a graph",
                            false},
    [POINT_HBM_COPY] = {"hbm_copy", "plain_copy", "copy by all SMs, device to device", true},
    [POINT_HBM_READ] = {"hbm_read", "plain_copy", "sum over all bytes", true},
    [POINT_KDA_PREFILL] = {"kda_prefill", "kda_prefill", "KDA prefill of one layer", true},
    [POINT_SNAPSHOT_EMIT] = {"snapshot_emit", "kda_prefill",
                             "KDA prefill that writes a snapshot every n tokens", true},
    [POINT_GDN_PREFILL] = {"gdn_prefill", "gdn_prefill", "Gated DeltaNet prefill of one layer",
                           true},
    [POINT_KDA_DECODE] = {"kda_decode", "kda_decode", "KDA decode of one layer", true},
    [POINT_GDN_DECODE] = {"gdn_decode", "gdn_decode", "Gated DeltaNet decode of one layer", true},
    [POINT_CONV_PREFILL] = {"conv_prefill", "conv_prefill", "short convolution of q, k and v",
                            true},
    [POINT_CONV_UPDATE] = {"conv_update", "conv_update", "short convolution of one token", true},
    [POINT_MLA_DECODE] = {"mla_decode", "mla_decode", "MLA decode of one layer, absorbed", true},
    [POINT_MLA_PREFILL] = {"mla_prefill", "mla_prefill",
                           "MLA prefill of one layer, expanded, causal", true},
    [POINT_SNAPSHOT_COPY] = {"snapshot_copy", "snapshot_copy",
                             "snapshot of all layers, device to device, one launch", true},
    [POINT_KV_GATHER] = {"kv_gather", "page_gather", "KV pages by number, device to device", true},
    [POINT_HOST_COPY] = {"host_copy", NULL, "between pinned host memory and the device", false},
    [POINT_GEMM] = {"gemm", NULL, "bf16 matrix product by cuBLAS", false},
};

#define KV_BYTES (KERNEL_CACHED * 2) /* MLA: of one token and layer in bf16 */

const struct point_kind_facts *probe_point_facts(enum point_kind kind)
{
    assert(kind < POINT_KINDS);
    return &kinds[kind];
}

bool probe_point_is_scalar(const struct point *point)
{
    return point->kind == POINT_GDN_PREFILL || point->kind == POINT_GDN_DECODE;
}

uint32_t probe_point_channels(const struct point *point)
{
    return (2 * point->key_heads + point->heads) * KERNEL_HEAD;
}

uint64_t probe_point_state_bytes(const struct point *point)
{
    return (uint64_t)point->heads * KERNEL_HEAD * KERNEL_HEAD * sizeof(float);
}

uint64_t probe_point_window_bytes(const struct point *point)
{
    return (uint64_t)KERNEL_WINDOW * probe_point_channels(point) * sizeof(struct bf16);
}

uint64_t probe_point_chains(const struct point *point)
{
    return (uint64_t)point->heads * point->sequences;
}

uint64_t probe_point_snapshots(const struct point *point)
{
    return point->interval > 0 ? (uint64_t)point->sequences * (point->tokens / point->interval) : 0;
}

/* Inputs and outputs of a recurrent layer's tokens, without what passes between its two kernels:
 * no implementation needs less. */
static double recurrent_bytes(const struct point *point)
{
    double rows = (double)point->sequences * point->tokens;
    double gates = probe_point_is_scalar(point) ? 1 : KERNEL_HEAD;
    double per_token = 2.0 * (2.0 * point->key_heads * KERNEL_HEAD +
                              point->heads * (2.0 * KERNEL_HEAD + gates + 1));
    double states = 2.0 * (double)point->sequences * (double)probe_point_state_bytes(point);
    double kept = (double)probe_point_snapshots(point) * (double)probe_point_state_bytes(point);
    return rows * per_token + states + (point->snapshot_bf16 ? kept / 2 : kept);
}

double probe_point_dram_bytes(const struct point *point)
{
    double rows = (double)point->sequences * point->tokens;
    double all = (double)point->context + point->tokens;
    switch (point->kind) {
    case POINT_HBM_COPY:
    case POINT_SNAPSHOT_COPY:
    case POINT_KV_GATHER:
        return 2.0 * (double)point->bytes;
    case POINT_HBM_READ:
    case POINT_HOST_COPY:
        return (double)point->bytes;
    case POINT_KDA_PREFILL:
    case POINT_SNAPSHOT_EMIT:
    case POINT_GDN_PREFILL:
    case POINT_KDA_DECODE:
    case POINT_GDN_DECODE:
        return recurrent_bytes(point);
    case POINT_CONV_PREFILL:
        return 4.0 * rows * probe_point_channels(point);
    case POINT_CONV_UPDATE:
        return rows *
               (4.0 * probe_point_channels(point) + 2.0 * (double)probe_point_window_bytes(point));
    case POINT_MLA_DECODE:
        return (double)point->sequences * (KV_BYTES * (double)point->context +
                                           2.0 * point->heads * (KERNEL_CACHED + KERNEL_LATENT));
    case POINT_MLA_PREFILL:
        return 2.0 * point->heads *
               ((KERNEL_KEY + KERNEL_VALUE) * all +
                (KERNEL_KEY + KERNEL_VALUE) * (double)point->tokens);
    case POINT_GEMM:
        return 2.0 * ((double)point->m * point->k + (double)point->n * point->k +
                      (double)point->m * point->n);
    case POINT_LAUNCH_STREAM:
    case POINT_LAUNCH_GRAPH:
    case POINT_KINDS:
        break;
    }
    return 0;
}

double probe_point_flops(const struct point *point)
{
    double heads = point->heads, tokens = point->tokens, context = point->context;
    double rows = (double)point->sequences * tokens, d = KERNEL_HEAD;
    switch (point->kind) {
    case POINT_KDA_PREFILL:
    case POINT_SNAPSHOT_EMIT:
    case POINT_GDN_PREFILL: /* three products with the state; section 3.1, chunk terms left out */
        return rows * heads * 6.0 * d * d;
    case POINT_KDA_DECODE:
    case POINT_GDN_DECODE:
        return rows * heads * 7.0 * d * d;
    case POINT_CONV_PREFILL:
    case POINT_CONV_UPDATE:
        return rows * 8.0 * probe_point_channels(point);
    case POINT_MLA_DECODE:
        return (double)point->sequences * 2.0 * heads * (KERNEL_CACHED + KERNEL_LATENT) * context;
    case POINT_MLA_PREFILL:
        return 2.0 * heads * (KERNEL_KEY + KERNEL_VALUE) *
               (tokens * context + tokens * (tokens + 1) / 2);
    case POINT_GEMM:
        return 2.0 * (double)point->m * (double)point->n * (double)point->k;
    case POINT_LAUNCH_STREAM:
    case POINT_LAUNCH_GRAPH:
    case POINT_HBM_COPY:
    case POINT_HBM_READ:
    case POINT_SNAPSHOT_COPY:
    case POINT_KV_GATHER:
    case POINT_HOST_COPY:
    case POINT_KINDS:
        break;
    }
    return 0;
}

uint64_t probe_point_piece_count(const struct point *point)
{
    if (point->layer_parts > 0)
        return (uint64_t)point->layers * point->layer_parts;
    return point->piece_bytes > 0 ? point->bytes / point->piece_bytes : 1;
}

uint64_t probe_point_piece(const struct point *point, uint64_t index, uint64_t *offset)
{
    uint64_t state = probe_point_state_bytes(point), window = probe_point_window_bytes(point);
    if (point->layer_parts == 2) {
        *offset = index / 2 * (state + window) + (index % 2 == 1 ? state : 0);
        return index % 2 == 1 ? window : state;
    }
    uint64_t piece = point->layer_parts == 1  ? state + window
                     : point->piece_bytes > 0 ? point->piece_bytes
                                              : point->bytes;
    *offset = index * piece;
    return piece;
}

double probe_point_estimate_us(const struct point *point)
{
    /* 2 TB/s and 150 TFLOPS: half and a quarter of what an H200 gives. */
    double us = 10 + probe_point_dram_bytes(point) / 2e6 + probe_point_flops(point) / 150e6;
    if (point->kind == POINT_KDA_PREFILL || point->kind == POINT_SNAPSHOT_EMIT ||
        point->kind == POINT_GDN_PREFILL) {
        double waves = (double)((probe_point_chains(point) + 131) / 132);
        us += point->tokens * (0.1 * waves + 0.0015 * (double)probe_point_chains(point));
    }
    if (point->kind == POINT_HOST_COPY) {
        us += (double)point->bytes / 20e3 + 4 * (double)probe_point_piece_count(point);
    }
    return us;
}

void probe_point_print(const struct point *point, struct text *out)
{
    text_printf(out, "%s %s", probe_point_facts(point->kind)->name, point->model);
    if (point->tp > 0)
        text_printf(out, " tp=%" PRIu32, point->tp);
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {{"heads", point->heads},
                  {"sequences", point->sequences},
                  {"tokens", point->tokens},
                  {"context", point->context},
                  {"interval", point->interval},
                  {"page_tokens", point->page_tokens},
                  {"layers", point->layers},
                  {"bytes", point->bytes},
                  {"piece_bytes", point->piece_bytes},
                  {"layer_parts", point->layer_parts},
                  {"m", point->m},
                  {"n", point->n},
                  {"k", point->k}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].value > 0)
            text_printf(out, " %s=%" PRIu64, fields[i].name, fields[i].value);
    if (point->variant)
        text_printf(out, " warps=%" PRIu32, point->warps);
    if (point->snapshot_bf16)
        text_printf(out, " bf16");
    if (point->kind == POINT_HOST_COPY)
        text_printf(out, " %s%s", point->to_host ? "to_host" : "to_device",
                    point->batched ? " batched" : "");
}
