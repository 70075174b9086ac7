/* plugin_text.h - the long and the short form of "turn:bounds=0+fixed:interval=4096".
 *
 * A result stores plug-ins with every parameter, so that it can be replayed. That is the form to
 * compare by. People read the short form: parameters at their defaults are left out, except a main
 * parameter that counts something, because "fixed" hides the number that matters:
 *
 *     long   turn:bounds=0    fixed:interval=64    ladder:ratio=2,from=end    lru:refresh=path
 *     short  turn             fixed:64             ladder:from=end            lru:path
 *
 * Both are read by whatever reads plug-ins. A text that names an unknown plug-in, as a newer
 * program may write it, stays as it is. */
#ifndef SNAPSIM_PLUGIN_TEXT_H
#define SNAPSIM_PLUGIN_TEXT_H

#include <stdbool.h>

#include "sim/core/plugin.h"

/* The plug-ins that a setting names, or NULL if it names none. Placements are joined with '+'. */
const struct plugin *const *plugin_text_list(const char *setting);

void plugin_text_long(const struct plugin *const *list, const char *text, struct text *out);
void plugin_text_short(const struct plugin *const *list, const char *text, struct text *out);

/* Appends the value of one parameter of the first part that has it; false if none has. */
bool plugin_text_parameter(const struct plugin *const *list, const char *text,
                           const char *parameter, struct text *out);

/* The parameters of all plug-ins of a list, one after another; NULL behind the last. */
const struct param *plugin_text_parameter_at(const struct plugin *const *list, size_t index);

#endif
