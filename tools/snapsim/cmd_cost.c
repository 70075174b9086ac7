/* snapsim cost - how long the parts of a model take on one GPU: prefill, decode, snapshots. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/cost/cost.h"
#include "sim/model/kind.h"
#include "tools/snapsim/snapsim.h"

#define COST_SCHEMA 1
#define PARTS_MAX 96

struct cost_settings {
    uint64_t tokens, prefix, sequences, batch, page_tokens, interval;
    unsigned kda;
};

static const char *const kda_kernels[] = {"flash", "fla", NULL};

static const struct param cost_params[] = {
    {"tokens", PARAM_U64, offsetof(struct cost_settings, tokens), "8192", 1, 4194304, NULL, "N",
     "tokens of a prefill that are computed"},
    {"prefix", PARAM_U64, offsetof(struct cost_settings, prefix), "0", 0, 4194304, NULL, "N",
     "tokens before them that are cached"},
    {"sequences", PARAM_U64, offsetof(struct cost_settings, sequences), "1", 1, 1024, NULL, "N",
     "equal prompts in one prefill"},
    {"batch", PARAM_U64, offsetof(struct cost_settings, batch), "32", 1, 65536, NULL, "N",
     "sequences of a decode step, each with prefix and tokens behind it"},
    {"interval", PARAM_U64, offsetof(struct cost_settings, interval), "1536", 1, 16777216, NULL,
     "TOKENS", "between snapshots that a prefill writes"},
    {"page-tokens", PARAM_U64, offsetof(struct cost_settings, page_tokens), "64", 1, 65536, NULL,
     "TOKENS", "of a KV page"},
    {"kda-kernel", PARAM_CHOICE, offsetof(struct cost_settings, kda), "flash", 0, 0, kda_kernels,
     NULL, "KDA prefill kernels: FlashKDA or flash-linear-attention"},
    PARAM_END,
};

enum phase { PHASE_PREFILL, PHASE_DECODE, PHASE_SNAPSHOT, PHASES };

static const char *const phase_names[PHASES] = {"prefill", "decode", "snapshot"};

/* One line of the output: a part of the work, of `layers` layers that take ns each. */
struct cost_part {
    enum phase phase;
    char name[48];
    uint64_t layers, ns;
    bool has_law;
    enum calib_law_id law;
};

struct cost_parts {
    struct cost_part part[PARTS_MAX];
    size_t count;
};

static struct cost_part *add(struct cost_parts *parts, enum phase phase, uint64_t layers,
                             uint64_t ns)
{
    struct cost_part *part = &parts->part[parts->count];
    if (ns == 0 || parts->count == PARTS_MAX)
        return NULL;
    parts->count++;
    *part = (struct cost_part){.phase = phase, .layers = layers, .ns = ns};
    return part;
}

/* A part of a group's layers, as many as the largest stage has. */
static void add_named(struct cost_parts *parts, enum phase phase, const struct cost *cost,
                      const struct layer_group *group, const char *name, uint64_t ns,
                      enum calib_law_id law)
{
    uint64_t layers = model_stage_layers(cost->model, group, cost->sharding.pp);
    struct cost_part *part = add(parts, phase, layers, ns);
    if (part == NULL)
        return;
    snprintf(part->name, sizeof part->name, "%s %s", group->kind->name, name);
    part->has_law = true;
    part->law = law;
}

static void add_plain(struct cost_parts *parts, const char *name, uint64_t ns,
                      enum calib_law_id law)
{
    struct cost_part *part = add(parts, PHASE_SNAPSHOT, 1, ns);
    if (part == NULL)
        return;
    snprintf(part->name, sizeof part->name, "%s", name);
    part->has_law = true;
    part->law = law;
}

/* The law that bounds a product of so many tokens. */
static enum calib_law_id gemm_law(uint64_t tokens)
{
    return tokens <= 192 ? LAW_GEMM_BF16_SMALL : LAW_GEMM_BF16_LARGE;
}

static void prefill_parts(const struct cost *cost, const struct cost_settings *settings,
                          struct cost_parts *out)
{
    struct cost_work work = {settings->sequences, settings->tokens, settings->prefix};
    uint64_t rows = settings->sequences * settings->tokens;
    for (size_t i = 0; i < cost->model->group_count; i++) {
        const struct layer_group *group = &cost->model->groups[i];
        enum cost_form form = COST_EXPANDED;
        enum calib_law_id core = cost_core_law(cost, group, false);
        uint64_t attention = cost_attention_prefill(cost, group, &work, &form);
        add_named(out, PHASE_PREFILL, cost, group, "projections",
                  cost_projection(cost, group, rows), gemm_law(rows));
        add_named(out, PHASE_PREFILL, cost, group, "convolution",
                  cost_conv_prefill(cost, group, &work), LAW_CONV_PREFILL);
        add_named(out, PHASE_PREFILL, cost, group, "recurrence",
                  cost_recurrent_prefill(cost, group, &work), core);
        add_named(out, PHASE_PREFILL, cost, group,
                  group->kind->core != CORE_MLA ? "attention"
                  : form == COST_ABSORBED       ? "attention, absorbed"
                  : settings->prefix > 0        ? "attention, prefix expanded"
                                                : "attention, expanded",
                  attention, form == COST_ABSORBED ? LAW_MLA_DECODE : core);
    }
}

