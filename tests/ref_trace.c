/* ref_trace.c - drawing, resolving and printing of the traces of ref_trace.h. */
#include "tests/ref_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"

/* ---- drawing ---- */

struct drawer {
    struct ref_trace *trace;
    struct rng *rng;
    const struct ref_shape *shape;
    uint32_t symbols;
    uint32_t system; /* length of the system prompt with which some conversations start */
};

static uint32_t draw(struct drawer *drawer, uint32_t limit)
{
    return (uint32_t)rng_below(drawer->rng, limit);
}

static void draw_tokens(struct drawer *drawer, uint32_t *tokens, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = draw(drawer, drawer->symbols);
}

/* The latest request of the same stream, or NULL. */
static const struct ref_drawn *latest_of(const struct drawer *drawer, const struct ref_drawn *self)
{
    for (const struct ref_drawn *d = self; d-- > drawer->trace->drawn;)
        if (d->conversation == self->conversation && d->stream == self->stream)
            return d;
    return NULL;
}

/* Writes the part of an earlier text with which a prompt starts; returns its length. */
static uint32_t draw_start(struct drawer *drawer, const struct ref_drawn *self, uint32_t *tokens)
{
    const struct ref_drawn *from = latest_of(drawer, self);
    uint32_t earlier = (uint32_t)(self - drawer->trace->drawn), kind = draw(drawer, 16), length;
    if (!from || kind == 15) {
        if (earlier == 0 || draw(drawer, 4) == 0)
            return 0;
        from = &drawer->trace->drawn[draw(drawer, earlier)];
        length = draw(drawer, 2) ? from->system_tokens : draw(drawer, from->in + from->out + 1);
    } else if (kind < 7) {
        length = from->in + from->out; /* goes on */
    } else if (kind < 9) {
        length = from->in; /* drops the reply */
    } else if (kind < 11) {
        length = from->in + draw(drawer, from->out + 1);
    } else {
        length = draw(drawer, from->in + from->out + 1);
    }
    memcpy(tokens, from->text, length * sizeof *tokens);
    if (kind == 14 && length) { /* edited in the middle */
        tokens[draw(drawer, length)] = draw(drawer, drawer->symbols);
        return length;
    }
    return length;
}

static void draw_request(struct drawer *drawer, struct ref_drawn *self)
{
    uint32_t most = drawer->shape->tokens, chunk = drawer->shape->chunk;
    uint32_t *tokens = mem_array(4 * most + 4 * chunk + 4, sizeof *tokens);
    uint32_t length = draw_start(drawer, self, tokens);
    if (length > most)
        length = draw(drawer, most);
    uint32_t more = draw(drawer, 5) ? draw(drawer, chunk + 1) : 0;
    draw_tokens(drawer, tokens + length, more + 1);
    self->in = length + more ? length + more : 1;
    self->out = draw(drawer, 6) ? draw(drawer, chunk + 1) : 0;
    draw_tokens(drawer, tokens + self->in, self->out);
    self->text = tokens;
    self->system_tokens = drawer->system < self->in ? drawer->system : 0;
    if (drawer->trace->declares && draw(drawer, 2)) {
        self->declared = (struct declared){.back_given = true,
                                           .back = draw(drawer, self->out + 2),
                                           .replaced_given = draw(drawer, 2),
                                           .replaced = draw(drawer, self->in / 2 + 1)};
    }
    uint32_t bound = 0;
    while (self->bound_count < REF_BOUNDS_MAX) {
        bound += 1 + draw(drawer, chunk + 1);
        if (bound > self->in)
            break;
        self->bounds[self->bound_count++] = bound;
    }
}

static int compare_conversations(const void *a, const void *b)
{
    const struct ref_drawn *first = a, *second = b;
    if (first->conversation != second->conversation)
        return first->conversation < second->conversation ? -1 : 1;
    return (first->at > second->at) - (first->at < second->at);
}

void ref_trace_draw(struct ref_trace *trace, struct rng *rng, const struct ref_shape *shape)
{
    struct drawer drawer = {trace, rng, shape, 0, 0};
    drawer.symbols = 2 + draw(&drawer, 4);
    drawer.system = draw(&drawer, 3) ? draw(&drawer, shape->chunk + 1) : 0;
    trace->count = 2 + draw(&drawer, shape->requests - 1);
    trace->drawn = mem_array(trace->count, sizeof *trace->drawn);
    trace->number_factor = 1;
    trace->number_shift = 1;
    uint32_t conversations = 1 + draw(&drawer, shape->conversations);
    uint64_t at = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        struct ref_drawn *self = &trace->drawn[i];
        self->conversation = draw(&drawer, conversations);
        self->stream = draw(&drawer, 4) == 0;
        at += 1 + draw(&drawer, 3);
        self->at = at;
        draw_request(&drawer, self);
    }
    qsort(trace->drawn, trace->count, sizeof *trace->drawn, compare_conversations);
}

