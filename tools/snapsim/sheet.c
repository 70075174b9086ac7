#include "tools/snapsim/sheet.h"

#include <inttypes.h>

#include "sim/core/units.h"

void sheet_head(const struct result *result, const struct workload *workload, struct text *out)
{
    char snapshot[UNITS_TEXT], capacity[UNITS_TEXT];
    const struct config *config = &result->config;
    text_printf(out, "trace      %s, %" PRIu64 " requests, arrival %s\n", workload->name,
                result->requests, config->arrival);
    text_printf(out, "model      %s, snapshot %s, KV %" PRIu64 " B/token, per GPU\n", config->model,
                units_bytes(result->sizes.snapshot_bytes, snapshot),
                result->sizes.kv_bytes_per_token);
    text_printf(out, "setting    %s, %s, %s, %s\n\n", config->placement, config->eviction,
                config->memory, units_bytes(config->capacity, capacity));
}

void sheet_share(const char *what, uint64_t tokens, uint64_t of, struct text *out)
{
    char grouped[UNITS_TEXT];
    text_printf(out, "  %-34s %18s  %6.2f %%\n", what, units_grouped(tokens, grouped),
                of ? 100.0 * (double)tokens / (double)of : 0.0);
}

void sheet_count(const char *what, uint64_t value, struct text *out)
{
    char grouped[UNITS_TEXT];
    text_printf(out, "  %-34s %18s\n", what, units_grouped(value, grouped));
}

void sheet_bytes(const char *what, uint64_t bytes, struct text *out)
{
    char printed[UNITS_TEXT];
    text_printf(out, "  %-34s %18s\n", what, units_bytes(bytes, printed));
}
