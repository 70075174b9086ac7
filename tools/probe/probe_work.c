#include "tools/probe/probe_work.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/probe/gpu.h"
#include "tools/probe/probe_plan.h"

#define POISON 0xff
#define MOST_BUFFERS 20
#define READ_BLOCKS 1056 /* 8 for each of 132 SMs */

struct buffer {
    unsigned char *memory;
    size_t set_bytes; /* 0: the same for all sets */
    size_t bytes;     /* of all sets */
    bool output;
};

struct work {
    const struct point *point;
    uint32_t sets, seed;
    struct buffer buffers[MOST_BUFFERS];
    unsigned buffer_count;
    bool failed; /* sticky, as in a lab */
    struct err *err;
    uint32_t tile_count, run_count, emit_count; /* of a prefill */
    uint32_t splits, split_tokens, pages;       /* of an MLA decode */
};

static unsigned add_buffer(struct work *w, size_t set_bytes, uint32_t sets)
{
    assert(w->buffer_count < MOST_BUFFERS);
    /* Sets start on 256-byte bounds, as allocations do. */
    size_t padded = (set_bytes + 255) / 256 * 256;
    struct buffer *buffer = &w->buffers[w->buffer_count];
    *buffer = (struct buffer){NULL, sets > 1 ? padded : 0, padded * sets, false};
    if (!w->failed && gpu_alloc((void **)&buffer->memory, buffer->bytes, w->err) != 0)
        w->failed = true;
    return w->buffer_count++;
}

static unsigned add_input(struct work *w, size_t count, bool single, float low, float high)
{
    unsigned index = add_buffer(w, count * (single ? 4 : 2), w->sets);
    struct buffer *buffer = &w->buffers[index];
    struct random_fill fill = {
        buffer->memory, buffer->bytes / (single ? 4 : 2), low, high, w->seed++, single};
    if (!w->failed && gpu_finish(kernel_random_fill(NULL, &fill), "random_fill", w->err) != 0)
        w->failed = true;
    return index;
}

static unsigned add_bf16(struct work *w, size_t count)
{
    return add_input(w, count, false, -1, 1);
}

static unsigned add_output(struct work *w, size_t bytes)
{
    unsigned index = add_buffer(w, bytes, w->sets);
    w->buffers[index].output = true;
    return index;
}

static unsigned add_table(struct work *w, const void *host, size_t bytes)
{
    unsigned index = add_buffer(w, bytes, 1);
    if (!w->failed && gpu_upload(w->buffers[index].memory, host, bytes, w->err) != 0)
        w->failed = true;
    return index;
}

static void *at(const struct work *w, unsigned index, uint32_t set)
{
    const struct buffer *buffer = &w->buffers[index];
    return buffer->memory + buffer->set_bytes * set;
}

/* 0, 1, 2 ... : slots, or pages in an order that jumps about (stride is prime to count). */
static unsigned add_indices(struct work *w, uint32_t count, uint32_t stride)
{
    int32_t *index = mem_array(count, sizeof(int32_t));
    for (uint64_t i = 0; i < count; i++)
        index[i] = (int32_t)(i * stride % count);
    unsigned table = add_table(w, index, count * sizeof(int32_t));
    free(index);
    return table;
}

static uint32_t stride_prime_to(uint32_t count)
{
    static const uint32_t primes[] = {7919, 7907, 7901};
    for (size_t i = 0; i < 3; i++)
        if (count % primes[i] != 0)
            return primes[i];
    return 1;
}

static void plan_sequences(struct work *w, struct plan *plan)
{
    struct plan_sequence *sequences = mem_array(w->point->sequences, sizeof(*sequences));
    for (uint32_t i = 0; i < w->point->sequences; i++)
        sequences[i].tokens = w->point->tokens;
    probe_plan_open(plan, sequences, w->point->sequences, w->point->interval);
    w->tile_count = plan->tile_count;
    w->run_count = plan->run_count;
    w->emit_count = plan->sequences;
    free(sequences);
}

/* The first eight buffers of prefill and decode are the same. */
enum { QUERY, KEY, VALUE, GATE, BETA, A_LOG, BIAS, STATE, OUTPUT, SLOT };

