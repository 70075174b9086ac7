#include "tools/view/gnuplot.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/core/mem.h"
#include "tools/view/embedded.h"
#include "tools/view/layout.h"

extern char **environ;

#define SCRIPT_MIB 64 /* of a user */

const char *gnuplot_embedded(const char *name)
{
    for (const struct embedded_file *file = embedded; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file->text;
    assert(false);
    return "";
}

/* In double quotes, where gnuplot takes any byte by its octal number: so no quote, backslash or
 * backquote (a command to run) is ever seen by its parser. It takes a digit behind such a number as
 * a part of it, so that one is given by number as well. A line of text stays one line. */
void gnuplot_set(struct text *settings, const char *name, const char *value)
{
    text_printf(settings, "%s = \"", name);
    bool was_number = false;
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        was_number = isdigit(*c) ? was_number : !isalpha(*c) && *c != ' ';
        if (was_number)
            text_printf(settings, "\\%03o", *c < ' ' || *c == 0x7f ? ' ' : *c);
        else
            text_printf(settings, "%c", *c);
    }
    text_printf(settings, "\"\n");
}

void gnuplot_set_number(struct text *settings, const char *name, double value)
{
    text_printf(settings, "%s = %.17g\n", name, value);
}

/* The names within the directory, in the order in which gnuplot reads the first four. */
enum {
    FILE_SETTINGS,
    FILE_COMMON,
    FILE_SCRIPT,
    FILE_MEASURE,
    FILE_CSV,
    FILE_PICTURE,
    FILE_MESSAGES,
    FILE_MEASURES,
    FILE_COUNT
};
static const char *const file_names[FILE_COUNT] = {"settings.gp", "common.gp",  "script.gp",
                                                   "measure.gp",  "figure.csv", "picture",
                                                   "messages",    "measures"};

struct workshop {
    struct text directory;
    char *paths[FILE_COUNT];
};

static void workshop_clear(void *of)
{
    struct workshop *shop = of;
    for (int i = 0; i < FILE_COUNT; i++)
        if (shop->paths[i])
            unlink(shop->paths[i]);
    rmdir(shop->directory.data);
}

static int workshop_open(struct workshop *shop, struct err *err)
{
    *shop = (struct workshop){0};
    const char *root = getenv("TMPDIR");
    text_printf(&shop->directory, "%s/snapsim-plot-XXXXXX", root && *root ? root : "/tmp");
    if (mkdtemp(shop->directory.data) == NULL) {
        err_set_errno(err, "create a directory like '%s'", shop->directory.data);
        text_close(&shop->directory);
        return -1;
    }
    mem_before_end(workshop_clear, shop);
    for (int i = 0; i < FILE_COUNT; i++) {
        struct text path = {0};
        text_printf(&path, "%s/%s", shop->directory.data, file_names[i]);
        shop->paths[i] = path.data;
    }
    return 0;
}

static void workshop_close(struct workshop *shop)
{
    if (shop->directory.data)
        workshop_clear(shop);
    mem_before_end(NULL, NULL);
    for (int i = 0; i < FILE_COUNT; i++)
        free(shop->paths[i]);
    text_close(&shop->directory);
}

/* width and height: in place of what the settings say, where they are not 0. */
static int write_inputs(const struct workshop *shop, const struct gnuplot_job *job, double width,
                        double height, struct err *err)
{
    struct text settings = {0}, script = {0};
    int result = -1;
    gnuplot_set(&settings, "csv", shop->paths[FILE_CSV]);
    gnuplot_set(&settings, "output", shop->paths[FILE_PICTURE]);
    gnuplot_set(&settings, "terminal", job->terminal);
    gnuplot_set(&settings, "measures", shop->paths[FILE_MEASURES]);
    text_add(&settings, job->settings->data, job->settings->length);
    if (width > 0)
        gnuplot_set_number(&settings, "width", width);
    if (height > 0)
        gnuplot_set_number(&settings, "height", height);
    const char *common = gnuplot_embedded("common.gp");
    const char *measure = job->script_path ? "" : gnuplot_embedded("measure.gp");
    if (job->script_path && text_read_input(&script, job->script_path, SCRIPT_MIB, err) != 0)
        goto out;
    if (!job->script_path)
        text_printf(&script, "%s", gnuplot_embedded(job->script));
    if (text_write_file(shop->paths[FILE_SETTINGS], settings.data, settings.length, err) == 0 &&
        text_write_file(shop->paths[FILE_COMMON], common, strlen(common), err) == 0 &&
        text_write_file(shop->paths[FILE_SCRIPT], script.data, script.length, err) == 0 &&
        text_write_file(shop->paths[FILE_MEASURE], measure, strlen(measure), err) == 0)
        result = text_write_file(shop->paths[FILE_CSV], job->csv->data, job->csv->length, err);
out:
    text_close(&settings);
    text_close(&script);
    return result;
}

