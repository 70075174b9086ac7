/* sheet.h - the tables that run and bound print for people. */
#ifndef SNAPSIM_SHEET_H
#define SNAPSIM_SHEET_H

#include "sim/engine/result.h"

/* What was replayed: the trace, the model, the setting. */
void sheet_head(const struct result *result, const struct workload *workload, struct text *out);

void sheet_count(const char *what, uint64_t value, struct text *out);
void sheet_bytes(const char *what, uint64_t bytes, struct text *out);

/* The same with their share of others, in percent. */
void sheet_share(const char *what, uint64_t value, uint64_t of, struct text *out);
void sheet_bytes_share(const char *what, uint64_t bytes, uint64_t of, struct text *out);

#endif
