/* What a session is like. The numbers of coding sessions are fitted to kv-cache-tester/v8, those
 * of chats to the range of Mooncake's and ShareGPT's.
 *
 *   1. A conversation starts with one of its tenant's system prompts and a first message; a part
 *      of the coding sessions resumes one that was long already.
 *   2. Each further request waits for a tool (a short pause) or for a person (a long one) and
 *      extends the prompt before it by the reply and what is new. Some replies are hidden
 *      reasoning, of which the next prompt shows a part only.
 *   3. Now and then the prompt goes on from an earlier point: it is repeated (regenerate), loses
 *      its last block or up to a tenth, forks at an earlier message (edit), or falls back to the
 *      system prompt (the history is compacted, cleared or rewritten).
 *   4. Now and then a coding session waits for sub-agents, which have a system prompt of their
 *      own, work the same way and end before the session goes on. */
#include "traces/synth_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/mem.h"
#include "sim/core/rng.h"

/* floor + a lognormal of that median. */
struct spread {
    double floor, median, sigma;
};

/* The first with probability share, else the second. */
struct mixture {
    double share;
    struct spread first, second;
};

struct habits {
    struct mixture opening; /* tokens of the first prompt after the system prompt */
    struct mixture text, tool_result, summary;
    struct mixture reply; /* the first is kept in the next prompt, the second hidden in part */
    double person;        /* chance that a request comes from a person, not from a tool */
    /* Chances of step 3; what is left keeps the whole prompt before it and grows. */
    double restarts, forks, loses_tenth, loses_last, repeats;
    double rewritten; /* chance that a restart rewrites the history instead of dropping it */
};

static const struct habits coding_habits = {
    .opening = {0.7, {300, 5500, 1.2}, {10000, 120000, 0.7}},
    .text = {.share = 1, .first = {0, 260, 1.68}},
    .tool_result = {.share = 1, .first = {0, 340, 1.78}},
    .summary = {.share = 1, .first = {1500, 5000, 0.6}},
    .reply = {0.9, {75, 125, 1.3}, {100, 500, 1.1}},
    .person = 0.132,
    .restarts = 0.0128,
    .forks = 0.0023,
    .loses_tenth = 0.009,
    .loses_last = 0.041,
    .rewritten = 0.8,
};

static const struct habits chat_habits = {
    .opening = {0.5, {5, 100, 1.3}, {0, 6500, 1.1}},
    .text = {0.8, {5, 60, 1.2}, {500, 3000, 1}},
    .tool_result = {.share = 1, .first = {0, 340, 1.78}},
    .summary = {.share = 1, .first = {500, 2000, 0.6}},
    .reply = {0.9, {20, 220, 0.9}, {200, 800, 0.9}},
    .person = 1,
    .forks = 0.05,
    .loses_last = 0.02,
    .repeats = 0.04,
};

/* Pauses in seconds: many quick tools and a few slow ones; people who read, and who were away. */
static const struct mixture tool_pause = {0.79, {2, 5.48, 0.956}, {0, 62.5, 1.565}};
static const struct mixture person_pause = {0.93, {0, 108.4, 1.553}, {0, 3000, 0.638}};
#define PAUSE_MAX_SECONDS (2 * 86400.0)

/* Requests of a coding session: two exponentials of which the second gives the long tail. */
#define LONG_SHARE 0.2
#define SHORT_FACTOR 0.8
#define LONG_FACTOR 1.8

/* Sub-agents: how many at a time, and requests of each. */
#define SECOND_AGENT 0.3
#define AGENT_REQUESTS 10.7

/* Lengths of tool definitions; what tells system prompts apart, so no two are equal. */
#define CODING_TOOLS_MIN 7600u
#define CODING_TOOLS_RANGE 8192u
#define CHAT_TOOLS_MIN 100u
#define CHAT_TOOLS_RANGE 4096u

/* One prompt that goes on: the main stream, or a sub-agent. */
struct stream {
    struct block_run *runs; /* the blocks of its prompt */
    size_t run_count, run_capacity;
    uint64_t blocks;
    uint32_t *messages; /* where messages of the prompt start, ascending: points to fork at */
    size_t message_count, message_capacity;
    uint32_t number, tool_tokens, system_tokens;
    uint64_t in, out;
    bool reply_hidden;
    uint64_t start_ms, end_ms; /* of the stream, and of its last reply */
};

