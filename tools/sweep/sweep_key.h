/* sweep_key.h - one key of a sweep file and the values that it takes: a value, a list, or a range.
 *
 * A key is a setting of a run, or "trace". Traces are kept in the sweep, each once, and a key has
 * their indexes. Whatever is wrong in the file is said as "file:line: ...". */
#ifndef SNAPSIM_SWEEP_KEY_H
#define SNAPSIM_SWEEP_KEY_H

#include "sim/core/json.h"
#include "tools/sweep/cells.h"

/* What is read, and into what. */
struct sweep_source {
    const struct json_document *document;
    struct sweep *sweep;
    size_t trace_capacity;
    struct err *err;
};

struct sweep_value {
    char *text;   /* of a setting, as config_set takes it; NULL for a trace */
    size_t trace; /* index into sweep->traces, or one that no cell has */
};

struct sweep_key {
    const char *name;          /* "trace", or a setting's */
    const struct param *entry; /* NULL for the trace */
    struct sweep_value *values;
    size_t count, capacity;
};

/* A key without values yet. err: there is no such setting. */
int sweep_key_open(struct sweep_key *out, const struct sweep_source *source,
                   const struct json *item) MUST_CHECK;
void sweep_key_close(struct sweep_key *key);

/* Adds the one value that item is. A trace that is new is added to the sweep. */
int sweep_key_read_one(struct sweep_key *key, struct sweep_source *source,
                       const struct json *item) MUST_CHECK;

/* Adds all values that item stands for, at least one. Without adds_traces a new trace stands for
 * one that no cell has. */
int sweep_key_read(struct sweep_key *key, struct sweep_source *source, const struct json *item,
                   bool adds_traces) MUST_CHECK;

/* Gives a cell one of the values. */
void sweep_key_apply(const struct sweep_key *key, size_t value, struct sweep_cell *cell);

/* Whether a cell has one of the values that sweep_key_read added, as they are understood: 1024MiB
 * is 1GiB. */
bool sweep_key_matches(const struct sweep_key *key, const struct sweep_cell *cell);

/* Takes over the trace. */
void sweep_source_add_trace(struct sweep_source *source, struct sweep_trace *trace);

#endif
