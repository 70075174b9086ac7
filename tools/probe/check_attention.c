/* Checks of the MLA kernels, in both forms. */
#include <math.h>
#include <string.h>

#include "tools/probe/mla_reference.h"
#include "tools/probe/probe_check.h"

/* Weights rounded to bf16, sums in fp32. */
#define ATTENTION_BOUND 1e-2

/* The pages of a sequence lie scattered: page i of all is at (i * 7 + 3) modulo a prime above. */
static int32_t *scattered_pages(struct lab *lab, uint32_t count, uint32_t *pool)
{
    uint32_t prime = count + 1;
    for (uint32_t d = 2; d < prime; d++)
        if (prime % d == 0) {
            prime++;
            d = 1;
        }
    if (prime == 7)
        prime = 11;
    *pool = prime;
    int32_t *pages = probe_lab_host(lab, count, sizeof(int32_t));
    for (uint32_t i = 0; i < count; i++)
        pages[i] = (int32_t)((i * 7 + 3) % prime);
    return pages;
}

void check_attention_decode(struct lab *lab, const struct check_shape *shape,
                            struct check_outcome *outcome)
{
    uint32_t batch = shape->sequences, longest = 0, pool;
    int32_t *context = probe_lab_host(lab, batch, sizeof(int32_t));
    for (uint32_t s = 0; s < batch; s++) {
        context[s] = (int32_t)shape->sequence[s].tokens;
        longest = shape->sequence[s].tokens > longest ? shape->sequence[s].tokens : longest;
    }
    uint32_t pages_each = (longest + shape->page_tokens - 1) / shape->page_tokens;
    uint32_t splits = (longest + shape->split_tokens - 1) / shape->split_tokens;
    int32_t *pages = scattered_pages(lab, batch * pages_each, &pool);
    size_t results = (size_t)batch * shape->heads * KERNEL_LATENT;
    struct lab_values query =
        probe_lab_bf16(lab, (size_t)batch * shape->heads * KERNEL_CACHED, 0, 1);
    struct lab_values cache =
        probe_lab_bf16(lab, (size_t)pool * shape->page_tokens * KERNEL_CACHED, 0, 1);
    struct mla_decode decode = {
        .query = query.device,
        .cache = cache.device,
        .pages = probe_lab_upload(lab, pages, batch * pages_each * sizeof(int32_t)),
        .context = probe_lab_upload(lab, context, batch * sizeof(int32_t)),
        .partial = probe_lab_device(lab, results * splits * sizeof(float)),
        .partial_weight =
            probe_lab_device(lab, (size_t)batch * splits * shape->heads * 2 * sizeof(float)),
        .output = probe_lab_device(lab, results * 2),
        .batch = batch,
        .heads = shape->heads,
        .page_tokens = shape->page_tokens,
        .pages_per_sequence = pages_each,
        .splits = splits,
        .split_tokens = shape->split_tokens,
        .scale = 0.06f};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_mla_decode(NULL, &decode), "mla_decode");
    double *got = probe_lab_read_bf16(lab, decode.output, results);
    struct mla_shape mla = {shape->heads, KERNEL_LATENT, KERNEL_CACHED - KERNEL_LATENT, 0, 0};
    size_t one = (size_t)shape->heads * KERNEL_LATENT;
    double *rows = probe_lab_host(lab, (size_t)longest * KERNEL_CACHED, sizeof(double));
    double *want = probe_lab_host(lab, one, sizeof(double));
    for (uint32_t s = 0; s < batch; s++) {
        for (uint32_t t = 0; t < shape->sequence[s].tokens; t++) {
            size_t page = (size_t)pages[s * pages_each + t / shape->page_tokens];
            memcpy(rows + (size_t)t * KERNEL_CACHED,
                   cache.host +
                       (page * shape->page_tokens + t % shape->page_tokens) * KERNEL_CACHED,
                   KERNEL_CACHED * sizeof(double));
        }
        mla_reference_absorbed(&mla, query.host + (size_t)s * shape->heads * KERNEL_CACHED, rows,
                               shape->sequence[s].tokens, (double)decode.scale, want);
        probe_check_compare(outcome, "output", got + s * one, want, one, ATTENTION_BOUND);
    }
}

void check_attention_prefill(struct lab *lab, const struct check_shape *shape,
                             struct check_outcome *outcome)
{
    uint32_t tokens = shape->sequence[0].tokens, prefix = shape->sequence[0].position;
    size_t all = prefix + tokens, heads = shape->heads;
    size_t results = tokens * heads * KERNEL_VALUE;
    struct lab_values query = probe_lab_bf16(lab, tokens * heads * KERNEL_KEY, 0, 1);
    struct lab_values key = probe_lab_bf16(lab, all * heads * KERNEL_KEY, 0, 1);
    struct lab_values value = probe_lab_bf16(lab, all * heads * KERNEL_VALUE, 0, 1);
    struct mla_prefill prefill = {
        query.device, key.device, value.device, probe_lab_device(lab, results * 2),
        tokens,       prefix,     shape->heads, 0.08f};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_mla_prefill(NULL, &prefill), "mla_prefill");
    double *got = probe_lab_read_bf16(lab, prefill.output, results);
    double *want = probe_lab_host(lab, results, sizeof(double));
    struct mla_shape mla = {shape->heads, 0, KERNEL_KEY - 128, 128, KERNEL_VALUE};
    mla_reference_expanded(&mla, query.host, key.host, value.host, prefix, tokens,
                           (double)prefill.scale, want);
    for (uint32_t t = 0; t < tokens; t++)
        probe_check_compare(outcome, "output", got + t * heads * KERNEL_VALUE,
                            want + t * heads * KERNEL_VALUE, heads * KERNEL_VALUE, ATTENTION_BOUND);
}
