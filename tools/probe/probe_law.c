#include "tools/probe/probe_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define CONV_CHAIN 384 /* channels of one head's q, k and v */

static bool takes_all(const struct point *point)
{
    return !point->variant;
}

static bool takes_long_pages(const struct point *point)
{
    return point->page_tokens >= 64;
}

static bool takes_narrow(const struct point *point)
{
    return point->heads <= 64 && point->context >= 4096;
}

static bool takes_wide(const struct point *point)
{
    return point->heads > 64 && point->context >= 4096;
}

static bool takes_long_prefill(const struct point *point)
{
    return point->tokens >= 1024;
}

static bool takes_chain(const struct point *point)
{
    return !point->variant && point->tokens >= 256;
}

static bool takes_to_device(const struct point *point)
{
    return !point->to_host && !point->batched;
}
static bool takes_to_host(const struct point *point)
{
    return point->to_host && !point->batched;
}
static bool takes_to_device_batched(const struct point *point)
{
    return !point->to_host && point->batched;
}
static bool takes_to_host_batched(const struct point *point)
{
    return point->to_host && point->batched;
}
static bool takes_large_gemm(const struct point *point)
{
    return point->m >= 1024;
}
static bool takes_small_gemm(const struct point *point)
{
    return point->m <= 128;
}

static bool terms_constant(const struct run *run, const struct measurement *m,
                           double factor[LAW_TERMS], double *us)
{
    (void)run;
    (void)m;
    (void)us;
    factor[0] = 1;
    return true;
}

static bool terms_bytes(const struct run *run, const struct measurement *m,
                        double factor[LAW_TERMS], double *us)
{
    (void)run;
    (void)us;
    factor[0] = 1;
    factor[1] = probe_point_dram_bytes(m->point);
    return true;
}

static bool terms_flops(const struct run *run, const struct measurement *m,
                        double factor[LAW_TERMS], double *us)
{
    (void)run;
    (void)us;
    factor[0] = 1;
    factor[1] = probe_point_flops(m->point);
    return true;
}

/* A serial chain per sequence and head, in waves over the SMs, and a token-parallel part. */
static bool terms_chains(const struct run *run, const struct measurement *m,
                         double factor[LAW_TERMS], double *us)
{
    (void)us;
    uint64_t chains = probe_point_chains(m->point), sms = run->facts.sm_count;
    double tokens = m->point->tokens;
    factor[0] = 1;
    factor[1] = (double)chains;
    factor[2] = tokens * (double)((chains + sms - 1) / sms);
    factor[3] = tokens * (double)chains;
    return true;
}

static bool terms_conv(const struct run *run, const struct measurement *m, double factor[LAW_TERMS],
                       double *us)
{
    (void)run;
    (void)us;
    factor[0] = 1;
    factor[1] = (double)m->point->sequences * m->point->tokens * probe_point_channels(m->point) /
                CONV_CHAIN;
    return true;
}

static bool terms_mla_decode(const struct run *run, const struct measurement *m,
                             double factor[LAW_TERMS], double *us)
{
    (void)run;
    (void)us;
    factor[0] = 1;
    factor[1] = m->point->sequences;
    factor[2] = (double)m->point->sequences * m->point->context;
    return true;
}

static bool terms_mla_prefill(const struct run *run, const struct measurement *m,
                              double factor[LAW_TERMS], double *us)
{
    (void)run;
    (void)us;
    factor[0] = 1;
    factor[1] = m->point->heads;
    factor[2] = probe_point_flops(m->point);
    return true;
}

static bool terms_pieces(const struct run *run, const struct measurement *m,
                         double factor[LAW_TERMS], double *us)
{
    (void)run;
    (void)us;
    factor[0] = (double)probe_point_piece_count(m->point);
    factor[1] = (double)m->point->bytes;
    return true;
}

/* What snapshots add to the prefill of the same shape without them. */
static bool terms_emit(const struct run *run, const struct measurement *m, double factor[LAW_TERMS],
                       double *us)
{
    const struct point *p = m->point;
    double bytes = (double)probe_point_snapshots(p) * (double)probe_point_state_bytes(p);
    factor[0] = p->snapshot_bf16 ? bytes / 2 : bytes;
    for (size_t i = 0; i < run->count; i++) {
        const struct measurement *other = &run->measurements[i];
        if (other->point->kind != POINT_KDA_PREFILL || other->point->variant || other->absent ||
            strcmp(other->point->model, p->model) != 0 || other->point->tp != p->tp ||
            other->point->sequences != p->sequences || other->point->tokens != p->tokens)
            continue;
        *us -= other->us.median;
        return *us > 0.01 * other->us.median; /* less is noise, and says that they are free */
    }
    return false;
}

#define T0                                                                                         \
    {                                                                                              \
        "t0", "us", 0                                                                              \
    }
#define RATE                                                                                       \
    {                                                                                              \
        "rate", "TB/s", 1e-6                                                                       \
    }
#define FLOPS                                                                                      \
    {                                                                                              \
        "peak", "TFLOPS", 1e-6                                                                     \
    }
