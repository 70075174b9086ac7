/* journal.h - results of a sweep as they come, so that a killed sweep loses only cells in flight.
 *
 * While a sweep runs, TARGET.journal holds one line per finished cell, in the order in which they
 * finished, each behind its number and a digest of itself. When all are there they are written to
 * TARGET, in the order of the sweep, by temporary name and rename, and the journal goes. A line
 * that a crash cut off is recognised by its digest and thrown away. */
#ifndef SNAPSIM_JOURNAL_H
#define SNAPSIM_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/err.h"
#include "tools/sweep/known_models.h"

struct journal;

/* cells: how many the whole sweep has. identity: of the sweep, the traces, the models and
 * the program; a journal of another identity is refused, with the model that changed if its lines
 * say so. resume: go on with what is there; without it, neither
 * the target nor a journal may exist, unless force is set, which starts anew. target NULL: keep
 * lines in memory only. *complete is set if the target is there already (resume only). */
int journal_open(struct journal **out, const char *target, uint64_t identity,
                 const struct known_models *models, size_t cells, bool resume, bool force,
                 bool *complete, struct err *err) MUST_CHECK;

bool journal_has(const struct journal *journal, size_t cell);

/* Adds the line of a cell, without a newline. err if it cannot be written; the journal then still
 * holds all lines before it, whole. Not thread-safe. */
int journal_add(struct journal *journal, size_t cell, const char *line, size_t length,
                struct err *err) MUST_CHECK;

/* Writes the cells that there are, in order, to the target (compressed if its name ends in .zst),
 * or to stdout without one, and removes the journal. */
int journal_finish(struct journal *journal, struct err *err) MUST_CHECK;
void journal_close(struct journal *journal);

#endif
