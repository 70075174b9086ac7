/* mla_reference.h - multi-head latent attention in double precision, in both forms.
 *
 * The cache of one token is one row: `latent` values from which every head's key and value are
 * expanded, and `rope` values that are part of every head's key as they are. Absorbed form: the
 * query is carried into the latent space, so that all heads read the same rows (decode). Expanded
 * form: each head has its own keys and values (prefill). Both give the same numbers, which
 * mla_reference_expand and mla_reference_absorb make checkable. */
#ifndef SNAPSIM_MLA_REFERENCE_H
#define SNAPSIM_MLA_REFERENCE_H

#include <stddef.h>

struct mla_shape {
    size_t heads;
    size_t latent; /* kv_lora_rank: 512 */
    size_t rope;   /* dimensions of the key that are cached as they are: 64 */
    size_t nope;   /* dimensions of a head's expanded key: 128 */
    size_t value;  /* of a head's value: 128 */
};

/* One query token. query [heads][latent + rope], cache [context][latent + rope], output
 * [heads][latent]. */
void mla_reference_absorbed(const struct mla_shape *shape, const double *query, const double *cache,
                            size_t context, double scale, double *output);

/* Causal attention of `tokens` queries that stand after `prefix` cached tokens. query
 * [tokens][heads][nope + rope], key [prefix + tokens][heads][nope + rope], value
 * [prefix + tokens][heads][value], output [tokens][heads][value]. */
void mla_reference_expanded(const struct mla_shape *shape, const double *query, const double *key,
                            const double *value, size_t prefix, size_t tokens, double scale,
                            double *output);

/* Keys and values of all heads from the cache. key_weight [heads][nope][latent], value_weight
 * [heads][value][latent]. */
void mla_reference_expand(const struct mla_shape *shape, const double *cache, size_t context,
                          const double *key_weight, const double *value_weight, double *key,
                          double *value);

/* One query token [heads][nope + rope] into the latent space [heads][latent + rope], and the
 * absorbed output [heads][latent] back to [heads][value]. */
void mla_reference_absorb_query(const struct mla_shape *shape, const double *query,
                                const double *key_weight, double *absorbed);
void mla_reference_release_output(const struct mla_shape *shape, const double *absorbed,
                                  const double *value_weight, double *output);

#endif
