#include "tools/probe/probe_plan.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/core/mem.h"

#define RUN_TOKENS 64

static void plan_tiles(struct plan *plan, const struct plan_sequence *given, uint32_t sequence,
                       uint32_t interval)
{
    uint32_t first = (uint32_t)plan->token[sequence], begin = given->position;
    uint32_t end = begin + given->tokens, base = begin - begin % KERNEL_TILE;
    for (; base < end; base += KERNEL_TILE) {
        struct kda_tile *tile = &plan->tiles[plan->tile_count++];
        tile->sequence = (int32_t)sequence;
        tile->token = (int32_t)first + (int32_t)base - (int32_t)begin;
        tile->first_row = base < begin ? (int32_t)(begin - base) : 0;
        tile->end_row = base + KERNEL_TILE > end ? (int32_t)(end - base) : KERNEL_TILE;
        tile->snapshot = -1;
        uint32_t after = base + KERNEL_TILE;
        if (interval > 0 && after % interval == 0 && after <= end) {
            plan->snapshots[plan->snapshot_count] = (struct plan_snapshot){sequence, after - begin};
            tile->snapshot = (int32_t)plan->snapshot_count++;
        }
    }
}

static void plan_runs(struct plan *plan, uint32_t sequence, uint32_t tokens)
{
    for (uint32_t behind = 0; behind < tokens; behind += RUN_TOKENS) {
        uint32_t left = tokens - behind;
        struct conv_run *run = &plan->runs[plan->run_count++];
        run->sequence = (int32_t)sequence;
        run->token = plan->token[sequence] + (int32_t)behind;
        run->count = (int32_t)(left < RUN_TOKENS ? left : RUN_TOKENS);
        run->behind = (int32_t)behind;
    }
}

void probe_plan_open(struct plan *plan, const struct plan_sequence *sequences, uint32_t count,
                     uint32_t interval)
{
    assert(interval % KERNEL_TILE == 0);
    *plan = (struct plan){.sequences = count};
    size_t tiles = 0, runs = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(sequences[i].tokens > 0);
        tiles += sequences[i].tokens / KERNEL_TILE + 2;
        runs += sequences[i].tokens / RUN_TOKENS + 1;
    }
    plan->tiles = mem_array(tiles, sizeof(*plan->tiles));
    plan->snapshots = mem_array(tiles, sizeof(*plan->snapshots));
    plan->runs = mem_array(runs, sizeof(*plan->runs));
    plan->tile_first = mem_array(count + 1, sizeof(*plan->tile_first));
    plan->token = mem_array(count, sizeof(*plan->token));
    for (uint32_t i = 0; i < count; i++) {
        plan->token[i] = (int32_t)plan->tokens;
        plan->tile_first[i] = (int32_t)plan->tile_count;
        plan_tiles(plan, &sequences[i], i, interval);
        plan_runs(plan, i, sequences[i].tokens);
        plan->tokens += sequences[i].tokens;
    }
    plan->tile_first[count] = (int32_t)plan->tile_count;
    plan->emits = mem_array(plan->snapshot_count + count, sizeof(*plan->emits));
    for (uint32_t i = 0; i < plan->snapshot_count + count; i++) {
        struct conv_emit *emit = &plan->emits[i];
        bool last = i >= plan->snapshot_count;
        uint32_t sequence = last ? i - plan->snapshot_count : plan->snapshots[i].sequence;
        emit->sequence = (int32_t)sequence;
        emit->count = (int32_t)(last ? sequences[sequence].tokens : plan->snapshots[i].count);
        emit->row = (int32_t)i;
    }
}

void probe_plan_close(struct plan *plan)
{
    free(plan->tiles);
    free(plan->tile_first);
    free(plan->token);
    free(plan->snapshots);
    free(plan->runs);
    free(plan->emits);
}
