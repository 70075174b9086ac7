#include "tools/snapsim/sheet.h"

#include <inttypes.h>
#include <string.h>

#include "sim/core/units.h"

void sheet_head(const struct result *result, const struct workload *workload, struct text *out)
{
    char snapshot[UNITS_TEXT], capacity[UNITS_TEXT];
    const struct config *config = &result->config;
    text_printf(out, "trace      ");
    text_add_visible(out, workload->name, strlen(workload->name), "");
    text_printf(out, ", %" PRIu64 " requests, arrival %s\nmodel      ", result->requests,
                config->arrival);
    text_add_visible(out, config->model, strlen(config->model), "");
    text_printf(out, ", snapshot %s, KV %" PRIu64 " B/token, per GPU\n",
                units_bytes(result->sizes.snapshot_bytes, snapshot),
                result->sizes.kv_bytes_per_token);
    text_printf(out, "setting    %s, %s, %s, %s\n\n", config->placement, config->eviction,
                config->memory, units_bytes(config->capacity, capacity));
}

static void add_line(const char *what, const char *value, struct text *out)
{
    text_printf(out, "  %-34s %18s", what, value);
}

static void add_share(uint64_t value, uint64_t of, struct text *out)
{
    text_printf(out, "  %6.2f %%\n", of ? 100.0 * (double)value / (double)of : 0.0);
}

void sheet_count(const char *what, uint64_t value, struct text *out)
{
    char grouped[UNITS_TEXT];
    add_line(what, units_grouped(value, grouped), out);
    text_printf(out, "\n");
}

void sheet_bytes(const char *what, uint64_t bytes, struct text *out)
{
    char printed[UNITS_TEXT];
    add_line(what, units_bytes(bytes, printed), out);
    text_printf(out, "\n");
}

void sheet_share(const char *what, uint64_t value, uint64_t of, struct text *out)
{
    char grouped[UNITS_TEXT];
    add_line(what, units_grouped(value, grouped), out);
    add_share(value, of, out);
}

void sheet_bytes_share(const char *what, uint64_t bytes, uint64_t of, struct text *out)
{
    char printed[UNITS_TEXT];
    add_line(what, units_bytes(bytes, printed), out);
    add_share(bytes, of, out);
}
