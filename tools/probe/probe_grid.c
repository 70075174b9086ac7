#include "tools/probe/probe_grid.h"

#include <stdlib.h>

#include "sim/core/mem.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What a model asks of one GPU. */
struct shape {
    const char *model;
    uint32_t tp, heads, key_heads, layers;
    enum kernel_gate gate;
};

static const struct shape k3_tp1 = {"kimi-k3", 1, 96, 96, 69, KERNEL_GATE_BOUNDED};
static const struct shape k3_tp8 = {"kimi-k3", 8, 12, 12, 69, KERNEL_GATE_BOUNDED};
static const struct shape k3_tp16 = {"kimi-k3", 16, 6, 6, 69, KERNEL_GATE_BOUNDED};
static const struct shape linear = {"kimi-linear-48b", 1, 32, 32, 20, KERNEL_GATE_SOFTPLUS};
static const struct shape qwen27 = {"qwen3.5-27b", 1, 48, 16, 48, KERNEL_GATE_SOFTPLUS};
static const struct shape qwen397 = {"qwen3.5-397b", 1, 64, 16, 45, KERNEL_GATE_SOFTPLUS};

static struct point *add(struct grid *grid, enum point_kind kind, const struct shape *shape,
                         bool quick)
{
    grid->points = mem_grow(grid->points, &grid->capacity, grid->count + 1, sizeof(struct point));
    struct point *point = &grid->points[grid->count++];
    *point = (struct point){.kind = kind, .model = "-", .sequences = shape != NULL, .quick = quick};
    if (shape != NULL) {
        point->model = shape->model;
        point->tp = shape->tp;
        point->heads = shape->heads;
        point->key_heads = shape->key_heads;
        point->gate = shape->gate;
    }
    return point;
}

/* Warps per block of the serial half: few chains are spread over more blocks, many keep a whole
 * head together, which spares the L2 cache the repeated reads. */
static uint32_t default_warps(uint64_t chains)
{
    return chains <= 16 ? 2 : chains <= 48 ? 4 : 8;
}

static struct point *add_prefill(struct grid *grid, enum point_kind kind, const struct shape *shape,
                                 uint32_t sequences, uint32_t tokens, bool quick)
{
    struct point *point = add(grid, kind, shape, quick);
    point->sequences = sequences;
    point->tokens = tokens;
    point->warps = default_warps(probe_point_chains(point));
    return point;
}

static void add_recurrent_prefill(struct grid *grid)
{
    static const uint32_t lengths[] = {64, 256, 1024, 2048, 4096, 8192, 16384, 32768};
    static const struct shape *const shapes[] = {&k3_tp1, &k3_tp8, &k3_tp16, &linear};
    static const uint32_t split[] = {2, 4, 8, 16, 64};
    static const uint32_t warps[] = {1, 2, 4, 8};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(lengths); i++) {
            bool quick = s < 2 && (lengths[i] == 256 || lengths[i] == 2048 || lengths[i] == 8192);
            add_prefill(grid, POINT_KDA_PREFILL, shapes[s], 1, lengths[i], quick);
        }
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < COUNT(split); i++)
            add_prefill(grid, POINT_KDA_PREFILL, shapes[s], split[i], 8192 / split[i],
                        split[i] == 8);
        for (size_t i = 0; i < COUNT(warps); i++) {
            struct point *point = add_prefill(grid, POINT_KDA_PREFILL, shapes[s], 1, 8192, false);
            point->warps = warps[i];
            point->variant = true;
        }
    }
    add_prefill(grid, POINT_KDA_PREFILL, &k3_tp1, 64, 64, false);
    for (size_t i = 1; i < COUNT(lengths); i++) {
        add_prefill(grid, POINT_GDN_PREFILL, &qwen27, 1, lengths[i], lengths[i] == 2048);
        add_prefill(grid, POINT_GDN_PREFILL, &qwen397, 1, lengths[i], lengths[i] == 8192);
    }
    for (size_t i = 0; i < 3; i++)
        add_prefill(grid, POINT_GDN_PREFILL, &qwen27, split[i], 8192 / split[i], false);
}

static void add_emit(struct grid *grid)
{
    static const uint32_t intervals[] = {64, 256, 512, 1536};
    static const struct shape *const shapes[] = {&k3_tp1, &k3_tp8, &linear};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(intervals); i++)
            for (int half = 0; half < 2; half++) {
                struct point *point = add_prefill(grid, POINT_SNAPSHOT_EMIT, shapes[s], 1, 8192,
                                                  s < 2 && i == 0 && half == 0);
                point->interval = intervals[i];
                point->snapshot_bf16 = half == 1;
            }
}

