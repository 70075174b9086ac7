/* snapsim man-part PART - parts of the manual pages, from the tables that parse what they describe.
 *
 * Not for users, so --help does not list it: tools/man/make.sh calls it where a page has a line
 * like @options@. Prints mdoc. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "sim/cost/calib_law.h"
#include "sim/model/presets.h"
#include "tools/snapsim/snapsim.h"
#include "traces/compiled.h"
#include "traces/formats.h"
#include "traces/synth.h"

static const char list_start[] = ".Bl -tag -width Ds\n", list_end[] = ".El\n";
static const char compact_start[] = ".Bl -tag -width %dn -compact\n";

/* Words in a macro's line: what looks like a macro ("Ar") must not be one. */
static void put_word(const char *word, struct text *out)
{
    if (strlen(word) <= 3)
        text_add(out, "\\&", 2);
    for (const char *c = word; *c; c++) {
        if (*c == '-')
            text_add(out, "\\-", 2);
        else if (*c == '\\')
            text_add(out, "\\e", 2);
        else
            text_add(out, c, 1);
    }
}

/* A help text as a line of its own, or several: sentences start on new ones. `Words` like these are
 * bold. */
static void put_text(const char *text, size_t length, struct text *out)
{
    bool is_bold = false;
    if (length > 0 && (*text == '.' || *text == '\''))
        text_add(out, "\\&", 2);
    for (size_t i = 0; i < length; i++) {
        const char *c = text + i;
        if (i > 0 && c[0] == ' ' && c[-1] == '.' && isupper((unsigned char)c[1]))
            text_add(out, "\n", 1);
        else if (*c == '`')
            text_add(out, (is_bold = !is_bold) ? "\\fB" : "\\fP", 3);
        else
            text_add(out, *c == '\\' ? "\\e" : c, *c == '\\' ? 2 : 1);
    }
}

static void put_help(const char *help, struct text *out)
{
    put_text(help, strlen(help), out);
    text_add(out, ".\n", 2);
}

static bool is_switch(const struct param *entry)
{
    return entry->type == PARAM_BOOL && (!entry->metavar || !*entry->metavar);
}

static void put_value(const struct param *entry, struct text *out)
{
    struct text value = {0};
    param_print_metavar(entry, &value);
    put_word(is_switch(entry) ? "0|1" : value.data, out);
    text_close(&value);
}

static void put_range(const struct param *entry, struct text *out)
{
    bool numeric =
        entry->type == PARAM_U64 || entry->type == PARAM_DOUBLE || entry->type == PARAM_LENGTH;
    if (numeric && entry->max > entry->min)
        text_printf(out, "From %.16g to %.16g.\n", entry->min, entry->max);
}

static void put_default(const struct param *entry, struct text *out)
{
    if (!entry->default_text)
        return;
    text_printf(out, "Default:\n.Cm ");
    put_word(entry->default_text, out);
    text_add(out, " .\n", 3);
}

/* "--coding-share N" on the command line, though the table says coding_share. */
static void put_option(const struct param *entry, struct text *out)
{
    char letter = options_letter(entry);
    text_printf(out, ".It ");
    if (letter)
        text_printf(out, "Fl %c , ", letter);
    text_printf(out, "Fl -");
    for (const char *c = entry->name; *c; c++)
        text_add(out, *c == '_' || *c == '-' ? "\\-" : c, *c == '_' || *c == '-' ? 2 : 1);
    if (!is_switch(entry)) {
        text_printf(out, " Ar ");
        put_value(entry, out);
    }
    text_add(out, "\n", 1);
    put_help(entry->help, out);
    put_range(entry, out);
    if (!is_switch(entry))
        put_default(entry, out);
}

static void put_table(const struct param *table, struct text *out)
{
    text_printf(out, "%s", list_start);
    for (const struct param *entry = table; entry->name; entry++)
        put_option(entry, out);
    text_printf(out, "%s", list_end);
}

static void put_options(struct text *out)
{
    for (const struct param_table *table = config_tables; table->params; table++) {
        text_printf(out, ".Ss %s\n", table->heading);
        put_table(table->params, out);
    }
}

static void put_generate_options(struct text *out)
{
    put_table(synth_params, out);
}

static void put_plugins(const struct plugin *const *list, struct text *out)
{
    text_printf(out, "%s", list_start);
    for (size_t i = 0; list[i]; i++) {
        const struct param *params = list[i]->params;
        text_printf(out, ".It Cm ");
        put_word(list[i]->name, out);
        text_add(out, "\n", 1);
        put_help(list[i]->summary, out);
        if (!params || !params->name)
            continue;
        text_printf(out, "%s", list_start);
        for (const struct param *entry = params; entry->name; entry++) {
            text_printf(out, ".It Cm %s Ns = Ns Ar ", entry->name);
            put_value(entry, out);
            text_add(out, "\n", 1);
            put_help(entry->help, out);
            put_range(entry, out);
            put_default(entry, out);
        }
        text_printf(out, "%s", list_end);
    }
    text_printf(out, "%s", list_end);
}

static void put_item(const char *name, const char *summary, struct text *out)
{
    text_printf(out, ".It Cm ");
    put_word(name, out);
    text_add(out, "\n", 1);
    put_help(summary, out);
}

static void put_placements(struct text *out)
{
    put_plugins(snapsim_plugins.placements, out);
}

static void put_evictions(struct text *out)
{
    put_plugins(snapsim_plugins.evictions, out);
}

