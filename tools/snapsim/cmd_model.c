/* snapsim model - the models snapsim knows, and their bytes with the arithmetic behind them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/json.h"
#include "sim/core/text.h"
#include "sim/core/units.h"
#include "sim/model/flops.h"
#include "sim/model/kind.h"
#include "sim/model/model.h"
#include "sim/model/presets.h"
#include "tools/snapsim/snapsim.h"

struct model_options {
    unsigned format;
    uint64_t align;   /* 0: the model's usual one */
    uint64_t context; /* of a request whose memory is printed; 0: none */
    struct sharding sharding;
};

enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };
static const char *const list_formats[] = {"table", "csv", "json", NULL};

static const struct param list_params[] = {OPTION_FORMAT(struct model_options, list_formats),
                                           PARAM_END};
static const struct param align_params[] = {
    {"align", PARAM_U64, offsetof(struct model_options, align), "0", 0, 65536, NULL, "TOKENS",
     "granularity of the attention kernel; 0 is 128 with MLA layers, else 16"},
    PARAM_END};
static const struct param show_params[] = {
    OPTION_FORMAT(struct model_options, options_table_or_json),
    {"context", PARAM_U64, offsetof(struct model_options, context), "0", 0, 16777216, NULL,
     "TOKENS", "show also what a request of so many tokens takes"},
    PARAM_END,
};

static int put(struct text *out, int status)
{
    int printed = print_result(out);
    text_close(out);
    return printed == EXIT_GOOD ? status : printed;
}

static void list_line(const struct model *model, const struct model_sizes *sizes, unsigned format,
                      struct text *out)
{
    char snapshot[UNITS_TEXT], kv[UNITS_TEXT], even[UNITS_TEXT];
    uint64_t tokens = model_break_even_tokens(sizes);
    if (format == FORMAT_CSV) {
        text_printf(out, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                    model->name, sizes->recurrent_layers, sizes->attention_layers,
                    sizes->snapshot_bytes, sizes->kv_bytes_per_token, tokens);
        return;
    }
    text_printf(out, "%-18s %9" PRIu64 " %9" PRIu64 " %15s %15s %18s\n", model->name,
                sizes->recurrent_layers, sizes->attention_layers,
                units_grouped(sizes->snapshot_bytes, snapshot),
                units_grouped(sizes->kv_bytes_per_token, kv),
                tokens ? units_grouped(tokens, even) : "-");
}

static void sizes_json(const struct model_sizes *sizes, uint64_t page_tokens, struct json *parent)
{
    json_add_u64(parent, "recurrent_layers", sizes->recurrent_layers);
    json_add_u64(parent, "attention_layers", sizes->attention_layers);
    json_add_u64(parent, "kv_bytes_per_token", sizes->kv_bytes_per_token);
    json_add_u64(parent, "kv_bytes_per_token_per_layer", sizes->kv_bytes_per_token_per_layer);
    json_add_u64(parent, "state_bytes", sizes->state_bytes);
    json_add_u64(parent, "state_bytes_per_layer", sizes->state_bytes_per_layer);
    json_add_u64(parent, "snapshot_bytes", sizes->snapshot_bytes);
    json_add_u64(parent, "snapshot_bytes_per_layer", sizes->snapshot_bytes_per_layer);
    json_add_u64(parent, "break_even_tokens", model_break_even_tokens(sizes));
    json_add_u64(parent, "page_tokens", page_tokens);
}

