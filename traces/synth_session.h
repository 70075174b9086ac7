/* synth_session.h - draws the conversations of synth.h, one after the other, request by request.
 *
 * Requests come in the order of a conversation's line: those of a sub-agent stand between the
 * request that started it and the one that follows its end. Times are whole milliseconds, so that
 * text holds them exactly. */
#ifndef SNAPSIM_SYNTH_SESSION_H
#define SNAPSIM_SYNTH_SESSION_H

#include "traces/synth.h"

/* Conversations have numbers 1 .. SYNTH_NUMBERS-1 for their blocks; one that runs out ends. */
#define SYNTH_NUMBERS (UINT64_C(1) << 26)

struct synth_conversation {
    uint64_t index;
    bool coding;
    uint32_t system_prompt; /* which one; coding and chat have different ones */
    uint32_t tool_tokens, system_tokens;
    uint64_t shared_blocks; /* numbers 1 .. shared_blocks are common to all with system_prompt */
    uint64_t start_ms;
};

struct synth_request {
    uint32_t stream;                     /* 0 the main one, 1.. sub-agents */
    uint32_t tool_tokens, system_tokens; /* of the stream */
    uint64_t in, out;
    const struct block_run *runs; /* full blocks, in numbers of the conversation */
    size_t run_count;
    uint64_t stream_start_ms; /* after the start of the conversation */
    uint64_t offset_ms;       /* the same of the request */
    uint64_t think_ms, service_ms;
    enum waited_for waited_for;
};

/* Where conversations go. What is passed is valid during the call; -1 stops everything. */
struct synth_sink {
    void *state;
    int (*begin)(void *state, const struct synth_conversation *conversation, struct err *err);
    int (*request)(void *state, const struct synth_request *request, struct err *err);
    int (*end)(void *state, struct err *err);
};

/* The options must have passed synth_check. Fails only when the sink does. */
int synth_session_run(const struct synth_options *options, const struct synth_sink *sink,
                      struct err *err) MUST_CHECK;

#endif
