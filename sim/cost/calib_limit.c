/* What no kernel can beat: the memory's bandwidth, the tensor cores, the link to the host. A law is
 * held against them at shapes so large that only its rates count. */
#include <assert.h>

#include "sim/cost/calib.h"

#define LARGE (UINT64_C(1) << 20)

/* The least time in microseconds that the device's peaks allow for so many bytes and FLOP; 0 if
 * the peak is not known. *what names the limit. */
static double least_us(const struct calib_device *device, enum calib_kernel kernel, double bytes,
                       double flops, const char **what)
{
    if (kernel == CALIB_HOST_COPY) {
        *what = "the link to the host";
        return device->pcie.known ? bytes / device->pcie.value * 1e-3 : 0;
    }
    double peak = device->peak_bf16.value * (kernel == CALIB_GEMM_FP8 ? 2 : 1);
    double moving = device->peak_bandwidth.known ? bytes / device->peak_bandwidth.value * 1e-6 : 0;
    double counting = device->peak_bf16.known ? flops / peak * 1e-6 : 0;
    *what = moving > counting ? "the memory" : "the arithmetic";
    return moving > counting ? moving : counting;
}

int calib_limit_point(const struct calib_device *device, const struct calib_point *point,
                      struct err *err)
{
    const char *what = NULL;
    if (point->absent)
        return 0;
    double least = least_us(device, point->kernel, calib_shape_bytes(point->kernel, &point->shape),
                            calib_shape_flops(point->kernel, &point->shape), &what);
    if (point->us.median * CALIB_TOLERANCE >= least)
        return 0;
    struct text shape = {0};
    calib_point_print(point, &shape);
    err_set(err, "%.300s: %.4g us, but %s of a %.60s allows %.4g us at best", shape.data,
            point->us.median, what, device->name, least);
    text_close(&shape);
    return -1;
}

/* Shapes at which fixed costs vanish: few chains and many, for decodes and copies many of all. A
 * law that is about bandwidth is asked where little is to be computed. */
static struct calib_shape large_shape(enum calib_law_id law, int which)
{
    enum calib_kernel kernel = calib_law_facts(law)->kernel;
    struct calib_shape shape = calib_shape_of(kernel);
    bool decode = kernel == CALIB_KDA_DECODE || kernel == CALIB_KDA_DECODE_FUSED ||
                  kernel == CALIB_GDN_DECODE || kernel == CALIB_MAMBA_DECODE ||
                  kernel == CALIB_CONV_UPDATE;
    bool cached = kernel == CALIB_MLA_DECODE || kernel == CALIB_GQA_DECODE;
    uint64_t few = law == LAW_MLA_DECODE_WIDE ? 96 : 12, many = law == LAW_MLA_DECODE ? 12 : 128;
    shape.heads = which == 0 ? few : many;
    shape.key_heads = kernel == CALIB_GDN_PREFILL || kernel == CALIB_GDN_DECODE ? 0 : shape.heads;
    shape.sequences = decode ? LARGE : cached ? 1024 : which == 0 ? 1 : 64;
    shape.tokens = decode ? 1 : cached ? 0 : LARGE;
    shape.context = cached ? LARGE : 0;
    shape.interval = 64;
    shape.payload_bytes = LARGE * LARGE;
    shape.m = law == LAW_GEMM_BF16_SMALL ? 1 : LARGE;
    shape.n = shape.k = law == LAW_GEMM_BF16_SMALL ? LARGE : 16384;
    if (kernel == CALIB_GQA_DECODE)
        shape.kv_token_bytes = 4096;
    return shape;
}

static int limit_at(const struct calibration *calib, enum calib_law_id id, int which,
                    struct err *err)
{
    const struct calib_law_facts *facts = calib_law_facts(id);
    struct calib_shape shape = large_shape(id, which);
    double bytes = calib_shape_bytes(facts->kernel, &shape), factor[CALIB_TERMS] = {0};
    double flops = calib_shape_flops(facts->kernel, &shape);
    if (facts->kernel == CALIB_SNAPSHOT_EMIT) { /* the law is about the snapshots alone */
        facts->factors(facts->kernel, &shape, calib->device.sm_count, factor);
        bytes = factor[0];
        flops = 0;
    }
    const char *what = NULL;
    double least = least_us(&calib->device, facts->kernel, bytes, flops, &what);
    double us = calib_law_us(calib, id, &shape);
    if (us * CALIB_TOLERANCE >= least)
        return 0;
    return err_set(err,
                   "law %s: %.4g us for long work on %u heads, but %s of a %.60s allows %.4g us "
                   "at best",
                   facts->name, us, (unsigned)shape.heads, what, calib->device.name, least);
}

int calib_limit_law(const struct calib_device *device, enum calib_law_id id,
                    const struct calib_law *law, struct err *err)
{
    const struct calib_law_facts *facts = calib_law_facts(id);
    struct calibration one = {.device = *device};
    one.law[id] = *law;
    if (!law->present)
        return 0;
    for (size_t i = 0; i < calib_law_terms(id); i++)
        if (!law->term[i].known && !facts->term[i].optional)
            return err_set(err, "law %s: %s is missing: it would take no time", facts->name,
                           facts->term[i].name);
    for (int which = 0; which < 2; which++)
        if (limit_at(&one, id, which, err) != 0)
            return -1;
    if (!facts->cliff || !law->term[HOST_SMALL_RATE].known || !device->pcie.known ||
        law->term[HOST_SMALL_RATE].value <= device->pcie.value * CALIB_TOLERANCE)
        return 0;
    return err_set(err, "law %s: small_rate is above the %.4g GB/s of the link to the host",
                   facts->name, device->pcie.value);
}