static int list_models(const struct call *call)
{
    const struct model_options *options = call->settings;
    struct sharding sharding;
    struct err err;
    param_defaults(sharding_params, &sharding);
    int status = EXIT_GOOD;
    struct text out = {0};
    struct json *top = json_new_object();
    json_add_u64(top, "schema", 1);
    struct json *rows = json_add_array(top, "models");
    if (options->format == FORMAT_TABLE)
        text_printf(&out, "%-18s %9s %9s %15s %15s %18s\n", "model", "recurrent", "attention",
                    "snapshot bytes", "KV bytes/token", "break-even tokens");
    if (options->format == FORMAT_CSV)
        text_printf(&out, "model,recurrent_layers,attention_layers,snapshot_bytes,"
                          "kv_bytes_per_token,break_even_tokens\n");
    struct model model;
    for (size_t i = 0; presets_at(i, &model); i++) {
        struct model_sizes sizes;
        if (model_sizes(&model, &sharding, &sizes, &err) != 0) {
            status = say(EXIT_FAILED, "%s", err.text);
            break;
        }
        uint64_t align = options->align ? options->align : model_default_align(&model);
        if (options->format != FORMAT_JSON) {
            list_line(&model, &sizes, options->format, &out);
            continue;
        }
        struct json *row = json_add_object(rows, NULL);
        json_add_string(row, "name", model.name);
        json_add_string(row, "summary", model.summary);
        sizes_json(&sizes, model_page_tokens(&sizes, align), row);
    }
    if (options->format == FORMAT_JSON) {
        json_print(top, true, &out);
        text_printf(&out, "\n");
    }
    json_close(top);
    return put(&out, status);
}

static void matrix_text(const struct layer_view *view, struct state_matrix matrix, struct text *out)
{
    char heads[UNITS_TEXT];
    text_printf(out, "%s", kind_share_text(matrix.heads, view->tp, heads));
    if (matrix.rows > 1)
        text_printf(out, " x %" PRIu64, matrix.rows);
    text_printf(out, " x %" PRIu64, matrix.columns);
}

/* "2 B" of each value, or "34/32 B" where values are stored in blocks. */
static void block_text(struct block block, struct text *out)
{
    if (block.values == 1)
        text_printf(out, " x %" PRIu64 " B", block.bytes);
    else
        text_printf(out, " x %" PRIu64 "/%" PRIu64 " B", block.bytes, block.values);
}

/* Keys and values of one token. */
static void kv_text(const struct layer_view *view, const struct sharding *sharding,
                    struct text *out)
{
    char heads[UNITS_TEXT];
    struct attention_shape shape = view->group->kind->attention(view->group);
    kind_share_text(shape.kv_heads, view->tp, heads);
    if (sharding->kv_dtype == KV_DTYPE_FP8_SCALED)
        text_printf(out, "%" PRIu64 " B + %" PRIu64 " x 4 B + %" PRIu64 " x 2 B", shape.first,
                    shape.first / 128, shape.second);
    else if (shape.is_latent)
        text_printf(out, "(%" PRIu64 " + %" PRIu64 ")", shape.first, shape.second);
    else if (shape.first == shape.second)
        text_printf(out, "2 x %s x %" PRIu64, heads, shape.first);
    else
        text_printf(out, "%s x (%" PRIu64 " + %" PRIu64 ")", heads, shape.first, shape.second);
    if (sharding->kv_dtype != KV_DTYPE_FP8_SCALED)
        block_text(model_kv_block(sharding->kv_dtype), out);
    if (shape.extra_bytes > 0)
        text_printf(out, " + %" PRIu64 " B", shape.extra_bytes);
}

/* The last inputs of a convolution, or the last tokens of a sliding window. */
static void window_text(const struct layer_view *view, const struct sharding *sharding,
                        struct text *out)
{
    const struct layer_group *group = view->group;
    struct err ignored;
    uint64_t channels = 0;
    if (group->kind->attention) {
        text_printf(out, "%" PRIu64 " tokens x ", group->window);
        kv_text(view, sharding, out);
        return;
    }
    if (group->kind->window_rows > 0)
        text_printf(out, "%" PRIu64 " x ", group->kind->window_rows);
    else
        text_printf(out, "(%" PRIu64 " - 1) x ", group->conv_kernel);
    if (group->kind->channels(view, 0, &channels, out, &ignored) == 0)
        text_printf(out, " x %d B", sharding->conv_dtype == CONV_DTYPE_FP32 ? 4 : 2);
}

static void line(struct text *out, const char *label, const char *arithmetic, uint64_t value,
                 const char *unit)
{
    char digits[UNITS_TEXT];
    text_printf(out, "  %-28s %-45s = %15s %s\n", label, arithmetic, units_grouped(value, digits),
                unit);
}

/* "name what", as in "kda matrix". */
static void group_line(struct text *out, const struct layer_group *group, const char *what,
                       const struct text *arithmetic, uint64_t value, const char *unit)
{
    char label[64];
    snprintf(label, sizeof label, "%s %s", group->kind->name, what);
    line(out, label, arithmetic->data, value, unit);
}