static void add_decode(struct grid *grid)
{
    static const uint32_t batches[] = {1, 8, 32, 64, 128, 256, 512};
    static const struct shape *const shapes[] = {&k3_tp1, &k3_tp8, &k3_tp16, &linear};
    for (size_t i = 0; i < COUNT(batches); i++) {
        for (size_t s = 0; s < COUNT(shapes); s++) {
            struct point *point = add(grid, POINT_KDA_DECODE, shapes[s],
                                      s < 2 && (i == 0 || batches[i] == 64 || batches[i] == 256));
            point->sequences = batches[i];
            point->tokens = 1;
        }
        struct point *point = add(grid, POINT_GDN_DECODE, &qwen27, batches[i] == 64);
        point->sequences = batches[i];
        point->tokens = 1;
    }
}

static void add_conv(struct grid *grid)
{
    static const uint32_t lengths[] = {64, 1024, 4096, 8192, 32768};
    static const uint32_t batches[] = {1, 8, 64, 256};
    static const struct shape *const shapes[] = {&k3_tp1, &k3_tp8, &linear, &qwen27};
    for (size_t s = 0; s < COUNT(shapes); s++) {
        for (size_t i = 0; i < COUNT(lengths); i++)
            add(grid, POINT_CONV_PREFILL, shapes[s], s < 2 && lengths[i] == 8192)->tokens =
                lengths[i];
        for (size_t i = 0; i < COUNT(batches); i++) {
            struct point *point =
                add(grid, POINT_CONV_UPDATE, shapes[s], s < 2 && batches[i] == 64);
            point->sequences = batches[i];
            point->tokens = 1;
        }
    }
}

static void add_mla(struct grid *grid)
{
    static const uint32_t batches[] = {1, 8, 32, 128}, contexts[] = {1024, 4096, 32768, 131072};
    static const uint32_t lengths[] = {1024, 2048, 4096, 8192, 16384};
    static const struct shape *const shapes[] = {&k3_tp8, &k3_tp1, &k3_tp16, &linear};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t b = 0; b < COUNT(batches); b++)
            for (size_t c = 0; c < COUNT(contexts); c++) {
                if ((uint64_t)batches[b] * contexts[c] > 8u << 20)
                    continue; /* 9.7 GB of cache say all that more would say */
                struct point *point =
                    add(grid, POINT_MLA_DECODE, shapes[s],
                        s < 2 && contexts[c] != 1024 && batches[b] != 8 && batches[b] != 128);
                point->sequences = batches[b];
                point->context = contexts[c];
                point->page_tokens = 64;
            }
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(lengths); i++) {
            if (s == 1 && lengths[i] > 8192)
                continue;
            add(grid, POINT_MLA_PREFILL, shapes[s], s == 0 && i % 2 == 1)->tokens = lengths[i];
        }
    static const struct {
        uint32_t tokens, context;
    } prefixes[] = {{64, 32768}, {256, 32768}, {1024, 32768}, {8192, 32768}, {8192, 131072}};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        struct point *point = add(grid, POINT_MLA_PREFILL, &k3_tp8, prefixes[i].tokens == 1024);
        point->tokens = prefixes[i].tokens;
        point->context = prefixes[i].context;
    }
}

static void add_copies(struct grid *grid)
{
    static const struct shape *const shapes[] = {&k3_tp8, &k3_tp1, &k3_tp16, &linear, &qwen27};
    static const uint32_t pages[] = {16, 64, 128, 384, 768, 1536, 6144};
    static const uint64_t sizes[] = {1u << 20, 16u << 20, 256u << 20, 1u << 30};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        add(grid, POINT_HBM_COPY, NULL, i == 3)->bytes = sizes[i];
        add(grid, POINT_HBM_READ, NULL, i == 3)->bytes = sizes[i];
    }
    for (size_t s = 0; s < COUNT(shapes); s++) {
        struct point *point = add(grid, POINT_SNAPSHOT_COPY, shapes[s], s == 0);
        point->layers = shapes[s]->layers;
        point->bytes =
            shapes[s]->layers * (probe_point_state_bytes(point) + probe_point_window_bytes(point));
    }
    for (size_t i = 0; i < COUNT(pages); i++) {
        uint64_t page = (uint64_t)pages[i] * KERNEL_CACHED * 2;
        struct point *point = add(grid, POINT_KV_GATHER, NULL, pages[i] == 16 || pages[i] == 768);
        point->page_tokens = pages[i];
        point->bytes = (256u << 20) / page * page;
    }
}

