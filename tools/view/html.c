#include "tools/view/html.h"

#include <string.h>

void html_text(const char *text, struct text *out)
{
    static const struct {
        char letter;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    struct text visible = {0};
    text_add(out, "", 0);
    text_add_visible(&visible, text, strlen(text), "\n\t");
    for (const char *c = visible.data; *c; c++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
            if (entities[i].letter == *c)
                entity = entities[i].entity;
        if (entity)
            text_printf(out, "%s", entity);
        else
            text_add(out, c, 1);
    }
    text_close(&visible);
}

void html_entry(const char *name, const char *value, struct text *out)
{
    text_printf(out, "<dt>");
    html_text(name, out);
    text_printf(out, "</dt><dd>");
    html_text(value, out);
    text_printf(out, "</dd>\n");
}

/* Where an id is made or used: behind each of these stands its name. */
static size_t id_lead(const char *at)
{
    static const char *const leads[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        if (strncmp(at, leads[i], strlen(leads[i])) == 0)
            return strlen(leads[i]);
    return 0;
}

void html_svg(const char *svg, const char *prefix, const char *caption, struct text *out)
{
    static const char old_title[] = "<title>Gnuplot</title>";
    const char *at = strstr(svg, "<svg");
    if (at == NULL)
        return;
    text_printf(out, "<svg role=\"img\" ");
    for (at += strlen("<svg"); *at;) {
        size_t lead = id_lead(at);
        if (lead > 0) {
            text_add(out, at, lead);
            text_printf(out, "%s", prefix);
            at += lead;
        } else if (strncmp(at, old_title, sizeof old_title - 1) == 0) {
            text_printf(out, "<title>");
            html_text(caption, out);
            text_printf(out, "</title>");
            at += sizeof old_title - 1;
        } else {
            text_add(out, at++, 1);
        }
    }
}
