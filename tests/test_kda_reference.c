/* The oracle of the CUDA probe: the recurrence against the chunk form, overflow and its remedy,
 * resumption from snapshots, and what rounding a snapshot to bf16 costs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "tests/suite.h"
#include "tools/probe/kda_reference.h"
#include "tools/probe/mla_reference.h"

enum decay { DECAY_SOFTPLUS, DECAY_WEAK, DECAY_STRONG, DECAY_SCALAR, DECAY_COUNT };

/* A head with its own memory, freed by head_close. */
struct head {
    struct kda_sequence sequence;
    double *query, *key, *value, *log_decay, *beta;
};

static double normal(struct rng *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += rng_unit(rng);
    return sum;
}

static double *normals(struct rng *rng, size_t count)
{
    double *values = mem_array(count, sizeof(double));
    for (size_t i = 0; i < count; i++)
        values[i] = normal(rng);
    return values;
}

/* Raw gate values whose mean log decay is that of section 5.6: -0.21, -0.02, -4.2. */
static double draw_decay(struct rng *rng, enum decay decay)
{
    double x = normal(rng);
    switch (decay) {
    case DECAY_WEAK:
        return kda_reference_log_decay(KDA_GATE_BOUNDED, -5, 0, x, -6);
    case DECAY_STRONG:
        return kda_reference_log_decay(KDA_GATE_BOUNDED, -5, 0, x, 2.1);
    case DECAY_SOFTPLUS:
    case DECAY_SCALAR:
    case DECAY_COUNT:
        break;
    }
    return kda_reference_log_decay(KDA_GATE_SOFTPLUS, 0, 0, x, -2);
}

static struct head head_open(struct rng *rng, size_t tokens, size_t size, enum decay decay)
{
    struct head head;
    head.query = normals(rng, tokens * size);
    head.key = normals(rng, tokens * size);
    head.value = normals(rng, tokens * size);
    head.beta = mem_array(tokens, sizeof(double));
    size_t channels = decay == DECAY_SCALAR ? 1 : size;
    head.log_decay = mem_array(tokens * channels, sizeof(double));
    for (size_t t = 0; t < tokens; t++) {
        head.beta[t] = kda_reference_sigmoid(normal(rng));
        kda_reference_normalise(head.query + t * size, size, 1 / sqrt((double)size));
        kda_reference_normalise(head.key + t * size, size, 1);
    }
    for (size_t i = 0; i < tokens * channels; i++)
        head.log_decay[i] = draw_decay(rng, decay);
    kda_reference_round_bf16(head.query, tokens * size);
    kda_reference_round_bf16(head.key, tokens * size);
    kda_reference_round_bf16(head.value, tokens * size);
    head.sequence =
        (struct kda_sequence){tokens,     size,           size,      head.query,           head.key,
                              head.value, head.log_decay, head.beta, decay == DECAY_SCALAR};
    return head;
}

static void head_close(struct head *head)
{
    free(head->query);
    free(head->key);
    free(head->value);
    free(head->log_decay);
    free(head->beta);
}

/* Error of outputs and of the final state of a method against the double recurrence. */
static double method_error(const struct head *head, const struct kda_method *method)
{
    const struct kda_sequence *s = &head->sequence;
    size_t cells = s->key_size * s->value_size, outputs = s->tokens * s->value_size;
    double *want_state = mem_array(cells, sizeof(double));
    double *got_state = mem_array(cells, sizeof(double));
    double *want = mem_array(outputs, sizeof(double)), *got = mem_array(outputs, sizeof(double));
    for (size_t i = 0; i < cells; i++)
        want_state[i] = got_state[i] = 0.01 * (double)(i % 7);
    kda_reference_recurrence(s, false, want_state, want);
    kda_reference_chunked(s, method, got_state, got);
    double error = kda_reference_error(got, want, outputs);
    double state_error = kda_reference_error(got_state, want_state, cells);
    free(want_state);
    free(got_state);
    free(want);
    free(got);
    return error > state_error || isnan(error) ? error : state_error;
}