struct session {
    const struct synth_options *options;
    const struct synth_sink *sink;
    const struct habits *habits;
    struct rng rng;
    struct synth_conversation conversation;
    struct stream main, agent;
    uint32_t agent_count;
    uint64_t agent_system; /* first number of the sub-agents' system prompt, 0 before the first */
    uint64_t next_number;  /* for a block that no prompt of the conversation had */
};

static struct rng open_stream(const struct session *session, const char *kind, uint64_t index)
{
    char name[64];
    snprintf(name, sizeof name, "synth/%s/%" PRIu64, kind, index);
    return rng_open(session->options->seed, name);
}

static bool chance(struct rng *rng, double probability)
{
    return rng_unit(rng) < probability;
}

static double draw_spread(struct rng *rng, const struct spread *spread)
{
    return spread->floor + rng_lognormal(rng, spread->median, spread->sigma);
}

static double draw(struct rng *rng, const struct mixture *mixture)
{
    bool first = mixture->share >= 1 || chance(rng, mixture->share);
    return draw_spread(rng, first ? &mixture->first : &mixture->second);
}

static uint64_t whole_tokens(double tokens, uint64_t max)
{
    if (tokens < 1)
        return 1;
    return tokens < (double)max ? (uint64_t)tokens : max;
}

static uint64_t draw_pause_ms(struct rng *rng, const struct mixture *mixture)
{
    double seconds = draw(rng, mixture);
    return (uint64_t)((seconds < PAUSE_MAX_SECONDS ? seconds : PAUSE_MAX_SECONDS) * 1000);
}

/* A geometric number of at least 1. */
static uint64_t draw_count(struct rng *rng, double mean)
{
    double beyond = mean - 1 > 1e-3 ? 1 / rng_log(mean / (mean - 1)) : 0;
    return 1 + (uint64_t)rng_exponential(rng, beyond);
}

/* An index below count, k with a chance of about 1 / (k + 1): few are popular. */
static uint32_t draw_popular(struct rng *rng, uint64_t count)
{
    double draw = rng_exp(rng_unit(rng) * rng_log((double)count + 1));
    uint64_t place = (uint64_t)draw; /* 1 .. count, but for rounding */
    return (uint32_t)((place < count ? place : count) - (place > 0));
}

/* ---- prompts as runs of blocks ---- */

static void keep_blocks(struct stream *stream, uint64_t blocks)
{
    while (stream->blocks > blocks) {
        struct block_run *last = &stream->runs[stream->run_count - 1];
        uint64_t surplus = stream->blocks - blocks;
        if (surplus < last->count) {
            last->count -= surplus;
            stream->blocks = blocks;
        } else {
            stream->blocks -= last->count;
            stream->run_count--;
        }
    }
}

static void append_run(struct stream *stream, uint64_t first, uint64_t count)
{
    if (count == 0)
        return;
    stream->blocks += count;
    if (stream->run_count > 0) {
        struct block_run *last = &stream->runs[stream->run_count - 1];
        if (last->first + last->count == first) {
            last->count += count;
            return;
        }
    }
    stream->runs =
        mem_grow(stream->runs, &stream->run_capacity, stream->run_count + 1, sizeof *stream->runs);
    stream->runs[stream->run_count++] = (struct block_run){first, count};
}

/* New blocks up to the end of the prompt. */
static void extend_prompt(struct session *session, struct stream *stream)
{
    uint64_t blocks = stream->in / session->options->block;
    assert(blocks >= stream->blocks);
    uint64_t count = blocks - stream->blocks;
    append_run(stream, session->next_number, count);
    session->next_number += count;
}

static bool numbers_left(const struct session *session)
{
    uint64_t longest = session->options->context_limit / session->options->block;
    return session->next_number + longest < SYNTH_NUMBERS;
}

static void add_message(struct stream *stream, uint64_t start)
{
    stream->messages = mem_grow(stream->messages, &stream->message_capacity,
                                stream->message_count + 1, sizeof *stream->messages);
    stream->messages[stream->message_count++] = (uint32_t)start;
}

static uint64_t system_end(const struct stream *stream)
{
    return (uint64_t)stream->tool_tokens + stream->system_tokens;
}