static void open_recurrent(struct work *w, size_t rows)
{
    const struct point *p = w->point;
    size_t gates = probe_point_is_scalar(p) ? 1 : KERNEL_HEAD;
    add_bf16(w, rows * p->key_heads * KERNEL_HEAD);
    add_bf16(w, rows * p->key_heads * KERNEL_HEAD);
    add_bf16(w, rows * p->heads * KERNEL_HEAD);
    add_bf16(w, rows * p->heads * gates);
    add_bf16(w, rows * p->heads);
    add_input(w, p->heads, true, -0.5f, 0.5f);
    add_input(w, p->heads * gates, true, -3, -1);
    add_input(w, p->sequences * (size_t)(probe_point_state_bytes(p) / 4), true, -0.1f, 0.1f);
    add_output(w, rows * p->heads * KERNEL_HEAD * 2);
    add_indices(w, p->sequences, 1);
}

enum { TILES = SLOT + 1, TILE_FIRST, PREPARED, SNAPSHOTS };

static void open_prefill(struct work *w)
{
    const struct point *p = w->point;
    struct plan plan;
    plan_sequences(w, &plan);
    open_recurrent(w, plan.tokens);
    add_table(w, plan.tiles, plan.tile_count * sizeof(struct kda_tile));
    add_table(w, plan.tile_first, (plan.sequences + 1) * sizeof(int32_t));
    add_buffer(w, (size_t)plan.tile_count * p->heads * sizeof(struct kda_prepared), 1);
    if (p->interval > 0)
        add_output(w, plan.snapshot_count * (size_t)probe_point_state_bytes(p) /
                          (p->snapshot_bf16 ? 2 : 1));
    probe_plan_close(&plan);
}

static int launch_prefill(const struct work *w, uint32_t set, void *stream)
{
    const struct point *p = w->point;
    struct kda_prefill arguments = {.query = at(w, QUERY, set),
                                    .key = at(w, KEY, set),
                                    .value = at(w, VALUE, set),
                                    .raw_gate = at(w, GATE, set),
                                    .raw_beta = at(w, BETA, set),
                                    .a_log = at(w, A_LOG, set),
                                    .bias = at(w, BIAS, set),
                                    .tiles = at(w, TILES, set),
                                    .tile_first = at(w, TILE_FIRST, set),
                                    .slot = at(w, SLOT, set),
                                    .state = at(w, STATE, set),
                                    .snapshots = p->interval > 0 ? at(w, SNAPSHOTS, set) : NULL,
                                    .output = at(w, OUTPUT, set),
                                    .prepared = at(w, PREPARED, set),
                                    .tile_count = w->tile_count,
                                    .sequences = p->sequences,
                                    .heads = p->heads,
                                    .key_heads = p->key_heads,
                                    .warps = p->warps,
                                    .gate = p->gate,
                                    .scalar = probe_point_is_scalar(p),
                                    .snapshot_bf16 = p->snapshot_bf16,
                                    .lower_bound = -5};
    return kernel_kda_prefill(stream, &arguments);
}

static int launch_decode(const struct work *w, uint32_t set, void *stream)
{
    const struct point *p = w->point;
    struct kda_decode arguments = {at(w, QUERY, set),
                                   at(w, KEY, set),
                                   at(w, VALUE, set),
                                   at(w, GATE, set),
                                   at(w, BETA, set),
                                   at(w, A_LOG, set),
                                   at(w, BIAS, set),
                                   at(w, SLOT, set),
                                   at(w, STATE, set),
                                   at(w, OUTPUT, set),
                                   p->sequences,
                                   p->heads,
                                   p->key_heads,
                                   p->gate,
                                   probe_point_is_scalar(p),
                                   -5};
    return kernel_kda_decode(stream, &arguments);
}

enum {
    CONV_INPUT,
    CONV_WEIGHT,
    CONV_WINDOWS,
    CONV_OUTPUT,
    CONV_TABLE,
    CONV_RUNS,
    CONV_EMITS,
    CONV_KEPT
};