START_TEST(test_gates)
{
    /* The bound multiplies a sigmoid, it does not clamp. */
    ck_assert_double_eq_tol(kda_reference_log_decay(KDA_GATE_BOUNDED, -5, 0, 0, 0), -2.5, 1e-15);
    ck_assert_double_eq_tol(kda_reference_log_decay(KDA_GATE_BOUNDED, -5, 1, 2, 1),
                            -5 / (1 + exp(-exp(1.0) * 3)), 1e-15);
    ck_assert(kda_reference_log_decay(KDA_GATE_BOUNDED, -5, 0, 1e6, 0) >= -5);
    ck_assert_double_eq_tol(kda_reference_log_decay(KDA_GATE_SOFTPLUS, 0, log(2), 0, 0),
                            -2 * log(2), 1e-15);
    ck_assert_double_eq_tol(kda_reference_log_decay(KDA_GATE_SOFTPLUS, 0, 0, 800, 0), -800, 1e-9);
    double row[2] = {3e-3, 4e-3};
    kda_reference_normalise(row, 2, 2);
    ck_assert_double_eq_tol(row[0], 2 * 3e-3 / sqrt(25e-6 + 1e-6), 1e-15);
    ck_assert_double_eq(kda_reference_bf16(1.00390625), 1.0);      /* tie to even */
    ck_assert_double_eq(kda_reference_bf16(1.01171875), 1.015625); /* tie to even, upwards */
    ck_assert(isnan(kda_reference_bf16(NAN)));
}
END_TEST

/* By hand: one channel, two tokens. */
START_TEST(test_recurrence_by_hand)
{
    double q[] = {1, 2}, k[] = {1, 0.5}, v[] = {4, 3}, g[] = {log(0.5), log(0.25)},
           beta[] = {0.5, 1};
    struct kda_sequence s = {2, 1, 1, q, k, v, g, beta, false};
    double state = 2, output[2];
    kda_reference_recurrence(&s, false, &state, output);
    /* S = 1; u = 0.5 (4 - 1) = 1.5; S = 2.5; o = 2.5.
     * S = 0.625; u = 3 - 0.3125 = 2.6875; S = 0.625 + 1.34375 = 1.96875; o = 3.9375. */
    ck_assert_double_eq_tol(output[0], 2.5, 1e-15);
    ck_assert_double_eq_tol(output[1], 3.9375, 1e-15);
    ck_assert_double_eq_tol(state, 1.96875, 1e-15);
}
END_TEST

/* Every chunk, gate and length, whole chunks and not; both forms of the exponent, since double has
 * the range for either. */
START_TEST(test_chunk_equals_recurrence)
{
    static const size_t lengths[] = {1, 2, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 129, 190};
    struct rng rng = rng_open((uint64_t)_i, "chunk");
    double worst = 0;
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        struct head head = head_open(&rng, lengths[l], 32, (enum decay)_i);
        for (size_t chunk = 16; chunk <= 64; chunk *= 2)
            for (int form = 0; form < 2; form++) {
                struct kda_method method = {chunk, (enum kda_exponent)form, false};
                double error = method_error(&head, &method);
                ck_assert_msg(error <= 1e-14, "decay %d tokens %zu chunk %zu form %d: %g", _i,
                              lengths[l], chunk, form, error);
                worst = error > worst ? error : worst;
            }
        head_close(&head);
    }
    printf("chunk against recurrence, decay %d: worst %.1e\n", _i, worst);
}
END_TEST

