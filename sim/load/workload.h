/* workload.h - a trace, compiled into an immutable tree of tokens and the requests that walk it.
 *
 *     root --[0,3000)-- A --[3000,5000)-- B      a node is a run of tokens after its parent's
 *                        \--[3000,3700)-- C      end; `end` is its depth in tokens
 *
 * Every prompt and every reply of the trace ends at the end of a node, and nodes are split where
 * paths fork, so a request is two node numbers. Parents come before their children. All runs, of
 * all threads, share one workload read-only and keep what changes in arrays indexed by node.
 *
 * A node may end where it does because of a request that comes later. Nothing that a run computes
 * may depend on that: everything counts in tokens and positions, never in nodes. */
#ifndef SNAPSIM_WORKLOAD_H
#define SNAPSIM_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "sim/core/text.h"

typedef uint32_t node_id;

#define NODE_ROOT 0u
#define REQUEST_NONE UINT32_MAX
#define TIME_UNKNOWN UINT64_MAX
#define TOKENS_UNDECLARED UINT32_MAX

/* No prompt with its reply is longer than this many tokens. */
#define WORKLOAD_TOKENS_MAX (1u << 30)

struct node {
    node_id parent; /* of the root: itself */
    uint32_t end;   /* tokens from the start of the prompt; the root ends at 0 */
};

/* What the user's side was doing before the request came. */
enum waited_for { WAITED_UNKNOWN, WAITED_TOOL, WAITED_PERSON };

struct request {
    node_id prompt_node;    /* ends where the prompt ends */
    node_id reply_node;     /* ends where the reply ends; prompt_node if replies were dropped */
    uint32_t reply_tokens;  /* as recorded, also where replies were dropped from the tree */
    uint32_t conversation;  /* index into conversations */
    uint32_t stream;        /* a main stream or a sub-conversation; unique in the workload */
    uint32_t continues;     /* the request whose prompt and reply this prompt extends, or NONE */
    uint32_t system_tokens; /* where the system prompt ends, 0 if not known */
    uint32_t bounds_first;  /* ends of the messages of the prompt: bounds[first .. first+count) */
    uint32_t bounds_count;
    uint32_t order;      /* settles equal arrival times */
    uint32_t waited_for; /* enum waited_for */
    uint32_t name_space; /* requests of different ones share nothing */
    /* What a continuation repeats, or TOKENS_UNDECLARED: then all of the reply, and no less of the
     * prompt (request_back, request_kept). */
    uint32_t reply_back;      /* leading tokens of the reply that come back in the next prompt */
    uint32_t prompt_replaced; /* last tokens of the prompt that the next one replaces */
    uint64_t offset_ns; /* sending time after the start of the conversation, or TIME_UNKNOWN */
    uint64_t think_ns;  /* from the end of the reply before to the request, or TIME_UNKNOWN */
};

struct conversation {
    uint64_t start_ns; /* after the start of the trace, or TIME_UNKNOWN */
    uint32_t first_line;
    uint32_t reserved; /* zero: keeps the compiled form free of padding */
};

/* What the tree owes to the rule of continuation (build.h). */
struct continuation_counts {
    uint64_t all;     /* requests that continue another */
    uint64_t guessed; /* of them: nobody declared what comes back */
    uint64_t
        guessed_tokens; /* of their prompts: on a shared path, beyond the blocks that prove it */
    uint64_t
        short_prompts; /* undeclared: has the blocks of the one before, too short for its reply */
    uint64_t first;    /* first to continue a request, where ends lie inside a block */
    uint64_t first_leaving; /* of them: leave its path, as their next block was placed before */
};

struct workload {
    char *name;               /* of the trace: the file's name without .zst, .jsonl and the like */
    char sha256[65];          /* of the trace's content, uncompressed; hexadecimal */
    uint32_t block_tokens;    /* grain at which the trace tells prompts apart; 1 is exact */
    bool replies_kept;        /* replies are part of the paths */
    bool partial_blocks_kept; /* a last partial block has an identity of its own */
    bool system_shared;       /* --share-system was applied */
    bool contents_chained;    /* block numbers named contents */
    uint32_t reply_back, prompt_replaced; /* of the options, or TOKENS_UNDECLARED */
    char *arrival;         /* the schedule for which the tree holds, for messages; "": any */
    uint64_t order_digest; /* of the order in which the tree was placed; 0: any order gives it */
    struct node *nodes;
    uint32_t node_count;
    struct request *requests; /* in the order of the trace */
    uint32_t request_count;
    struct conversation *conversations;
    uint32_t conversation_count;
    uint32_t *bounds;
    uint32_t bound_count;
    uint32_t stream_count;
    uint32_t name_space_count;            /* of those that its requests are in */
    uint64_t prompt_tokens, reply_tokens; /* sums over the requests */
    struct continuation_counts continuation;
};

/* Tokens of a request's reply that come back, and of its prompt that stay, in a continuation. */
static inline uint32_t request_back(const struct request *request)
{
    return request->reply_back < request->reply_tokens ? request->reply_back
                                                       : request->reply_tokens;
}

static inline uint32_t request_kept(const struct request *request, uint32_t prompt_tokens)
{
    if (request->prompt_replaced == TOKENS_UNDECLARED)
        return prompt_tokens;
    return request->prompt_replaced < prompt_tokens ? prompt_tokens - request->prompt_replaced : 0;
}

/* How many tokens of a request's path are the first of a continuation's path. */
static inline uint32_t request_common(const struct request *request, uint32_t prompt_tokens,
                                      bool replies_kept)
{
    uint32_t kept = request_kept(request, prompt_tokens);
    return kept < prompt_tokens || !replies_kept ? kept : prompt_tokens + request_back(request);
}

static inline bool request_is_guessed(const struct request *request)
{
    return request->reply_back == TOKENS_UNDECLARED &&
           request->prompt_replaced == TOKENS_UNDECLARED;
}

static inline uint32_t workload_node_start(const struct workload *workload, node_id node)
{
    return workload->nodes[workload->nodes[node].parent].end;
}

static inline uint32_t workload_prompt_tokens(const struct workload *workload, uint32_t request)
{
    return workload->nodes[workload->requests[request].prompt_node].end;
}

/* The ends of the messages of a prompt, bounds_count of them; NULL if there are none. */
static inline const uint32_t *workload_bounds(const struct workload *workload,
                                              const struct request *request)
{
    return request->bounds_count ? workload->bounds + request->bounds_first : NULL;
}

/* The node on the path down to `node` that holds the token before `position` (start < position <=
 * end); the root for position 0. */
node_id workload_node_at(const struct workload *workload, node_id node, uint32_t position);

void workload_close(struct workload *workload); /* NULL is allowed */

void workload_count_name_spaces(struct workload *workload);

/* Whether the starts of all conversations, and the offsets of all requests, were recorded. */
bool workload_has_starts(const struct workload *workload);
bool workload_has_offsets(const struct workload *workload);

/* Checks every invariant of this file. Meant for tests and for compiled files from outside. */
int workload_check(const struct workload *workload, struct err *err) MUST_CHECK;

#endif
