/* The calibrations that are built in: data sheets, and the laws of facts (models-and-kernels.md) 4
 * and 8. Nothing here was measured by this project. */
#include <string.h>

#include "sim/core/mem.h"
#include "sim/cost/calib.h"
#include "sim/cost/calib_tables.h"

#define P CALIB_PUBLISHED
#define A CALIB_ASSUMED

/* Sources that several values share. */
#define FITTED "facts 4.2: least squares on aiconfigurator tables"
#define ACHIEVED "facts 8: what real kernels reach of HBM"
#define MEMORY_OP "facts 4, aiconfigurator: 3 us per memory operation"
#define AS_GDN "as gdn: no Mamba timing on Hopper was found"
#define AS_H100 "as h100, which has the same chip and memory"
#define AS_MLA "as mla_decode, the same kernel family"
#define LOOPED "facts 8: 45 GB/s in pieces of 786,432 B, 52 GB/s whole"
#define BATCHED "facts 4.9: 44.1 and 51.8 GB/s in pieces of 28 and 64 KiB"
#define NO_BATCHED_READ "as to the device: no figure for this direction"
#define UTILISATION "108 of 148 TFLOPS, as MLA decode reaches on H20"

struct law_values {
    enum calib_law_id law;
    enum calib_provenance provenance;
    double value[CALIB_TERMS];
    const char *source;
};

/* clang-format off */
static const struct law_values h100_laws[] = {
    {LAW_LAUNCH_STREAM, A, {2}, "middle of the 1-3 us that facts 8 expects"},
    {LAW_LAUNCH_GRAPH, A, {2}, "middle of the 1-3 us that facts 8 expects"},
    {LAW_HBM_COPY, P, {3, 2.88}, ACHIEVED "; " MEMORY_OP},
    {LAW_HBM_READ, P, {3, 3.05}, ACHIEVED "; " MEMORY_OP},
    {LAW_KDA_PREFILL, P, {19.9, 0.0783, 0.0616, 0.000594}, FITTED ", 204 points of FlashKDA"},
    {LAW_KDA_PREFILL_FLA, P, {31.3, 0.082, 0.0174, 0.00446}, FITTED ", 172 points of FLA"},
    {LAW_GDN_PREFILL, P, {7.5, 0.058, 0.0463, 0.00003}, FITTED ", 782 points of FlashInfer"},
    {LAW_MAMBA_PREFILL, A, {7.5, 0.058, 0.0463, 0.00003}, AS_GDN},
    {LAW_SNAPSHOT_EMIT, P, {2.88}, "facts 5.5, 8: an extra write of the state; " ACHIEVED},
    {LAW_KDA_DECODE, P, {3.4, 2.88}, "facts 8, 4.3: packed Triton kernel"},
    {LAW_KDA_DECODE_FUSED, P, {7.6, 2.64}, "facts 8, 4.3: vLLM's fused kernel"},
    {LAW_GDN_DECODE, P, {3.4, 2.88}, "facts 4.3: the law of packed KDA decode"},
    {LAW_MAMBA_DECODE, A, {3.4, 2.88}, AS_GDN},
    {LAW_CONV_PREFILL, P, {9.2, 0.00066}, FITTED ", SGLang causal_conv1d"},
    {LAW_CONV_DECODE, P, {3.3, 0.00246}, "facts 4.3: fitted to 2 rows and the floor"},
    {LAW_MLA_DECODE, P, {21, 0.025, 0.000378}, FITTED ", 142 points of FA3; facts 8"},
    {LAW_MLA_DECODE_WIDE, P, {24, 0.12, 0.00035625}, FITTED "; 0.475 ns at 128 heads"},
    {LAW_MLA_PREFILL, P, {40, 0.35, 580}, "facts 8: TRT-LLM, to 10% from 2K tokens on"},
    {LAW_GQA_DECODE, A, {21, 0.025, 3.05}, AS_MLA},
    {LAW_GQA_PREFILL, P, {40, 0.35, 584}, "facts 4.4: fitted to 2 rows; fixed part of mla_prefill"},
    {LAW_SNAPSHOT_COPY, P, {3, 2.88}, "facts 4.9; " ACHIEVED "; " MEMORY_OP},
    {LAW_KV_GATHER, A, {3, 2.6}, "h200's by the ratio of what copies reach"},
    {LAW_HOST_TO_DEVICE, P, {2.35, 52}, LOOPED},
    {LAW_DEVICE_TO_HOST, P, {2.35, 52}, LOOPED},
    {LAW_HOST_TO_DEVICE_BATCHED, P, {0.05, 52, 6, 28672}, BATCHED "; facts 8"},
    {LAW_DEVICE_TO_HOST_BATCHED, A, {0.05, 52, 6, 28672}, NO_BATCHED_READ},
    {LAW_GEMM_BF16_LARGE, P, {0, 800}, "facts 8, 4.6"},
    {LAW_GEMM_BF16_SMALL, P, {3, 2.8475}, "facts 8: 0.85 of the peak; " MEMORY_OP},
    {LAW_GEMM_FP8_LARGE, P, {0, 1350}, "facts 8, 4.6"},
};

