/* ref_sizes.c - how large pages, pieces, slots and slabs are: the rules of snapsim(1), "Memory
 * strategies in detail", found by trying one size after the other. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
#include "tests/ref_pages.h"

static const void *setting(const struct memory *memory, const char *name)
{
    const struct param *param = param_find(memory->ops->plugin.params, name);
    ck_assert_msg(param != NULL, "no setting '%s'", name);
    return (const char *)memory->settings + param->offset;
}

static uint64_t number(const struct memory *memory, const char *name)
{
    return *(const uint64_t *)setting(memory, name);
}

/* As asked for, or `otherwise`. */
static uint64_t page_tokens(const struct memory *asked, uint64_t otherwise)
{
    return asked->page_tokens > 0 ? asked->page_tokens : otherwise;
}

static uint64_t slot_bytes(const struct memory *asked)
{
    if (asked->live_slots > 0 && asked->state_bytes > asked->snapshot_bytes)
        return asked->state_bytes;
    return asked->snapshot_bytes;
}

static void open_ideal(struct page_model *model, const struct memory *asked)
{
    model->page_tokens = 1;
    model->unit_bytes[KV] = model->unit_bytes[STATE] = 1;
    model->per_page = asked->kv_bytes_per_token;
    model->per_snapshot = asked->snapshot_bytes;
    model->per_live = asked->state_bytes;
}

static void open_static(struct page_model *model, const struct memory *asked)
{
    const char *text = *(char *const *)setting(asked, "ratio");
    double ratio = strcmp(text, "best") == 0 ? asked->variant / 64.0 : strtod(text, NULL);
    model->kind = SPLIT;
    model->page_tokens = page_tokens(asked, asked->align_tokens);
    model->unit_bytes[KV] = model->page_tokens * asked->kv_bytes_per_token;
    model->unit_bytes[STATE] = 1;
    model->per_snapshot = asked->snapshot_bytes;
    model->per_live = asked->state_bytes;
    if (asked->capacity_bytes != UNITS_UNLIMITED)
        model->quota_bytes = (uint64_t)(ratio * (double)asked->capacity_bytes);
}

/* Layers are of up to three kinds: recurrent, attention, attention of a draft model. */
static uint64_t group_size(const uint64_t layers[3])
{
    uint64_t fewest = 0, most = 0;
    for (int i = 0; i < 3; i++) {
        if (layers[i] > 0 && (fewest == 0 || layers[i] < fewest))
            fewest = layers[i];
        if (layers[i] > most)
            most = layers[i];
    }
    return (double)most < 1.5 * (double)fewest ? most : fewest;
}

static void open_equal(struct page_model *model, const struct memory *asked)
{
    const struct model_sizes *sizes = asked->sizes;
    uint64_t snapshot = sizes->snapshot_bytes_per_layer;
    uint64_t live = asked->live_slots > 0 ? sizes->state_bytes_per_layer : snapshot;
    live += number(asked, "draft_tokens") * sizes->conv_row_bytes_per_layer;
    uint64_t largest = live > snapshot ? live : snapshot;
    uint64_t align = number(asked, "align") > 0 ? number(asked, "align") : asked->align_tokens;
    uint64_t tokens = align;
    while (tokens * sizes->kv_entry_bytes_per_layer < largest)
        tokens += align;
    model->page_tokens = page_tokens(asked, tokens * sizes->dcp);
    uint64_t page =
        ref_pages_ceil(model->page_tokens * sizes->kv_entry_bytes_per_layer, sizes->dcp);
    const uint64_t layers[3] = {sizes->recurrent_layers, sizes->attention_layers,
                                number(asked, "draft_layers")};
    uint64_t size = group_size(layers), groups[3];
    for (int i = 0; i < 3; i++)
        groups[i] = ref_pages_ceil(layers[i], size);
    model->unit_bytes[KV] = model->unit_bytes[STATE] = size * page;
    model->per_page = groups[1] + groups[2];
    model->per_snapshot = groups[0] * ref_pages_ceil(snapshot, page);
    model->per_live = groups[0] * ref_pages_ceil(live, page);
}