static void decode_parts(const struct cost *cost, const struct cost_settings *settings,
                         struct cost_parts *out)
{
    uint64_t batch = settings->batch, context = settings->prefix + settings->tokens;
    for (size_t i = 0; i < cost->model->group_count; i++) {
        const struct layer_group *group = &cost->model->groups[i];
        enum calib_law_id core = cost_core_law(cost, group, true);
        add_named(out, PHASE_DECODE, cost, group, "projections",
                  cost_projection(cost, group, batch), gemm_law(batch));
        add_named(out, PHASE_DECODE, cost, group, "convolution",
                  cost_conv_decode(cost, group, batch), LAW_CONV_DECODE);
        add_named(out, PHASE_DECODE, cost, group,
                  core == LAW_KDA_DECODE_FUSED ? "recurrence, convolution" : "recurrence",
                  cost_recurrent_decode(cost, group, batch), core);
        add_named(out, PHASE_DECODE, cost, group, "attention",
                  cost_attention_decode(cost, group, batch, batch * context), core);
    }
}

static void snapshot_parts(const struct cost *cost, const struct cost_settings *settings,
                           struct cost_parts *out)
{
    uint64_t kept = settings->sequences * (settings->tokens / settings->interval);
    uint64_t all = settings->prefix + settings->tokens;
    char name[48];
    snprintf(name, sizeof name, "%" PRIu64 " written by the prefill", kept);
    add_plain(out, name, kept > 0 ? cost_snapshot_emit(cost, kept) : 0, LAW_SNAPSHOT_EMIT);
    add_plain(out, "copy on the device", cost_snapshot_copy(cost), LAW_SNAPSHOT_COPY);
    add_plain(out, "restore on the device", cost_snapshot_restore(cost), LAW_SNAPSHOT_COPY);
    add_plain(out, "to the host", cost_snapshot_host(cost, true), LAW_DEVICE_TO_HOST);
    add_plain(out, "from the host", cost_snapshot_host(cost, false), LAW_HOST_TO_DEVICE);
    snprintf(name, sizeof name, "KV of %" PRIu64 " tokens to the host", all);
    add_plain(out, name, cost_kv_host(cost, all, settings->page_tokens, true), LAW_DEVICE_TO_HOST);
    snprintf(name, sizeof name, "KV of %" PRIu64 " tokens from the host", all);
    add_plain(out, name, cost_kv_host(cost, all, settings->page_tokens, false), LAW_HOST_TO_DEVICE);
    snprintf(name, sizeof name, "KV of %" PRIu64 " tokens gathered", all);
    add_plain(out, name, cost_kv_gather(cost, all, settings->page_tokens), LAW_KV_GATHER);
}

/* The weakest label among a law's values. */
static const char *label_of(const struct cost *cost, const struct cost_part *part)
{
    enum calib_provenance label = CALIB_MEASURED;
    for (size_t i = 0; i < calib_law_terms(part->law); i++) {
        const struct calib_value *value = &cost->calib->law[part->law].term[i];
        if (value->known && (value->provenance == CALIB_ASSUMED ||
                             (value->provenance == CALIB_PUBLISHED && label == CALIB_MEASURED)))
            label = value->provenance;
    }
    return calib_provenance_name(label);
}

static uint64_t sum_of(const struct cost_parts *parts, enum phase phase)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < parts->count; i++)
        if (parts->part[i].phase == phase)
            sum += parts->part[i].layers * parts->part[i].ns;
    return sum;
}

static void headline(enum phase phase, const struct cost_settings *settings, struct text *out)
{
    if (phase == PHASE_PREFILL)
        text_printf(out, "\nprefill: %" PRIu64 " x %" PRIu64 " tokens after %" PRIu64 " cached\n",
                    settings->sequences, settings->tokens, settings->prefix);
    else if (phase == PHASE_DECODE)
        text_printf(out,
                    "\ndecode: one token for each of %" PRIu64 " sequences at %" PRIu64 " tokens\n",
                    settings->batch, settings->prefix + settings->tokens);
    else
        text_printf(out, "\nsnapshots and KV, all layers\n");
}

static void print_table(const struct cost *cost, const struct cost_settings *settings,
                        const struct cost_parts *parts, struct text *out)
{
    text_printf(out, "%s on one GPU of %s (%s), with", cost->model->name, cost->calib->name,
                cost->calib->device.name);
    for (const struct param *entry = sharding_params; entry->name; entry++) {
        text_printf(out, "%s %s ", entry == sharding_params ? "" : ",", entry->name);
        param_print_value(entry, &cost->sharding, out);
    }
    text_printf(out, "\n");
    for (enum phase phase = PHASE_PREFILL; phase < PHASES; phase++) {
        headline(phase, settings, out);
        for (size_t i = 0; i < parts->count; i++) {
            const struct cost_part *part = &parts->part[i];
            if (part->phase != phase)
                continue;
            text_printf(out, "  %-34s %12.1f us x %4" PRIu64 " = %12.1f us   %s, %s\n", part->name,
                        (double)part->ns * 1e-3, part->layers,
                        (double)(part->ns * part->layers) * 1e-3, calib_law_facts(part->law)->name,
                        label_of(cost, part));
        }
        if (phase != PHASE_SNAPSHOT)
            text_printf(out, "  %-34s %12s    %4s   %12.1f us   without experts, collectives\n",
                        "sum", "", "", (double)sum_of(parts, phase) * 1e-3);
    }
}