void ref_trace_close(struct ref_trace *trace)
{
    for (uint32_t i = 0; i < trace->count; i++)
        free(trace->drawn[i].text);
    free(trace->drawn);
}

void ref_trace_select(struct ref_trace *out, const struct ref_trace *from, const bool *keep)
{
    *out = *from;
    out->drawn = mem_array(from->count + 1, sizeof *out->drawn);
    out->count = 0;
    for (uint32_t i = 0; i < from->count; i++) {
        if (!keep[i])
            continue;
        struct ref_drawn *copy = &out->drawn[out->count++];
        *copy = from->drawn[i];
        copy->text = mem_array(copy->in + copy->out + 1, sizeof *copy->text);
        memcpy(copy->text, from->drawn[i].text, (copy->in + copy->out) * sizeof *copy->text);
    }
}

/* ---- numbers ---- */

/* Texts that have a number: its place in the list. */
struct numbers {
    struct numbered {
        const uint32_t *text;
        uint32_t length, space;
    } * items;
    size_t count, capacity;
};

static uint64_t number_of(struct numbers *numbers, const uint32_t *text, uint32_t length,
                          uint32_t space)
{
    for (size_t i = 0; i < numbers->count; i++)
        if (numbers->items[i].length == length && numbers->items[i].space == space &&
            memcmp(numbers->items[i].text, text, length * sizeof *text) == 0)
            return i;
    numbers->items =
        mem_grow(numbers->items, &numbers->capacity, numbers->count + 1, sizeof *numbers->items);
    numbers->items[numbers->count] = (struct numbered){text, length, space};
    return numbers->count++;
}

/* The blocks of one request. */
struct blocks {
    uint64_t *of_prompt, *of_reply;
    uint32_t prompt_count, full_count, reply_count;
};

static struct blocks *number_blocks(const struct ref_trace *trace)
{
    struct numbers numbers = {0};
    struct blocks *all = mem_array(trace->count, sizeof *all);
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct ref_drawn *d = &trace->drawn[i];
        struct blocks *blocks = &all[i];
        uint32_t size = trace->block_tokens, space = trace->local_numbers ? d->conversation : 0;
        uint32_t end = d->in + d->out;
        blocks->full_count = blocks->prompt_count = d->in / size;
        blocks->of_prompt = mem_array(end / size + 2, sizeof *blocks->of_prompt);
        blocks->of_reply = mem_array(end / size + 2, sizeof *blocks->of_reply);
        for (uint32_t b = 0; b < end / size; b++) {
            uint64_t number = number_of(&numbers, d->text, (b + 1) * size, space);
            if (b < blocks->full_count)
                blocks->of_prompt[b] = number;
            else if (trace->replies_named)
                blocks->of_reply[blocks->reply_count++] = number;
        }
        if (trace->keep_partial && d->in % size)
            blocks->of_prompt[blocks->prompt_count++] = number_of(&numbers, d->text, d->in, space);
    }
    free(numbers.items);
    return all;
}

static void free_blocks(struct blocks *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(all[i].of_prompt);
        free(all[i].of_reply);
    }
    free(all);
}

/* ---- the fast code's view ---- */

static struct block_run *runs_of(const struct ref_trace *trace, const uint64_t *numbers,
                                 uint32_t count, size_t *run_count)
{
    struct block_run *runs = mem_array(count + 1, sizeof *runs);
    *run_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = numbers[i] * trace->number_factor + trace->number_shift;
        struct block_run *last = *run_count ? &runs[*run_count - 1] : NULL;
        if (last && last->first + last->count == number)
            last->count++;
        else
            runs[(*run_count)++] = (struct block_run){number, 1};
    }
    return runs;
}

static int add_request(const struct ref_trace *trace, const struct ref_drawn *d,
                       const struct blocks *blocks, uint64_t start, struct build *build,
                       struct err *err)
{
    size_t run_count, out_run_count;
    struct block_run *runs = runs_of(trace, blocks->of_prompt, blocks->prompt_count, &run_count);
    struct block_run *out_runs =
        runs_of(trace, blocks->of_reply, blocks->reply_count, &out_run_count);
    struct build_request request = {
        .stream = d->stream,
        .in = d->in,
        .out = d->out,
        .runs = runs,
        .run_count = run_count,
        .out_runs = trace->replies_named ? out_runs : NULL,
        .out_run_count = out_run_count,
        .offset_ns = (d->at - start) * 1000000000u,
        .think_ns = TIME_UNKNOWN,
        .order = REQUEST_NONE,
        .system_tokens = d->system_tokens,
        .declared = d->declared,
        .bounds = d->bounds,
        .bound_count = d->bound_count,
    };
    int result = build_add(build, &request, err);
    free(runs);
    free(out_runs);
    return result;
}

