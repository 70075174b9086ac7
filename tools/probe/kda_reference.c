#include "tools/probe/kda_reference.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

#define SUBCHUNK 16
#define NORM_EPSILON 1e-6

/* Rounding each result of + - * / to fp32 gives exactly what fp32 hardware would give, because
 * double has more than twice its digits. So one source serves both precisions. */
static double rounded(double x, bool single_precision)
{
    return single_precision ? (double)(float)x : x;
}

double kda_reference_sigmoid(double x)
{
    return x >= 0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x));
}

double kda_reference_log_decay(enum kda_gate gate, double lower_bound, double a_log, double raw,
                               double bias)
{
    double x = raw + bias;
    if (gate == KDA_GATE_BOUNDED)
        return lower_bound * kda_reference_sigmoid(exp(a_log) * x);
    double softplus = x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    return -exp(a_log) * softplus;
}

void kda_reference_normalise(double *row, size_t size, double scale)
{
    double sum = NORM_EPSILON;
    for (size_t i = 0; i < size; i++)
        sum += row[i] * row[i];
    for (size_t i = 0; i < size; i++)
        row[i] = row[i] / sqrt(sum) * scale;
}

void kda_reference_convolve(const double *input, size_t tokens, size_t channels,
                            const double *weight, double *window, double *output)
{
    for (size_t c = 0; c < channels; c++) {
        double recent[KDA_CONV_WIDTH];
        for (size_t j = 0; j < KDA_CONV_WINDOW; j++)
            recent[j] = window[j * channels + c];
        for (size_t t = 0; t < tokens; t++) {
            recent[KDA_CONV_WINDOW] = input[t * channels + c];
            double sum = 0;
            for (size_t j = 0; j < KDA_CONV_WIDTH; j++)
                sum += weight[c * KDA_CONV_WIDTH + j] * recent[j];
            output[t * channels + c] = sum * kda_reference_sigmoid(sum);
            memmove(recent, recent + 1, KDA_CONV_WINDOW * sizeof(recent[0]));
        }
        for (size_t j = 0; j < KDA_CONV_WINDOW; j++)
            window[j * channels + c] = recent[j];
    }
}

static double log_decay_at(const struct kda_sequence *sequence, size_t token, size_t channel)
{
    return sequence->scalar_decay ? sequence->log_decay[token]
                                  : sequence->log_decay[token * sequence->key_size + channel];
}

void kda_reference_recurrence(const struct kda_sequence *sequence, bool single_precision,
                              double *state, double *output)
{
    size_t keys = sequence->key_size, values = sequence->value_size;
    bool f = single_precision;
    double *update = mem_array(values, sizeof(double));
    for (size_t t = 0; t < sequence->tokens; t++) {
        const double *k = sequence->key + t * keys, *q = sequence->query + t * keys;
        double *o = output + t * values;
        memset(update, 0, values * sizeof(double));
        for (size_t i = 0; i < keys; i++) {
            double decay = rounded(exp(log_decay_at(sequence, t, i)), f);
            double *row = state + i * values;
            for (size_t j = 0; j < values; j++) {
                row[j] = rounded(decay * row[j], f);
                update[j] = rounded(update[j] + rounded(row[j] * k[i], f), f);
            }
        }
        for (size_t j = 0; j < values; j++) {
            double miss = rounded(sequence->value[t * values + j] - update[j], f);
            update[j] = rounded(sequence->beta[t] * miss, f);
            o[j] = 0;
        }
        for (size_t i = 0; i < keys; i++) {
            double *row = state + i * values;
            for (size_t j = 0; j < values; j++) {
                row[j] = rounded(row[j] + rounded(k[i] * update[j], f), f);
                o[j] = rounded(o[j] + rounded(row[j] * q[i], f), f);
            }
        }
    }
    free(update);
}

