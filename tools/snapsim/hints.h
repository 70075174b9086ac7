/* hints.h - what a result that surprises is likely due to, said on stderr behind "hint:".
 *
 * A hit ratio of 0 is right more often than it is expected: a prompt may not use its last token, a
 * placement may never take a snapshot, a grid may lie beyond every prompt. Each hint is a condition
 * on a result and its load, and a sentence that says what to change. Nothing of it changes a
 * number, and a sweep, which nobody watches, has none. */
#ifndef SNAPSIM_HINTS_H
#define SNAPSIM_HINTS_H

#include "sim/engine/replay.h"
#include "tools/sweep/load.h"

void hints_say(const struct result *result, const struct load *load);

#endif