static void put_memories(struct text *out)
{
    put_plugins(snapsim_plugins.memories, out);
}

static void put_models(struct text *out)
{
    struct model model;
    text_printf(out, compact_start, 19);
    for (size_t i = 0; presets_at(i, &model); i++)
        put_item(model.name, model.summary, out);
    text_printf(out, "%s", list_end);
}

static void put_formats(struct text *out)
{
    text_printf(out, "%s", list_start);
    for (size_t i = 0; trace_formats[i]; i++)
        put_item(trace_formats[i]->name, trace_formats[i]->summary, out);
    put_item(COMPILED_NAME, COMPILED_SUMMARY, out);
    text_printf(out, "%s", list_end);
}

static void put_result_keys(struct text *out)
{
    text_printf(out, compact_start, 27);
    for (const struct result_field *field = result_fields; field->name; field++)
        put_item(field->name, field->help, out);
    put_item("hit_ratio", "hit_tokens / prompt_tokens, 0 without prompts", out);
    text_printf(out, "%s", list_end);
}

static void put_commands(struct text *out)
{
    text_printf(out, compact_start, 9);
    for (size_t i = 0; commands[i]; i++)
        put_item(commands[i]->name, commands[i]->summary, out);
    text_printf(out, "%s", list_end);
}

/* Lines of a command's help: paragraphs, and lists of items. */
static void put_lines(const char *lines, struct text *out)
{
    struct frame_line line;
    bool in_list = false;
    while (frame_next_line(&lines, &line)) {
        if (line.length == 0)
            continue;
        if (in_list != (line.name != NULL))
            text_printf(out, "%s", in_list ? list_end : list_start);
        in_list = line.name != NULL;
        if (in_list)
            text_printf(out, ".It Cm %.*s\n", (int)line.name_length, line.name);
        else
            text_printf(out, ".Pp\n");
        put_text(line.text, line.length, out);
        text_add(out, "\n", 1);
    }
    text_printf(out, "%s", in_list ? list_end : "");
}

static void put_command(const struct command *command, struct text *out)
{
    const struct param_table *table = NULL;
    struct text text = {0};
    text_printf(out, ".Ss snapsim %s\n.\\\" usage\n.Bd -literal\n", command->name);
    for (const struct way *way = command->ways; way->run; way++) {
        frame_add_usage(command, way, out);
        text_add(out, "\n", 1);
    }
    text_printf(out, ".Ed\n");
    put_lines(command->text, out);
    if (command->add_text)
        command->add_text(&text);
    put_lines(text.data, out);
    text_clear(&text);
    for (const struct way *way = command->ways; way->run && way->summary; way++)
        text_printf(&text, "  %s %s\n", way->name, way->summary);
    put_lines(text.data, out);
    for (size_t i = 0; frame_table(command, i, &table, &text) && table != config_tables; i++) {
        text_printf(out, ".Pp\n%s%s:\n", table->heading ? table->heading : "Options",
                    text.length ? text.data : "");
        put_table(table->params, out);
    }
    put_lines(command->notes, out);
    if (command->takes_config)
        text_printf(out, ".Pp\nTakes all\n.Sx SETTINGS .\n");
    text_close(&text);
}

/* Laws of a calibration: the form is theirs as text, the terms are keys of the file. */
static void put_laws(struct text *out)
{
    text_printf(out, "%s", list_start);
    for (int i = 0; i < CALIB_LAWS; i++) {
        const struct calib_law_facts *facts = calib_law_facts((enum calib_law_id)i);
        put_item(facts->name, facts->form, out);
        text_printf(out, "Kernel:\n.Cm ");
        put_word(calib_kernel_name(facts->kernel), out);
        text_printf(out, " .\nCoefficients:\n");
        for (size_t term = 0; term < calib_law_terms((enum calib_law_id)i); term++) {
            text_printf(out, "%s.Cm ", term ? ",\n" : "");
            put_word(facts->term[term].name, out);
            text_printf(out, "\n(%s%s)", facts->term[term].unit,
                        facts->term[term].optional ? ", may be absent" : "");
        }
        text_printf(out, ".\n");
    }
    text_printf(out, "%s", list_end);
}

static const struct {
    const char *name;
    void (*put)(struct text *out);
} parts[] = {
    {"commands", put_commands},
    {"options", put_options},
    {"placements", put_placements},
    {"evictions", put_evictions},
    {"memories", put_memories},
    {"models", put_models},
    {"result-keys", put_result_keys},
    {"formats", put_formats},
    {"generate-options", put_generate_options},
    {"laws", put_laws},
};

/* "command NAME" is the section of a command, every other part has a name alone. */
static int print_part(const struct call *call)
{
    struct text out = {0};
    int status = EXIT_USAGE;
    for (size_t i = 0; call->word_count == 1 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(call->words[0], parts[i].name) == 0)
            parts[i].put(&out);
    for (size_t i = 0; call->word_count == 2 && commands[i]; i++)
        if (strcmp(call->words[1], commands[i]->name) == 0)
            put_command(commands[i], &out);
    status = out.length > 0 ? print_result(&out) : frame_say_missing(call);
    text_close(&out);
    return status;
}

const struct command cmd_man = {
    .name = "man-part",
    .text = "Prints a part of the manual pages (tools/snapsim/cmd_man.c).\n",
    .examples = "  snapsim man-part options\n",
    .ways = {{.words = "NAME | command NAME",
              .missing = "the name of a part (tools/snapsim/cmd_man.c) was",
              .least = 1,
              .most = 2,
              .run = print_part}},
};