int ref_trace_build(const struct ref_trace *trace, struct record **out, struct err *err)
{
    struct build_options options = {.drop_replies = trace->drop_replies,
                                    .keep_partial_blocks = trace->keep_partial};
    struct build *build = build_open(&options);
    struct blocks *blocks = number_blocks(trace);
    int result = 0;
    for (uint32_t i = 0; i < trace->count && result == 0; i++) {
        const struct ref_drawn *d = &trace->drawn[i];
        if (i == 0 || d[-1].conversation != d->conversation) {
            struct build_conversation conversation = {.block_tokens = trace->block_tokens,
                                                      .local_numbers = trace->local_numbers,
                                                      .start_ns = d->at * 1000000000u};
            build_begin(build, &conversation, "drawn", d->conversation + 1);
        }
        uint32_t first = i;
        while (first && trace->drawn[first - 1].conversation == d->conversation)
            first--;
        result = add_request(trace, d, &blocks[i], trace->drawn[first].at, build, err);
        if (result == 0 && (i + 1 == trace->count || d[1].conversation != d->conversation))
            result = build_end(build, err);
    }
    if (result == 0)
        result = build_finish(build, out, err);
    build_close(build);
    free_blocks(blocks, trace->count);
    return result;
}

/* ---- what the numbers mean ---- */

/* What a number stands for, once somebody has shown it. */
struct meaning {
    uint64_t number;
    const uint32_t *tokens;
    uint32_t length;
};

struct resolver {
    const struct ref_trace *trace;
    const struct blocks *blocks;
    struct ref_request *requests;
    struct meaning *meanings;
    size_t meaning_count, meaning_capacity;
    uint32_t next_token;
};

static const struct meaning *meaning_of(const struct resolver *resolver, uint64_t number)
{
    for (size_t i = 0; i < resolver->meaning_count; i++)
        if (resolver->meanings[i].number == number)
            return &resolver->meanings[i];
    return NULL;
}

/* Whether some number stands for exactly these tokens. */
static bool is_named(const struct resolver *resolver, const uint32_t *tokens, uint32_t length)
{
    for (size_t i = 0; i < resolver->meaning_count; i++)
        if (resolver->meanings[i].length == length &&
            memcmp(resolver->meanings[i].tokens, tokens, length * sizeof *tokens) == 0)
            return true;
    return false;
}

static void give_meaning(struct resolver *resolver, uint64_t number, const uint32_t *tokens,
                         uint32_t length)
{
    if (meaning_of(resolver, number))
        return;
    resolver->meanings = mem_grow(resolver->meanings, &resolver->meaning_capacity,
                                  resolver->meaning_count + 1, sizeof *resolver->meanings);
    resolver->meanings[resolver->meaning_count++] = (struct meaning){number, tokens, length};
}

/* How much of a prompt stays in the next one, and of the reply comes back. */
static uint32_t kept_of(const struct ref_drawn *d)
{
    uint32_t replaced = d->declared.replaced_given ? d->declared.replaced : 0;
    return replaced < d->in ? d->in - replaced : 0;
}

static uint32_t back_of(const struct resolver *resolver, const struct ref_drawn *d)
{
    if (resolver->trace->drop_replies)
        return 0;
    return d->declared.back_given && d->declared.back < d->out ? d->declared.back : d->out;
}

/* The latest request of the same stream that j continues, or -1. Where a last partial block is one
 * of its own, no prompt is known to go on from it, nor from the reply behind it. */
static int64_t continued(const struct resolver *resolver, uint32_t j)
{
    const struct ref_drawn *d = resolver->trace->drawn;
    for (uint32_t i = resolver->trace->keep_partial ? 0 : j; i-- > 0;) {
        const struct blocks *a = &resolver->blocks[i], *b = &resolver->blocks[j];
        uint32_t kept = kept_of(&d[i]), blocks = kept / resolver->trace->block_tokens;
        if (d[i].conversation == d[j].conversation && d[i].stream == d[j].stream && blocks > 0 &&
            blocks <= b->full_count && d[j].in >= kept + back_of(resolver, &d[i]) &&
            memcmp(a->of_prompt, b->of_prompt, blocks * sizeof *a->of_prompt) == 0)
            return resolver->requests[i].tokens ? (int64_t)i : -1;
    }
    return -1;
}

