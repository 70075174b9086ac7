/* replay_file.h - a sweep file that makes given results again.
 *
 * Where the results are all combinations of what varies in them, it has lists; otherwise every
 * result is a cell of its own. Settings at their defaults are left out, and so is what resolves by
 * itself ("auto"). A result knows the name of its trace, not its path. */
#ifndef SNAPSIM_REPLAY_FILE_H
#define SNAPSIM_REPLAY_FILE_H

#include "tools/view/results.h"

void replay_file_write(const struct results *results, struct text *out);

#endif
