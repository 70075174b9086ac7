#include "tools/sweep/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sim/core/mem.h"

struct crew {
    crew_job *job;
    void *user;
    size_t count;
    atomic_size_t next; /* job */
    atomic_bool stops;
};

static void *work(void *shared)
{
    struct crew *crew = shared;
    size_t index = 0;
    while (!atomic_load(&crew->stops) && (index = atomic_fetch_add(&crew->next, 1)) < crew->count)
        if (!crew->job(crew->user, index))
            atomic_store(&crew->stops, true);
    return NULL;
}

void crew_run(size_t threads, size_t count, crew_job *job, void *user)
{
    struct crew crew = {.job = job, .user = user, .count = count};
    pthread_t *handles = mem_array(threads, sizeof *handles);
    size_t started = 0;
    while (started + 1 < threads && pthread_create(&handles[started], NULL, work, &crew) == 0)
        started++;
    work(&crew); /* this thread is one of them */
    for (size_t i = 0; i < started; i++)
        pthread_join(handles[i], NULL);
    free(handles);
}
