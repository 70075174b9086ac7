/* snapsim report - results as one HTML page. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/snapsim/snapsim.h"
#include "tools/view/report.h"
#include "tools/view/where.h"

struct report_options {
    char *output, *title, *values;
    struct words where;
};

static const struct param report_params[] = {
    OPTION_OUTPUT(struct report_options, "FILE.html", "the page"),
    OPTION_TEXT(struct report_options, "title", title, "TEXT", "[the sweep's name]"),
    OPTION_WHERE(struct report_options),
    OPTION_TEXT(struct report_options, "value", values, "KEY,...", "what the table shows"),
    PARAM_END,
};

static int report(const struct call *call)
{
    const struct report_options *options = call->settings;
    if (options->output == NULL)
        return frame_say_missing(call);
    struct results results;
    struct text page = {0}, command = {0};
    struct err err;
    text_printf(&command, "snapsim report");
    for (int i = 1; i < call->argc; i++)
        options_add_word(call->argv[i], &command);
    const struct report_request request = {
        .title = options->title, .values = options->values, .command = command.data};
    int status = EXIT_GOOD, result = results_open(&results, call->words[0], &err);
    if (result == 0)
        result = where_apply(&results, &options->where, &err);
    if (result == 0)
        result = report_write(&results, &request, &page, &err);
    if (result != 0)
        status = say(failed_status(result), "%s", err.text);
    else if (text_write_file(options->output, page.data, page.length, &err) != 0)
        status = say(EXIT_FAILED, "%s", err.text);
    results_close(&results);
    text_close(&page);
    text_close(&command);
    return status;
}

const struct command cmd_report = {
    .name = "report",
    .summary = "results as one HTML page",
    .text = "Writes one page with figures, all results as a table, the configuration, and a sweep "
            "file that makes them again. The page needs no other file and asks for none; scripts "
            "only sort and filter the table. Figures need gnuplot.\n",
    .examples = "  snapsim report out -o report.html\n"
                "  snapsim report out -o lru.html --where eviction=lru --value hit_ratio\n",
    .options_size = sizeof(struct report_options),
    .ways = {{.words = "RESULTS -o FILE.html",
              .missing = "RESULTS and -o FILE.html were",
              .least = 1,
              .most = 1,
              .tables = {{NULL, report_params, 0}},
              .run = report}},
};