static void open_conv(struct work *w)
{
    const struct point *p = w->point;
    size_t channels = probe_point_channels(p), rows = (size_t)p->sequences * p->tokens;
    add_bf16(w, rows * channels);
    add_input(w, 4 * channels, true, -0.5f, 0.5f);
    add_bf16(w, p->sequences * KERNEL_WINDOW * channels);
    add_output(w, rows * channels * 2);
    if (p->kind == POINT_CONV_UPDATE) {
        add_indices(w, p->sequences, 1);
        return;
    }
    struct plan plan;
    plan_sequences(w, &plan);
    add_table(w, plan.token, plan.sequences * sizeof(int32_t));
    add_table(w, plan.runs, plan.run_count * sizeof(struct conv_run));
    add_table(w, plan.emits, plan.sequences * sizeof(struct conv_emit));
    add_output(w, plan.sequences * KERNEL_WINDOW * channels * 2);
    probe_plan_close(&plan);
}

static int launch_conv(const struct work *w, uint32_t set, void *stream)
{
    const struct point *p = w->point;
    if (p->kind == POINT_CONV_UPDATE) {
        struct conv_update update = {at(w, CONV_INPUT, set),  at(w, CONV_WEIGHT, set),
                                     at(w, CONV_TABLE, set),  at(w, CONV_WINDOWS, set),
                                     at(w, CONV_OUTPUT, set), p->sequences,
                                     probe_point_channels(p)};
        return kernel_conv_update(stream, &update);
    }
    struct conv_prefill prefill = {
        at(w, CONV_INPUT, set),  at(w, CONV_WEIGHT, set), at(w, CONV_WINDOWS, set),
        at(w, CONV_TABLE, set),  at(w, CONV_RUNS, set),   at(w, CONV_EMITS, set),
        at(w, CONV_OUTPUT, set), at(w, CONV_KEPT, set),   w->run_count,
        w->emit_count,           probe_point_channels(p)};
    return kernel_conv_prefill(stream, &prefill);
}

enum { MLA_QUERY, MLA_CACHE, MLA_OUTPUT, MLA_PAGES, MLA_CONTEXT, MLA_PARTIAL, MLA_WEIGHT };

/* Enough splits for every SM to have a block, none shorter than four tiles. */
static void plan_splits(struct work *w)
{
    const struct point *p = w->point;
    uint32_t heads = p->heads <= 16 ? 16 : p->heads <= 32 ? 32 : 48;
    uint32_t blocks = p->sequences * ((p->heads + heads - 1) / heads);
    uint32_t wanted = (132 + blocks - 1) / blocks;
    uint32_t tokens = (p->context + wanted - 1) / wanted;
    tokens = tokens < 256 ? 256 : tokens;
    w->split_tokens = (tokens + 63) / 64 * 64;
    w->splits = (p->context + w->split_tokens - 1) / w->split_tokens;
    w->pages = (p->context + p->page_tokens - 1) / p->page_tokens;
}

static void open_mla_decode(struct work *w)
{
    const struct point *p = w->point;
    plan_splits(w);
    uint32_t pages = w->pages * p->sequences;
    size_t rows = (size_t)p->sequences * p->heads;
    add_bf16(w, rows * KERNEL_CACHED);
    add_bf16(w, (size_t)pages * p->page_tokens * KERNEL_CACHED);
    add_output(w, rows * KERNEL_LATENT * 2);
    add_indices(w, pages, stride_prime_to(pages));
    int32_t *context = mem_array(p->sequences, sizeof(int32_t));
    for (uint32_t i = 0; i < p->sequences; i++)
        context[i] = (int32_t)p->context;
    add_table(w, context, p->sequences * sizeof(int32_t));
    free(context);
    add_buffer(w, rows * w->splits * KERNEL_LATENT * sizeof(float), 1);
    add_buffer(w, rows * w->splits * 2 * sizeof(float), 1);
}