#define CHAINS                                                                                     \
    {                                                                                              \
        T0, {"per_chain", "us", 0}, {"per_token_wave", "us", 0},                                   \
        {                                                                                          \
            "per_token_chain", "us", 0                                                             \
        }                                                                                          \
    }

static const struct law laws[] = {
    {"launch_stream", "t0", POINT_LAUNCH_STREAM, takes_all, terms_constant, {T0}},
    {"launch_graph", "t0", POINT_LAUNCH_GRAPH, takes_all, terms_constant, {T0}},
    {"hbm_copy",
     "t0 + bytes read and written / rate",
     POINT_HBM_COPY,
     takes_all,
     terms_bytes,
     {T0, RATE}},
    {"hbm_read", "t0 + bytes / rate", POINT_HBM_READ, takes_all, terms_bytes, {T0, RATE}},
    {"kda_prefill",
     "t0 + per_chain * C + L * (per_token_wave * ceil(C / SMs) + per_token_chain * C)",
     POINT_KDA_PREFILL, takes_chain, terms_chains, CHAINS},
    {"gdn_prefill",
     "t0 + per_chain * C + L * (per_token_wave * ceil(C / SMs) + per_token_chain * C)",
     POINT_GDN_PREFILL, takes_chain, terms_chains, CHAINS},
    {"snapshot_emit",
     "snapshot bytes / rate, on top of the prefill",
     POINT_SNAPSHOT_EMIT,
     takes_all,
     terms_emit,
     {RATE}},
    {"kda_decode",
     "t0 + bytes read and written / rate",
     POINT_KDA_DECODE,
     takes_all,
     terms_bytes,
     {T0, RATE}},
    {"gdn_decode",
     "t0 + bytes read and written / rate",
     POINT_GDN_DECODE,
     takes_all,
     terms_bytes,
     {T0, RATE}},
    {"conv_prefill",
     "t0 + per_token_chain * tokens * channels / 384",
     POINT_CONV_PREFILL,
     takes_all,
     terms_conv,
     {T0, {"per_token_chain", "us", 0}}},
    {"conv_decode",
     "t0 + per_token_chain * sequences * channels / 384",
     POINT_CONV_UPDATE,
     takes_all,
     terms_conv,
     {T0, {"per_token_chain", "us", 0}}},
    {"mla_decode",
     "t0 + per_sequence * B + per_kv_token * sum of contexts; up to 64 heads",
     POINT_MLA_DECODE,
     takes_narrow,
     terms_mla_decode,
     {T0, {"per_sequence", "us", 0}, {"per_kv_token", "us", 0}}},
    {"mla_decode_wide",
     "t0 + per_sequence * B + per_kv_token * sum of contexts; 96 heads",
     POINT_MLA_DECODE,
     takes_wide,
     terms_mla_decode,
     {T0, {"per_sequence", "us", 0}, {"per_kv_token", "us", 0}}},
    {"mla_prefill",
     "t0 + per_head * H + flops / peak",
     POINT_MLA_PREFILL,
     takes_long_prefill,
     terms_mla_prefill,
     {T0, {"per_head", "us", 0}, FLOPS}},
    {"snapshot_copy",
     "t0 + bytes read and written / rate",
     POINT_SNAPSHOT_COPY,
     takes_all,
     terms_bytes,
     {T0, RATE}},
    {"kv_gather",
     "t0 + bytes read and written / rate; pages of 64 tokens and more",
     POINT_KV_GATHER,
     takes_long_pages,
     terms_bytes,
     {T0, RATE}},
    {"host_to_device",
     "per_piece * pieces + bytes / rate",
     POINT_HOST_COPY,
     takes_to_device,
     terms_pieces,
     {{"per_piece", "us", 0}, {"rate", "GB/s", 1e-3}}},
    {"device_to_host",
     "per_piece * pieces + bytes / rate",
     POINT_HOST_COPY,
     takes_to_host,
     terms_pieces,
     {{"per_piece", "us", 0}, {"rate", "GB/s", 1e-3}}},
    {"host_to_device_batched",
     "per_piece * pieces + bytes / rate",
     POINT_HOST_COPY,
     takes_to_device_batched,
     terms_pieces,
     {{"per_piece", "us", 0}, {"rate", "GB/s", 1e-3}}},
    {"device_to_host_batched",
     "per_piece * pieces + bytes / rate",
     POINT_HOST_COPY,
     takes_to_host_batched,
     terms_pieces,
     {{"per_piece", "us", 0}, {"rate", "GB/s", 1e-3}}},
    {"gemm_bf16_large",
     "t0 + flops / peak; 1024 rows and more",
     POINT_GEMM,
     takes_large_gemm,
     terms_flops,
     {T0, FLOPS}},
    {"gemm_bf16_small",
     "t0 + bytes / rate; up to 128 rows",
     POINT_GEMM,
     takes_small_gemm,
     terms_bytes,
     {T0, RATE}},
};

