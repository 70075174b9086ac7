/* replay.h - the replay engine: each request is complete before the next; time only orders.
 *
 * For each arrival: look up, let the placement name positions, store, count. Fast; for hit rates
 * and for searching policies. Live states take no room here, unless --slots-per-request says how
 * many of them each request has; as requests are served one by one, that is room for one request.
 */
#ifndef SNAPSIM_REPLAY_H
#define SNAPSIM_REPLAY_H

#include "sim/bound/bound.h"
#include "sim/engine/account.h"

/* Called after each request; may be NULL. */
typedef void replay_observer(void *user, const struct request_result *request);

/* Runs one cell. err: settings that do not go together, books that are wrong, or (in SIM_CHECK
 * builds) a failed audit. Close *out with result_close. The workload and the schedule must be made
 * for the same settings. */
int replay_run(struct result *out, const struct setup *setup, const struct workload *workload,
               const struct schedule *schedule, replay_observer *observer, void *user,
               struct err *err) MUST_CHECK;

/* The same for settings that nobody else uses: opens their set-up, runs, closes it. */
int replay_config(struct result *out, const struct config *config, const struct workload *workload,
                  const struct schedule *schedule, const struct plugins *plugins,
                  replay_observer *observer, void *user, struct err *err) MUST_CHECK;

/* What the bounds of a set-up's runs are for. */
struct bound_input replay_bound_input(const struct setup *setup, const struct workload *workload,
                                      const struct schedule *schedule);

#endif
