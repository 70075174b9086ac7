#include "traces/synth.h"

#include <string.h>

#include <inttypes.h>
#include <stddef.h>

#include "traces/synth_session.h"

#define SYNTH(field, kind, default_, min_, max_, help_)                                            \
    PARAM(struct synth_options, field, kind, default_, min_, max_, help_)

const struct param synth_params[] = {
    SYNTH(conversations, PARAM_U64, "1000", 1, 1 << 26, "number of conversations"),
    SYNTH(seed, PARAM_U64, "1", 0, 0x1p53, "same seed, same bytes"),
    SYNTH(coding_share, PARAM_DOUBLE, "0.2", 0, 1,
          "share of the conversations that are coding sessions; the others are chats"),
    SYNTH(coding_requests, PARAM_DOUBLE, "70", 1, 10000,
          "mean requests of a coding session, those of its sub-agents not counted"),
    SYNTH(chat_turns, PARAM_DOUBLE, "3", 1, 1000,
          "mean requests of a chat, before chats of more than 8/3 of it are cut short"),
    SYNTH(sub_agent_share, PARAM_DOUBLE, "0.02", 0, 0.9,
          "share of the requests of coding sessions that sub-agents send"),
    SYNTH(context_limit, PARAM_U64, "200000", 40000, 1 << 24,
          "tokens; a prompt that would be longer is compacted to system prompt and summary"),
    SYNTH(system_prompts, PARAM_U64, "8", 1, SYNTH_SYSTEM_PROMPTS_MAX,
          "different system prompts of each tenant, as many for chat and again for coding"),
    SYNTH(tenants, PARAM_U64, "1", 1, SYNTH_SYSTEM_PROMPTS_MAX,
          "tenants; system prompts are not shared between them"),
    SYNTH(starts_per_hour, PARAM_DOUBLE, "60", 0.001, 1e9,
          "mean rate of conversation starts (Poisson), per hour"),
    SYNTH(block, PARAM_U64, "64", 1, 1 << 20, "tokens in one block"),
    SYNTH(drift, PARAM_BOOL, "0", 0, 0,
          "chats start in the first half of the time and coding sessions in the second"),
    PARAM_END};

int synth_check(const struct synth_options *options, struct err *err)
{
    uint64_t prompts = options->tenants * options->system_prompts;
    if (prompts > SYNTH_SYSTEM_PROMPTS_MAX)
        return err_set(err,
                       "tenants, system_prompts: a product of at most %d was expected, "
                       "found %" PRIu64,
                       SYNTH_SYSTEM_PROMPTS_MAX, prompts);
    /* Times are nanoseconds in 64 bits: 584 years. */
    double years = (double)options->conversations / options->starts_per_hour / (24 * 365);
    if (years > 100)
        return err_set(err,
                       "conversations, starts_per_hour: starts within 100 years were expected, "
                       "found %.0f years",
                       years);
    return 0;
}

/* ---- as text ---- */

/* Block numbers of the file: a range for each system prompt, then one for each conversation. The
 * largest is below 2^53, so every reader of JSON gets it exactly. */
#define SYSTEM_RANGE (UINT64_C(1) << 16)
#define PRIVATE_NUMBERS (UINT64_C(1) << 30)

struct writer {
    struct text *out;
    uint64_t block;
    uint64_t shared_blocks, system_base, private_base;
    uint32_t stream; /* that is being written */
    bool first;      /* nothing has been written into the innermost list */
};

bool synth_is_name(const char *text)
{
    size_t length = strlen(SYNTH_NAME);
    return strncmp(text, SYNTH_NAME, length) == 0 && (text[length] == '\0' || text[length] == ':');
}

int synth_parse_name(const char *name, struct synth_options *out, struct err *err)
{
    const char *colon = strchr(name, ':');
    param_defaults(synth_params, out);
    return colon ? param_parse_list(synth_params, out, colon + 1, "a generated load", err) : 0;
}

bool synth_name_gives_seed(const char *name)
{
    return strstr(name, ":seed=") != NULL || strstr(name, ",seed=") != NULL;
}

void synth_print_name(const struct synth_options *options, struct text *out)
{
    struct synth_options defaults;
    param_defaults(synth_params, &defaults);
    text_printf(out, "%s", SYNTH_NAME);
    char before = ':';
    for (const struct param *entry = synth_params; entry->name; entry++) {
        struct text mine = {0}, usual = {0};
        param_print_value(entry, options, &mine);
        param_print_value(entry, &defaults, &usual);
        if (strcmp(mine.data, usual.data) != 0 || strcmp(entry->name, "seed") == 0) {
            text_printf(out, "%c%s=%s", before, entry->name, mine.data);
            before = ',';
        }
        text_close(&mine);
        text_close(&usual);
    }
}

static void write_seconds(struct text *out, const char *key, uint64_t ms)
{
    text_printf(out, "\"%s\":%" PRIu64 ".%03u,", key, ms / 1000, (unsigned)(ms % 1000));
}

static void write_comma(struct writer *writer)
{
    if (!writer->first)
        text_add(writer->out, ",", 1);
    writer->first = false;
}

