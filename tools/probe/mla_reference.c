#include "tools/probe/mla_reference.h"

#include <math.h>
#include <stdlib.h>

#include "sim/core/mem.h"

static double dot(const double *a, const double *b, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Softmax-weighted sum of `value` rows; rows lie `stride` apart. score is overwritten. */
static void attend(double *score, size_t context, const double *value, size_t stride, size_t size,
                   double *output)
{
    double top = -INFINITY, total = 0;
    for (size_t t = 0; t < context; t++)
        top = score[t] > top ? score[t] : top;
    for (size_t t = 0; t < context; t++) {
        score[t] = exp(score[t] - top);
        total += score[t];
    }
    for (size_t j = 0; j < size; j++) {
        double sum = 0;
        for (size_t t = 0; t < context; t++)
            sum += score[t] * value[t * stride + j];
        output[j] = sum / total;
    }
}

void mla_reference_absorbed(const struct mla_shape *shape, const double *query, const double *cache,
                            size_t context, double scale, double *output)
{
    size_t row = shape->latent + shape->rope;
    double *score = mem_array(context, sizeof(double));
    for (size_t h = 0; h < shape->heads; h++) {
        for (size_t t = 0; t < context; t++)
            score[t] = scale * dot(query + h * row, cache + t * row, row);
        attend(score, context, cache, row, shape->latent, output + h * shape->latent);
    }
    free(score);
}

void mla_reference_expanded(const struct mla_shape *shape, const double *query, const double *key,
                            const double *value, size_t prefix, size_t tokens, double scale,
                            double *output)
{
    size_t size = shape->nope + shape->rope;
    double *score = mem_array(prefix + tokens, sizeof(double));
    for (size_t n = 0; n < tokens; n++)
        for (size_t h = 0; h < shape->heads; h++) {
            const double *q = query + (n * shape->heads + h) * size;
            size_t context = prefix + n + 1;
            for (size_t t = 0; t < context; t++)
                score[t] = scale * dot(q, key + (t * shape->heads + h) * size, size);
            attend(score, context, value + h * shape->value, shape->heads * shape->value,
                   shape->value, output + (n * shape->heads + h) * shape->value);
        }
    free(score);
}

void mla_reference_expand(const struct mla_shape *shape, const double *cache, size_t context,
                          const double *key_weight, const double *value_weight, double *key,
                          double *value)
{
    size_t row = shape->latent + shape->rope, size = shape->nope + shape->rope;
    for (size_t t = 0; t < context; t++)
        for (size_t h = 0; h < shape->heads; h++) {
            const double *cached = cache + t * row;
            double *k = key + (t * shape->heads + h) * size;
            double *v = value + (t * shape->heads + h) * shape->value;
            for (size_t j = 0; j < shape->nope; j++)
                k[j] =
                    dot(key_weight + (h * shape->nope + j) * shape->latent, cached, shape->latent);
            for (size_t j = 0; j < shape->rope; j++)
                k[shape->nope + j] = cached[shape->latent + j];
            for (size_t j = 0; j < shape->value; j++)
                v[j] = dot(value_weight + (h * shape->value + j) * shape->latent, cached,
                           shape->latent);
        }
}

void mla_reference_absorb_query(const struct mla_shape *shape, const double *query,
                                const double *key_weight, double *absorbed)
{
    size_t row = shape->latent + shape->rope, size = shape->nope + shape->rope;
    for (size_t h = 0; h < shape->heads; h++) {
        const double *q = query + h * size;
        for (size_t l = 0; l < shape->latent; l++) {
            double sum = 0;
            for (size_t j = 0; j < shape->nope; j++)
                sum += q[j] * key_weight[(h * shape->nope + j) * shape->latent + l];
            absorbed[h * row + l] = sum;
        }
        for (size_t j = 0; j < shape->rope; j++)
            absorbed[h * row + shape->latent + j] = q[shape->nope + j];
    }
}

void mla_reference_release_output(const struct mla_shape *shape, const double *absorbed,
                                  const double *value_weight, double *output)
{
    for (size_t h = 0; h < shape->heads; h++)
        for (size_t j = 0; j < shape->value; j++)
            output[h * shape->value + j] =
                dot(value_weight + (h * shape->value + j) * shape->latent,
                    absorbed + h * shape->latent, shape->latent);
}
