/* probe_device.h - a device's peaks: what nothing that is measured on it can beat.
 *
 * Those of Hopper GPUs stand in data sheets, found by the device's name. A calibration without them
 * can be written and looked at; snapsim takes no times from it. Nothing here fails. */
#ifndef SNAPSIM_PROBE_DEVICE_H
#define SNAPSIM_PROBE_DEVICE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "tools/probe/probe_clock.h"

/* Fills in the peaks and their source by facts->name; leaves them as they are if it is unknown. */
void probe_device_find_peaks(struct device_facts *facts);

#ifdef __cplusplus
}
#else

#include "sim/cost/calib.h"

/* As a calibration has it, without the device's condition. Texts stay those of facts. */
struct calib_device probe_device_of(const struct device_facts *facts,
                                    enum calib_provenance provenance);

#endif

#endif
