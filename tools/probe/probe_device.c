#include "tools/probe/probe_device.h"

#include <stdio.h>
#include <string.h>

#define PCIE5 64e9 /* 16 lanes of 32 Gb/s, each way */
#define C2C 450e9  /* of Grace and Hopper in one package */

/* Bytes per second, dense bf16 operations per second, link to the host. A name is looked for within
 * the device's, so longer ones are first. */
static const struct {
    const char *name;
    double bytes_per_s, flops, link_bytes_per_s;
} sheets[] = {
    {"GH200 480GB", 4.0e12, 989e12, C2C}, {"H200 NVL", 4.8e12, 836e12, PCIE5},
    {"H200", 4.8e12, 989e12, PCIE5},      {"H100 NVL", 3.9e12, 836e12, PCIE5},
    {"H100 PCIe", 2.0e12, 756e12, PCIE5}, {"H100", 3.35e12, 989e12, PCIE5},
    {"H800 PCIe", 2.0e12, 756e12, PCIE5}, {"H800", 3.35e12, 989e12, PCIE5},
    {"H20", 4.0e12, 148e12, PCIE5},
};

void probe_device_find_peaks(struct device_facts *facts)
{
    for (size_t i = 0; i < sizeof(sheets) / sizeof(sheets[0]); i++) {
        if (strstr(facts->name, sheets[i].name) == NULL)
            continue;
        facts->peak_bytes_per_s = sheets[i].bytes_per_s;
        facts->peak_bf16_flops = sheets[i].flops;
        facts->peak_link_bytes_per_s = sheets[i].link_bytes_per_s;
        snprintf(facts->peak_source, sizeof(facts->peak_source), "data sheet of NVIDIA %s",
                 sheets[i].name);
        return;
    }
}

/* What is not simulated stands in a data sheet; it was not measured. */
static struct calib_value value_of(const struct device_facts *facts, double value,
                                   enum calib_provenance provenance)
{
    if (!(value > 0))
        return (struct calib_value){.known = false};
    return (struct calib_value){
        .known = true,
        .value = value,
        .provenance = provenance == CALIB_MEASURED ? CALIB_PUBLISHED : provenance,
        .source = facts->peak_source[0] != '\0' ? facts->peak_source : NULL};
}

struct calib_device probe_device_of(const struct device_facts *facts,
                                    enum calib_provenance provenance)
{
    return (struct calib_device){
        .name = facts->name,
        .driver = facts->driver,
        .runtime = facts->runtime,
        .sm_count = facts->sm_count,
        .memory_bytes = facts->memory_bytes,
        .l2_bytes = facts->l2_bytes,
        .peak_bandwidth = value_of(facts, facts->peak_bytes_per_s * 1e-12, provenance),
        .peak_bf16 = value_of(facts, facts->peak_bf16_flops * 1e-12, provenance),
        .pcie = value_of(facts, facts->peak_link_bytes_per_s * 1e-9, provenance)};
}
