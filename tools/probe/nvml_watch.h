/* nvml_watch.h - clocks, power, temperature and other users of a GPU, read through NVML.
 *
 * The library is looked for at run time, because it belongs to the driver and not to the toolkit.
 * Without it everything reads 0. Nothing is ever set. */
#ifndef SNAPSIM_PROBE_NVML_WATCH_H
#define SNAPSIM_PROBE_NVML_WATCH_H

#ifdef __cplusplus
extern "C" {
#endif

#include "tools/probe/probe_clock.h"

struct nvml_watch;

/* bus: the PCI bus id as CUDA prints it. Returns NULL if there is no NVML or no such device. */
struct nvml_watch *nvml_watch_open(const char *bus);
void nvml_watch_close(struct nvml_watch *watch); /* NULL allowed */

/* other_processes is all processes on the GPU but one, which is ours. NULL gives zeros. */
void nvml_watch_read(struct nvml_watch *watch, struct device_condition *condition);
void nvml_watch_driver(struct nvml_watch *watch, char *text, unsigned size);

#ifdef __cplusplus
}
#endif

#endif
