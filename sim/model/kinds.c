/* The list of kinds, and what their rows share. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "sim/model/kind.h"

const struct layer_kind *const layer_kinds[] = {
    &kind_kda,         &kind_gdn,  &kind_mamba2, &kind_mamba1, &kind_lightning,
    &kind_marconi_ssm, &kind_conv, &kind_swa,    &kind_mla,    &kind_gqa,
    &kind_dense,       &kind_moe,  NULL,
};

int kind_share(const struct layer_view *view, uint64_t count, const char *what, uint64_t *share,
               struct err *err)
{
    *share = count / view->tp;
    if (count % view->tp == 0)
        return 0;
    return err_set(err, "tp: %" PRIu64 " does not divide the %" PRIu64 " %s of the %s layers",
                   view->tp, count, what, view->group->kind->name);
}

int kind_share_or_copy(const struct layer_view *view, uint64_t count, const char *what,
                       uint64_t *share, struct err *err)
{
    if (view->tp <= count || view->tp % count != 0)
        return kind_share(view, count, what, share, err);
    *share = 1;
    return 0;
}

const char *kind_share_text(uint64_t count, uint64_t tp, char out[UNITS_TEXT])
{
    if (tp > 1 && count % tp != 0)
        snprintf(out, UNITS_TEXT, "1");
    else
        snprintf(out, UNITS_TEXT, tp > 1 ? "%" PRIu64 "/%" PRIu64 : "%" PRIu64, count, tp);
    return out;
}

void kind_how(struct text *how, const char *format, ...)
{
    char line[160];
    va_list arguments;
    if (how == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_printf(how, "%s", line);
}
