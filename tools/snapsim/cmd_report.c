/* snapsim report - results as one HTML page. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/snapsim/options.h"
#include "tools/snapsim/snapsim.h"
#include "tools/view/report.h"
#include "tools/view/where.h"

static void help(const struct flag *flags)
{
    fputs("usage: snapsim report RESULTS -o FILE.html [options]\n\n"
          "Writes one page with figures, all results as a table, the configuration, and a sweep\n"
          "file that makes them again. The page needs no other file and asks for none; scripts\n"
          "only sort and filter the table. Figures need gnuplot.\n\n",
          stdout);
    options_print_flags(flags, stdout);
    fputs("\nexamples:\n"
          "  snapsim report out -o report.html\n"
          "  snapsim report out -o lru.html --where eviction=lru --value hit_ratio,peak_bytes\n",
          stdout);
}

static int write_report(const char *path, const char *output, const struct words *where,
                        const struct report_request *request)
{
    struct results results;
    struct text page = {0};
    struct err err;
    int status = EXIT_GOOD, result = results_open(&results, path, &err);
    if (result == 0)
        result = where_apply(&results, where, &err);
    if (result == 0)
        result = report_write(&results, request, &page, &err);
    if (result != 0)
        status = say(failed_status(result), "%s", err.text);
    else if (text_write_file(output, page.data, page.length, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    results_close(&results);
    text_close(&page);
    return status;
}

int cmd_report(int argc, char **argv)
{
    const char *output = NULL, *path = NULL, *one_where = NULL;
    struct report_request request = {0};
    struct words where = {0};
    struct text command = {0};
    const struct flag table[] = {
        {"-o", "FILE.html", "the page", &output, NULL},
        {"--title", "TEXT", "[the sweep's name]", &request.title, NULL},
        {"--where", "KEY=VALUE", "only these results; may be repeated; != leaves out", &one_where,
         NULL},
        {"--value", "KEY,...", "what the table shows", &request.values, NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    struct options options = {.flags = table, .positional = &path, .most = 1};
    struct err err;
    int status = EXIT_GOOD;
    text_printf(&command, "snapsim report");
    for (int i = 1; i < argc; i++)
        options_add_word(argv[i], &command);
    request.command = command.data;
    if (words_take(&where, "--where", &argc, argv, &err) != 0 ||
        options_parse(&options, argc, argv, &err) != 0)
        status = say(EXIT_USAGE, "%s", err.text);
    else if (options.help)
        help(table);
    else if (path == NULL || output == NULL)
        status = say(EXIT_USAGE,
                     "report: RESULTS and -o FILE.html were expected (snapsim report --help)");
    else
        status = write_report(path, output, &where, &request);
    words_close(&where);
    text_close(&command);
    return status;
}