/* The matrices of one chunk of at most `rows` tokens. */
struct chunk {
    size_t rows, keys, values;
    bool single_precision;
    const struct kda_sequence *sequence;
    size_t first;           /* token of row 0 */
    double *sum;            /* G [rows][keys]: inclusive sums of log decay */
    double *key_pair;       /* A [rows][rows], strictly lower */
    double *query_pair;     /* P [rows][rows], lower */
    double *weight, *value; /* W [rows][keys], U [rows][values]; U becomes V' */
};

static void chunk_sum_decay(struct chunk *c)
{
    for (size_t r = 0; r < c->rows; r++)
        for (size_t i = 0; i < c->keys; i++) {
            double before = r > 0 ? c->sum[(r - 1) * c->keys + i] : 0.0;
            c->sum[r * c->keys + i] =
                rounded(before + log_decay_at(c->sequence, c->first + r, i), c->single_precision);
        }
}

/* exp(G_r - G_c) of channel i, as a product of two factors that depend on r and on c alone wherever
 * a matrix product is to be used. Which factors decides whether anything overflows:
 * naive: exp(G_r) exp(-G_c); the second factor is up to exp(5 * 64) in a K3 chunk of 64.
 * sub-chunks: with the offset at the first row of r's sub-chunk both factors are at most 1 as long
 * as c lies in an earlier sub-chunk; within one sub-chunk the difference is formed first. */
static double pair_decay(const struct chunk *c, enum kda_exponent exponent, size_t r, size_t col,
                         size_t i)
{
    bool f = c->single_precision;
    double row = c->sum[r * c->keys + i], column = c->sum[col * c->keys + i];
    if (exponent == KDA_EXPONENT_NAIVE)
        return rounded(rounded(exp(row), f) * rounded(exp(-column), f), f);
    if (r / SUBCHUNK == col / SUBCHUNK)
        return rounded(exp(rounded(row - column, f)), f);
    double offset = c->sum[r / SUBCHUNK * SUBCHUNK * c->keys + i];
    double left = rounded(exp(rounded(row - offset, f)), f);
    double right = rounded(exp(rounded(offset - column, f)), f);
    return rounded(left * right, f);
}

static void chunk_pairs(struct chunk *c, enum kda_exponent exponent)
{
    bool f = c->single_precision;
    const double *key = c->sequence->key + c->first * c->keys;
    const double *query = c->sequence->query + c->first * c->keys;
    for (size_t r = 0; r < c->rows; r++)
        for (size_t col = 0; col <= r; col++) {
            double a = 0, p = 0;
            for (size_t i = 0; i < c->keys; i++) {
                double decay = pair_decay(c, exponent, r, col, i);
                double decayed = rounded(key[col * c->keys + i] * decay, f);
                a = rounded(a + rounded(key[r * c->keys + i] * decayed, f), f);
                p = rounded(p + rounded(query[r * c->keys + i] * decayed, f), f);
            }
            c->key_pair[r * c->rows + col] = col < r ? a : 0.0;
            c->query_pair[r * c->rows + col] = p;
        }
}

/* Forward substitution of (I + L) X = rhs, L = beta_r A[r][c]; X holds rhs on entry. */
static void chunk_solve(const struct chunk *c, double *x, size_t width)
{
    bool f = c->single_precision;
    for (size_t r = 0; r < c->rows; r++)
        for (size_t col = 0; col < r; col++) {
            double l = rounded(c->sequence->beta[c->first + r] * c->key_pair[r * c->rows + col], f);
            for (size_t j = 0; j < width; j++)
                x[r * width + j] =
                    rounded(x[r * width + j] - rounded(l * x[col * width + j], f), f);
        }
}

