#include "sim/cost/calib_band.h"

#include <assert.h>
#include <string.h>

/* What is looked at, from the times at one shape or at two that differ. */
enum quantity {
    US,   /* microseconds at a */
    RATE, /* bytes read and written per time, TB/s */
    HOST, /* GB/s */
    TFLOPS,
    PER_SEQUENCE, /* from a to b */
    PER_TOKEN,
    FLATNESS, /* how much more a token costs with b's heads than with a's */
    EMISSION, /* what snapshots add, in units of their bytes at the memory's peak */
    LAUNCH,
    AGAINST_FACTS, /* how much longer than the law of the facts says */
    CHECKED        /* the largest error of the kernel's checks */
};

/* H200 first, H100 and H800 second. A limit of 0 is none. */
struct band_facts {
    const char *name, *what, *unit;
    enum quantity quantity;
    enum calib_kernel kernel;
    struct calib_shape a, b;
    double low[2], high[2], alarm[2];
    bool alarm_is_below;
};

#define GIB (UINT64_C(1) << 30)
#define K3_SNAPSHOT 56171520 /* of K3 at TP8: 69 layers of 786,432 + 27,648 B */
#define PREFILL(heads_, tokens_)                                                                   \
    {                                                                                              \
        .heads = heads_, .key_heads = heads_, .sequences = 1, .tokens = tokens_                    \
    }
#define DECODE(heads_, batch_)                                                                     \
    {                                                                                              \
        .heads = heads_, .key_heads = heads_, .sequences = batch_, .tokens = 1                     \
    }
#define SNAPSHOT(parts_, to_host_)                                                                 \
    {                                                                                              \
        .heads = 12, .key_heads = 12, .sequences = 1, .layers = 69, .payload_bytes = K3_SNAPSHOT,  \
        .layer_parts = parts_, .to_host = to_host_                                                 \
    }