static int launch_mla_decode(const struct work *w, uint32_t set, void *stream)
{
    const struct point *p = w->point;
    struct mla_decode decode = {.query = at(w, MLA_QUERY, set),
                                .cache = at(w, MLA_CACHE, set),
                                .pages = at(w, MLA_PAGES, set),
                                .context = at(w, MLA_CONTEXT, set),
                                .partial = at(w, MLA_PARTIAL, set),
                                .partial_weight = at(w, MLA_WEIGHT, set),
                                .output = at(w, MLA_OUTPUT, set),
                                .batch = p->sequences,
                                .heads = p->heads,
                                .page_tokens = p->page_tokens,
                                .pages_per_sequence = w->pages,
                                .splits = w->splits,
                                .split_tokens = w->split_tokens,
                                .scale = 0.07f};
    return kernel_mla_decode(stream, &decode);
}

static void open_mla_prefill(struct work *w)
{
    const struct point *p = w->point;
    size_t all = (size_t)p->context + p->tokens;
    add_bf16(w, (size_t)p->tokens * p->heads * KERNEL_KEY);
    add_bf16(w, all * p->heads * KERNEL_KEY);
    add_bf16(w, all * p->heads * KERNEL_VALUE);
    add_output(w, (size_t)p->tokens * p->heads * KERNEL_VALUE * 2);
}

static int launch_mla_prefill(const struct work *w, uint32_t set, void *stream)
{
    const struct point *p = w->point;
    struct mla_prefill prefill = {at(w, 0, set), at(w, 1, set), at(w, 2, set), at(w, 3, set),
                                  p->tokens,     p->context,    p->heads,      0.07f};
    return kernel_mla_prefill(stream, &prefill);
}

/* Buffers 0 and 1 are from and to; 2 is the table of a snapshot copy or of a gather. */
static void open_copy(struct work *w)
{
    const struct point *p = w->point;
    add_bf16(w, p->bytes / 2);
    if (p->kind == POINT_HBM_READ)
        add_buffer(w, 256, w->sets); /* a sum: not poisoned, since it is added to */
    else
        add_output(w, p->bytes);
    if (p->kind == POINT_KV_GATHER) {
        uint64_t pages = p->bytes / ((uint64_t)p->page_tokens * KERNEL_CACHED * 2);
        add_indices(w, (uint32_t)pages, stride_prime_to((uint32_t)pages));
    }
    if (p->kind != POINT_SNAPSHOT_COPY || w->failed)
        return;
    uint64_t state = probe_point_state_bytes(p), window = probe_point_window_bytes(p);
    struct copy_part *parts = mem_array((size_t)w->sets * p->layers * 2, sizeof(*parts));
    for (uint32_t set = 0; set < w->sets; set++)
        for (uint32_t layer = 0; layer < p->layers; layer++) {
            unsigned char *from = at(w, 0, set), *to = at(w, 1, set);
            uint64_t base = layer * (state + window);
            struct copy_part *part = &parts[((size_t)set * p->layers + layer) * 2];
            part[0] = (struct copy_part){from + base, to + base, state};
            part[1] = (struct copy_part){from + base + state, to + base + state, window};
        }
    add_table(w, parts, (size_t)w->sets * p->layers * 2 * sizeof(*parts));
    free(parts);
}

static int launch_copy(const struct work *w, uint32_t set, void *stream)
{
    const struct point *p = w->point;
    uint64_t page = (uint64_t)p->page_tokens * KERNEL_CACHED * 2;
    if (p->kind == POINT_HBM_COPY) {
        struct plain_copy copy = {at(w, 0, set), at(w, 1, set), p->bytes, READ_BLOCKS};
        return kernel_plain_copy(stream, &copy);
    }
    if (p->kind == POINT_HBM_READ) {
        struct plain_read read = {at(w, 0, set), at(w, 1, set), p->bytes, READ_BLOCKS};
        return kernel_plain_read(stream, &read);
    }
    if (p->kind == POINT_KV_GATHER) {
        struct page_gather gather = {at(w, 0, set), at(w, 1, set), at(w, 2, set),
                                     (uint32_t)(p->bytes / page), page};
        return kernel_page_gather(stream, &gather);
    }
    const struct copy_part *parts = at(w, 2, set);
    uint64_t state = probe_point_state_bytes(p), window = probe_point_window_bytes(p);
    struct snapshot_copy copy = {parts + (size_t)set * p->layers * 2, p->layers * 2,
                                 state > window ? state : window};
    return kernel_snapshot_copy(stream, &copy);
}

