#include "tools/probe/nvml_watch.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "sim/core/mem.h"

/* From NVML's public interface, which has kept these since version 11. */
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };

struct nvml_watch {
    void *library, *device;
    int (*shutdown)(void);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*power)(void *device, unsigned *milliwatts);
    int (*temperature)(void *device, int sensor, unsigned *degrees);
    int (*processes)(void *device, unsigned *count, void *infos);
    int (*driver)(char *text, unsigned size);
};

/* POSIX lets a function's address pass through void *, ISO C only lets its bytes. */
static void find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
}

struct nvml_watch *nvml_watch_open(const char *bus)
{
    int (*init)(void), (*handle)(const char *bus, void **device);
    struct nvml_watch *watch = mem_zalloc(sizeof(*watch));
    watch->library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (watch->library == NULL)
        goto fail;
    find(watch->library, "nvmlInit_v2", &init);
    find(watch->library, "nvmlDeviceGetHandleByPciBusId_v2", &handle);
    find(watch->library, "nvmlShutdown", &watch->shutdown);
    find(watch->library, "nvmlDeviceGetClockInfo", &watch->clock);
    find(watch->library, "nvmlDeviceGetPowerUsage", &watch->power);
    find(watch->library, "nvmlDeviceGetTemperature", &watch->temperature);
    find(watch->library, "nvmlDeviceGetComputeRunningProcesses_v3", &watch->processes);
    find(watch->library, "nvmlSystemGetDriverVersion", &watch->driver);
    if (init == NULL || handle == NULL || init() != NVML_SUCCESS)
        goto fail;
    if (handle(bus, &watch->device) == NVML_SUCCESS)
        return watch;
    if (watch->shutdown != NULL)
        watch->shutdown();
fail:
    if (watch->library != NULL)
        dlclose(watch->library);
    free(watch);
    return NULL;
}

void nvml_watch_close(struct nvml_watch *watch)
{
    if (watch == NULL)
        return;
    if (watch->shutdown != NULL)
        watch->shutdown();
    dlclose(watch->library);
    free(watch);
}

void nvml_watch_read(struct nvml_watch *watch, struct device_condition *condition)
{
    *condition = (struct device_condition){0};
    if (watch == NULL)
        return;
    unsigned value = 0;
    if (watch->clock != NULL && watch->clock(watch->device, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
        condition->sm_clock_mhz = value;
    if (watch->clock != NULL && watch->clock(watch->device, NVML_CLOCK_MEM, &value) == NVML_SUCCESS)
        condition->memory_clock_mhz = value;
    if (watch->power != NULL && watch->power(watch->device, &value) == NVML_SUCCESS)
        condition->power_w = value / 1000;
    if (watch->temperature != NULL &&
        watch->temperature(watch->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        condition->temperature_c = value;
    unsigned count = 0;
    /* Without room for any, it says how many there are and that there was no room. */
    if (watch->processes != NULL)
        watch->processes(watch->device, &count, NULL);
    condition->other_processes = count > 1 ? count - 1 : 0;
}

void nvml_watch_driver(struct nvml_watch *watch, char *text, unsigned size)
{
    text[0] = '\0';
    if (watch != NULL && watch->driver != NULL && watch->driver(text, size) != NVML_SUCCESS)
        text[0] = '\0';
}