/* "69 layers", or "9 of 69 layers" where stages divide them. */
static void layers_text(const struct layer_view *view, uint64_t pp, struct text *out)
{
    uint64_t count = model_stage_layers(view->model, view->group, pp);
    text_printf(out, "%" PRIu64, count);
    if (pp > 1)
        text_printf(out, " of %" PRIu64, view->group->count);
    text_printf(out, " layers x ");
}

/* "69 layers x 6,512,640", and its product. */
static void layers_line(const struct layer_view *view, const struct sharding *sharding,
                        const char *what, uint64_t value, const char *unit, struct text *out)
{
    char digits[UNITS_TEXT];
    struct text formula = {0};
    layers_text(view, sharding->pp, &formula);
    text_printf(&formula, "%s", units_grouped(value, digits));
    group_line(out, view->group, what, &formula,
               model_stage_layers(view->model, view->group, sharding->pp) * value, unit);
    text_close(&formula);
}

/* What a snapshot has in another type than the live state. */
static void kept_lines(const struct layer_view *view, const struct sharding *sharding,
                       struct state_matrix matrix, const struct layer_sizes *layer,
                       struct text *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct text formula = {0};
    uint64_t elements = matrix.heads * matrix.rows * matrix.columns / view->tp;
    uint64_t kept = layer->snapshot_matrix_bytes + layer->window_bytes;
    matrix_text(view, matrix, &formula);
    text_printf(&formula, " x %" PRIu64 " B", layer->snapshot_matrix_bytes / elements);
    if (sharding->snapshot_dtype == SNAPSHOT_DTYPE_INT8)
        text_printf(&formula, " + %s x %" PRIu64 " x 4 B",
                    kind_share_text(matrix.heads, view->tp, a), matrix.rows);
    group_line(out, view->group, "matrix, kept", &formula, layer->snapshot_matrix_bytes, "B");
    text_clear(&formula);
    layers_text(view, sharding->pp, &formula);
    text_printf(&formula, "(%s + %s)", units_grouped(layer->snapshot_matrix_bytes, a),
                units_grouped(layer->window_bytes, b));
    group_line(out, view->group, "snapshot", &formula,
               model_stage_layers(view->model, view->group, sharding->pp) * kept, "B");
    text_close(&formula);
}

static void recurrent_lines(const struct layer_view *view, const struct sharding *sharding,
                            const struct layer_sizes *layer, struct text *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const struct layer_kind *kind = view->group->kind;
    struct text formula = {0};
    struct state_matrix matrix = {0, 0, 0};
    uint64_t state = layer->matrix_bytes + layer->window_bytes;
    if (kind->matrix) {
        matrix = kind->matrix(view->model, view->group);
        uint64_t elements = matrix.heads * matrix.rows * matrix.columns / view->tp;
        matrix_text(view, matrix, &formula);
        text_printf(&formula, " x %" PRIu64 " B", layer->matrix_bytes / elements);
        group_line(out, view->group, "matrix", &formula, layer->matrix_bytes, "B");
        text_clear(&formula);
    }
    if (layer->window_bytes > 0) {
        window_text(view, sharding, &formula);
        group_line(out, view->group,
                   kind->attention                           ? "window"
                   : sharding->conv_dtype == CONV_DTYPE_FP32 ? "window, fp32"
                                                             : "window, bf16",
                   &formula, layer->window_bytes, "B");
        text_clear(&formula);
    }
    if (layer->matrix_bytes > 0 && layer->window_bytes > 0) {
        text_printf(&formula, "%s + %s", units_grouped(layer->matrix_bytes, a),
                    units_grouped(layer->window_bytes, b));
        group_line(out, view->group, "state of a layer", &formula, state, "B");
    }
    layers_line(view, sharding, "state", state, "B", out);
    if (layer->snapshot_matrix_bytes != layer->matrix_bytes)
        kept_lines(view, sharding, matrix, layer, out);
    text_close(&formula);
}

