/* build.h - makes a record out of conversations whose prompts are lists of block numbers.
 *
 * Equal number means equal prompt from the first token to the end of that block. Where two paths
 * part inside a block, or inside a reply, follows from the rule of continuation. Of a request i,
 * kept_i = in_i - replaced_i tokens of the prompt stay, and back_i tokens of the reply come back,
 * in the prompt that goes on from it; both are declared (below), else kept_i = in_i, back_i =
 * out_i.
 *
 * 1. Request j continues request i, the latest of its stream that fits, if j's prompt has all full
 *    blocks of the first kept_i tokens of i's prompt, at least one, and in_j >= kept_i + back_i.
 *    Where replies are dropped (--replies drop), back_i does not count.
 * 2. Then the first kept_i + back_i tokens of i's path (kept_i, if replaced_i > 0 or replies are
 *    dropped) are those of j's path, exact to the token, also inside a block, under one condition:
 *    the blocks of j that lie there have not been placed elsewhere. So the first j that comes names
 *    them, and they lie on i's path from then on. A j of which the first block behind the full ones
 *    of i was placed before, by a path that did not go through i's reply, leaves i's path at the
 *    end of those full blocks, even if it is the first; so does a later j that names them
 *    otherwise, at the last block that they share.
 * 3. Whoever shares all whole blocks of that stretch with i follows it exactly to its end, inside
 *    the block that it only partly covers.
 * 4. A partial block at the end of a prompt that nothing continues, and its reply, are private.
 *
 * "Placed before" is in the order in which the requests come. So what the tree says about the
 * first k requests of a run never depends on later ones. */
#ifndef SNAPSIM_BUILD_H
#define SNAPSIM_BUILD_H

#include "sim/load/record.h"

/* How much of a reply comes back, and how much of the end of a prompt the next one replaces. Of
 * two declarations the nearer one holds: of the request, of the format, of the options. */
struct declared {
    bool back_given, replaced_given;
    uint32_t back;     /* leading tokens of the reply; more than there are: all of it */
    uint32_t replaced; /* last tokens of the prompt */
};

/* From the options --reply-back (auto, all, none, N) and --prompt-replaced (auto, N). */
int declared_parse(struct declared *out, const char *back, const char *replaced,
                   struct err *err) MUST_CHECK;

struct build_options {
    bool drop_replies;        /* paths end with the prompt */
    bool keep_partial_blocks; /* the last, partial block of a list of numbers is one of its own;
                                 then no path follows another beyond its blocks */
    bool share_system;        /* system prompts of local conversations are shared by tool_tokens */
    bool chain_contents;      /* numbers name contents of blocks: chain them */
    bool link_by_prompt;      /* no conversations are recorded: link requests as follows */
    struct declared declared;
};
/* Linking by prompt (Mooncake): the earlier request with the longest prompt whose full blocks of
 * the first kept_i tokens, two or more, are all leading blocks of this one, the latest of equals;
 * this one continues it if in_j > kept_i + back_i, and is then of its conversation and stream. */

/* Whether they go together. */
int build_check_options(const struct build_options *options, struct err *err) MUST_CHECK;

struct build_conversation {
    uint32_t block_tokens;  /* 1 .. 2^20, the same in the whole trace */
    bool local_numbers;     /* numbers mean something within this conversation only */
    uint32_t tool_tokens;   /* length of tool definitions, 0 if not known */
    uint32_t system_tokens; /* length of the system prompt after them, 0 if not known */
    uint64_t start_ns;      /* or TIME_UNKNOWN */
};

struct build_request {
    uint32_t stream; /* number within the conversation: 0 the main one, 1.. sub-conversations */
    uint64_t in, out;
    const struct block_run *runs; /* full blocks of the prompt (and a partial one, if kept) */
    size_t run_count;
    const struct block_run *out_runs; /* blocks of the reply where they are known, else NULL */
    size_t out_run_count;
    uint64_t offset_ns, think_ns; /* or TIME_UNKNOWN */
    uint64_t order;               /* REQUEST_NONE: the order of the trace */
    enum waited_for waited_for;
    uint32_t system_tokens; /* overrides that of the conversation if not 0 */
    uint32_t name_space;    /* from build_name_space(), or 0; different ones share nothing */
    struct declared declared;
    /* Ends of the messages of the prompt, ascending; borrowed until build_end. Where a list only
     * goes on from that of the request before in its stream, it should start at the same address:
     * then what they have in common is kept once. */
    const uint32_t *bounds;
    size_t bound_count;
};

struct build;

struct build *build_open(const struct build_options *options);
bool build_keeps_partial_blocks(const struct build *build);

/* What the format says of all its requests. */
void build_declare(struct build *build, const struct declared *declared);

/* The number, not 0, of the name space of this name; equal names, equal numbers. */
uint32_t build_name_space(struct build *build, const char *name, size_t length);

/* Starts a conversation that stands at path:line. Requests of one conversation may be added in any
 * order; they are sorted by offset (unknown ones and equals stay in order). path is borrowed until
 * build_finish. */
void build_begin(struct build *build, const struct build_conversation *conversation,
                 const char *path, uint32_t line);
int build_add(struct build *build, const struct build_request *request, struct err *err) MUST_CHECK;
int build_end(struct build *build, struct err *err) MUST_CHECK;

/* Checks what needs the whole trace, and hands the record over; name and sha256 are left empty for
 * the caller. err if the trace has no requests. */
int build_finish(struct build *build, struct record **out, struct err *err) MUST_CHECK;
void build_close(struct build *build); /* also after build_finish; NULL is allowed */

#endif
