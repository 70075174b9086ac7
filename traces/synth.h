/* synth.h - makes loads: chats and coding sessions of any number, from a seed.
 *
 * The same conversations come out in two ways, as lines of the run-coded format and as calls of
 * sim/load/build.h. What a session is like stands in synth_session.c.
 *
 * System prompts are shared. The lines say so by block numbers that are global to the file, with a
 * private range for each conversation; they need no option to be read so. A builder keeps memory
 * for every global number, too much for millions of requests, so synth_build gives local numbers
 * and relies on the builder's rule for them: open it with `share_system` set. What is shared is
 * the same in both: the first 97 % of tool definitions and system prompt, among the conversations
 * with the same system prompt, which are those with equal tool_tokens. Both then give the same
 * workload. The prompts of sub-agents are shared within a conversation, never beyond it.
 *
 * A conversation depends on the seed, the options and its index alone: asking for more of them
 * leaves the first as they are. Only `drift` places conversations by how many there are. */
#ifndef SNAPSIM_SYNTH_H
#define SNAPSIM_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/core/param.h"
#include "sim/core/text.h"
#include "sim/load/build.h"

/* System prompts of all tenants together, of one kind of conversation. */
#define SYNTH_SYSTEM_PROMPTS_MAX 4096

struct synth_options {
    uint64_t conversations;
    uint64_t seed;
    double coding_share;
    double coding_requests;
    double chat_turns;
    double sub_agent_share;
    uint64_t context_limit;
    uint64_t system_prompts;
    uint64_t tenants;
    double starts_per_hour;
    uint64_t block;
    bool drift;
};

extern const struct param synth_params[];

/* Checks what the ranges of single parameters cannot. Both functions below do it too. */
int synth_check(const struct synth_options *options, struct err *err) MUST_CHECK;

/* A generated load is named by its options, wherever a trace is named: "generated", or
 * "generated:conversations=200,seed=3". Options left out are at their defaults. */
#define SYNTH_NAME "generated"
bool synth_is_name(const char *text);
int synth_parse_name(const char *name, struct synth_options *out, struct err *err) MUST_CHECK;
bool synth_name_gives_seed(const char *name);

/* Appends the name: every option that is not at its default, and the seed. */
void synth_print_name(const struct synth_options *options, struct text *out);

/* Appends one line for each conversation. On failure out is as it was. */
int synth_write(const struct synth_options *options, struct text *out, struct err *err) MUST_CHECK;

/* Adds all conversations to build, which the caller finishes. Keeps nothing of its own beyond the
 * conversation that it is at. Errors name conversation i as "synth:i+1". */
int synth_build(const struct synth_options *options, struct build *build,
                struct err *err) MUST_CHECK;

#endif
