/* A gated short convolution without a recurrent matrix, as in LFM2: its state is the last inputs of
 * the convolution, and nothing else. */
#include <inttypes.h>

#include "sim/model/kind_fields.h"

static const struct param conv_fields[] = {
    COUNT,
    NEEDED(inner_dim, WIDE_MAX, "channels of the convolution"),
    PARAM(struct layer_group, conv_kernel, PARAM_U64, NULL, 2, 64, "taps; one less are kept"),
    PARAM_END,
};

static int conv_channels(const struct layer_view *view, uint64_t heads, uint64_t *channels,
                         struct text *how, struct err *err)
{
    char share[UNITS_TEXT];
    (void)heads;
    kind_how(how, "%s", kind_share_text(view->group->inner_dim, view->tp, share));
    return kind_share(view, view->group->inner_dim, "channels", channels, err);
}

/* What goes in and two gates, the taps, what comes out. */
static uint64_t conv_parameters(uint64_t hidden, const struct layer_group *group, uint64_t experts)
{
    (void)experts;
    return group->inner_dim * (4 * hidden + group->conv_kernel);
}

const struct layer_kind kind_conv = {
    .name = "conv",
    .role = ROLE_RECURRENT,
    .core = CORE_NONE,
    .fields = conv_fields,
    .channels = conv_channels,
    .parameters = conv_parameters,
};