static int start(const struct workshop *shop, pid_t *child)
{
    char program[] = "gnuplot", defaults[] = "--default-settings";
    char *arguments[] = {program,
                         defaults,
                         shop->paths[FILE_SETTINGS],
                         shop->paths[FILE_COMMON],
                         shop->paths[FILE_SCRIPT],
                         shop->paths[FILE_MEASURE],
                         NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual; /* a picture that the limit on files cuts off must not pass for a whole one */
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, shop->paths[FILE_MESSAGES],
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int failed = posix_spawnp(child, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* gnuplot prints the line, a mark under the place, then "FILE" line N: what is wrong. */
static int complain(const struct workshop *shop, const struct gnuplot_job *job, struct err *err)
{
    struct text messages = {0};
    struct err ignored;
    if (text_read_file(&messages, shop->paths[FILE_MESSAGES], &ignored) != 0)
        text_printf(&messages, "no message");
    char *last = messages.data ? messages.data : NULL;
    for (char *c = messages.data; c && *c; c++) {
        if (*c == '\n' && c[1] != '\0' && c[1] != '\n')
            last = c + 1;
    }
    const char *line = last ? strstr(last, "line ") : NULL;
    if (last)
        last[strcspn(last, "\n")] = '\0';
    err_set(err, "gnuplot, %.200s: %.600s", job->script_path ? job->script_path : job->script,
            line   ? line
            : last ? last
                   : "it made no picture");
    text_close(&messages);
    return -1;
}

static int run(const struct workshop *shop, const struct gnuplot_job *job, struct err *err)
{
    pid_t child = 0;
    int status = 0;
    errno = start(shop, &child);
    if (errno == ENOENT)
        return err_set(err, "gnuplot is not there: install it (Debian: gnuplot-nox)");
    if (errno != 0)
        return err_set_errno(err, "start gnuplot");
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_set_errno(err, "wait for gnuplot");
    struct stat picture;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(err, "gnuplot is not there: install it (Debian: gnuplot-nox)");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
        stat(shop->paths[FILE_PICTURE], &picture) != 0 || picture.st_size == 0)
        return complain(shop, job, err);
    return 0;
}

static int measure(const struct workshop *shop, struct layout *layout, struct err *err)
{
    struct text measures = {0}, messages = {0};
    int result = -1;
    if (text_read_file(&measures, shop->paths[FILE_MEASURES], err) == 0 &&
        text_read_file(&messages, shop->paths[FILE_MESSAGES], err) == 0)
        result = layout_read(layout, measures.data, messages.data, err);
    text_close(&measures);
    text_close(&messages);
    return result;
}

/* Draws once, at the size of the settings or at another. The picture is read if the plot has its
 * room; *fits says whether it has. */
static int draw(const struct gnuplot_job *job, double width, double height, struct text *picture,
                struct layout *layout, bool *fits, struct err *err)
{
    struct workshop shop;
    if (workshop_open(&shop, err) != 0)
        return -1;
    int result = write_inputs(&shop, job, width, height, err);
    if (result == 0)
        result = run(&shop, job, err);
    if (result == 0 && !job->script_path)
        result = measure(&shop, layout, err);
    *fits = result == 0 && (job->script_path || layout_fits(layout));
    if (*fits)
        result = text_read_file(picture, shop.paths[FILE_PICTURE], err);
    workshop_close(&shop);
    return result;
}

int gnuplot_draw(const struct gnuplot_job *job, struct text *picture, struct err *err)
{
    struct layout asked, layout;
    struct text larger = {0};
    bool fits = false;
    double width = 0, height = 0;
    int result = draw(job, 0, 0, picture, &asked, &fits, err);
    if (result != 0 || fits)
        return result;
    /* By trial, so that what is advised is known to do. */
    layout = asked;
    while (result == 0 && !fits && layout_enlarge(&layout, &width, &height))
        result = draw(job, width, height, &larger, &layout, &fits, err);
    if (fits && job->may_grow)
        text_add(picture, larger.data, larger.length);
    else if (result == 0)
        result = layout_refuse(&asked, fits ? width : 0, fits ? height : 0, err);
    text_close(&larger);
    return result;
}
