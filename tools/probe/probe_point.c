#include "tools/probe/probe_point.h"

#include <assert.h>

#include "sim/cost/calib.h"

static const struct point_kind_facts kinds[POINT_KINDS] = {
    [POINT_LAUNCH_STREAM] = {CALIB_LAUNCH_STREAM, NULL, "an empty kernel, one launch after another",
                             false},
    [POINT_LAUNCH_GRAPH] = {CALIB_LAUNCH_GRAPH, NULL, "an empty kernel as one of many in a graph",
                            false},
    [POINT_HBM_COPY] = {CALIB_HBM_COPY, "plain_copy", "copy by all SMs, device to device", true},
    [POINT_HBM_READ] = {CALIB_HBM_READ, "plain_copy", "sum over all bytes", true},
    [POINT_KDA_PREFILL] = {CALIB_KDA_PREFILL, "kda_prefill", "KDA prefill of one layer", true},
    [POINT_SNAPSHOT_EMIT] = {CALIB_SNAPSHOT_EMIT, "kda_prefill",
                             "KDA prefill that writes a snapshot every n tokens", true},
    [POINT_GDN_PREFILL] = {CALIB_GDN_PREFILL, "gdn_prefill", "Gated DeltaNet prefill of one layer",
                           true},
    [POINT_KDA_DECODE] = {CALIB_KDA_DECODE, "kda_decode", "KDA decode of one layer", true},
    [POINT_GDN_DECODE] = {CALIB_GDN_DECODE, "gdn_decode", "Gated DeltaNet decode of one layer",
                          true},
    [POINT_CONV_PREFILL] = {CALIB_CONV_PREFILL, "conv_prefill", "short convolution of q, k and v",
                            true},
    [POINT_CONV_UPDATE] = {CALIB_CONV_UPDATE, "conv_update", "short convolution of one token",
                           true},
    [POINT_MLA_DECODE] = {CALIB_MLA_DECODE, "mla_decode", "MLA decode of one layer, absorbed",
                          true},
    [POINT_MLA_PREFILL] = {CALIB_MLA_PREFILL, "mla_prefill",
                           "MLA prefill of one layer, expanded, causal", true},
    [POINT_SNAPSHOT_COPY] = {CALIB_SNAPSHOT_COPY, "snapshot_copy",
                             "snapshot of all layers, device to device, one launch", true},
    [POINT_KV_GATHER] = {CALIB_KV_GATHER, "page_gather", "KV pages by number, device to device",
                         true},
    [POINT_HOST_COPY] = {CALIB_HOST_COPY, NULL, "between pinned host memory and the device", false},
    [POINT_GEMM] = {CALIB_GEMM, NULL, "bf16 matrix product by cuBLAS", false},
};

const struct point_kind_facts *probe_point_facts(enum point_kind kind)
{
    assert(kind < POINT_KINDS);
    return &kinds[kind];
}

const char *probe_point_name(enum point_kind kind)
{
    return calib_kernel_name(probe_point_facts(kind)->timed);
}

struct calib_shape probe_point_shape(const struct point *point)
{
    struct calib_shape shape = calib_shape_of(probe_point_facts(point->kind)->timed);
    shape.model = point->model;
    shape.tp = point->tp;
    shape.heads = point->heads;
    shape.key_heads = point->key_heads;
    shape.sequences = point->sequences;
    shape.tokens = point->tokens;
    shape.context = point->context;
    shape.interval = point->interval;
    shape.warps = point->warps;
    shape.page_tokens = point->page_tokens;
    shape.layers = point->layers;
    shape.payload_bytes = point->bytes;
    shape.piece_bytes = point->piece_bytes;
    shape.layer_parts = point->layer_parts;
    shape.m = point->m;
    shape.n = point->n;
    shape.k = point->k;
    shape.snapshot_bf16 = point->snapshot_bf16;
    shape.to_host = point->to_host;
    shape.batched = point->batched;
    shape.variant = point->variant;
    return shape;
}

bool probe_point_is_scalar(const struct point *point)
{
    return point->kind == POINT_GDN_PREFILL || point->kind == POINT_GDN_DECODE;
}

uint32_t probe_point_channels(const struct point *point)
{
    struct calib_shape shape = probe_point_shape(point);
    return (uint32_t)calib_shape_channels(&shape);
}

uint64_t probe_point_state_bytes(const struct point *point)
{
    struct calib_shape shape = probe_point_shape(point);
    return calib_shape_state_bytes(&shape);
}

uint64_t probe_point_window_bytes(const struct point *point)
{
    struct calib_shape shape = probe_point_shape(point);
    return calib_shape_window_bytes(&shape);
}

uint64_t probe_point_chains(const struct point *point)
{
    struct calib_shape shape = probe_point_shape(point);
    return calib_shape_chains(&shape);
}

double probe_point_dram_bytes(const struct point *point)
{
    struct calib_shape shape = probe_point_shape(point);
    return calib_shape_bytes(probe_point_facts(point->kind)->timed, &shape);
}

double probe_point_flops(const struct point *point)
{
    struct calib_shape shape = probe_point_shape(point);
    return calib_shape_flops(probe_point_facts(point->kind)->timed, &shape);
}

uint64_t probe_point_piece_count(const struct point *point)
{
    struct calib_shape shape = probe_point_shape(point);
    return calib_shape_pieces(&shape);
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
    const struct calib_point as_point = {.kernel = probe_point_facts(point->kind)->timed,
                                         .shape = probe_point_shape(point)};
    calib_point_print(&as_point, out);
}