static void open_max(struct page_model *model, const struct memory *asked)
{
    uint64_t tokens = page_tokens(asked, asked->align_tokens);
    model->page_tokens = tokens;
    while (model->page_tokens * asked->kv_bytes_per_token < slot_bytes(asked))
        model->page_tokens += tokens;
    model->unit_bytes[KV] = model->page_tokens * asked->kv_bytes_per_token;
    model->unit_bytes[STATE] = model->unit_bytes[KV];
    model->per_snapshot = asked->snapshot_bytes > 0;
    model->per_live = asked->state_bytes > 0;
}

static void open_gcd(struct page_model *model, const struct memory *asked)
{
    model->page_tokens = page_tokens(asked, asked->align_tokens);
    uint64_t page = model->page_tokens * asked->kv_bytes_per_token, unit = page;
    while (page % unit > 0 || asked->snapshot_bytes % unit > 0 || asked->state_bytes % unit > 0)
        unit--;
    model->unit_bytes[KV] = model->unit_bytes[STATE] = unit;
    model->per_page = page / unit;
    model->per_snapshot = asked->snapshot_bytes / unit;
    model->per_live = asked->state_bytes / unit;
}

static void open_lcm(struct page_model *model, const struct memory *asked)
{
    uint64_t pieces = number(asked, "pieces");
    if (pieces == 0)
        pieces = asked->sizes->recurrent_layers > 0 ? asked->sizes->recurrent_layers : 1;
    model->kind = SLABS;
    model->fresh_first = true;
    model->page_tokens = page_tokens(asked, 16);
    uint64_t page = model->page_tokens * asked->kv_bytes_per_token;
    uint64_t piece = ref_pages_ceil(asked->snapshot_bytes, pieces), large = page;
    while (piece > 0 && large % piece > 0)
        large += page;
    for (model->slab_bytes = large; model->slab_bytes < number(asked, "at_least");)
        model->slab_bytes += large;
    model->unit_bytes[KV] = page;
    model->unit_bytes[STATE] = piece;
    model->per_snapshot = piece > 0 ? pieces : 0;
    model->per_live = piece > 0 ? ref_pages_ceil(asked->state_bytes, piece) : 0;
}

static void open_two_ended(struct page_model *model, const struct memory *asked)
{
    model->kind = TWO_ENDED;
    model->compaction = *(const bool *)setting(asked, "compaction");
    model->page_tokens = page_tokens(asked, asked->align_tokens);
    model->unit_bytes[KV] = model->page_tokens * asked->kv_bytes_per_token;
    model->unit_bytes[STATE] = slot_bytes(asked);
    model->per_snapshot = model->per_live = 1;
    ref_pages_add_place(model, KV, 0);
    ref_pages_add_place(model, STATE, 0);
}

static void open_elastic(struct page_model *model, const struct memory *asked)
{
    uint64_t pieces = number(asked, "pieces");
    model->kind = SLABS;
    model->hysteresis = number(asked, "hysteresis");
    model->page_tokens = page_tokens(asked, asked->align_tokens);
    model->unit_bytes[KV] = model->page_tokens * asked->kv_bytes_per_token;
    model->unit_bytes[STATE] = ref_pages_ceil(slot_bytes(asked), pieces);
    model->slab_bytes = number(asked, "slab");
    for (int class_ = KV; class_ <= STATE; class_++)
        if (model->slab_bytes < model->unit_bytes[class_])
            model->slab_bytes = model->unit_bytes[class_];
    model->per_snapshot = model->per_live = slot_bytes(asked) > 0 ? pieces : 0;
}

static const struct {
    const char *name;
    void (*open)(struct page_model *model, const struct memory *asked);
} rules[] = {
    {"ideal", open_ideal},
    {"static", open_static},
    {"equal", open_equal},
    {"lcm", open_lcm},
    {"max", open_max},
    {"gcd", open_gcd},
    {"two-ended", open_two_ended},
    {"elastic", open_elastic},
};

void ref_pages_open(struct page_model *model, const struct memory *asked)
{
    const char *name = asked->ops->plugin.name;
    size_t i = 0;
    while (i < sizeof rules / sizeof *rules && strcmp(rules[i].name, name) != 0)
        i++;
    ck_assert_msg(i < sizeof rules / sizeof *rules, "the model has no rule for '%s'", name);
    *model = (struct page_model){
        .capacity_bytes = asked->capacity_bytes, .per_page = 1, .open = {NOBODY, NOBODY, NOBODY}};
    rules[i].open(model, asked);
}