/* clang-format off */
static const struct band_facts bands[] = {
    {"hbm_copy", "copy of 1 GiB, read and written", "TB/s", RATE, CALIB_HBM_COPY,
     {.payload_bytes = GIB}, {0}, {3.9, 2.7}, {4.4, 3.1}, {3.5, 2.4}, true},
    {"hbm_read", "sum over 1 GiB", "TB/s", RATE, CALIB_HBM_READ,
     {.payload_bytes = GIB}, {0}, {4.2, 2.9}, {4.5, 3.15}, {3.8, 2.6}, true},
    {"launch_stream", "empty kernel, one after another", "us", LAUNCH, CALIB_LAUNCH_STREAM,
     {0}, {0}, {1, 1}, {3, 3}, {5, 5}, false},
    {"launch_graph", "empty kernel in a graph", "us", LAUNCH, CALIB_LAUNCH_GRAPH,
     {0}, {0}, {1, 1}, {3, 3}, {5, 5}, false},
    {"kda_decode", "each sequence more, 96 heads", "us", PER_SEQUENCE, CALIB_KDA_DECODE,
     DECODE(96, 64), DECODE(96, 256), {3.1, 4.3}, {3.5, 4.8}, {0, 0}, false},
    {"kda_decode_tp8", "64 sequences, 12 heads", "us", US, CALIB_KDA_DECODE,
     DECODE(12, 64), {0}, {30, 40}, {45, 50}, {0, 0}, false},
    /* From FlashKDA's own to three times FLA's. */
    {"kda_prefill_tp8", "8,192 tokens, 12 heads", "us", US, CALIB_KDA_PREFILL,
     PREFILL(12, 8192), {0}, {596, 602}, {1818, 1944}, {0, 0}, false},
    {"kda_prefill", "8,192 tokens, 96 heads", "us", US, CALIB_KDA_PREFILL,
     PREFILL(96, 8192), {0}, {891, 996}, {9306, 11004}, {0, 0}, false},
    {"kda_prefill_error", "largest error against double precision", "", CHECKED, CALIB_KDA_PREFILL,
     {0}, {0}, {0, 0}, {0.01, 0.01}, {0.01, 0.01}, false},
    {"kda_prefill_serial", "each token more, 12 heads", "us", PER_TOKEN, CALIB_KDA_PREFILL,
     PREFILL(12, 2048), PREFILL(12, 8192), {0.045, 0.045}, {0.15, 0.15}, {0, 0}, false},
    /* Eight times the heads: 8 would be one chain after another, FLA's 6 is bandwidth. */
    {"kda_prefill_flat", "cost of a token, 96 heads to 12", "x", FLATNESS, CALIB_KDA_PREFILL,
     PREFILL(12, 2048), PREFILL(12, 8192), {1, 1}, {6, 6}, {7, 7}, false},
    {"snapshot_emit", "snapshot every 64 tokens, in times of its bytes", "x", EMISSION,
     CALIB_SNAPSHOT_EMIT, {.heads = 96, .key_heads = 96, .sequences = 1, .tokens = 8192,
     .interval = 64}, {0}, {0, 0}, {3, 3}, {3, 3}, false},
    {"snapshot_copy", "K3 TP8 snapshot on the device", "us", US, CALIB_SNAPSHOT_COPY,
     {.heads = 12, .key_heads = 12, .sequences = 1, .layers = 69, .payload_bytes = K3_SNAPSHOT},
     {0}, {28, 39}, {45, 60}, {100, 100}, false},
    {"snapshot_to_host", "K3 TP8 snapshot, whole", "GB/s", HOST, CALIB_HOST_COPY,
     SNAPSHOT(0, true), {0}, {50, 50}, {56, 56}, {25, 25}, true},
    {"snapshot_to_device", "K3 TP8 snapshot, whole", "GB/s", HOST, CALIB_HOST_COPY,
     SNAPSHOT(0, false), {0}, {50, 50}, {56, 56}, {25, 25}, true},
    {"snapshot_layers_to_host", "the same in 69 pieces", "GB/s", HOST, CALIB_HOST_COPY,
     SNAPSHOT(1, true), {0}, {45, 45}, {56, 56}, {25, 25}, true},
    {"snapshot_layers_to_device", "the same in 69 pieces", "GB/s", HOST, CALIB_HOST_COPY,
     SNAPSHOT(1, false), {0}, {45, 45}, {56, 56}, {25, 25}, true},
    /* The H100's is the H200's 3.5 by the ratio of what copies reach. */
    {"kv_gather", "pages of 768 tokens, read and written", "TB/s", RATE, CALIB_KV_GATHER,
     {.page_tokens = 768, .payload_bytes = 268075008}, {0}, {3.5, 2.5}, {4.4, 3.1}, {0, 0}, true},
    {"mla_decode_tp8", "32 x 32,768 tokens, 12 heads, to facts' law", "x", AGAINST_FACTS,
     CALIB_MLA_DECODE, {.heads = 12, .sequences = 32, .context = 32768, .page_tokens = 64}, {0},
     {0.9, 0.9}, {1.5, 1.5}, {0, 0}, false},
    {"mla_decode", "32 x 32,768 tokens, 96 heads, to facts' law", "x", AGAINST_FACTS,
     CALIB_MLA_DECODE, {.heads = 96, .sequences = 32, .context = 32768, .page_tokens = 64}, {0},
     {0.9, 0.9}, {1.5, 1.5}, {0, 0}, false},
    /* 150-300 for a kernel written with mma, 570-600 for a library's. */
    {"mla_prefill", "8,192 tokens, 12 heads", "TFLOPS", TFLOPS, CALIB_MLA_PREFILL,
     {.heads = 12, .sequences = 1, .tokens = 8192}, {0}, {150, 150}, {620, 620}, {0, 0}, true},
    {"conv_prefill", "8,192 tokens, 96 heads, to facts' law", "x", AGAINST_FACTS,
     CALIB_CONV_PREFILL, PREFILL(96, 8192), {0}, {0.8, 0.8}, {1.5, 1.5}, {0, 0}, false},
};
/* clang-format on */

