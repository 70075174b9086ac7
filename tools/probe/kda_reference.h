/* kda_reference.h - Kimi Delta Attention and its relatives, slowly and in double precision.
 *
 * The oracle that every GPU kernel of the probe is compared with. Two forms of the same layer:
 * the recurrence, token by token, which is the definition; and the chunk form (WY form), which is
 * what fast kernels compute. One head at a time; the state S is key_size x value_size, row i
 * belonging to key channel i.
 *
 *     S <- diag(exp(g)) S;   u = beta (v - S^T k);   S <- S + k u^T;   o = S^T q
 *
 * Gated DeltaNet is the same with one log decay per token instead of one per key channel.
 * Everything here is borrowed for the call; nothing fails (memory ends the program in mem.c). */
#ifndef SNAPSIM_KDA_REFERENCE_H
#define SNAPSIM_KDA_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#define KDA_CONV_WIDTH 4                     /* taps of the short convolution */
#define KDA_CONV_WINDOW (KDA_CONV_WIDTH - 1) /* inputs that the next token still needs */

enum kda_gate {
    KDA_GATE_BOUNDED, /* lower_bound * sigmoid(exp(a_log) * (raw + bias)): Kimi K3, bound -5 */
    KDA_GATE_SOFTPLUS /* -exp(a_log) * softplus(raw + bias): Kimi Linear, Gated DeltaNet */
};

/* Prepared inputs of one head: q and k normalised, q scaled, g = log decay, beta in (0, 1). */
struct kda_sequence {
    size_t tokens, key_size, value_size;
    const double *query, *key; /* [tokens][key_size] */
    const double *value;       /* [tokens][value_size] */
    const double *log_decay;   /* [tokens][key_size], or [tokens] if scalar_decay */
    const double *beta;        /* [tokens] */
    bool scalar_decay;
};

/* How the chunk form computes exp(G_r - G_c), G being the sum of log decays within the chunk. */
enum kda_exponent {
    KDA_EXPONENT_NAIVE,   /* exp(G_r) * exp(-G_c): overflows in fp32 under strong decay */
    KDA_EXPONENT_SUBCHUNK /* offsets at 16-token sub-chunks, pairwise on the diagonal */
};

struct kda_method {
    size_t chunk; /* tokens per chunk; the last one may be shorter */
    enum kda_exponent exponent;
    bool single_precision; /* every operation rounded to fp32 */
};

/* Raw inputs of one head: what the projections of a layer deliver, and the layer's constants. */
struct kda_layer {
    size_t tokens, key_size, value_size;
    const double *query, *key, *value; /* [tokens][size], before the convolution */
    const double *raw_gate;            /* [tokens][key_size] */
    const double *raw_beta;            /* [tokens] */
    const double *conv_weight;         /* [2 * key_size + value_size][KDA_CONV_WIDTH] */
    const double *gate_bias;           /* [key_size] */
    double a_log;
    enum kda_gate gate;
    double lower_bound;
};

/* The state after some tokens; a snapshot is a copy of it. */
struct kda_snapshot {
    double *state;  /* [key_size][value_size] */
    double *window; /* [KDA_CONV_WINDOW][2 * key_size + value_size], oldest first */
};

double kda_reference_log_decay(enum kda_gate gate, double lower_bound, double a_log, double raw,
                               double bias);
double kda_reference_sigmoid(double x);

/* x / sqrt(sum of squares + 1e-6) * scale: the epsilon stands inside the root of the sum. */
void kda_reference_normalise(double *row, size_t size, double scale);

/* Causal depthwise convolution and SiLU. input and output are [tokens][channels], window is
 * [KDA_CONV_WINDOW][channels] and is moved on by the tokens given. */
void kda_reference_convolve(const double *input, size_t tokens, size_t channels,
                            const double *weight, double *window, double *output);

/* Both move state on by all tokens and write output [tokens][value_size]. */
void kda_reference_recurrence(const struct kda_sequence *sequence, bool single_precision,
                              double *state, double *output);
void kda_reference_chunked(const struct kda_sequence *sequence, const struct kda_method *method,
                           double *state, double *output);

/* Tokens [begin, end) of a sequence, sharing its memory. */
struct kda_sequence kda_reference_part(const struct kda_sequence *sequence, size_t begin,
                                       size_t end);

/* Convolution, normalisation, gates and recurrence over tokens [begin, end) of a layer, from the
 * snapshot of position begin, which becomes that of position end. Output [end-begin][value_size].
 * method NULL is the recurrence. */
void kda_reference_layer(const struct kda_layer *layer, size_t begin, size_t end,
                         const struct kda_method *method, struct kda_snapshot *snapshot,
                         double *output);

/* The nearest bf16, ties to even. */
double kda_reference_bf16(double x);
void kda_reference_round_bf16(double *values, size_t count);

/* Relative Frobenius error ||got - want|| / ||want||; NaN if got has one. 0/0 is 0. */
double kda_reference_error(const double *got, const double *want, size_t count);

#endif