/* ---- the next prompt of a stream ---- */

static void restart(struct session *session, struct stream *stream, uint64_t new_tokens,
                    bool rewritten)
{
    uint64_t limit = session->options->context_limit, base = system_end(stream), history;
    if (rewritten) {
        double kept = 0.5 + 0.5 * rng_unit(&session->rng);
        history = (uint64_t)((double)(stream->in - base) * kept);
    } else {
        history = whole_tokens(draw(&session->rng, &session->habits->summary), limit / 8);
    }
    keep_blocks(stream, base / session->options->block);
    stream->message_count = 0;
    add_message(stream, base);
    stream->in = base + history + new_tokens < limit ? base + history + new_tokens : limit;
}

/* Goes on from where an earlier message started, if one lies well inside of the history. */
static bool fork_prompt(struct session *session, struct stream *stream, uint64_t new_tokens)
{
    bool coding = session->conversation.coding;
    uint64_t low = coding ? system_end(stream) + system_end(stream) / 8 : 1;
    uint64_t high = coding ? stream->in - stream->in / 8 : stream->in;
    size_t first = 0, last = stream->message_count;
    while (first < last && stream->messages[first] < low)
        first++;
    while (first < last && stream->messages[last - 1] >= high)
        last--;
    if (first == last)
        return false;
    size_t chosen = first + rng_below(&session->rng, last - first);
    stream->message_count = chosen;
    uint64_t point = stream->messages[chosen];
    keep_blocks(stream, point / session->options->block);
    add_message(stream, point);
    stream->in = point + new_tokens;
    return true;
}

/* Extends the prompt by the reply and what is new; a hidden reply appears in part only, which is
 * told by a growth of less than the reply. */
static void grow_prompt(struct session *session, struct stream *stream, uint64_t new_tokens)
{
    if (stream->reply_hidden) {
        double shown = 0.7 + 0.3 * rng_unit(&session->rng);
        add_message(stream, stream->in);
        stream->in += (uint64_t)((double)stream->out * shown);
    } else {
        add_message(stream, stream->in + stream->out);
        stream->in += stream->out + new_tokens;
    }
}

/* Step 3 of the top comment: drops blocks of the prompt before, and sets its new length. */
static void continue_prompt(struct session *session, struct stream *stream, uint64_t new_tokens)
{
    const struct habits *habits = session->habits;
    uint64_t blocks = stream->blocks;
    double turn = rng_unit(&session->rng);
    if ((turn -= habits->restarts) < 0) {
        restart(session, stream, new_tokens, chance(&session->rng, habits->rewritten));
        return;
    }
    if (stream->in + stream->out + new_tokens > session->options->context_limit) {
        restart(session, stream, new_tokens, false);
        return;
    }
    if ((turn -= habits->forks) < 0) {
        if (fork_prompt(session, stream, new_tokens))
            return;
    } else if ((turn -= habits->loses_tenth) < 0) {
        if (blocks >= 20)
            keep_blocks(stream, blocks - 2 - rng_below(&session->rng, blocks / 10 - 1));
    } else if ((turn -= habits->loses_last) < 0) {
        if (blocks > 0)
            keep_blocks(stream, blocks - 1);
    } else if (turn < habits->repeats) {
        return;
    }
    grow_prompt(session, stream, new_tokens);
}

static int send_request(struct session *session, struct stream *stream, uint64_t think_ms,
                        enum waited_for waited_for, struct err *err)
{
    extend_prompt(session, stream);
    const struct mixture *reply = &session->habits->reply;
    stream->reply_hidden = !chance(&session->rng, reply->share);
    double out = draw_spread(&session->rng, stream->reply_hidden ? &reply->second : &reply->first);
    stream->out = whole_tokens(out, session->options->context_limit / 4);
    struct synth_request request = {.stream = stream->number,
                                    .tool_tokens = stream->tool_tokens,
                                    .system_tokens = stream->system_tokens,
                                    .in = stream->in,
                                    .out = stream->out,
                                    .runs = stream->runs,
                                    .run_count = stream->run_count,
                                    .stream_start_ms = stream->start_ms,
                                    .offset_ms = stream->end_ms + think_ms,
                                    .think_ms = think_ms,
                                    .service_ms = 2000 + stream->out * 1000 / 60,
                                    .waited_for = waited_for};
    stream->end_ms = request.offset_ms + request.service_ms;
    return session->sink->request(session->sink->state, &request, err);
}

