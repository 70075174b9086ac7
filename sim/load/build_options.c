#include <string.h>

#include "sim/core/units.h"
#include "sim/load/build.h"

int declared_parse(struct declared *out, const char *back, const char *replaced, struct err *err)
{
    struct err ignored;
    uint64_t tokens = 0;
    *out = (struct declared){.back_given = strcmp(back, "auto") != 0,
                             .replaced_given = strcmp(replaced, "auto") != 0};
    if (strcmp(back, "all") == 0)
        tokens = WORKLOAD_TOKENS_MAX;
    else if (out->back_given && strcmp(back, "none") != 0 &&
             (units_parse_u64(back, &tokens, &ignored) != 0 || tokens > WORKLOAD_TOKENS_MAX))
        return err_set(err,
                       "reply-back: auto, all, none or a number of tokens up to %u was expected, "
                       "found '%.100s'",
                       WORKLOAD_TOKENS_MAX, back);
    out->back = (uint32_t)tokens;
    tokens = 0;
    if (out->replaced_given &&
        (units_parse_u64(replaced, &tokens, &ignored) != 0 || tokens > WORKLOAD_TOKENS_MAX))
        return err_set(err,
                       "prompt-replaced: auto or a number of tokens up to %u was expected, found "
                       "'%.100s'",
                       WORKLOAD_TOKENS_MAX, replaced);
    out->replaced = (uint32_t)tokens;
    return 0;
}

int build_check_options(const struct build_options *options, struct err *err)
{
    if (options->share_system && options->chain_contents)
        return err_set(err, "share-system: it goes by the order of block numbers, and so only with "
                            "block-ids chained");
    return 0;
}
