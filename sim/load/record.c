#include "sim/load/record.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "sim/load/place.h"

static void free_blocks(struct record *record)
{
    chains_close(&record->chains);
    free(record->paths);
    record->paths = NULL;
}

void record_close(struct record *record)
{
    if (record == NULL)
        return;
    free_blocks(record);
    workload_close(record->calls);
    free(record);
}

/* ---- finishing ---- */

/* Whether the order of arrival can change the tree; record.h says when. It is of no consequence
 * where the block behind the full ones of a continued request is used by one user only: whether
 * that block, and so all behind it, has been placed when a request comes then depends on earlier
 * requests of that user alone, and these come in one order. All else in the tree is the tree of
 * the numbers, and private ends. */
static bool find_order(struct record *record, bool order_of_stream_unknown)
{
    const struct workload *calls = record->calls;
    if (calls->partial_blocks_kept)
        return false;
    for (uint32_t j = 0; j < calls->request_count; j++) {
        const uint32_t i = calls->requests[j].continues;
        const struct record_path *path = &record->paths[j];
        if (i == REQUEST_NONE || record_reply_is_known(path))
            continue;
        const struct request *other = &calls->requests[i];
        const uint32_t in = record->paths[i].in;
        const uint32_t blocks = request_kept(other, in) / calls->block_tokens;
        if (request_common(other, in, calls->replies_kept) == blocks * calls->block_tokens)
            continue; /* it ends where its blocks end */
        if (order_of_stream_unknown)
            return true;
        if (chains_depth(&record->chains, path->full) <= blocks)
            continue; /* j ends inside the same block */
        struct block_at next = chains_above(&record->chains, path->full, blocks + 1);
        if (next.blocks <= chains_shared(&record->chains.items[next.chain]))
            return true;
    }
    return false;
}

static void count_continuations(struct workload *calls)
{
    struct continuation_counts *counts = &calls->continuation;
    for (uint32_t i = 0; i < calls->request_count; i++) {
        const struct request *request = &calls->requests[i];
        if (request->continues == REQUEST_NONE)
            continue;
        counts->all++;
        counts->guessed += request_is_guessed(&calls->requests[request->continues]);
    }
}

void record_finish(struct record *record, bool order_of_stream_unknown)
{
    record->order_matters = find_order(record, order_of_stream_unknown);
    count_continuations(record->calls);
    workload_count_name_spaces(record->calls);
}

/* ---- loads ---- */

static void *copy(const void *array, size_t count, size_t element_size)
{
    void *out = mem_array(count, element_size);
    if (count > 0)
        memcpy(out, array, count * element_size);
    return out;
}

static struct workload *copy_calls(const struct workload *calls)
{
    struct workload *out = copy(calls, 1, sizeof *calls);
    out->name = mem_strdup(calls->name);
    out->arrival = mem_strdup(calls->arrival);
    out->requests = copy(calls->requests, calls->request_count, sizeof *calls->requests);
    out->conversations =
        copy(calls->conversations, calls->conversation_count, sizeof *calls->conversations);
    out->bounds = copy(calls->bounds, calls->bound_count, sizeof *calls->bounds);
    return out;
}

static void place(struct load *out, struct record *record, bool last)
{
    const bool shared = last || !record->order_matters;
    struct workload *tree = shared ? record->calls : copy_calls(record->calls);
    place_requests(record, out->schedule, tree);
    if (record->order_matters) {
        free(tree->arrival);
        tree->arrival = mem_strdup(out->schedule->setting);
        tree->order_digest = out->schedule->order_digest;
    }
    if (shared)
        free_blocks(record);
    else
        out->own_tree = tree;
    out->workload = tree;
}

int record_load(struct load *out, struct record *record, bool last, const char *how, uint64_t seed,
                uint64_t limit, struct err *err)
{
    const struct workload *calls = record->calls;
    *out = (struct load){.workload = calls};
    if (schedule_open(&out->schedule, calls, how, seed, limit, err) != 0)
        return -1;
    if (calls->nodes == NULL)
        place(out, record, last);
    else if (calls->order_digest != 0 && calls->order_digest != out->schedule->order_digest)
        return err_set(err,
                       "the tree of '%s' was compiled for another order of requests, that of "
                       "%s; convert the original again with %s, or use the original",
                       calls->name, calls->arrival, out->schedule->setting);
    schedule_fill_seen(out->schedule, out->workload);
    return 0;
}

void load_close(struct load *load)
{
    schedule_close(load->schedule);
    workload_close(load->own_tree);
    record_close(load->own_record);
    *load = (struct load){0};
}

static uint64_t workload_bytes(const struct workload *workload)
{
    return workload->node_count * sizeof(struct node) +
           workload->request_count * sizeof(struct request) +
           workload->bound_count * sizeof(uint32_t);
}

uint64_t record_bytes(const struct record *record)
{
    uint64_t paths = record->paths ? record->calls->request_count : 0;
    return workload_bytes(record->calls) + paths * sizeof *record->paths +
           record->chains.count * sizeof *record->chains.items;
}

uint64_t load_bytes(const struct load *load)
{
    return (load->own_tree ? workload_bytes(load->own_tree) : 0) +
           (load->schedule ? load->schedule->count * sizeof(struct arrival) : 0);
}