static int send_next(struct session *session, struct stream *stream, uint64_t think_ms,
                     enum waited_for waited_for, struct err *err)
{
    bool tool = waited_for == WAITED_TOOL;
    const struct mixture *what = tool ? &session->habits->tool_result : &session->habits->text;
    uint64_t max = session->options->context_limit / 4;
    continue_prompt(session, stream, whole_tokens(draw(&session->rng, what), max));
    return send_request(session, stream, think_ms, waited_for, err);
}

/* An empty stream whose system prompt is known but not yet sent. */
static void begin_stream(struct stream *stream, uint32_t number, uint64_t start_ms)
{
    stream->number = number;
    stream->run_count = stream->message_count = 0;
    stream->blocks = 0;
    stream->start_ms = stream->end_ms = start_ms;
}

/* ---- sub-agents ---- */

static int run_agent(struct session *session, struct err *err)
{
    static const struct mixture task = {.share = 1, .first = {200, 1300, 0.7}};
    struct stream *agent = &session->agent;
    begin_stream(agent, ++session->agent_count, session->main.end_ms);
    agent->tool_tokens = session->main.tool_tokens * 6 / 10;
    agent->system_tokens = session->main.system_tokens * 4 / 10;
    add_message(agent, system_end(agent));
    uint64_t system_blocks = system_end(agent) / session->options->block;
    if (session->agent_system == 0) {
        session->agent_system = session->next_number;
        session->next_number += system_blocks;
    }
    append_run(agent, session->agent_system, system_blocks);
    uint64_t max = session->options->context_limit / 4;
    agent->in = system_end(agent) + whole_tokens(draw(&session->rng, &task), max);
    if (send_request(session, agent, 0, WAITED_PERSON, err) != 0)
        return -1;
    uint64_t count = draw_count(&session->rng, AGENT_REQUESTS - 1);
    for (; count > 0 && numbers_left(session); count--) {
        uint64_t pause = draw_pause_ms(&session->rng, &tool_pause);
        if (send_next(session, agent, pause, WAITED_TOOL, err) != 0)
            return -1;
    }
    return 0;
}

/* One or two that start together. *waited_ms is the time until all have ended. */
static int run_agents(struct session *session, uint64_t *waited_ms, struct err *err)
{
    uint64_t end_ms = 0, count = 1 + chance(&session->rng, SECOND_AGENT);
    for (; count > 0; count--) {
        if (run_agent(session, err) != 0)
            return -1;
        end_ms = session->agent.end_ms > end_ms ? session->agent.end_ms : end_ms;
    }
    *waited_ms = end_ms - session->main.end_ms;
    return 0;
}

/* The chance of a wait for a tool to be one for sub-agents, which gives them their share. */
static double agent_chance(const struct session *session)
{
    double share = session->options->sub_agent_share;
    double requests = (1 + SECOND_AGENT) * AGENT_REQUESTS * (1 - session->habits->person);
    return session->conversation.coding ? share / (1 - share) / requests : 0;
}

/* ---- conversations ---- */

/* Chooses the system prompt. Lengths of tool definitions lie in strata, one for each prompt, in an
 * order that is mixed by a factor prime to every possible count. */
static void choose_system(struct session *session)
{
    const struct synth_options *options = session->options;
    struct synth_conversation *conversation = &session->conversation;
    uint64_t tenant = draw_popular(&session->rng, options->tenants);
    uint64_t which = draw_popular(&session->rng, options->system_prompts);
    uint64_t count = options->tenants * options->system_prompts;
    uint64_t id = tenant * options->system_prompts + which, stratum = id * 10007 % count;
    bool coding = conversation->coding;
    uint64_t range = (coding ? CODING_TOOLS_RANGE : CHAT_TOOLS_RANGE) / count;
    uint64_t min = (coding ? CODING_TOOLS_MIN : CHAT_TOOLS_MIN) + stratum * range;
    struct rng rng = open_stream(session, coding ? "coding-system" : "chat-system", id);
    conversation->system_prompt = (uint32_t)id + (coding ? SYNTH_SYSTEM_PROMPTS_MAX : 0);
    conversation->tool_tokens = (uint32_t)(min + rng_below(&rng, range));
    conversation->system_tokens = (uint32_t)(coding ? 1800 + rng_below(&rng, 2000) /* tokens */
                                                    : 100 + rng_below(&rng, 300)); /* of text */
    uint64_t tokens = (uint64_t)conversation->tool_tokens + conversation->system_tokens;
    conversation->shared_blocks = tokens * 97 / 100 / options->block;
}