static void attention_lines(const struct layer_view *view, const struct sharding *sharding,
                            const struct layer_sizes *layer, struct text *out)
{
    struct text formula = {0};
    kv_text(view, sharding, &formula);
    if (sharding->dcp > 1)
        text_printf(&formula, ", /%" PRIu64 " by dcp", sharding->dcp);
    group_line(out, view->group, "KV of a layer", &formula, layer->kv_bytes, "B/token");
    layers_line(view, sharding, "KV", layer->kv_bytes, "B/token", out);
    text_close(&formula);
}

static void show_head(const struct model *model, const struct sharding *sharding, struct text *out)
{
    char total[UNITS_TEXT], active[UNITS_TEXT];
    text_printf(out, "%s\n  %s\n  source: %s\n  layers:", model->name, model->summary,
                model->source);
    for (size_t i = 0; i < model->group_count; i++)
        text_printf(out, "%s %" PRIu64 " %s", i ? "," : "", model->groups[i].count,
                    model->groups[i].kind->name);
    text_printf(out, "\n  weights: %s, of which a token uses %s\n\nper GPU, with",
                units_grouped(flops_parameters(model), total),
                units_grouped(flops_active_parameters(model), active));
    struct sharding resolved = *sharding;
    if (resolved.state_dtype == STATE_DTYPE_MODEL)
        resolved.state_dtype = model->state_dtype;
    for (const struct param *entry = sharding_params; entry->name; entry++) {
        text_printf(out, "%s %s ", entry == sharding_params ? "" : ",", entry->name);
        param_print_value(entry, &resolved, out);
    }
    text_printf(out, "\n");
    if (sharding->pp == 1)
        return;
    if (model->attention_at[0] != '\0')
        text_printf(out, "stages: attention at %s of %" PRIu64 "; each figure is the largest\n",
                    model->attention_at,
                    model_layer_count(model, ROLE_RECURRENT) +
                        model_layer_count(model, ROLE_ATTENTION));
    else
        text_printf(out,
                    "stages: layers of each kind spread evenly [I]; each figure is the largest\n");
}

/* What a request of so many tokens holds. A sliding window is charged whole. */
static uint64_t request_bytes(const struct model_sizes *sizes, uint64_t context)
{
    return sizes->state_bytes + context * sizes->kv_bytes_per_token;
}

static void show_request(const struct model_sizes *sizes, uint64_t context, struct text *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], label[64];
    struct text formula = {0};
    snprintf(label, sizeof label, "request of %s tokens", units_grouped(context, a));
    if (sizes->state_bytes > 0)
        text_printf(&formula, "%s + ", units_grouped(sizes->state_bytes, a));
    text_printf(&formula, "%s x %s", units_grouped(context, a),
                units_grouped(sizes->kv_bytes_per_token, b));
    line(out, label, formula.data, request_bytes(sizes, context), "B");
    text_close(&formula);
}

static void show_tail(const struct model_sizes *sizes, uint64_t align, struct text *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct text formula = {0};
    uint64_t even = model_break_even_tokens(sizes);
    text_printf(out, "\n");
    if (sizes->recurrent_layers > 0) {
        line(out, "live state", units_bytes(sizes->state_bytes, a), sizes->state_bytes, "B");
        line(out, "snapshot", units_bytes(sizes->snapshot_bytes, a), sizes->snapshot_bytes, "B");
    }
    line(out, "KV", units_bytes(sizes->kv_bytes_per_token, a), sizes->kv_bytes_per_token,
         "B/token");
    if (even > 0) {
        text_printf(&formula, "%s / %s", units_grouped(sizes->snapshot_bytes, a),
                    units_grouped(sizes->kv_bytes_per_token, b));
        line(out, "break-even", formula.data, even, "tokens");
        text_clear(&formula);
    }
    if (sizes->dcp > 1)
        text_printf(&formula, "%" PRIu64 " x ", sizes->dcp);
    uint64_t state = sizes->state_bytes_per_layer > sizes->snapshot_bytes_per_layer
                         ? sizes->state_bytes_per_layer
                         : sizes->snapshot_bytes_per_layer;
    if (even > 0)
        text_printf(&formula, "%" PRIu64 " x ceil(%s / (%" PRIu64 " x %s))", align,
                    units_grouped(state, a), align,
                    units_grouped(sizes->kv_entry_bytes_per_layer, b));
    else
        text_printf(&formula, "%" PRIu64, align);
    line(out, "page", formula.data, model_page_tokens(sizes, align),
         even > 0 ? "tokens, for equal pages" : "tokens");
    text_close(&formula);
}

