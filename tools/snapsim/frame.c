#include "tools/snapsim/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/snapsim/snapsim.h"

#define HELP_WIDTH 80
#define HELP_COLUMN 26 /* where explanations of options start */
#define ITEM_COLUMN 13
#define TABLES_MAX 12

/* ---- --help ---- */

/* Appends words from the column at which the line stands, on lines that start at `indent`. */
static void add_wrapped(const char *words, size_t length, size_t at, size_t indent,
                        struct text *out)
{
    size_t column = at;
    for (size_t i = 0; i < length;) {
        size_t word = i;
        while (word < length && words[word] != ' ')
            word++;
        if (column > indent && column + 1 + (word - i) > HELP_WIDTH) {
            text_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (i > 0 && column > indent) {
            text_add(out, " ", 1);
            column++;
        }
        text_add(out, words + i, word - i);
        column += word - i;
        for (i = word; i < length && words[i] == ' ';)
            i++;
    }
    text_add(out, "\n", 1);
}

/* Appends a name and, from a column on, what it is; on a line of its own if the name is long. */
static void add_item(const char *name, size_t column, const char *help, size_t length,
                     struct text *out)
{
    if (strlen(name) + 1 > column)
        text_printf(out, "%s\n%*s", name, (int)column, "");
    else
        text_printf(out, "%-*s", (int)column, name);
    add_wrapped(help, length, column, column, out);
}

bool frame_next_line(const char **rest, struct frame_line *line)
{
    size_t length = *rest ? strcspn(*rest, "\n") : 0;
    if (*rest == NULL || **rest == '\0')
        return false;
    *line = (struct frame_line){.text = *rest, .length = length};
    if (length > 2 && strncmp(*rest, "  ", 2) == 0) {
        line->name = *rest + 2;
        line->name_length = strcspn(line->name, " ");
        line->text = line->name + line->name_length;
        line->text += strspn(line->text, " ");
        line->length = length - (size_t)(line->text - *rest);
    }
    *rest += length + ((*rest)[length] == '\n');
    return true;
}

static void add_lines(const char *lines, struct text *out)
{
    struct frame_line line;
    while (frame_next_line(&lines, &line)) {
        if (line.name == NULL) {
            add_wrapped(line.text, line.length, 0, 0, out);
            continue;
        }
        struct text name = {0};
        text_printf(&name, "  %.*s", (int)line.name_length, line.name);
        add_item(name.data, ITEM_COLUMN, line.text, line.length, out);
        text_close(&name);
    }
}

static void add_option(const struct param *entry, struct text *out)
{
    struct text name = {0}, help = {0};
    char letter = options_letter(entry);
    text_printf(&name, "  ");
    if (letter)
        text_printf(&name, "-%c, ", letter);
    text_printf(&name, "--%s ", entry->name);
    for (char *c = name.data; *c; c++)
        *c = *c == '_' ? '-' : *c; /* as it is typed */
    param_print_metavar(entry, &name);
    text_printf(&help, "%s", entry->help);
    if (entry->default_text && *entry->default_text && entry->type != PARAM_BOOL)
        text_printf(&help, " [%s]", entry->default_text);
    while (name.data[name.length - 1] == ' ')
        name.data[--name.length] = '\0';
    add_item(name.data, HELP_COLUMN, help.data, help.length, out);
    text_close(&name);
    text_close(&help);
}

bool frame_table(const struct command *command, size_t index, const struct param_table **table,
                 struct text *ways)
{
    for (const struct way *way = command->ways; way->run; way++) {
        for (const struct param_table *own = way->tables; own->params; own++) {
            size_t users = 0, all = 0;
            bool is_first = true;
            text_clear(ways);
            for (const struct way *other = command->ways; other->run; other++, all++) {
                const struct param_table *same = other->tables;
                while (same->params && same->params != own->params)
                    same++;
                if (!same->params)
                    continue;
                is_first = is_first && other >= way;
                text_printf(ways, "%s%s", users++ ? ", " : " (", other->name ? other->name : "");
            }
            text_printf(ways, ")");
            *table = own;
            if (users == all)
                text_clear(ways);
            if (is_first && index-- == 0)
                return true;
        }
    }
    for (*table = config_tables; (*table)->params && index > 0; ++*table)
        index--;
    text_clear(ways);
    return command->takes_config && (*table)->params;
}

void frame_add_usage(const struct command *command, const struct way *way, struct text *out)
{
    text_printf(out, "snapsim %s%s%s%s%s%s", command->name, way->name ? " " : "",
                way->name ? way->name : "", way->words ? " " : "", way->words ? way->words : "",
                way->tables[0].params || command->takes_config ? " [options]" : "");
}

static int help(const struct command *command)
{
    struct text out = {0}, more = {0}, ways = {0};
    const struct param_table *table = NULL;
    for (const struct way *way = command->ways; way->run; way++) {
        text_printf(&out, way == command->ways ? "usage: " : "       ");
        frame_add_usage(command, way, &out);
        text_add(&out, "\n", 1);
    }
    text_add(&out, "\n", 1);
    add_lines(command->text, &out);
    if (command->add_text)
        command->add_text(&more);
    add_lines(more.data, &out);
    text_printf(&out, command->ways[0].summary ? "\n" : "");
    for (const struct way *way = command->ways; way->run && way->summary; way++) {
        text_clear(&more);
        text_printf(&more, "  %s", way->name);
        add_item(more.data, ITEM_COLUMN, way->summary, strlen(way->summary), &out);
    }
    for (size_t i = 0; frame_table(command, i, &table, &ways); i++) {
        text_printf(&out, "\n%s%s:\n", table->heading ? table->heading : "Options",
                    ways.length ? ways.data : "");
        for (const struct param *entry = table->params; entry->name; entry++)
            add_option(entry, &out);
    }
    text_printf(&out, command->notes ? "\n" : "");
    add_lines(command->notes, &out);
    text_printf(&out, "\nexample%s:\n%s", strchr(command->examples, '\n')[1] ? "s" : "",
                command->examples);
    int status = print_result(&out);
    text_close(&out);
    text_close(&more);
    text_close(&ways);
    return status;
}

/* ---- the command line ---- */

static bool asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static const char *way_name(const void *table, size_t index)
{
    const struct way *way = (const struct way *)table + index;
    return way->run ? way->name : NULL;
}

static int say_ways(const struct command *command, const char *word)
{
    struct text known = {0};
    const char *near = word ? text_nearest(word, way_name, command->ways) : NULL;
    for (const struct way *way = command->ways; way->run; way++)
        text_printf(&known, "%s%s",
                    way == command->ways ? ""
                    : way[1].run         ? ", "
                                         : " or ",
                    way->name);
    say(EXIT_USAGE, "%s: %s was expected, found %s%s%s%s%s%s", command->name, known.data,
        word ? "'" : "nothing", word ? word : "", word ? "'" : "", near ? " (did you mean '" : "",
        near ? near : "", near ? "'?)" : "");
    text_close(&known);
    return EXIT_USAGE;
}

int frame_say_missing(const struct call *call)
{
    const char *name = call->command->name, *way = call->way->name;
    return say(EXIT_USAGE, "%s%s%s: %s expected (snapsim %s --help)", name, way ? " " : "",
               way ? way : "", call->way->missing, name);
}

/* An option that another way of the command takes is no typing error. */
static int say_wrong(const struct call *call, const struct err *err)
{
    const char *word = call->options->unknown;
    for (const struct way *way = call->command->ways; word && way->run && way->name; way++)
        if (options_have(way->tables, word))
            return say(EXIT_USAGE, "unknown option '%s': %s %s takes it, %s does not", word,
                       call->command->name, way->name, call->way->name);
    return say(EXIT_USAGE, "%s", err->text);
}

int frame_parse_again(const struct call *call, struct err *err)
{
    return options_parse(call->options, call->argc, call->argv, err);
}

/* The tables of a way, and those of struct config if the command takes it. */
static void join_tables(const struct command *command, const struct way *way,
                        struct param_table *out)
{
    size_t count = 0;
    for (const struct param_table *table = way->tables; table->params; table++)
        out[count++] = *table;
    for (const struct param_table *table = config_tables; command->takes_config && table->params;
         table++)
        out[count++] = *table;
    assert(count < TABLES_MAX);
}

int frame_run(const struct command *command, int argc, char **argv)
{
    const struct way *way = command->ways;
    const char *word = argc > 1 ? argv[1] : NULL;
    if (asks_help(argc, argv))
        return help(command);
    while (way->run && way->name && (!word || strcmp(way->name, word) != 0))
        way++;
    if (!way->run)
        return say_ways(command, word);
    int skipped = way->name != NULL;
    void *settings = mem_zalloc(command->options_size + 1);
    const char **words = mem_array((size_t)argc, sizeof *words);
    struct param_table tables[TABLES_MAX] = {{NULL, NULL, 0}};
    join_tables(command, way, tables);
    struct options options = {
        .tables = tables, .settings = settings, .words = words, .word_most = way->most};
    struct call call = {.command = command,
                        .way = way,
                        .argc = argc - skipped,
                        .argv = argv + skipped,
                        .options = &options,
                        .settings = settings,
                        .words = words};
    struct err err;
    param_open(tables, settings);
    int status = EXIT_USAGE;
    if (options_parse(&options, call.argc, call.argv, &err) != 0)
        status = say_wrong(&call, &err);
    else if ((call.word_count = options.word_count) < way->least)
        status = frame_say_missing(&call);
    else
        status = way->run(&call);
    param_close(tables, settings);
    free(settings);
    free(words);
    return status;
}