static const struct law_values h200_laws[] = {
    {LAW_LAUNCH_STREAM, A, {2}, "middle of the 1-3 us that facts 8 expects"},
    {LAW_LAUNCH_GRAPH, A, {2}, "middle of the 1-3 us that facts 8 expects"},
    {LAW_HBM_COPY, P, {3, 4.0}, ACHIEVED "; " MEMORY_OP},
    {LAW_HBM_READ, P, {3, 4.35}, ACHIEVED "; " MEMORY_OP},
    {LAW_KDA_PREFILL, P, {20.4, 0.0826, 0.0642, 0.000408}, FITTED ", 204 points of FlashKDA"},
    {LAW_KDA_PREFILL_FLA, P, {38.1, 0.067, 0.0200, 0.00386}, FITTED ", 172 points of FLA"},
    {LAW_GDN_PREFILL, P, {7.0, 0.048, 0.0482, 0.00002}, FITTED ", 784 points of FlashInfer"},
    {LAW_MAMBA_PREFILL, A, {7.0, 0.048, 0.0482, 0.00002}, AS_GDN},
    {LAW_SNAPSHOT_EMIT, P, {4.0}, "facts 5.5, 8: an extra write of the state; " ACHIEVED},
    {LAW_KDA_DECODE, P, {4.3, 4.0}, "facts 8, 4.3: packed Triton kernel"},
    {LAW_KDA_DECODE_FUSED, P, {7.3, 3.61}, "facts 8, 4.3: vLLM's fused kernel"},
    {LAW_GDN_DECODE, P, {4.3, 4.0}, "facts 4.3: the law of packed KDA decode"},
    {LAW_MAMBA_DECODE, A, {4.3, 4.0}, AS_GDN},
    {LAW_CONV_PREFILL, P, {10.0, 0.000587}, FITTED ", SGLang causal_conv1d"},
    {LAW_CONV_DECODE, P, {4.4, 0.00219}, "facts 4.3: fitted to 2 rows and the floor"},
    {LAW_MLA_DECODE, P, {20, 0.03, 0.000265}, FITTED ", 71 points of FA3; facts 8"},
    {LAW_MLA_DECODE_WIDE, P, {21, 0.10, 0.000348}, FITTED "; 0.464 ns at 128 heads"},
    {LAW_MLA_PREFILL, P, {40, 0.35, 585}, "facts 8: TRT-LLM, to 10% from 2K tokens on"},
    {LAW_GQA_DECODE, A, {20, 0.03, 4.35}, AS_MLA},
    {LAW_GQA_PREFILL, P, {40, 0.35, 608}, "facts 4.4: fitted to 2 rows; fixed part of mla_prefill"},
    {LAW_SNAPSHOT_COPY, P, {3, 4.0}, "facts 4.9; " ACHIEVED "; " MEMORY_OP},
    {LAW_KV_GATHER, P, {3, 3.6}, "facts 8: 3.5 TB/s, with the fixed part in it; " MEMORY_OP},
    {LAW_HOST_TO_DEVICE, P, {2.35, 52}, LOOPED},
    {LAW_DEVICE_TO_HOST, P, {2.35, 52}, LOOPED},
    {LAW_HOST_TO_DEVICE_BATCHED, P, {0.05, 52, 6, 28672}, BATCHED ", on H100; facts 8"},
    {LAW_DEVICE_TO_HOST_BATCHED, A, {0.05, 52, 6, 28672}, NO_BATCHED_READ},
    {LAW_GEMM_BF16_LARGE, P, {0, 750}, "facts 8, 4.6"},
    {LAW_GEMM_BF16_SMALL, P, {3, 3.84}, "facts 8: 0.80 of the peak; " MEMORY_OP},
    {LAW_GEMM_FP8_LARGE, P, {0, 1350}, "facts 8, 4.6"},
};

/* What is not here is as on the H100. */
static const struct law_values h800_laws[] = {
    {LAW_MLA_DECODE, P, {21, 0.025, 0.000384}, "facts 4.4: 3,000 GB/s; the rest as h100"},
    {LAW_MLA_DECODE_WIDE, P, {19.9, 0, 0.000383}, "facts 4.4: fitted to 7 rows of InferSim"},
    {LAW_MLA_PREFILL, P, {46.3, 0, 614}, "facts 4.4: fitted to 5 rows of InferSim"},
};