START_TEST(test_full_size_chunk)
{
    struct rng rng = rng_open(1, "full size");
    struct head head = head_open(&rng, 300, 128, (enum decay)_i);
    for (size_t chunk = 16; chunk <= 64; chunk *= 2) {
        struct kda_method method = {chunk, KDA_EXPONENT_SUBCHUNK, false};
        double error = method_error(&head, &method);
        ck_assert_msg(error <= 1e-14, "decay %d chunk %zu: %g", _i, chunk, error);
    }
    head_close(&head);
}
END_TEST

/* In fp32, exp(-G) overflows at chunk 64 under strong decay; sub-chunk offsets do not. */
START_TEST(test_overflow_and_remedy)
{
    struct rng rng = rng_open(1, "overflow");
    struct head strong = head_open(&rng, 200, 64, DECAY_STRONG);
    struct head weak = head_open(&rng, 200, 64, DECAY_WEAK);
    struct kda_method naive = {64, KDA_EXPONENT_NAIVE, true};
    struct kda_method remedy = {64, KDA_EXPONENT_SUBCHUNK, true};
    ck_assert(isnan(method_error(&strong, &naive)));
    ck_assert_double_le(method_error(&strong, &remedy), 1e-6);
    ck_assert_double_le(method_error(&weak, &naive), 2e-6);
    ck_assert_double_le(method_error(&weak, &remedy), 2e-6);
    head_close(&strong);
    head_close(&weak);
}
END_TEST

/* A token with beta 0 and log decay 0 is padding: it leaves the state alone. */
START_TEST(test_padding)
{
    struct rng rng = rng_open(1, "padding");
    struct head head = head_open(&rng, 40, 16, DECAY_SOFTPLUS);
    for (size_t t = 30; t < 40; t++) {
        head.beta[t] = 0;
        memset(head.log_decay + t * 16, 0, 16 * sizeof(double));
    }
    double padded[256] = {0}, exact[256] = {0}, output[40 * 16];
    struct kda_sequence part = kda_reference_part(&head.sequence, 0, 30);
    struct kda_method method = {16, KDA_EXPONENT_SUBCHUNK, false};
    kda_reference_recurrence(&part, false, exact, output);
    kda_reference_recurrence(&head.sequence, false, padded, output);
    ck_assert_mem_eq(padded, exact, sizeof(exact));
    memset(padded, 0, sizeof(padded));
    kda_reference_chunked(&head.sequence, &method, padded, output);
    ck_assert_double_le(kda_reference_error(padded, exact, 256), 1e-14);
    head_close(&head);
}
END_TEST

#define LAYER_SIZE 16
#define LAYER_TOKENS 70

struct layer_memory {
    struct kda_layer layer;
    double *parts[8];
};

static struct layer_memory layer_open(enum kda_gate gate)
{
    struct rng rng = rng_open((uint64_t)gate, "layer");
    struct layer_memory m = {.layer = {.tokens = LAYER_TOKENS,
                                       .key_size = LAYER_SIZE,
                                       .value_size = LAYER_SIZE,
                                       .a_log = 0.3,
                                       .gate = gate,
                                       .lower_bound = -5}};
    for (size_t i = 0; i < 4; i++)
        m.parts[i] = normals(&rng, LAYER_TOKENS * LAYER_SIZE);
    m.parts[4] = normals(&rng, LAYER_TOKENS);
    m.parts[5] = normals(&rng, 3 * LAYER_SIZE * KDA_CONV_WIDTH);
    m.parts[6] = normals(&rng, LAYER_SIZE);
    m.layer.query = m.parts[0];
    m.layer.key = m.parts[1];
    m.layer.value = m.parts[2];
    m.layer.raw_gate = m.parts[3];
    m.layer.raw_beta = m.parts[4];
    m.layer.conv_weight = m.parts[5];
    m.layer.gate_bias = m.parts[6];
    return m;
}

static void layer_close(struct layer_memory *m)
{
    for (size_t i = 0; i < 7; i++)
        free(m->parts[i]);
}

