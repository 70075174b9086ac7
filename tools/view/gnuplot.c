#include "tools/view/gnuplot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/core/mem.h"
#include "tools/view/embedded.h"

extern char **environ;

const char *gnuplot_embedded(const char *name)
{
    for (const struct embedded_file *file = embedded; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file->text;
    assert(false);
    return "";
}

/* In single quotes gnuplot takes every character as it is, a quote written twice. A line cannot
 * end within them. */
void gnuplot_set(struct text *settings, const char *name, const char *value)
{
    text_printf(settings, "%s = '", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\'')
            text_add(settings, "''", 2);
        else
            text_add(settings, *c == '\n' || *c == '\r' ? " " : c, 1);
    }
    text_printf(settings, "'\n");
}

void gnuplot_set_number(struct text *settings, const char *name, double value)
{
    text_printf(settings, "%s = %.17g\n", name, value);
}

/* The names within the directory, in the order in which gnuplot reads the first three. */
enum { FILE_SETTINGS, FILE_COMMON, FILE_SCRIPT, FILE_CSV, FILE_PICTURE, FILE_MESSAGES, FILE_COUNT };
static const char *const file_names[FILE_COUNT] = {"settings.gp", "common.gp", "script.gp",
                                                   "figure.csv",  "picture",   "messages"};

struct workshop {
    struct text directory;
    char *paths[FILE_COUNT];
};

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
    for (int i = 0; i < FILE_COUNT; i++) {
        struct text path = {0};
        text_printf(&path, "%s/%s", shop->directory.data, file_names[i]);
        shop->paths[i] = path.data;
    }
    return 0;
}

static void workshop_close(struct workshop *shop)
{
    for (int i = 0; i < FILE_COUNT; i++) {
        if (shop->paths[i])
            unlink(shop->paths[i]);
        free(shop->paths[i]);
    }
    if (shop->directory.data)
        rmdir(shop->directory.data);
    text_close(&shop->directory);
}

static int write_inputs(const struct workshop *shop, const struct gnuplot_job *job, struct err *err)
{
    struct text settings = {0}, script = {0};
    int result = -1;
    gnuplot_set(&settings, "csv", shop->paths[FILE_CSV]);
    gnuplot_set(&settings, "output", shop->paths[FILE_PICTURE]);
    gnuplot_set(&settings, "terminal", job->terminal);
    text_add(&settings, job->settings->data, job->settings->length);
    const char *common = gnuplot_embedded("common.gp");
    if (job->script_path && text_read_file(&script, job->script_path, err) != 0)
        goto out;
    if (!job->script_path)
        text_printf(&script, "%s", gnuplot_embedded(job->script));
    if (text_write_file(shop->paths[FILE_SETTINGS], settings.data, settings.length, err) == 0 &&
        text_write_file(shop->paths[FILE_COMMON], common, strlen(common), err) == 0 &&
        text_write_file(shop->paths[FILE_SCRIPT], script.data, script.length, err) == 0)
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
                         NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, shop->paths[FILE_MESSAGES],
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int failed = posix_spawnp(child, program, &actions, NULL, arguments, environ);
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

int gnuplot_draw(const struct gnuplot_job *job, struct text *picture, struct err *err)
{
    struct workshop shop;
    if (workshop_open(&shop, err) != 0)
        return -1;
    int result = write_inputs(&shop, job, err);
    if (result == 0)
        result = run(&shop, job, err);
    if (result == 0)
        result = text_read_file(picture, shop.paths[FILE_PICTURE], err);
    workshop_close(&shop);
    return result;
}
