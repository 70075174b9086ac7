/* build.h - makes a workload out of conversations whose prompts are lists of block numbers.
 *
 * Equal number means equal prompt from the first token to the end of that block. Where two paths
 * part inside a block, or inside a reply, follows from the rule of continuation:
 *
 * Request j continues request i (the latest of the same stream that fits) when j's prompt has all
 * full blocks of i's prompt, at least one, and in_j >= in_i + out_i. Then i's path, prompt and
 * reply, is the first in_i + out_i tokens of j's path. Blocks of j inside that stretch are named by
 * the first j that comes; a later one that names them otherwise leaves i's path at the last block
 * they share. So what the tree says about the first k requests of the trace never depends on later
 * ones. (In the order of the trace; where conversations with shared numbers overlap in time, a
 * request that comes later but stands earlier in the file may have named a reply's blocks.)
 * A partial block at the end of a prompt that nothing continues, and its reply, are private. */
#ifndef SNAPSIM_BUILD_H
#define SNAPSIM_BUILD_H

#include "sim/load/workload.h"

struct block_run {
    uint64_t first; /* number of the first block */
    uint64_t count; /* how many consecutive numbers */
};

struct build_options {
    bool drop_replies;        /* paths end with the prompt */
    bool keep_partial_blocks; /* the last, partial block of a list of numbers is one of its own;
                                 then no path follows another beyond its blocks */
    bool share_system;        /* system prompts of local conversations are shared by tool_tokens */
    bool link_by_prompt;      /* no conversations are recorded: link requests as follows */
};
/* Linking by prompt (Mooncake): the earlier request with the longest prompt whose full blocks, two
 * or more, are all leading blocks of this one, the latest of equals; this one continues it if
 * in_j > in_i + out_i, and is then of its conversation and stream. */

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
    const uint32_t *bounds; /* ends of the messages of the prompt, ascending */
    size_t bound_count;
};

struct build;

struct build *build_open(const struct build_options *options);
bool build_keeps_partial_blocks(const struct build *build);

/* Starts a conversation that stands at path:line. Requests of one conversation may be added in any
 * order; they are sorted by offset (unknown ones and equals stay in order). */
void build_begin(struct build *build, const struct build_conversation *conversation,
                 const char *path, uint32_t line);
int build_add(struct build *build, const struct build_request *request, struct err *err) MUST_CHECK;
int build_end(struct build *build, struct err *err) MUST_CHECK;

/* Finishes the tree and hands it over; name and sha256 are left empty for the caller. err if the
 * trace has no requests. */
int build_finish(struct build *build, struct workload **out, struct err *err) MUST_CHECK;
void build_close(struct build *build); /* also after build_finish; NULL is allowed */

#endif
