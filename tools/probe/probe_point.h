/* probe_point.h - one thing to be timed: a kernel at a shape.
 *
 * What a point costs at least (the bytes that must cross the memory's pins and the arithmetic that
 * must be done), its law and its name are those of the calibration: sim/cost/calib_law.h. */
#ifndef SNAPSIM_PROBE_POINT_H
#define SNAPSIM_PROBE_POINT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "sim/core/text.h"
#include "sim/cost/calib_law.h"
#include "tools/probe/kernels.h"

enum point_kind {
    POINT_LAUNCH_STREAM,
    POINT_LAUNCH_GRAPH,
    POINT_HBM_COPY,
    POINT_HBM_READ,
    POINT_KDA_PREFILL,
    POINT_SNAPSHOT_EMIT, /* a KDA prefill that also writes snapshots */
    POINT_GDN_PREFILL,
    POINT_KDA_DECODE,
    POINT_GDN_DECODE,
    POINT_CONV_PREFILL,
    POINT_CONV_UPDATE,
    POINT_MLA_DECODE,
    POINT_MLA_PREFILL,
    POINT_SNAPSHOT_COPY,
    POINT_KV_GATHER,
    POINT_HOST_COPY,
    POINT_GEMM,
    POINT_KINDS
};

struct point_kind_facts {
    enum calib_kernel timed; /* as the calibration has it */
    const char *kernel;      /* whose checks must pass, or NULL if the kernel is not ours */
    const char *summary;
    bool on_device; /* a kernel of kernels.h, which probe_work can run */
};

struct point {
    enum point_kind kind;
    const char *model;
    uint32_t tp;               /* tensor parallelism that the shape comes from */
    uint32_t heads, key_heads; /* on this GPU */
    uint32_t sequences;        /* in the launch; batch of a decode */
    uint32_t tokens;           /* new tokens of each sequence */
    uint32_t context;          /* MLA: tokens cached before them */
    uint32_t interval;         /* tokens between snapshots */
    uint32_t warps;            /* of a block of the KDA scan */
    uint32_t page_tokens, layers;
    uint64_t bytes;       /* payload of a copy, one way */
    uint64_t piece_bytes; /* of a host copy; 0 for one piece, or for pieces by layer */
    uint32_t layer_parts; /* host copy of a snapshot: 1, state and window together, or 2 */
    uint32_t m, n, k;     /* GEMM: tokens, outputs, inputs */
    enum kernel_gate gate;
    bool snapshot_bf16;
    bool to_host, batched; /* host copies: direction; one call for all pieces */
    bool quick;            /* part of --quick */
    bool variant;          /* a setting that is not the default one: no part of a law */
};

const struct point_kind_facts *probe_point_facts(enum point_kind kind);
const char *probe_point_name(enum point_kind kind); /* in the file and on the command line */
struct calib_shape probe_point_shape(const struct point *point);

bool probe_point_is_scalar(const struct point *point);    /* Gated DeltaNet */
uint32_t probe_point_channels(const struct point *point); /* of the short convolution: q, k and v */
uint64_t probe_point_state_bytes(const struct point *point);  /* one layer's recurrent state */
uint64_t probe_point_window_bytes(const struct point *point); /* one layer's convolution window */
uint64_t probe_point_chains(const struct point *point);       /* heads * sequences */

/* Least bytes read and written in the device's memory, and floating-point operations. */
double probe_point_dram_bytes(const struct point *point);
double probe_point_flops(const struct point *point);

/* The pieces of a host copy, in order; offset is where the piece stands in the payload. */
uint64_t probe_point_piece_count(const struct point *point);
uint64_t probe_point_piece(const struct point *point, uint64_t index, uint64_t *offset);

/* What it may take at most on a slow day, for the plan of a whole run; microseconds. */
double probe_point_estimate_us(const struct point *point);

/* "kda_prefill kimi-k3 tp=8 heads=12 sequences=1 tokens=8192": unique within the grid. */
void probe_point_print(const struct point *point, struct text *out);

#ifdef __cplusplus
}
#endif

#endif