static const struct law_values h20_laws[] = {
    {LAW_HBM_COPY, P, {3, 3.3}, "facts 4.9: copy by SMs; " MEMORY_OP},
    {LAW_HBM_READ, A, {3, 3.6}, "0.9 of the peak, as h200 reaches"},
    {LAW_KDA_PREFILL, P, {20, 0.08, 0.1075, 0.00114},
     "facts 4.5: fitted to 4 rows of FlashKDA; t0 and per_chain as h200"},
    {LAW_KDA_PREFILL_FLA, P, {58.3, 0, 0.00223, 0.00596}, "facts 4.5: fitted to 4 rows of FLA"},
    {LAW_GDN_PREFILL, P, {7, 0.05, 0, 0.0040},
     "facts 4.5: fitted to 2 rows (FLA, InferSim); t0 and per_chain as h200"},
    {LAW_SNAPSHOT_EMIT, A, {3.3}, "the rate of hbm_copy"},
    {LAW_KDA_DECODE, A, {7, 2.26}, "as gdn_decode"},
    {LAW_GDN_DECODE, P, {7, 2.26}, "facts 4.5: slope of 256 to 1,024 sequences, InferSim"},
    {LAW_CONV_PREFILL, P, {10, 0.00063}, "facts 4.5: 1 row of InferSim; t0 as h200"},
    {LAW_CONV_DECODE, A, {4.4, 0.00219}, "as h200"},
    {LAW_MLA_DECODE, A, {20, 0.03, 0.00032}, "0.9 of the peak bandwidth; the rest as h200"},
    {LAW_MLA_DECODE_WIDE, P, {21, 0.10, 0.00191}, "facts 4.4: 1 row of FlashMLA; the rest as h200"},
    {LAW_MLA_PREFILL, A, {40, 0.35, 108}, UTILISATION},
    {LAW_GQA_DECODE, A, {20, 0.03, 3.6}, AS_MLA},
    {LAW_GQA_PREFILL, A, {40, 0.35, 108}, UTILISATION},
    {LAW_SNAPSHOT_COPY, P, {3, 3.3}, "facts 4.9: copy by SMs; " MEMORY_OP},
    {LAW_KV_GATHER, A, {3, 2.9}, "h200's by the ratio of what copies reach"},
    {LAW_HOST_TO_DEVICE, A, {2.35, 52}, "as h200"},
    {LAW_DEVICE_TO_HOST, A, {2.35, 52}, "as h200"},
    {LAW_HOST_TO_DEVICE_BATCHED, A, {0.05, 52, 6, 28672}, "as h200"},
    {LAW_DEVICE_TO_HOST_BATCHED, A, {0.05, 52, 6, 28672}, "as h200"},
    {LAW_GEMM_BF16_LARGE, A, {0, 126}, "0.85 of the peak"},
    {LAW_GEMM_BF16_SMALL, A, {3, 3.2}, "0.80 of the peak, as h200"},
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SHEET "data sheet; facts 4"
#define VALUE(value_, provenance_, source_)                                                        \
    {                                                                                              \
        true, value_, provenance_, source_                                                         \
    }

struct builtin {
    const char *name;
    struct calib_device device;
    const struct law_values *base, *laws; /* laws replace those of base, which are then assumed */
    size_t base_count, law_count;
    enum calib_table_id table;
    size_t column; /* of the table's times */
};

/* PCIe 5 with 16 lanes for all; 400 Gb/s per GPU. */
#define LINKS(nvlink_)                                                                             \
    .pcie = VALUE(64, P, SHEET), .nvlink = VALUE(nvlink_, P, SHEET), .network = VALUE(50, P, SHEET)

/* clang-format off */
static const struct builtin builtins[] = {
    {"h200",
     {.name = "NVIDIA H200 SXM", .sm_count = 132, .memory_bytes = UINT64_C(141000000000),
      .l2_bytes = UINT64_C(50) << 20, .peak_bandwidth = VALUE(4.8, P, SHEET),
      .peak_bf16 = VALUE(989, P, SHEET), LINKS(450)},
     NULL, h200_laws, 0, COUNT(h200_laws), CALIB_TABLE_HOPPER, 1},
    {"h100",
     {.name = "NVIDIA H100 SXM", .sm_count = 132, .memory_bytes = UINT64_C(80000000000),
      .l2_bytes = UINT64_C(50) << 20, .peak_bandwidth = VALUE(3.35, P, SHEET),
      .peak_bf16 = VALUE(989, P, SHEET), LINKS(450)},
     NULL, h100_laws, 0, COUNT(h100_laws), CALIB_TABLE_HOPPER, 0},
    {"h800",
     {.name = "NVIDIA H800 SXM", .sm_count = 132, .memory_bytes = UINT64_C(80000000000),
      .l2_bytes = UINT64_C(50) << 20, .peak_bandwidth = VALUE(3.35, P, SHEET),
      .peak_bf16 = VALUE(989, P, SHEET), LINKS(200)},
     h100_laws, h800_laws, COUNT(h100_laws), COUNT(h800_laws), CALIB_TABLE_H800, 0},
    {"h20",
     {.name = "NVIDIA H20 SXM", .sm_count = 78, .memory_bytes = UINT64_C(96000000000),
      .l2_bytes = UINT64_C(60) << 20, .peak_bandwidth = VALUE(4.0, P, SHEET),
      .peak_bf16 = VALUE(148, P, SHEET), LINKS(450)},
     NULL, h20_laws, 0, COUNT(h20_laws), CALIB_TABLE_H20, 0},
};
/* clang-format on */

const char *calib_builtin_name(size_t index)
{
    return index < COUNT(builtins) ? builtins[index].name : NULL;
}

static void add_laws(struct calibration *out, const struct law_values *laws, size_t count,
                     const char *instead)
{
    for (size_t i = 0; i < count; i++) {
        const struct law_values *given = &laws[i];
        const struct calib_law_facts *facts = calib_law_facts(given->law);
        struct calib_law *law = &out->law[given->law];
        *law = (struct calib_law){.present = true, .form = facts->form};
        for (size_t term = 0; term < calib_law_terms(given->law); term++) {
            const struct calib_term_facts *place = &facts->term[term];
            if (given->value[term] > 0 || (place->scale == 0 && !place->optional))
                law->term[term] =
                    (struct calib_value){true, given->value[term], instead ? A : given->provenance,
                                         instead ? instead : given->source};
        }
    }
}

/* Decodes of 25 MB of states or less beat the memory: they found them in the L2 cache, where a
 * model's many layers never leave them (facts 4.3). No law is about those. */
static bool from_cache(const struct calib_row *row)
{
    bool decode = row->kernel == CALIB_KDA_DECODE || row->kernel == CALIB_KDA_DECODE_FUSED;
    return decode && (uint64_t)row->heads * row->sequences <= 384;
}

static void add_points(struct calibration *out, enum calib_table_id id, size_t column)
{
    const struct calib_table *table = calib_table_at(id);
    for (size_t i = 0; i < table->count; i++) {
        const struct calib_row *row = &table->row[i];
        struct calib_point point = {.kernel = row->kernel, .provenance = P};
        if (row->us[column] <= 0)
            continue;
        struct calib_shape *shape = &point.shape;
        point.shape = calib_shape_of(row->kernel);
        shape->heads = row->heads;
        shape->key_heads = row->key_heads;
        shape->sequences = row->sequences;
        shape->tokens = row->tokens;
        shape->context = row->context;
        if (row->kernel == CALIB_HOST_COPY) {
            shape->batched = true;
            shape->piece_bytes = row->m;
            shape->payload_bytes = (uint64_t)row->m * CALIB_TABLE_PIECES;
        } else {
            shape->m = row->m;
            shape->n = row->n;
            shape->k = row->k;
        }
        shape->variant = from_cache(row);
        point.source = calib_table_source(row->kernel);
        point.us.median = row->us[column];
        point.dram_bytes = calib_shape_bytes(row->kernel, shape);
        point.flops = calib_shape_flops(row->kernel, shape);
        out->point =
            mem_grow(out->point, &out->point_capacity, out->point_count + 1, sizeof *out->point);
        out->point[out->point_count++] = point;
    }
}

static const char *name_at(const void *table, size_t index)
{
    (void)table;
    return calib_builtin_name(index);
}

int calib_open_builtin(struct calibration *out, const char *name, struct err *err)
{
    const struct builtin *found = NULL;
    *out = (struct calibration){0};
    for (size_t i = 0; i < COUNT(builtins); i++)
        if (strcmp(builtins[i].name, name) == 0)
            found = &builtins[i];
    if (found == NULL) {
        const char *near = text_nearest(name, name_at, NULL);
        return err_set(err, "there is no calibration '%.100s'%s%s%s", name,
                       near ? " (did you mean '" : "", near ? near : "",
                       near ? "'?)" : "; h200, h100, h800 and h20 are built in, others are files");
    }
    out->name = found->name;
    out->provenance = P;
    out->device = found->device;
    add_laws(out, found->base, found->base_count, AS_H100);
    add_laws(out, found->laws, found->law_count, NULL);
    add_points(out, found->table, found->column);
    if (strcmp(found->name, "h100") == 0)
        add_points(out, CALIB_TABLE_H100_BATCHED, 0);
    return 0;
}