size_t probe_law_count(void)
{
    return sizeof(laws) / sizeof(laws[0]);
}

const struct law *probe_law_at(size_t index)
{
    return &laws[index];
}

/* Gauss elimination with pivoting of a system of up to LAW_TERMS unknowns. */
static bool eliminate(double a[LAW_TERMS][LAW_TERMS + 1], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t r = i + 1; r < n; r++)
            if (fabs(a[r][i]) > fabs(a[best][i]))
                best = r;
        for (size_t c = 0; c <= n; c++) {
            double swap = a[i][c];
            a[i][c] = a[best][c];
            a[best][c] = swap;
        }
        if (fabs(a[i][i]) < 1e-12) /* columns are scaled to length 1 */
            return false;
        for (size_t r = 0; r < n; r++) {
            double factor = r == i ? 0 : a[r][i] / a[i][i];
            for (size_t c = i; c <= n && r != i; c++)
                a[r][c] -= factor * a[i][c];
        }
    }
    return true;
}

/* The least squares over the terms in `mask` only. Rows are divided by us, so the right side is 1;
 * columns are scaled to length 1. False if there is none or a coefficient is negative. */
static bool solve_subset(const double (*factor)[LAW_TERMS], const double *us, size_t points,
                         unsigned mask, double coefficient[LAW_TERMS])
{
    size_t which[LAW_TERMS], n = 0;
    double length[LAW_TERMS], a[LAW_TERMS][LAW_TERMS + 1] = {{0}};
    for (size_t t = 0; t < LAW_TERMS; t++) {
        coefficient[t] = 0;
        if ((mask >> t & 1u) == 0)
            continue;
        length[n] = 0;
        for (size_t p = 0; p < points; p++)
            length[n] += factor[p][t] / us[p] * (factor[p][t] / us[p]);
        length[n] = sqrt(length[n]);
        if (!(length[n] > 0))
            return false;
        which[n++] = t;
    }
    for (size_t p = 0; p < points; p++)
        for (size_t i = 0; i < n; i++) {
            double row = factor[p][which[i]] / us[p] / length[i];
            for (size_t j = 0; j < n; j++)
                a[i][j] += row * (factor[p][which[j]] / us[p] / length[j]);
            a[i][n] += row;
        }
    if (!eliminate(a, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        coefficient[which[i]] = a[i][n] / a[i][i] / length[i];
        if (!(coefficient[which[i]] >= 0))
            return false;
    }
    return true;
}

static double relative_error(const double factor[LAW_TERMS], double us,
                             const double coefficient[LAW_TERMS])
{
    double sum = 0;
    for (size_t t = 0; t < LAW_TERMS; t++)
        sum += factor[t] * coefficient[t];
    return sum / us - 1;
}

/* With at most four terms, the best of all subsets is the exact answer to the bounded problem. */
double probe_law_solve(const double (*factor)[LAW_TERMS], const double *us, size_t points,
                       size_t terms, double coefficient[LAW_TERMS])
{
    double least = INFINITY;
    memset(coefficient, 0, LAW_TERMS * sizeof(double));
    for (unsigned mask = 1; mask < 1u << terms; mask++) {
        double trial[LAW_TERMS], sum = 0;
        if (!solve_subset(factor, us, points, mask, trial))
            continue;
        for (size_t p = 0; p < points; p++) {
            double error = relative_error(factor[p], us[p], trial);
            sum += error * error;
        }
        if (sum < least) {
            least = sum;
            memcpy(coefficient, trial, sizeof(trial));
        }
    }
    return least;
}

struct law_fit probe_law_fit(const struct law *law, const struct run *run)
{
    struct law_fit fit = {0};
    size_t terms = 0, points = 0;
    while (terms < LAW_TERMS && law->term[terms].name != NULL)
        terms++;
    double(*factor)[LAW_TERMS] = mem_array(run->count + 1, sizeof(*factor));
    double *us = mem_array(run->count + 1, sizeof(double));
    for (size_t i = 0; i < run->count; i++) {
        const struct measurement *m = &run->measurements[i];
        if (m->point->kind != law->kind || m->absent || !law->takes(m->point))
            continue;
        us[points] = m->us.median;
        if (law->terms(run, m, factor[points], &us[points]))
            points++;
    }
    if (points >= terms && isfinite(probe_law_solve((const double(*)[LAW_TERMS])factor, us, points,
                                                    terms, fit.coefficient))) {
        fit.points = points;
        for (size_t t = 0; t < terms; t++) {
            double c = fit.coefficient[t], invert = law->term[t].invert;
            fit.known[t] = invert == 0 || c > 0;
            fit.value[t] = invert == 0 ? c : c > 0 ? invert / c : 0;
        }
        for (size_t p = 0; p < points; p++) {
            double error = fabs(relative_error(factor[p], us[p], fit.coefficient));
            fit.mean_error += error / (double)points;
            fit.most_error = error > fit.most_error ? error : fit.most_error;
        }
    }
    free(factor);
    free(us);
    return fit;
}
