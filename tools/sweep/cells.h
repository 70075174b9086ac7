/* cells.h - a sweep file, expanded into the cells that it stands for.
 *
 *     {
 *       "name": "placements",
 *       "trace": ["v8.jsonl.zst", {"conversations": 200}],     a file, or a load to generate
 *       "model": "kimi-k3",
 *       "placement": ["none", "turn", "turn+fixed:4096"],
 *       "capacity": {"from": "64GiB", "to": "4TiB", "factor": 2},
 *       "seed": {"from": 1, "to": 5, "step": 1},
 *       "exclude": [{"placement": "none", "capacity": ["64GiB", "128GiB"]}],
 *       "cells": [{"label": "limit", "placement": "turn", "eviction": "belady"}]
 *     }
 *
 * Keys are the settings of `snapsim run`; a list or a range varies one, and the cells are all
 * combinations, the first key varying slowest. A generated load without a seed of its own takes the
 * cell's. A cell that some entry of `exclude` matches in all
 * its keys is left out. `cells` adds single ones: the settings that the file gives one value, and
 * their own. "bound": true adds to each result between which limits the best possible lies. */
#ifndef SNAPSIM_CELLS_H
#define SNAPSIM_CELLS_H

#include "sim/engine/setup.h"
#include "traces/synth.h"

#define CELLS_MAX 10000000u /* of a sweep */

struct sweep_trace {
    char *text; /* the path as written, or the options of the generated load as JSON */
    bool generated;
    bool seed_follows; /* the load's own seed is not given: it is that of the cell */
    struct synth_options options;
};

struct sweep_cell {
    size_t trace; /* index into traces */
    char *label;  /* NULL unless the file names this cell */
    struct config config;
};

struct sweep {
    char *name;
    struct sweep_trace *traces; /* at least one */
    size_t trace_count;
    struct sweep_cell *cells;
    size_t cell_count;
    struct models *models; /* of all cells, read when the sweep was opened */
    bool with_limits;      /* "bound" */
    char *varied;          /* names of the settings that have several values, with spaces between */
};

/* err: "file:line: ..." */
int sweep_open(struct sweep *out, const char *path, struct err *err) MUST_CHECK;
void sweep_close(struct sweep *sweep);

/* Appends " placement=turn capacity=64GiB ...": what varies, or is not at its default. */
void sweep_describe_cell(const struct sweep *sweep, size_t cell, struct text *out);

#endif