size_t calib_band_count(void)
{
    return sizeof bands / sizeof *bands;
}

const char *calib_band_verdict_name(enum band_verdict verdict)
{
    static const char *const names[] = {"good", "outside", "ALARM", "-", "absent"};
    return names[verdict];
}

static bool same_shape(const struct calib_shape *a, const struct calib_shape *b)
{
    return a->heads == b->heads && a->sequences == b->sequences && a->tokens == b->tokens &&
           a->context == b->context && a->interval == b->interval &&
           a->page_tokens == b->page_tokens && a->layers == b->layers &&
           a->payload_bytes == b->payload_bytes && a->piece_bytes == b->piece_bytes &&
           a->layer_parts == b->layer_parts && a->to_host == b->to_host &&
           a->batched == b->batched && a->snapshot_bf16 == b->snapshot_bf16 &&
           a->variant == b->variant;
}

/* The shape with the sizes that the probe has. */
static struct calib_point point_of(enum calib_kernel kernel, const struct calib_shape *given)
{
    struct calib_shape sizes = calib_shape_of(kernel), shape = *given;
    shape.model = sizes.model;
    shape.key_dim = sizes.key_dim;
    shape.value_dim = sizes.value_dim;
    shape.state_element_bytes = sizes.state_element_bytes;
    shape.latent_dim = sizes.latent_dim;
    shape.rope_dim = sizes.rope_dim;
    shape.kv_token_bytes = sizes.kv_token_bytes;
    return (struct calib_point){.kernel = kernel, .shape = shape};
}

/* Microseconds: of a raw point if there is one, else by the law. */
static bool time_at(const struct calibration *calib, enum calib_kernel kernel,
                    const struct calib_shape *given, double *us, bool *from_law)
{
    struct calib_point wanted = point_of(kernel, given);
    for (size_t i = 0; i < calib->point_count; i++) {
        const struct calib_point *point = &calib->point[i];
        if (point->kernel != kernel || point->absent || !same_shape(&point->shape, &wanted.shape))
            continue;
        *us = point->us.median;
        return true;
    }
    *from_law = true;
    return calib_point_us(calib, &wanted, us);
}

/* The laws that facts 8 gives as expectation, for the convolution those of 4.2; H200 and H100. */
static double facts_us(enum calib_kernel kernel, const struct calib_shape *shape, int column)
{
    static const double kv_token[2] = {0.265e-3, 0.378e-3};
    static const double conv[2][2] = {{10, 0.000587}, {9.2, 0.00066}};
    double looks = (double)shape->sequences * (double)shape->context;
    double chains = (double)shape->heads * (double)shape->sequences;
    if (kernel == CALIB_CONV_PREFILL)
        return conv[column][0] + conv[column][1] * chains * (double)shape->tokens;
    double moving = kv_token[column] * looks;
    double counting = 2.0 * (double)shape->heads * 1088 * looks / 590e6;
    return 20 + (moving > counting ? moving : counting);
}

static bool slope(const struct calibration *calib, const struct band_facts *facts, uint64_t heads,
                  double *out, bool *from_law)
{
    struct calib_shape a = facts->a, b = facts->b;
    double first = 0, second = 0;
    a.heads = a.key_heads = b.heads = b.key_heads = heads;
    if (!time_at(calib, facts->kernel, &a, &first, from_law) ||
        !time_at(calib, facts->kernel, &b, &second, from_law))
        return false;
    uint64_t step = b.sequences > a.sequences ? b.sequences - a.sequences : b.tokens - a.tokens;
    *out = (second - first) / (double)step;
    return true;
}

