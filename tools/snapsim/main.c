/* snapsim - simulates the prefix caches of language models that mix recurrent layers with
 * attention. This file only finds the command. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/snapsim/snapsim.h"

const struct command *const commands[] = {&cmd_run,    &cmd_bound,   &cmd_sweep, &cmd_merge,
                                          &cmd_table,  &cmd_compare, &cmd_plot,  &cmd_advise,
                                          &cmd_report, &cmd_list,    &cmd_reuse, &cmd_model,
                                          &cmd_calib,  &cmd_cost,    &cmd_trace, NULL};

int say(enum exit_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("snapsim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return (int)status;
}

int print_result(const struct text *text)
{
    if (fwrite(text->data, 1, text->length, stdout) != text->length || fflush(stdout) != 0)
        return say(EXIT_FAILED, "cannot write the result to stdout");
    return EXIT_GOOD;
}

static void usage(FILE *out)
{
    fputs("usage: snapsim COMMAND [options]\n\n"
          "Replays recorded or generated traffic through the prefix cache of a hybrid\n"
          "language model and says what each choice of snapshots, eviction and memory would\n"
          "have saved.\n\n",
          out);
    for (size_t i = 0; commands[i]; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n  snapsim COMMAND --help says more; snapsim --version prints the version\n"
          "\nexample:\n  snapsim trace generate -o demo.jsonl\n"
          "  snapsim run demo.jsonl --placement turn --capacity 256GiB\n",
          out);
}

static const char *command_name(const void *table, size_t index)
{
    const struct command *command = ((const struct command *const *)table)[index];
    return command ? command->name : NULL;
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
        return frame_run(&cmd_man, argc - 1, argv + 1);
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return frame_run(commands[i], argc - 1, argv + 1);
    const char *near = text_nearest(name, command_name, commands);
    return say(EXIT_USAGE, "there is no command '%s'%s%s%s", name, near ? " (did you mean '" : "",
               near ? near : "", near ? "'?)" : "; snapsim --help lists them");
}

/* Help and the like are printed piece by piece; whether it all came out is seen here. */
int main(int argc, char **argv)
{
    int status = find_and_run(argc, argv);
    if (status == EXIT_GOOD && (fflush(stdout) != 0 || ferror(stdout)))
        return say(EXIT_FAILED, "cannot write to stdout");
    return status;
}
