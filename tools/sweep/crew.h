/* crew.h - threads that work off a list of jobs, each taking the next one that is left. */
#ifndef SNAPSIM_CREW_H
#define SNAPSIM_CREW_H

#include <stdbool.h>
#include <stddef.h>

/* Returns false if no more jobs are to be begun. */
typedef bool crew_job(void *user, size_t index);

/* Runs the jobs 0 to count - 1 on so many threads, the caller's among them; on fewer if no more can
 * be started. Returns when all have ended. */
void crew_run(size_t threads, size_t count, crew_job *job, void *user);

#endif
