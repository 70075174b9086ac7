/* config.h - everything that decides a run, as one self-describing table of settings.
 *
 * The same entries are the options of `snapsim run`, the keys of a sweep file, and the `config`
 * object of a result: reading that object back gives the same run. What belongs to whom:
 *
 *     trace     replies, partial-blocks, share-system        which workload is built
 *     schedule  arrival, seed, requests                      in which order its requests come
 *     run       the rest                                     what one cell of a sweep varies */
#ifndef SNAPSIM_CONFIG_H
#define SNAPSIM_CONFIG_H

#include "sim/core/json.h"
#include "sim/core/param.h"
#include "sim/load/build.h"
#include "sim/model/model.h"
#include "sim/vocabulary.h"

enum { ENGINE_REPLAY };
enum { ORPHANS_DROP, ORPHANS_KEEP, ORPHANS_KEEP_FOR_FORK };
enum { INDEX_UNIFIED, INDEX_DUAL };
enum { REPLIES_KEEP, REPLIES_DROP };
enum { PARTIAL_DROP, PARTIAL_KEEP };

struct config {
    char *model;
    struct sharding sharding;
    char *placement, *eviction, *memory;
    uint64_t capacity; /* bytes per GPU, or UNITS_UNLIMITED */
    char *page_tokens; /* "auto", "trace" or a number */
    unsigned orphans, index, engine;
    uint64_t snapshot_grain; /* tokens; 0: interior positions 64, ends exact */
    uint64_t match_unit;     /* tokens; 0: pages, or exact */
    uint64_t slots_per_request;
    uint64_t min_compute_tokens;

    unsigned replies, partial_blocks;
    bool share_system;

    char *arrival;
    uint64_t seed, requests;
};

void config_open(struct config *config); /* all defaults */
void config_close(struct config *config);
void config_copy(struct config *to, const struct config *from); /* opens `to` */

/* Whether there is a setting of that name ('-' and '_' are the same); if not, err suggests one. */
int config_check_name(const char *name, const struct param **found, struct err *err) MUST_CHECK;

/* Sets one by name. err: unknown (with the nearest name), or out of range. */
int config_set(struct config *config, const char *name, const char *value,
               struct err *err) MUST_CHECK;

/* What page-tokens says: *tokens is its number, or 0 if the memory strategy is to say or, with
 * *pages_are_blocks, the trace. */
int config_parse_page_tokens(const char *text, uint64_t *tokens, bool *pages_are_blocks,
                             struct err *err) MUST_CHECK;

/* Sets all that an object holds; document is for error positions. Keys that are not settings are
 * refused. */
int config_read(struct config *config, const struct json_document *document,
                const struct json *object, struct err *err) MUST_CHECK;

/* Appends the settings that are not at their defaults, and those named in `always` (space between
 * names; may be NULL), each as before, name, between, value: " --capacity 64GiB". */
void config_print_changed(const struct config *config, const char *always, const char *before,
                          const char *between, struct text *out);

/* Adds every setting of a table, or of all. */
void config_write_table(const struct param *table, const void *settings, struct json *parent);
void config_write(const struct config *config, struct json *parent);

struct build_options config_build_options(const struct config *config);

/* Whether two configurations need the same workload, or the same schedule. */
bool config_same_workload(const struct config *a, const struct config *b);
bool config_same_schedule(const struct config *a, const struct config *b);

#endif