static void add_host_copies(struct grid *grid)
{
    /* Batches of pieces below 28 KiB are slow on an H100 (facts 4.9), and the more so the more
     * there are: sizes on both sides, a window of K3 at TP8 (27,648) among them, and many pieces.
     */
    static const struct {
        uint64_t bytes;
        bool quick;
    } pieces[] = {{4096, false},  {8192, true},  {16384, true},   {18432, false},
                  {24576, false}, {27648, true}, {28672, true},   {36864, false},
                  {65536, false}, {73728, true}, {262144, false}, {1u << 20, true}};
    for (int to_host = 0; to_host < 2; to_host++) {
        for (size_t i = 0; i < COUNT(pieces); i++)
            for (int batched = 0; batched < 2; batched++) {
                struct point *point =
                    add(grid, POINT_HOST_COPY, NULL, batched == 1 && pieces[i].quick);
                uint64_t whole = batched == 1 ? 64u << 20 : 16u << 20;
                point->bytes = whole / pieces[i].bytes * pieces[i].bytes;
                point->piece_bytes = pieces[i].bytes;
                point->to_host = to_host == 1;
                point->batched = batched == 1;
            }
        /* The snapshot of K3 at TP8: as one piece, 69 packed layers, 69 states and 69 windows. */
        for (uint32_t parts = 0; parts <= 2; parts++)
            for (int batched = 0; batched < (parts == 0 ? 1 : 2); batched++) {
                struct point *point = add(grid, POINT_HOST_COPY, &k3_tp8, batched == 0);
                point->layers = k3_tp8.layers;
                point->bytes = point->layers *
                               (probe_point_state_bytes(point) + probe_point_window_bytes(point));
                point->layer_parts = parts;
                point->batched = batched == 1;
                point->to_host = to_host == 1;
            }
    }
}

static void add_gemm(struct grid *grid)
{
    static const uint32_t rows[] = {1, 32, 128, 256, 1024, 4096, 8192};
    static const struct {
        uint32_t n, k;
    } weights[] = {{12288, 7168}, {7168, 12288}, {6144, 7168}, {7168, 1536},
                   {1536, 7168},  {3584, 7168},  {7168, 3584}, {2304, 4096}};
    for (size_t w = 0; w < COUNT(weights); w++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            struct point *point =
                add(grid, POINT_GEMM, NULL, w == 2 && (rows[i] == 32 || rows[i] == 8192));
            point->model = w < 7 ? "kimi-k3" : "kimi-linear-48b";
            point->m = rows[i];
            point->n = weights[w].n;
            point->k = weights[w].k;
        }
}

void probe_grid_open(struct grid *grid, bool quick)
{
    *grid = (struct grid){0};
    add(grid, POINT_LAUNCH_STREAM, NULL, true);
    add(grid, POINT_LAUNCH_GRAPH, NULL, true);
    add_copies(grid);
    add_decode(grid);
    add_recurrent_prefill(grid);
    add_emit(grid);
    add_conv(grid);
    add_mla(grid);
    add_host_copies(grid);
    add_gemm(grid);
    if (!quick)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < grid->count; i++)
        if (grid->points[i].quick)
            grid->points[kept++] = grid->points[i];
    grid->count = kept;
}

void probe_grid_close(struct grid *grid)
{
    free(grid->points);
    *grid = (struct grid){0};
}

uint32_t probe_grid_rotation(const struct point *point, uint64_t l2_bytes)
{
    double sets = GRID_L2_SIZES * (double)l2_bytes / (probe_point_dram_bytes(point) + 1) + 2;
    return sets < GRID_MOST_SETS ? (uint32_t)sets : GRID_MOST_SETS;
}

uint32_t probe_grid_launches(const struct point *point, uint64_t l2_bytes)
{
    if (!probe_point_facts(point->kind)->on_device)
        return point->kind == POINT_GEMM        ? probe_grid_rotation(point, l2_bytes)
               : point->kind == POINT_HOST_COPY ? 1
                                                : 100;
    uint32_t sets = probe_grid_rotation(point, l2_bytes);
    double enough = GRID_SAMPLE_US / probe_point_estimate_us(point);
    return enough > sets ? (uint32_t)enough : sets;
}

double probe_grid_estimate_s(const struct grid *grid)
{
    /* Per point: allocating, filling and capturing; then each repetition. */
    double seconds = 0;
    for (size_t i = 0; i < grid->count; i++) {
        const struct point *point = &grid->points[i];
        double runs = GRID_WARM_UP + GRID_SAMPLES * probe_grid_launches(point, GRID_L2_BYTES);
        seconds += 0.1 + runs * probe_point_estimate_us(point) * 1e-6;
    }
    return seconds;
}
