/* probe_plan.h - cuts sequences into the tiles and runs that the prefill kernels work on.
 *
 * Sequences are packed one after another. Each starts at an absolute position, where its state was
 * taken up; tiles are aligned to absolute positions, so that a snapshot at any multiple of 16 falls
 * on a tile's end however the prompt was cut before. */
#ifndef SNAPSIM_PROBE_PLAN_H
#define SNAPSIM_PROBE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tools/probe/kernels.h"

struct plan_sequence {
    uint32_t tokens;   /* at least 1 */
    uint32_t position; /* absolute position of its first token */
};

/* A snapshot row: the state of a sequence after `count` of its packed tokens. */
struct plan_snapshot {
    uint32_t sequence, count;
};

struct plan {
    uint32_t sequences, tokens, tile_count, snapshot_count, run_count;
    struct kda_tile *tiles;
    int32_t *tile_first; /* [sequences + 1] */
    int32_t *token;      /* [sequences]: first packed token */
    struct plan_snapshot *snapshots;
    struct conv_run *runs;
    struct conv_emit *emits; /* the snapshots' windows in order, then each sequence's last one */
};

/* Snapshots at every absolute multiple of interval (itself a multiple of 16; 0 for none) that a
 * sequence reaches. */
void probe_plan_open(struct plan *plan, const struct plan_sequence *sequences, uint32_t count,
                     uint32_t interval);
void probe_plan_close(struct plan *plan);

#endif