static int show_table(const struct model *model, const struct sharding *sharding,
                      const struct model_sizes *sizes, uint64_t align, uint64_t context,
                      struct text *out, struct err *err)
{
    show_head(model, sharding, out);
    for (size_t i = 0; i < model->group_count; i++) {
        const struct layer_group *group = &model->groups[i];
        struct layer_sizes layer;
        if (model_layer_sizes(model, group, sharding, &layer, err) != 0)
            return -1;
        const struct layer_view view = {model, group, sharding->tp};
        if (group->kind->role == ROLE_RECURRENT)
            recurrent_lines(&view, sharding, &layer, out);
        if (group->kind->role == ROLE_ATTENTION)
            attention_lines(&view, sharding, &layer, out);
    }
    show_tail(sizes, align, out);
    if (context > 0)
        show_request(sizes, context, out);
    return 0;
}

static void show_json(const struct model *model, const struct sharding *sharding,
                      const struct model_sizes *sizes, uint64_t align, uint64_t context,
                      struct text *out)
{
    struct json *top = json_new_object(), *object = NULL;
    json_add_u64(top, "schema", 1);
    model_to_json(model, json_add_object(top, "model"));
    config_write_table(sharding_params, sharding, json_add_object(top, "sharding"));
    object = json_add_object(top, "sizes");
    sizes_json(sizes, model_page_tokens(sizes, align), object);
    if (context > 0)
        json_add_u64(object, "request_bytes", request_bytes(sizes, context));
    json_print(top, true, out);
    text_printf(out, "\n");
    json_close(top);
}

static int show_model(const struct call *call)
{
    const struct model_options *options = call->settings;
    const struct sharding *sharding = &options->sharding;
    const char *name = call->words[0];
    struct model model;
    struct model_sizes sizes;
    struct err err;
    struct text out = {0};
    if (model_load(&model, name, &err) != 0)
        return say(strchr(name, '/') || strstr(name, ".json") ? EXIT_FAILED : EXIT_USAGE, "%s",
                   err.text);
    uint64_t align = options->align ? options->align : model_default_align(&model);
    if (model_sizes(&model, sharding, &sizes, &err) != 0 ||
        (options->format == PRINT_TABLE &&
         show_table(&model, sharding, &sizes, align, options->context, &out, &err) != 0)) {
        text_close(&out);
        return say(EXIT_USAGE, "--%s", err.text); /* the text starts with the setting's name */
    }
    if (options->format == PRINT_JSON)
        show_json(&model, sharding, &sizes, align, options->context, &out);
    return put(&out, EXIT_GOOD);
}

const struct command cmd_model = {
    .name = "model",
    .summary = "sizes of a model, with their arithmetic",
    .text = "Lists the models that snapsim knows, or prints what one of them keeps in memory per "
            "GPU, with the arithmetic. `show --format json` prints a model as a file that can be "
            "edited and given back wherever a model is named. A file may also be the config.json "
            "of a Hugging Face model of a family that is known.\n",
    .examples = "  snapsim model show kimi-k3 --tp 8\n"
                "  snapsim model show kimi-k3 --tp 8 --dcp 8 --kv-dtype fp8 --snapshot-dtype bf16\n"
                "  snapsim model show qwen3.5-27b --format json >mine.json\n"
                "  snapsim model show ./mine.json --tp 4\n"
                "  snapsim model show qwen3.6-27b --conv-dtype fp32 --context 262144\n"
                "  snapsim model show path/to/config.json --pp 8\n",
    .options_size = sizeof(struct model_options),
    .ways = {{.name = "list",
              .tables = {{NULL, align_params, 0}, {NULL, list_params, 0}},
              .run = list_models},
             {.name = "show",
              .words = "NAME|FILE.json",
              .missing = "a model (see snapsim model list) was",
              .least = 1,
              .most = 1,
              .tables = {{NULL, align_params, 0},
                         {NULL, show_params, 0},
                         {"Sharding", sharding_params, offsetof(struct model_options, sharding)}},
              .run = show_model}},
};