struct layer_run {
    double state[LAYER_SIZE * LAYER_SIZE], window[KDA_CONV_WINDOW * 3 * LAYER_SIZE];
    double output[LAYER_TOKENS * LAYER_SIZE];
};

static void layer_advance(const struct kda_layer *layer, struct layer_run *run, size_t begin,
                          size_t end, const struct kda_method *method)
{
    struct kda_snapshot snapshot = {run->state, run->window};
    kda_reference_layer(layer, begin, end, method, &snapshot, run->output + begin * LAYER_SIZE);
}

/* From a double snapshot of state and window, at every position, bit for bit. */
START_TEST(test_resume_exactly)
{
    struct layer_memory m = layer_open((enum kda_gate)_i);
    struct layer_run whole = {0};
    layer_advance(&m.layer, &whole, 0, LAYER_TOKENS, NULL);
    for (size_t position = 0; position <= LAYER_TOKENS; position++) {
        struct layer_run first = {0};
        layer_advance(&m.layer, &first, 0, position, NULL);
        struct layer_run second = first;
        layer_advance(&m.layer, &second, position, LAYER_TOKENS, NULL);
        ck_assert_mem_eq(&second, &whole, sizeof(whole));
    }
    layer_close(&m);
}
END_TEST

/* The chunk form: bit for bit at chunk bounds, since its arithmetic is then the same; elsewhere the
 * chunks lie differently and rounding does too. */
START_TEST(test_resume_chunked)
{
    struct layer_memory m = layer_open((enum kda_gate)_i);
    struct kda_method method = {16, KDA_EXPONENT_SUBCHUNK, false};
    struct layer_run whole = {0};
    layer_advance(&m.layer, &whole, 0, LAYER_TOKENS, &method);
    for (size_t position = 0; position <= LAYER_TOKENS; position++) {
        struct layer_run parts = {0};
        layer_advance(&m.layer, &parts, 0, position, &method);
        layer_advance(&m.layer, &parts, position, LAYER_TOKENS, &method);
        if (position % 16 == 0)
            ck_assert_mem_eq(&parts, &whole, sizeof(whole));
        ck_assert_double_le(
            kda_reference_error(parts.output, whole.output, LAYER_TOKENS * LAYER_SIZE), 1e-14);
        ck_assert_double_le(kda_reference_error(parts.state, whole.state, LAYER_SIZE * LAYER_SIZE),
                            1e-14);
    }
    layer_close(&m);
}
END_TEST

/* The failures seen in real servers must be visible: a stale window, a state one token off. */
START_TEST(test_wrong_snapshot_shows)
{
    struct layer_memory m = layer_open(KDA_GATE_SOFTPLUS);
    struct layer_run whole = {0}, early = {0}, resumed = {0};
    layer_advance(&m.layer, &whole, 0, LAYER_TOKENS, NULL);
    layer_advance(&m.layer, &early, 0, 31, NULL);
    layer_advance(&m.layer, &resumed, 0, 32, NULL);
    struct layer_run stale = resumed;
    memcpy(stale.window, early.window, sizeof(stale.window));
    layer_advance(&m.layer, &stale, 32, LAYER_TOKENS, NULL);
    layer_advance(&m.layer, &early, 32, LAYER_TOKENS, NULL);
    size_t tail = 32 * LAYER_SIZE, count = (LAYER_TOKENS - 32) * LAYER_SIZE;
    ck_assert_double_gt(kda_reference_error(stale.output + tail, whole.output + tail, count), 1e-2);
    ck_assert_double_gt(kda_reference_error(early.output + tail, whole.output + tail, count), 1e-2);
    layer_close(&m);
}
END_TEST

/* Section 5.6, "state rounded once per 1,536 tokens": 1.3e-4, 3.8e-4 and 4.9e-7 of the output. The
 * inputs differ from those of the section, so half as much again is allowed, and at least a third
 * must be there, or the rounding was not done. Under strong decay the figure is that of few tokens
 * behind the snapshot, and a draw says little: 61 seeds gave 1.1e-7 to 2.0e-6, median 8.4e-7. */
