/* snapsim.h - the commands of the program, and what they share.
 *
 * A command takes its own argc and argv (argv[0] is its name) and returns an exit status. Results
 * go to stdout, everything else to stderr behind "snapsim: ". */
#ifndef SNAPSIM_SNAPSIM_H
#define SNAPSIM_SNAPSIM_H

#include <stdio.h>

#include "sim/engine/result.h"
#include "tools/sweep/plugins.h"

enum exit_status { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DIFFERS = 3 };

static inline enum exit_status failed_status(int result)
{
    return result == USAGE_ERROR ? EXIT_USAGE : EXIT_FAILED;
}

struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};
extern const struct command commands[]; /* ends with a NULL name */

int cmd_run(int argc, char **argv);
int cmd_bound(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_advise(int argc, char **argv);
int cmd_table(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_reuse(int argc, char **argv);
int cmd_model(int argc, char **argv);
int cmd_calib(int argc, char **argv);
int cmd_cost(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_man(int argc, char **argv); /* hidden: parts of the manual pages */

extern const char snapsim_version[];

/* Prints "snapsim: ..." to stderr, in one line, and returns the status, so that "return say(...)"
 * ends a command. */
int say(enum exit_status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* Writes text to stdout, without control characters (text_add_visible); a full disk or a closed
 * pipe is EXIT_FAILED. */
int print_result(const struct text *text);

#endif