struct work_kind {
    void (*open)(struct work *);
    int (*launch)(const struct work *, uint32_t set, void *stream);
};

static void open_decode(struct work *w)
{
    open_recurrent(w, w->point->sequences);
}

static const struct work_kind work_kinds[POINT_KINDS] = {
    [POINT_HBM_COPY] = {open_copy, launch_copy},
    [POINT_HBM_READ] = {open_copy, launch_copy},
    [POINT_KDA_PREFILL] = {open_prefill, launch_prefill},
    [POINT_SNAPSHOT_EMIT] = {open_prefill, launch_prefill},
    [POINT_GDN_PREFILL] = {open_prefill, launch_prefill},
    [POINT_KDA_DECODE] = {open_decode, launch_decode},
    [POINT_GDN_DECODE] = {open_decode, launch_decode},
    [POINT_CONV_PREFILL] = {open_conv, launch_conv},
    [POINT_CONV_UPDATE] = {open_conv, launch_conv},
    [POINT_MLA_DECODE] = {open_mla_decode, launch_mla_decode},
    [POINT_MLA_PREFILL] = {open_mla_prefill, launch_mla_prefill},
    [POINT_SNAPSHOT_COPY] = {open_copy, launch_copy},
    [POINT_KV_GATHER] = {open_copy, launch_copy},
};

int probe_work_open(struct work **out, const struct point *point, uint32_t sets, uint32_t seed,
                    struct err *err)
{
    assert(probe_point_facts(point->kind)->on_device && sets > 0);
    struct work *work = mem_zalloc(sizeof(*work));
    work->point = point;
    work->sets = sets;
    work->seed = seed;
    work->err = err;
    work_kinds[point->kind].open(work);
    work->err = NULL;
    if (work->failed) {
        probe_work_close(work);
        return -1;
    }
    *out = work;
    return 0;
}

void probe_work_close(struct work *work)
{
    if (work == NULL)
        return;
    for (unsigned i = 0; i < work->buffer_count; i++)
        gpu_free(work->buffers[i].memory);
    free(work);
}

int probe_work_launch(const struct work *work, uint32_t index, void *stream)
{
    return work_kinds[work->point->kind].launch(work, index % work->sets, stream);
}

int probe_work_poison(struct work *work, struct err *err)
{
    for (unsigned i = 0; i < work->buffer_count; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (buffer->output && gpu_fill(buffer->memory, POISON, buffer->bytes, err) != 0)
            return -1;
    }
    return 0;
}

#define SAMPLE_BYTES 4096
#define MOST_SAMPLES 256

/* Looks at up to 256 places of each output, the last bytes among them. Outputs are bf16 or fp32,
 * and poison is a NaN of both that no finite result equals. */
int probe_work_verify(const struct work *work, struct err *err)
{
    unsigned char sample[SAMPLE_BYTES], poison[4];
    memset(poison, POISON, sizeof(poison));
    for (unsigned i = 0; i < work->buffer_count; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (!buffer->output)
            continue;
        /* Sets are padded to 256 bytes: only what lies before the padding was written. */
        size_t span = buffer->set_bytes > 0 ? buffer->set_bytes : buffer->bytes;
        size_t usable = span - 256, step = usable / MOST_SAMPLES + 1;
        step = step < SAMPLE_BYTES ? SAMPLE_BYTES : step / 4 * 4;
        for (uint32_t set = 0; set < work->sets; set += 1 + work->sets / 8)
            for (size_t from = 0; from < usable; from += step) {
                size_t bytes = usable - from < SAMPLE_BYTES ? usable - from : SAMPLE_BYTES;
                if (gpu_download(sample, buffer->memory + set * span + from, bytes, err) != 0)
                    return -1;
                for (size_t j = 0; j + 4 <= bytes; j += 4)
                    if (memcmp(sample + j, poison, 4) == 0)
                        return err_set(err, "%s left byte %zu of output %u of set %u unwritten",
                                       probe_point_name(work->point->kind), from + j, i, set);
            }
    }
    return 0;
}
