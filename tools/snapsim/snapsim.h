/* snapsim.h - the commands of the program, and what they share.
 *
 * Results go to stdout, everything else to stderr behind "snapsim: ". */
#ifndef SNAPSIM_SNAPSIM_H
#define SNAPSIM_SNAPSIM_H

#include <stdio.h>

#include "sim/engine/result.h"
#include "tools/snapsim/frame.h"
#include "tools/sweep/plugins.h"

enum exit_status { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DIFFERS = 3 };

static inline enum exit_status failed_status(int result)
{
    return result == USAGE_ERROR ? EXIT_USAGE : EXIT_FAILED;
}

extern const struct command cmd_run, cmd_bound, cmd_sweep, cmd_merge, cmd_table, cmd_compare,
    cmd_plot, cmd_advise, cmd_report, cmd_list, cmd_reuse, cmd_model, cmd_calib, cmd_cost,
    cmd_trace;
extern const struct command cmd_man;           /* hidden: parts of the manual pages */
extern const struct command *const commands[]; /* ends with NULL */

extern const char snapsim_version[];

/* Prints "snapsim: ..." to stderr and returns the status, so that "return say(...)" ends a command.
 */
int say(enum exit_status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* Writes text to stdout; a full disk or a closed pipe is EXIT_FAILED. */
int print_result(const struct text *text);

#endif