static bool emission(const struct calibration *calib, const struct band_facts *facts, double *out,
                     bool *from_law)
{
    struct calib_shape plain = facts->a;
    double with = 0, without = 0;
    plain.interval = 0;
    if (!calib->device.peak_bandwidth.known ||
        !time_at(calib, facts->kernel, &facts->a, &with, from_law) ||
        !time_at(calib, CALIB_KDA_PREFILL, &plain, &without, from_law))
        return false;
    struct calib_point point = point_of(facts->kernel, &facts->a);
    double kept = (double)(point.shape.tokens / point.shape.interval) *
                  (double)calib_shape_state_bytes(&point.shape);
    double extra = with > without ? with - without : 0;
    *out = extra / (kept / calib->device.peak_bandwidth.value * 1e-6);
    return true;
}

static bool checked(const struct calibration *calib, enum calib_kernel kernel, double *out)
{
    bool any = false;
    *out = 0;
    for (size_t i = 0; i < calib->check_count; i++) {
        if (strcmp(calib->check[i].kernel, calib_kernel_name(kernel)) != 0)
            continue;
        any = true;
        *out = calib->check[i].error > *out ? calib->check[i].error : *out;
    }
    return any;
}

/* false: the calibration does not say. */
static bool measure(const struct calibration *calib, const struct band_facts *facts, int column,
                    double *out, bool *from_law)
{
    struct calib_point point = point_of(facts->kernel, &facts->a);
    double us = 0, other = 0;
    if (facts->quantity == CHECKED)
        return checked(calib, facts->kernel, out);
    if (facts->quantity == EMISSION)
        return emission(calib, facts, out, from_law);
    if (facts->quantity == PER_SEQUENCE || facts->quantity == PER_TOKEN)
        return slope(calib, facts, facts->a.heads, out, from_law);
    if (facts->quantity == FLATNESS) {
        if (!slope(calib, facts, 12, &us, from_law) || !slope(calib, facts, 96, &other, from_law) ||
            us <= 0)
            return false;
        *out = other / us;
        return true;
    }
    if (!time_at(calib, facts->kernel, &facts->a, &us, from_law))
        return false;
    double bytes = calib_shape_bytes(facts->kernel, &point.shape);
    if (facts->quantity == RATE)
        *out = bytes / us * 1e-6;
    else if (facts->quantity == HOST)
        *out = bytes / us * 1e-3;
    else if (facts->quantity == TFLOPS)
        *out = calib_shape_flops(facts->kernel, &point.shape) / us * 1e-6;
    else if (facts->quantity == AGAINST_FACTS)
        *out = us / facts_us(facts->kernel, &point.shape, column);
    else
        *out = us;
    return true;
}

static int column_of(const struct calib_device *device)
{
    if (strstr(device->name, "H200"))
        return 0;
    return strstr(device->name, "H100") || strstr(device->name, "H800") ? 1 : -1;
}

struct band calib_band_at(const struct calibration *calib, size_t index)
{
    assert(index < calib_band_count());
    const struct band_facts *facts = &bands[index];
    int column = column_of(&calib->device);
    struct band out = {.name = facts->name,
                       .what = facts->what,
                       .unit = facts->unit,
                       .alarm_is_below = facts->alarm_is_below};
    if (column >= 0) {
        out.has_expectation = true;
        out.low = facts->low[column];
        out.high = facts->high[column];
        out.alarm = facts->alarm[column];
    }
    if (!measure(calib, facts, column < 0 ? 0 : column, &out.value, &out.from_law)) {
        out.verdict = BAND_ABSENT;
        return out;
    }
    bool alarm =
        out.alarm > 0 && (out.alarm_is_below ? out.value < out.alarm : out.value > out.alarm);
    if (!out.has_expectation)
        out.verdict = BAND_UNJUDGED;
    else if (alarm)
        out.verdict = BAND_ALARM;
    else
        out.verdict = out.value < out.low || out.value > out.high ? BAND_OUTSIDE : BAND_GOOD;
    return out;
}