/* W = (I+L)^-1 diag(beta) (k exp(G)),  U = (I+L)^-1 diag(beta) V,  then U <- V' = U - W S0. */
static void chunk_updates(struct chunk *c, const double *state)
{
    bool f = c->single_precision;
    for (size_t r = 0; r < c->rows; r++) {
        size_t t = c->first + r;
        for (size_t i = 0; i < c->keys; i++) {
            double decayed = rounded(
                c->sequence->key[t * c->keys + i] * rounded(exp(c->sum[r * c->keys + i]), f), f);
            c->weight[r * c->keys + i] = rounded(c->sequence->beta[t] * decayed, f);
        }
        for (size_t j = 0; j < c->values; j++)
            c->value[r * c->values + j] =
                rounded(c->sequence->beta[t] * c->sequence->value[t * c->values + j], f);
    }
    chunk_solve(c, c->weight, c->keys);
    chunk_solve(c, c->value, c->values);
    for (size_t r = 0; r < c->rows; r++)
        for (size_t i = 0; i < c->keys; i++) {
            double w = c->weight[r * c->keys + i];
            for (size_t j = 0; j < c->values; j++) {
                double *u = &c->value[r * c->values + j];
                *u = rounded(*u - rounded(w * state[i * c->values + j], f), f);
            }
        }
}

/* O = (q exp(G)) S0 + P V'. */
static void chunk_output(const struct chunk *c, const double *state, double *output)
{
    bool f = c->single_precision;
    for (size_t r = 0; r < c->rows; r++) {
        double *o = output + r * c->values;
        const double *q = c->sequence->query + (c->first + r) * c->keys;
        memset(o, 0, c->values * sizeof(double));
        for (size_t i = 0; i < c->keys; i++) {
            double decayed = rounded(q[i] * rounded(exp(c->sum[r * c->keys + i]), f), f);
            for (size_t j = 0; j < c->values; j++)
                o[j] = rounded(o[j] + rounded(decayed * state[i * c->values + j], f), f);
        }
        for (size_t col = 0; col <= r; col++) {
            double p = c->query_pair[r * c->rows + col];
            for (size_t j = 0; j < c->values; j++)
                o[j] = rounded(o[j] + rounded(p * c->value[col * c->values + j], f), f);
        }
    }
}

/* S1 = diag(exp(G_C)) S0 + sum_r (k_r exp(G_C - G_r)) V'_r^T: every exponent is at most 0. */
static void chunk_carry(const struct chunk *c, double *state)
{
    bool f = c->single_precision;
    const double *last = c->sum + (c->rows - 1) * c->keys;
    for (size_t i = 0; i < c->keys; i++) {
        double *row = state + i * c->values;
        double decay = rounded(exp(last[i]), f);
        for (size_t j = 0; j < c->values; j++)
            row[j] = rounded(decay * row[j], f);
        for (size_t r = 0; r < c->rows; r++) {
            double rest = rounded(exp(rounded(last[i] - c->sum[r * c->keys + i], f)), f);
            double k = rounded(c->sequence->key[(c->first + r) * c->keys + i] * rest, f);
            for (size_t j = 0; j < c->values; j++)
                row[j] = rounded(row[j] + rounded(k * c->value[r * c->values + j], f), f);
        }
    }
}

void kda_reference_chunked(const struct kda_sequence *sequence, const struct kda_method *method,
                           double *state, double *output)
{
    size_t chunk = method->chunk, keys = sequence->key_size, values = sequence->value_size;
    assert(chunk > 0);
    struct chunk c = {.keys = keys,
                      .values = values,
                      .single_precision = method->single_precision,
                      .sequence = sequence,
                      .sum = mem_array(chunk * keys, sizeof(double)),
                      .key_pair = mem_array(chunk * chunk, sizeof(double)),
                      .query_pair = mem_array(chunk * chunk, sizeof(double)),
                      .weight = mem_array(chunk * keys, sizeof(double)),
                      .value = mem_array(chunk * values, sizeof(double))};
    for (c.first = 0; c.first < sequence->tokens; c.first += c.rows) {
        size_t left = sequence->tokens - c.first;
        c.rows = left < chunk ? left : chunk;
        chunk_sum_decay(&c);
        chunk_pairs(&c, method->exponent);
        chunk_updates(&c, state);
        chunk_output(&c, state, output + c.first * values);
        chunk_carry(&c, state);
    }
    free(c.sum);
    free(c.key_pair);
    free(c.query_pair);
    free(c.weight);
    free(c.value);
}