static int write_begin(void *state, const struct synth_conversation *conversation, struct err *err)
{
    (void)err;
    struct writer *writer = state;
    writer->shared_blocks = conversation->shared_blocks;
    writer->system_base = conversation->system_prompt * SYSTEM_RANGE;
    writer->private_base = PRIVATE_NUMBERS + conversation->index * SYNTH_NUMBERS;
    writer->stream = 0;
    writer->first = true;
    text_printf(writer->out,
                "{\"id\":\"%s-%" PRIu64 "\",\"block_size\":%" PRIu64
                ",\"hash_id_scope\":\"global\",",
                conversation->coding ? "coding" : "chat", conversation->index, writer->block);
    write_seconds(writer->out, "start", conversation->start_ms);
    text_printf(writer->out, "\"tool_tokens\":%u,\"system_tokens\":%u,\"requests\":[",
                conversation->tool_tokens, conversation->system_tokens);
    return 0;
}

static void write_runs(struct writer *writer, const struct block_run *runs, size_t count)
{
    const char *comma = "";
    text_printf(writer->out, "\"hash_runs\":[");
    for (size_t i = 0; i < count; i++) {
        struct block_run rest = runs[i];
        if (rest.first <= writer->shared_blocks) {
            uint64_t shared = writer->shared_blocks + 1 - rest.first;
            shared = shared < rest.count ? shared : rest.count;
            text_printf(writer->out, "%s[%" PRIu64 ",%" PRIu64 "]", comma,
                        writer->system_base + rest.first, shared);
            rest = (struct block_run){rest.first + shared, rest.count - shared};
            comma = ",";
        }
        if (rest.count > 0)
            text_printf(writer->out, "%s[%" PRIu64 ",%" PRIu64 "]", comma,
                        writer->private_base + rest.first, rest.count);
        comma = ",";
    }
    text_printf(writer->out, "]");
}

static void close_sub_agent(struct writer *writer)
{
    if (writer->stream != 0)
        text_printf(writer->out, "]}");
    writer->first = false;
}

static void change_stream(struct writer *writer, const struct synth_request *request)
{
    close_sub_agent(writer);
    writer->stream = request->stream;
    if (request->stream == 0)
        return;
    write_comma(writer);
    text_printf(writer->out, "{");
    write_seconds(writer->out, "t", request->stream_start_ms);
    text_printf(writer->out,
                "\"type\":\"subagent\",\"agent_id\":\"agent_%u\",\"tool_tokens\":%u,"
                "\"system_tokens\":%u,\"requests\":[",
                request->stream, request->tool_tokens, request->system_tokens);
    writer->first = true;
}

static int write_request(void *state, const struct synth_request *request, struct err *err)
{
    (void)err;
    struct writer *writer = state;
    if (request->stream != writer->stream)
        change_stream(writer, request);
    write_comma(writer);
    text_printf(writer->out, "{");
    write_seconds(writer->out, "t", request->offset_ms - request->stream_start_ms);
    text_printf(writer->out,
                "\"type\":\"n\",\"in\":%" PRIu64 ",\"out\":%" PRIu64 ",\"input_types\":[\"%s\"],",
                request->in, request->out,
                request->waited_for == WAITED_TOOL ? "tool_result" : "text");
    write_seconds(writer->out, "api_time", request->service_ms);
    write_seconds(writer->out, "think_time", request->think_ms);
    write_runs(writer, request->runs, request->run_count);
    text_printf(writer->out, "}");
    return 0;
}

static int write_end(void *state, struct err *err)
{
    (void)err;
    struct writer *writer = state;
    close_sub_agent(writer);
    text_printf(writer->out, "]}\n");
    return 0;
}

int synth_write(const struct synth_options *options, struct text *out, struct err *err)
{
    struct writer writer = {.out = out, .block = options->block};
    struct synth_sink sink = {&writer, write_begin, write_request, write_end};
    if (synth_check(options, err) != 0)
        return -1;
    return synth_session_run(options, &sink, err);
}

/* ---- into a workload ---- */

struct feeder {
    struct build *build;
    uint32_t block_tokens;
};

static uint64_t ns_of_ms(uint64_t ms)
{
    return ms * 1000000;
}

static int feed_begin(void *state, const struct synth_conversation *conversation, struct err *err)
{
    (void)err;
    struct feeder *feeder = state;
    struct build_conversation begun = {.block_tokens = feeder->block_tokens,
                                       .local_numbers = true,
                                       .tool_tokens = conversation->tool_tokens,
                                       .system_tokens = conversation->system_tokens,
                                       .start_ns = ns_of_ms(conversation->start_ms)};
    build_begin(feeder->build, &begun, "synth", (uint32_t)(conversation->index + 1));
    return 0;
}

static int feed_request(void *state, const struct synth_request *request, struct err *err)
{
    struct feeder *feeder = state;
    struct build_request added = {.stream = request->stream,
                                  .in = request->in,
                                  .out = request->out,
                                  .runs = request->runs,
                                  .run_count = request->run_count,
                                  .offset_ns = ns_of_ms(request->offset_ms),
                                  .think_ns = ns_of_ms(request->think_ms),
                                  .order = REQUEST_NONE,
                                  .waited_for = request->waited_for,
                                  .system_tokens = request->tool_tokens + request->system_tokens};
    return build_add(feeder->build, &added, err);
}

static int feed_end(void *state, struct err *err)
{
    struct feeder *feeder = state;
    return build_end(feeder->build, err);
}

int synth_build(const struct synth_options *options, struct build *build, struct err *err)
{
    struct feeder feeder = {build, (uint32_t)options->block};
    struct synth_sink sink = {&feeder, feed_begin, feed_request, feed_end};
    if (synth_check(options, err) != 0)
        return -1;
    return synth_session_run(options, &sink, err);
}