static void resolve(struct resolver *resolver, uint32_t j)
{
    const struct ref_trace *trace = resolver->trace;
    const struct ref_drawn *d = &trace->drawn[j];
    const struct blocks *blocks = &resolver->blocks[j];
    struct ref_request *self = &resolver->requests[j];
    uint32_t size = trace->block_tokens, end = d->in + (trace->drop_replies ? 0 : d->out);
    uint32_t *tokens = mem_array(end + 1, sizeof *tokens);
    uint64_t *numbers = mem_array(blocks->prompt_count + blocks->reply_count + 1, sizeof *numbers);
    uint32_t count = blocks->prompt_count, known = 0;
    memcpy(numbers, blocks->of_prompt, count * sizeof *numbers);
    if (!trace->drop_replies && blocks->reply_count) {
        memcpy(numbers + count, blocks->of_reply, blocks->reply_count * sizeof *numbers);
        count += blocks->reply_count;
    }

    /* 1. The leading blocks that somebody has shown. */
    uint32_t shown = 0;
    while (shown < count && meaning_of(resolver, numbers[shown]))
        shown++;
    if (shown) {
        const struct meaning *last = meaning_of(resolver, numbers[shown - 1]);
        known = last->length;
        memcpy(tokens, last->tokens, known * sizeof *tokens);
    }
    /* 2. The path that it continues, unless others have named its next block otherwise. */
    int64_t i = continued(resolver, j);
    const struct ref_request *before = i >= 0 ? &resolver->requests[i] : NULL;
    uint32_t common = 0;
    if (before) {
        const struct ref_drawn *from = &trace->drawn[i];
        common = kept_of(from) + (kept_of(from) == from->in ? back_of(resolver, from) : 0);
    }
    if (before && known < common && memcmp(before->tokens, tokens, known * sizeof *tokens) == 0) {
        uint32_t next = (known / size + 1) * size;
        if (next > common || !is_named(resolver, before->tokens, next)) {
            known = common;
            memcpy(tokens, before->tokens, known * sizeof *tokens);
        }
    }
    /* 3. The rest is new. */
    while (known < end)
        tokens[known++] = resolver->next_token++;
    for (uint32_t b = 0; b < count; b++) {
        bool partial = b == blocks->full_count && b < blocks->prompt_count;
        give_meaning(resolver, numbers[b], tokens, partial ? d->in : (b + 1) * size);
    }
    free(numbers);
    self->tokens = tokens;
    self->prompt_tokens = d->in;
    self->end_tokens = end;
    self->stream = d->conversation * 2 + d->stream;
    self->system_tokens = d->system_tokens;
    self->bounds = d->bounds;
    self->bound_count = d->bound_count;
}

struct ref_request *ref_trace_resolve(const struct ref_trace *trace, const uint32_t *order)
{
    struct resolver resolver = {.trace = trace, .blocks = NULL};
    struct blocks *blocks = number_blocks(trace);
    resolver.blocks = blocks;
    resolver.requests = mem_array(trace->count + 1, sizeof *resolver.requests);
    for (uint32_t j = 0; j < trace->count; j++)
        resolve(&resolver, order ? order[j] : j);
    free(resolver.meanings);
    free_blocks(blocks, trace->count);
    return resolver.requests;
}

void ref_requests_close(struct ref_request *requests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        void *tokens;
        memcpy(&tokens, &requests[i].tokens, sizeof tokens);
        free(tokens);
    }
    free(requests);
}

/* ---- printing ---- */

void ref_trace_print(const struct ref_trace *trace, struct text *out)
{
    struct blocks *blocks = number_blocks(trace);
    text_printf(out, "block_tokens=%u local=%d drop_replies=%d keep_partial=%d replies_named=%d\n",
                trace->block_tokens, trace->local_numbers, trace->drop_replies, trace->keep_partial,
                trace->replies_named);
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct ref_drawn *d = &trace->drawn[i];
        text_printf(out, "%3u: conversation %u stream %u at %" PRIu64 " in %u out %u system %u", i,
                    d->conversation, d->stream, d->at, d->in, d->out, d->system_tokens);
        text_printf(out, " bounds");
        for (uint32_t b = 0; b < d->bound_count; b++)
            text_printf(out, " %u", d->bounds[b]);
        text_printf(out, "; blocks");
        for (uint32_t b = 0; b < blocks[i].prompt_count; b++)
            text_printf(out, " %" PRIu64, blocks[i].of_prompt[b]);
        text_printf(out, "; reply");
        for (uint32_t b = 0; b < blocks[i].reply_count; b++)
            text_printf(out, " %" PRIu64, blocks[i].of_reply[b]);
        text_printf(out, "\n");
    }
    free_blocks(blocks, trace->count);
}
