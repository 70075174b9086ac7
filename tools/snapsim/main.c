/* snapsim - simulates the prefix caches of language models that mix recurrent layers with
 * attention. This file only finds the command. */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "policies/list.h"
#include "sim/core/json.h"
#include "tools/snapsim/snapsim.h"

const struct command commands[] = {
    {"run", "replay a trace through one setting", cmd_run},
    {"bound", "how far a setting is from the best possible", cmd_bound},
    {"sweep", "replay all combinations of settings, in parallel", cmd_sweep},
    {"merge", "put the parts of a sweep together", cmd_merge},
    {"table", "results as a table of any two settings", cmd_table},
    {"compare", "what moved between two sets of results", cmd_compare},
    {"plot", "figures of results, as PDF, SVG or PNG", cmd_plot},
    {"advise", "search for the settings that hit most on a load", cmd_advise},
    {"report", "results as one HTML page", cmd_report},
    {"list", "placements, evictions, memories, models, formats", cmd_list},
    {"reuse", "how long ago, and how deep, a trace reuses its prompts", cmd_reuse},
    {"model", "sizes of a model, with their arithmetic", cmd_model},
    {"calib", "what a GPU's kernels cost: laws, sources, checks, fits", cmd_calib},
    {"cost", "times of a model's parts on one GPU", cmd_cost},
    {"trace", "look at, check, convert and generate traces", cmd_trace},
    {NULL, NULL, NULL},
};

const struct plugins snapsim_plugins = {placement_list, eviction_list, memory_list, NULL};

int say(enum exit_status status, const char *format, ...)
{
    char message[2 * ERR_TEXT_SIZE]; /* errors and what stands around them */
    struct text line = {0};
    va_list args;
    va_start(args, format);
    int length = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    text_printf(&line, "snapsim: ");
    if (length > 0)
        text_add_visible(&line, message, strlen(message), "");
    fprintf(stderr, "%s\n", line.data);
    text_close(&line);
    return (int)status;
}

int print_result(const struct text *text)
{
    struct text visible = {0};
    text_add_visible(&visible, text->data, text->length, "\n\t");
    bool is_written = fwrite(visible.data, 1, visible.length, stdout) == visible.length;
    text_close(&visible);
    if (!is_written || fflush(stdout) != 0)
        return say(EXIT_FAILED, "cannot write the result to stdout");
    return EXIT_GOOD;
}

static void usage(FILE *out)
{
    fputs(
        "usage: snapsim COMMAND [options]\n\n"
        "Replays recorded or generated traffic through the prefix cache of a hybrid language "
        "model\nand says what each choice of snapshots, eviction and memory would have saved.\n\n",
        out);
    for (const struct command *command = commands; command->name; command++)
        fprintf(out, "  %-10s %s\n", command->name, command->summary);
    fputs("\n  snapsim COMMAND --help says more; snapsim --version prints the version\n"
          "\nexample:\n  snapsim trace generate -o demo.jsonl\n"
          "  snapsim run demo.jsonl --placement turn --capacity 256GiB\n",
          out);
}

static const char *command_name(const void *table, size_t index)
{
    return ((const struct command *)table)[index].name;
}

static int find_and_run(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 && argc == 3) { /* help COMMAND is COMMAND --help */
        char *asked[] = {argv[0], argv[2], (char[]){"--help"}, NULL};
        return find_and_run(3, asked);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        usage(stdout);
        return EXIT_GOOD;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("snapsim %s\n", snapsim_version);
        return EXIT_GOOD;
    }
    if (strcmp(name, "man-part") == 0)
        return cmd_man(argc - 1, argv + 1);
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command->run(argc - 1, argv + 1);
    const char *near = text_nearest(name, command_name, commands);
    return say(EXIT_USAGE, "there is no command '%s'%s%s%s", name, near ? " (did you mean '" : "",
               near ? near : "", near ? "'?)" : "; snapsim --help lists them");
}

/* Help and the like are printed piece by piece; whether it all came out is seen here. */
int main(int argc, char **argv)
{
    json_start();
    /* A file that grows beyond `ulimit -f` is a write that fails, with a message. */
    signal(SIGXFSZ, SIG_IGN);
    int status = find_and_run(argc, argv);
    if (status == EXIT_GOOD && (fflush(stdout) != 0 || ferror(stdout)))
        return say(EXIT_FAILED, "cannot write to stdout");
    return status;
}