START_TEST(test_bf16_snapshot)
{
    static const double stated[] = {1.3e-4, 3.8e-4, 4.9e-7};
    const size_t tokens = 2048, at = 1536, size = 128;
    struct rng rng = rng_open((uint64_t)_i, "bf16 snapshot");
    struct head head = head_open(&rng, tokens, size, (enum decay)_i);
    struct kda_sequence before = kda_reference_part(&head.sequence, 0, at);
    struct kda_sequence after = kda_reference_part(&head.sequence, at, tokens);
    double *state = mem_array(size * size, sizeof(double));
    double *want = mem_array(tokens * size, sizeof(double));
    double *got = mem_array(tokens * size, sizeof(double));
    kda_reference_recurrence(&before, false, state, want);
    memcpy(got, want, at * size * sizeof(double));
    double *rounded = mem_array(size * size, sizeof(double));
    memcpy(rounded, state, size * size * sizeof(double));
    kda_reference_round_bf16(rounded, size * size);
    kda_reference_recurrence(&after, false, state, want + at * size);
    kda_reference_recurrence(&after, false, rounded, got + at * size);
    double error = kda_reference_error(got, want, tokens * size);
    printf("bf16 snapshot at 1536 of 2048, decay %d: %.2e, stated %.1e\n", _i, error, stated[_i]);
    ck_assert_double_le(error, 1.5 * stated[_i]);
    ck_assert_double_ge(error, stated[_i] / 3);
    free(state);
    free(rounded);
    free(want);
    free(got);
    head_close(&head);
}
END_TEST

START_TEST(test_mla_forms_agree)
{
    struct mla_shape shape = {3, 24, 5, 8, 7};
    struct rng rng = rng_open(1, "mla");
    const size_t context = 19, size = shape.nope + shape.rope, row = shape.latent + shape.rope;
    double *cache = normals(&rng, context * row);
    double *query = normals(&rng, shape.heads * size);
    double *key_weight = normals(&rng, shape.heads * shape.nope * shape.latent);
    double *value_weight = normals(&rng, shape.heads * shape.value * shape.latent);
    double *key = mem_array(context * shape.heads * size, sizeof(double));
    double *value = mem_array(context * shape.heads * shape.value, sizeof(double));
    double absorbed[3 * 29], latent[3 * 24], released[3 * 7], expanded[3 * 7];
    mla_reference_expand(&shape, cache, context, key_weight, value_weight, key, value);
    mla_reference_expanded(&shape, query, key, value, context - 1, 1, 0.3, expanded);
    mla_reference_absorb_query(&shape, query, key_weight, absorbed);
    mla_reference_absorbed(&shape, absorbed, cache, context, 0.3, latent);
    mla_reference_release_output(&shape, latent, value_weight, released);
    ck_assert_double_le(kda_reference_error(released, expanded, 3 * 7), 1e-13);
    free(cache);
    free(query);
    free(key_weight);
    free(value_weight);
    free(key);
    free(value);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kda_reference");
    TCase *tests = tcase_create("reference");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_gates);
    tcase_add_test(tests, test_recurrence_by_hand);
    tcase_add_loop_test(tests, test_chunk_equals_recurrence, 0, DECAY_COUNT);
    tcase_add_loop_test(tests, test_full_size_chunk, 0, DECAY_COUNT);
    tcase_add_test(tests, test_overflow_and_remedy);
    tcase_add_test(tests, test_padding);
    tcase_add_loop_test(tests, test_resume_exactly, 0, 2);
    tcase_add_loop_test(tests, test_resume_chunked, 0, 2);
    tcase_add_test(tests, test_wrong_snapshot_shows);
    tcase_add_loop_test(tests, test_bf16_snapshot, 0, 3);
    tcase_add_test(tests, test_mla_forms_agree);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