static void print_json(const struct cost *cost, const struct cost_settings *settings,
                       const struct cost_parts *parts, struct text *out)
{
    struct json *top = json_new_object();
    char sha256[SHA256_TEXT];
    json_add_u64(top, "schema", COST_SCHEMA);
    json_add_string(top, "model", cost->model->name);
    model_digest(cost->model, sha256);
    json_add_string(top, "model_sha256", sha256);
    json_add_string(top, "calibration", cost->calib->name);
    calib_digest(cost->calib, sha256);
    json_add_string(top, "calibration_sha256", sha256);
    json_add_string(top, "device", cost->calib->device.name);
    config_write_table(sharding_params, &cost->sharding, json_add_object(top, "sharding"));
    config_write_table(cost_params, settings, json_add_object(top, "settings"));
    struct json *list = json_add_array(top, "parts");
    for (size_t i = 0; i < parts->count; i++) {
        const struct cost_part *part = &parts->part[i];
        struct json *object = json_add_object(list, NULL);
        json_add_string(object, "phase", phase_names[part->phase]);
        json_add_string(object, "part", part->name);
        json_add_u64(object, "ns", part->ns);
        json_add_u64(object, "layers", part->layers);
        json_add_u64(object, "total_ns", part->ns * part->layers);
        json_add_string(object, "law", calib_law_facts(part->law)->name);
        json_add_string(object, "provenance", label_of(cost, part));
    }
    struct json *sums = json_add_object(top, "sums");
    json_add_u64(sums, "prefill_ns", sum_of(parts, PHASE_PREFILL));
    json_add_u64(sums, "decode_ns", sum_of(parts, PHASE_DECODE));
    json_print(top, true, out);
    text_printf(out, "\n");
    json_close(top);
}

struct cost_options {
    char *model, *calib;
    unsigned format;
    struct cost_settings settings;
    struct sharding sharding;
};

static const struct param subject_params[] = {
    {"model", PARAM_TEXT, offsetof(struct cost_options, model), "kimi-k3", 0, 0, NULL, "NAME|FILE",
     "the model"},
    {"calib", PARAM_TEXT, offsetof(struct cost_options, calib), CALIB_DEFAULT, 0, 0, NULL,
     "NAME|FILE", "whose kernels (snapsim calib --help)"},
    OPTION_FORMAT(struct cost_options, options_table_or_json),
    PARAM_END,
};

static int run(const struct call *call)
{
    const struct cost_options *options = call->settings;
    const struct cost_settings *settings = &options->settings;
    struct model model;
    struct calibration calib;
    struct cost cost;
    struct cost_parts parts = {.count = 0};
    struct text out = {0};
    struct err err;
    if (model_load(&model, options->model, &err) != 0 ||
        calib_load(&calib, options->calib, CALIB_TO_COST, &err) != 0)
        return say(EXIT_FAILED, "%s", err.text);
    int status = EXIT_GOOD;
    if (cost_open(&cost, &calib, &model, &options->sharding, (enum cost_kda)settings->kda, &err) !=
        0) {
        status = say(EXIT_FAILED, "%s", err.text);
    } else {
        prefill_parts(&cost, settings, &parts);
        decode_parts(&cost, settings, &parts);
        snapshot_parts(&cost, settings, &parts);
        (options->format == PRINT_JSON ? print_json : print_table)(&cost, settings, &parts, &out);
        status = print_result(&out);
    }
    text_close(&out);
    calib_close(&calib);
    return status;
}

const struct command cmd_cost = {
    .name = "cost",
    .summary = "times of a model's parts on one GPU",
    .text = "Prints what a prefill, a decode step, and the copies of snapshots and KV cost on one "
            "GPU of a model's group, part by part, with the law and the label of each. MLA is "
            "taken in its cheaper form. Experts and collectives are not costed yet.\n",
    .examples = "  snapsim cost --model kimi-k3 --tp 8 --tokens 8192 --prefix 131072\n"
                "  snapsim cost --model qwen3.5-27b --calib h100 --tokens 256 --prefix 32768\n"
                "  snapsim cost --model kimi-k3 --calib ./h200-measured.json --format json\n",
    .options_size = sizeof(struct cost_options),
    .ways = {{.tables = {{NULL, subject_params, 0},
                         {"Work", cost_params, offsetof(struct cost_options, settings)},
                         {"Sharding", sharding_params, offsetof(struct cost_options, sharding)}},
              .run = run}},
};