static uint64_t draw_requests(struct session *session)
{
    const struct synth_options *options = session->options;
    if (session->conversation.coding) {
        double factor = chance(&session->rng, LONG_SHARE) ? LONG_FACTOR : SHORT_FACTOR;
        double mean = options->coding_requests * factor;
        return draw_count(&session->rng, mean > 1 ? mean : 1);
    }
    uint64_t count = draw_count(&session->rng, options->chat_turns);
    uint64_t most = (uint64_t)(options->chat_turns * 8 / 3);
    return count < most ? count : most;
}

static int run_requests(struct session *session, struct err *err)
{
    struct stream *stream = &session->main;
    begin_stream(stream, 0, 0);
    stream->tool_tokens = session->conversation.tool_tokens;
    stream->system_tokens = session->conversation.system_tokens;
    add_message(stream, system_end(stream));
    uint64_t room = session->options->context_limit - system_end(stream);
    uint64_t count = draw_requests(session);
    stream->in = system_end(stream) +
                 whole_tokens(draw(&session->rng, &session->habits->opening), room - room / 6);
    if (send_request(session, stream, 0, WAITED_PERSON, err) != 0)
        return -1;
    double agents = agent_chance(session);
    for (; count > 1 && numbers_left(session); count--) {
        bool person = chance(&session->rng, session->habits->person);
        uint64_t pause = draw_pause_ms(&session->rng, person ? &person_pause : &tool_pause);
        if (!person && agents > 0 && chance(&session->rng, agents)) {
            uint64_t waited_ms;
            if (run_agents(session, &waited_ms, err) != 0)
                return -1;
            pause += waited_ms;
        }
        if (send_next(session, stream, pause, person ? WAITED_PERSON : WAITED_TOOL, err) != 0)
            return -1;
    }
    return 0;
}

static int run_conversation(struct session *session, struct err *err)
{
    const struct synth_sink *sink = session->sink;
    session->habits = session->conversation.coding ? &coding_habits : &chat_habits;
    session->agent_count = 0;
    session->agent_system = 0;
    session->next_number = 1;
    choose_system(session);
    if (sink->begin(sink->state, &session->conversation, err) != 0)
        return -1;
    if (run_requests(session, err) != 0)
        return -1;
    return sink->end(sink->state, err);
}

/* With drift, chats come first and share half of the whole time, then come the coding sessions. */
static double mean_gap_ms(const struct synth_options *options, uint64_t chats, bool coding)
{
    double gap = 3600000 / options->starts_per_hour, count = (double)options->conversations;
    if (!options->drift)
        return gap;
    return gap * count / 2 / (coding ? count - (double)chats : (double)chats);
}

int synth_session_run(const struct synth_options *options, const struct synth_sink *sink,
                      struct err *err)
{
    struct session session = {.options = options, .sink = sink};
    struct rng starts = open_stream(&session, "starts", 0);
    struct synth_conversation *conversation = &session.conversation;
    double coding = options->coding_share * (double)options->conversations;
    uint64_t chats = options->conversations - (uint64_t)(coding + 0.5);
    double start_ms = 0;
    int result = 0;
    for (uint64_t i = 0; i < options->conversations && result == 0; i++) {
        session.rng = open_stream(&session, "conversation", i);
        bool is_coding = chance(&session.rng, options->coding_share);
        if (options->drift)
            is_coding = i >= chats;
        double gap = rng_exponential(&starts, mean_gap_ms(options, chats, is_coding));
        start_ms += i > 0 ? gap : 0;
        *conversation = (struct synth_conversation){
            .index = i, .coding = is_coding, .start_ms = (uint64_t)start_ms};
        result = run_conversation(&session, err);
    }
    free(session.main.runs);
    free(session.main.messages);
    free(session.agent.runs);
    free(session.agent.messages);
    return result;
}
