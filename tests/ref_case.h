/* ref_case.h - one cell, run by the fast code and by the model, and compared number by number. */
#ifndef SNAPSIM_REF_CASE_H
#define SNAPSIM_REF_CASE_H

#include "sim/bound/bound.h"
#include "tests/ref_trace.h"

/* Made-up models of one layer of each kind, so small that snapshots and pages matter. */
struct ref_model {
    const char *name;
    uint32_t kv_units;       /* KV is 4 bytes a unit and token */
    uint32_t snapshot_units; /* a snapshot is 4 bytes a unit; 0: no recurrent layer */
};
#define REF_MODEL_COUNT 7
extern const struct ref_model ref_models[REF_MODEL_COUNT];

/* Write them as files into a new directory, and remove it: for tcase_add_unchecked_fixture. */
void ref_models_open(void);
void ref_models_close(void);

/* The file of one of them, until ref_models_close. */
void ref_model_path(const struct ref_model *model, char path[256]);

struct ref_case {
    const struct ref_model *model;
    const char *placement, *eviction, *memory, *page_tokens, *arrival;
    bool keep_orphans;
    uint64_t capacity_bytes, grain, min_compute_tokens;
};

/* The results of one run, in the order of arrival. */
struct ref_results {
    struct request_result *items;
    uint32_t count;
    struct result total;
};

/* Runs the fast code; between ref_models_open and ref_models_close. */
int ref_case_run(const struct ref_case *cell, struct record *record, struct ref_results *out,
                 struct err *err) MUST_CHECK;
void ref_results_close(struct ref_results *results);

/* The settings of a cell, and its load: all that a set-up and a run take. Both are to be closed,
 * also after a failure. */
int ref_case_open(const struct ref_case *cell, struct record *record, struct config *config,
                  struct load *load, struct err *err) MUST_CHECK;

/* The same settings for the model; and what a trace means, in the order in which requests come:
 * (*order)[i] says which of the trace the i-th is. Freed with ref_requests_close, and free. */
struct ref_settings ref_case_settings(const struct ref_case *cell, const struct ref_trace *trace);
struct ref_request *ref_case_requests(const struct ref_case *cell, const struct ref_trace *trace,
                                      uint32_t **order);

/* A number of the fast code, and what the model says. Returns -1 and names the first that differs.
 */
struct ref_number {
    const char *name;
    uint64_t fast, model;
};
int ref_compare_numbers(const struct ref_number *numbers, size_t count, const char *where,
                        struct err *err) MUST_CHECK;
int ref_compare_counters(const struct cache_counters *fast, const struct cache_counters *model,
                         const char *where, struct err *err) MUST_CHECK;

/* The limits of that cell's load, model, capacity and grain; the second with all there are, for a
 * tiny load and a model with recurrent layers. */
int ref_case_bound(const struct ref_case *cell, struct record *record, struct bound *out,
                   struct err *err) MUST_CHECK;

struct ref_limits {
    struct bound bound;
    uint64_t plan_tokens, replayed_tokens; /* what the plan promises; what a replay of it hits */
    uint64_t exact_tokens;
};
int ref_case_limits(const struct ref_case *cell, struct record *record, struct ref_limits *out,
                    struct err *err) MUST_CHECK;

/* Runs both and compares all. Returns -1 and says what differs first. */
int ref_case_compare(const struct ref_case *cell, const struct ref_trace *trace,
                     struct err *err) MUST_CHECK;

void ref_case_print(const struct ref_case *cell, struct text *out);

/* The flags of an eviction given as text, and whether it can go with a memory strategy: one that
 * stores first cannot go with a memory whose pages have places. */
unsigned ref_case_eviction_flags(const char *text);
bool ref_case_go_together(const char *eviction, const char *memory);

#endif
