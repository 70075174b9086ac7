#include "sim/engine/result.h"

#define FIELD(name_, place, help_)                                                                 \
    {                                                                                              \
        name_, help_, offsetof(struct result, place)                                               \
    }

const struct result_field result_fields[] = {
    FIELD("requests", requests, "requests replayed"),
    FIELD("prompt_tokens", prompt_tokens, "tokens of their prompts"),
    FIELD("reply_tokens", reply_tokens, "tokens of their replies"),
    FIELD("hit_tokens", sum.hit_tokens, "prompt tokens that need not be computed"),
    FIELD("computed_tokens", computed_tokens, "prompt tokens that are computed"),
    FIELD("hit_requests", hit_requests, "requests with a hit"),
    FIELD("hit_pages", hit_pages, "pages that the hits touch"),
    FIELD("missed_new_tokens", sum.missed_new_tokens, "missed: never seen before"),
    FIELD("missed_evicted_tokens", sum.missed_evicted_tokens, "missed: seen, KV evicted"),
    FIELD("missed_no_snapshot_tokens", sum.missed_no_snapshot_tokens,
          "missed: seen, but no usable snapshot"),
    FIELD("missed_rounding_tokens", sum.missed_rounding_tokens,
          "missed: cut by page or grain rounding"),
    FIELD("missed_last_tokens", sum.missed_last_tokens,
          "missed: the last token is always computed"),
    FIELD("snapshots_taken", cache.snapshots_taken, "snapshots stored"),
    FIELD("snapshots_hit", snapshots_hit, "requests that started from a snapshot"),
    FIELD("snapshots_evicted", cache.snapshots_evicted, "snapshots dropped to make room"),
    FIELD("snapshots_replaced", cache.snapshots_replaced, "snapshots replaced by a newer one"),
    FIELD("snapshots_refused", cache.snapshots_refused, "snapshots that could never have fitted"),
    FIELD("kv_tokens_stored", cache.kv_tokens_stored, "tokens whose KV was stored"),
    FIELD("kv_tokens_evicted", cache.kv_tokens_evicted, "tokens whose KV was dropped"),
    FIELD("uncached_requests", cache.uncached_requests, "requests that could not be stored"),
    FIELD("peak_bytes", cache.peak_bytes, "most bytes in use after a request"),
    FIELD("mean_kv_bytes", mean.kv, "mean over time: KV in use"),
    FIELD("mean_snapshot_bytes", mean.snapshots, "mean over time: snapshots"),
    FIELD("mean_live_bytes", mean.live, "mean over time: live states"),
    FIELD("mean_padding_bytes", mean.padding, "mean over time: in use, holding nothing"),
    FIELD("mean_external_bytes", mean.external,
          "mean over time: free, of no use to what last found no place"),
    FIELD("mean_free_bytes", mean.free, "mean over time: free"),
    FIELD("stranded_kv_bytes", stranded.kv_bytes, "KV that no snapshot can use; mean of samples"),
    FIELD("stranded_snapshot_bytes", stranded.snapshot_bytes,
          "snapshots whose KV is gone; mean of samples"),
    FIELD("drops", cache.drops, "times that something was dropped to make room"),
    FIELD("split_evictions", cache.split_evictions,
          "of them, those though the bytes alone would have fitted"),
    FIELD("split_uncached", cache.split_uncached,
          "requests not stored though the bytes alone would have fitted"),
    FIELD("page_tokens", page_tokens, "tokens in a page of KV"),
    FIELD("place_bytes", place_bytes, "size of a large page or slab"),
    FIELD("quota_bytes", quota_bytes, "what a fixed split gives to states"),
    FIELD("moved_bytes", moved_bytes, "bytes copied by compaction"),
    FIELD("moved_places", moved_places, "slabs or large pages that changed sides"),
    FIELD("end_grain_tokens", grains.end,
          "snapshots at the ends of prompts and replies are at multiples of it"),
    FIELD("interior_grain_tokens", grains.interior, "snapshots within prompts and replies are"),
    FIELD("snapshot_grid_tokens", snapshot_grid_tokens,
          "those of placement fixed are; 0 without it"),
    FIELD("lookups", cache.lookups, "look-ups in the index"),
    FIELD("node_visits", cache.node_visits, "tree nodes visited by them"),
    {NULL, NULL, 0},
};

uint64_t result_value(const struct result *result, const struct result_field *field)
{
    return *(const uint64_t *)(const void *)((const char *)result + field->offset);
}

double result_hit_ratio(const struct result *result)
{
    if (result->prompt_tokens == 0)
        return 0;
    return (double)result->sum.hit_tokens / (double)result->prompt_tokens;
}

static void write_model(const struct result *result, struct json *parent)
{
    struct json *model = json_add_object(parent, "model");
    json_add_string(model, "name", result->config.model);
    json_add_string(model, "sha256", result->model_sha256);
    json_add_u64(model, "kv_bytes_per_token", result->sizes.kv_bytes_per_token);
    json_add_u64(model, "state_bytes", result->sizes.state_bytes);
    json_add_u64(model, "snapshot_bytes", result->sizes.snapshot_bytes);
}

struct json *result_write(const struct result *result, const struct workload *workload,
                          const char *version, struct json *parent)
{
    json_add_u64(parent, "schema", RESULT_SCHEMA);
    struct json *program = json_add_object(parent, "program");
    json_add_string(program, "name", "snapsim");
    json_add_string(program, "version", version);
    config_write(&result->config, json_add_object(parent, "config"));
    struct json *trace = json_add_object(parent, "trace");
    json_add_string(trace, "name", workload->name);
    json_add_string(trace, "sha256", workload->sha256);
    json_add_u64(trace, "requests", workload->request_count);
    const struct continuation_counts *counts = &workload->continuation;
    json_add_u64(trace, "continuations", counts->all);
    json_add_u64(trace, "guessed_continuations", counts->guessed);
    json_add_u64(trace, "guessed_tokens", counts->guessed_tokens);
    json_add_u64(trace, "short_prompts", counts->short_prompts);
    write_model(result, parent);
    struct json *values = json_add_object(parent, "result");
    for (const struct result_field *field = result_fields; field->name; field++)
        json_add_u64(values, field->name, result_value(result, field));
    json_add_double(values, "hit_ratio", result_hit_ratio(result));
    json_add_hex(parent, "digest", result->digest);
    return values;
}
