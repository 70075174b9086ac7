/* embed.h - files that the Makefile makes a part of the program (tools/plot/embed.sh), so that it
 * needs none of them at run time. */
#ifndef SNAPSIM_EMBED_H
#define SNAPSIM_EMBED_H

/* A list of them, sorted by name, ends with a NULL name. */
struct embedded_file {
    const char *name, *text; /* "kimi-k3.json" and what it holds */
};

#endif