struct kda_sequence kda_reference_part(const struct kda_sequence *sequence, size_t begin,
                                       size_t end)
{
    assert(begin <= end && end <= sequence->tokens);
    struct kda_sequence part = *sequence;
    part.tokens = end - begin;
    part.query += begin * sequence->key_size;
    part.key += begin * sequence->key_size;
    part.value += begin * sequence->value_size;
    part.log_decay += begin * (sequence->scalar_decay ? 1 : sequence->key_size);
    part.beta += begin;
    return part;
}

/* Convolves one of q, k, v, whose channels stand at `offset` of the window's rows. */
static double *convolve_part(const struct kda_layer *layer, const double *input, size_t tokens,
                             size_t channels, size_t offset, double *window)
{
    size_t width = 2 * layer->key_size + layer->value_size;
    double *output = mem_array(tokens * channels, sizeof(double));
    double *own = mem_array(KDA_CONV_WINDOW * channels, sizeof(double));
    for (size_t j = 0; j < KDA_CONV_WINDOW; j++)
        memcpy(own + j * channels, window + j * width + offset, channels * sizeof(double));
    kda_reference_convolve(input, tokens, channels, layer->conv_weight + offset * KDA_CONV_WIDTH,
                           own, output);
    for (size_t j = 0; j < KDA_CONV_WINDOW; j++)
        memcpy(window + j * width + offset, own + j * channels, channels * sizeof(double));
    free(own);
    return output;
}

void kda_reference_layer(const struct kda_layer *layer, size_t begin, size_t end,
                         const struct kda_method *method, struct kda_snapshot *snapshot,
                         double *output)
{
    size_t keys = layer->key_size, values = layer->value_size, tokens = end - begin;
    assert(begin <= end && end <= layer->tokens);
    double *q =
        convolve_part(layer, layer->query + begin * keys, tokens, keys, 0, snapshot->window);
    double *k =
        convolve_part(layer, layer->key + begin * keys, tokens, keys, keys, snapshot->window);
    double *v = convolve_part(layer, layer->value + begin * values, tokens, values, 2 * keys,
                              snapshot->window);
    double *decay = mem_array(tokens * keys, sizeof(double));
    double *beta = mem_array(tokens, sizeof(double));
    for (size_t t = 0; t < tokens; t++) {
        kda_reference_normalise(q + t * keys, keys, 1.0 / sqrt((double)keys));
        kda_reference_normalise(k + t * keys, keys, 1.0);
        beta[t] = kda_reference_sigmoid(layer->raw_beta[begin + t]);
        for (size_t i = 0; i < keys; i++)
            decay[t * keys + i] = kda_reference_log_decay(
                layer->gate, layer->lower_bound, layer->a_log,
                layer->raw_gate[(begin + t) * keys + i], layer->gate_bias[i]);
    }
    struct kda_sequence sequence = {tokens, keys, values, q, k, v, decay, beta, false};
    if (method != NULL)
        kda_reference_chunked(&sequence, method, snapshot->state, output);
    else
        kda_reference_recurrence(&sequence, false, snapshot->state, output);
    free(q);
    free(k);
    free(v);
    free(decay);
    free(beta);
}

double kda_reference_bf16(double x)
{
    /* Through fp32 first: the kernels round fp32 values, never doubles. */
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof(bits));
    if ((bits & 0x7fffffffu) <= 0x7f800000u)
        bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    memcpy(&single, &bits, sizeof(bits));
    return (double)single;
}

void kda_reference_round_bf16(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = kda_reference_bf16(values[i]);
}

double kda_reference_error(const double *got, const double *want, size_t count)
{
    double miss = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        miss += (got[i] - want[i]) * (got[i] - want[i]);
        norm += want[i] * want[i];
    }
    if (miss == 0)
        return 0;
    return norm > 0 ? sqrt(miss / norm) : INFINITY;
}
