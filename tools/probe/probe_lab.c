#include "tools/probe/probe_lab.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/mem.h"
#include "tools/probe/gpu.h"
#include "tools/probe/kda_reference.h"

#define GUARD_BYTES 256
#define GUARD_BYTE 0xa5

struct lab_memory {
    void *memory;
    size_t bytes; /* without the guard */
};

struct lab probe_lab_open(uint64_t seed, struct err *err)
{
    struct lab lab = {.rng = rng_open(seed, "probe lab"), .err = err};
    return lab;
}

void probe_lab_close(struct lab *lab)
{
    for (size_t i = 0; i < lab->host_count; i++)
        free(lab->host[i]);
    for (size_t i = 0; i < lab->device_count; i++)
        gpu_free(lab->device[i].memory);
    free(lab->host);
    free(lab->device);
    memset(lab, 0, sizeof(*lab));
}

void *probe_lab_host(struct lab *lab, size_t count, size_t element_size)
{
    lab->host = mem_grow(lab->host, &lab->host_capacity, lab->host_count + 1, sizeof(void *));
    void *memory = mem_array(count > 0 ? count : 1, element_size);
    lab->host[lab->host_count++] = memory;
    return memory;
}

void *probe_lab_device(struct lab *lab, size_t bytes)
{
    if (lab->failed)
        return NULL;
    lab->device = mem_grow(lab->device, &lab->device_capacity, lab->device_count + 1,
                           sizeof(struct lab_memory));
    struct lab_memory *slot = &lab->device[lab->device_count];
    slot->bytes = bytes;
    if (gpu_alloc(&slot->memory, bytes + GUARD_BYTES, lab->err) != 0) {
        lab->failed = true;
        return NULL;
    }
    lab->device_count++;
    probe_lab_fill(lab, slot->memory, LAB_POISON, bytes);
    probe_lab_fill(lab, (unsigned char *)slot->memory + bytes, GUARD_BYTE, GUARD_BYTES);
    return slot->memory;
}

void *probe_lab_upload(struct lab *lab, const void *host, size_t bytes)
{
    void *device = probe_lab_device(lab, bytes);
    if (!lab->failed && gpu_upload(device, host, bytes, lab->err) != 0)
        lab->failed = true;
    return device;
}

/* The sum of 12 uniform numbers: near enough to normal, and the same everywhere. */
static double normal(struct rng *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += rng_unit(rng);
    return sum;
}

struct lab_values probe_lab_bf16(struct lab *lab, size_t count, double mean, double scale)
{
    struct lab_values values = {probe_lab_host(lab, count, sizeof(double)), NULL};
    struct bf16 *bits = probe_lab_host(lab, count, sizeof(struct bf16));
    for (size_t i = 0; i < count; i++) {
        values.host[i] = kda_reference_bf16(mean + scale * normal(&lab->rng));
        float single = (float)values.host[i];
        uint32_t word;
        memcpy(&word, &single, sizeof(word));
        bits[i].bits = (uint16_t)(word >> 16);
    }
    values.device = probe_lab_upload(lab, bits, count * sizeof(struct bf16));
    return values;
}

struct lab_values probe_lab_fp32(struct lab *lab, size_t count, double mean, double scale)
{
    struct lab_values values = {probe_lab_host(lab, count, sizeof(double)), NULL};
    float *single = probe_lab_host(lab, count, sizeof(float));
    for (size_t i = 0; i < count; i++) {
        single[i] = (float)(mean + scale * normal(&lab->rng));
        values.host[i] = (double)single[i];
    }
    values.device = probe_lab_upload(lab, single, count * sizeof(float));
    return values;
}

void *probe_lab_read(struct lab *lab, const void *device, size_t bytes)
{
    void *host = probe_lab_host(lab, bytes, 1);
    if (!lab->failed && gpu_download(host, device, bytes, lab->err) != 0)
        lab->failed = true;
    return host;
}

double *probe_lab_read_bf16(struct lab *lab, const void *device, size_t count)
{
    const struct bf16 *bits = probe_lab_read(lab, device, count * sizeof(struct bf16));
    double *values = probe_lab_host(lab, count, sizeof(double));
    for (size_t i = 0; i < count; i++) {
        uint32_t word = (uint32_t)bits[i].bits << 16;
        float single;
        memcpy(&single, &word, sizeof(single));
        values[i] = (double)single;
    }
    return values;
}

double *probe_lab_read_fp32(struct lab *lab, const void *device, size_t count)
{
    const float *single = probe_lab_read(lab, device, count * sizeof(float));
    double *values = probe_lab_host(lab, count, sizeof(double));
    for (size_t i = 0; i < count; i++)
        values[i] = (double)single[i];
    return values;
}

void probe_lab_fill(struct lab *lab, void *device, unsigned char byte, size_t bytes)
{
    if (!lab->failed && gpu_fill(device, byte, bytes, lab->err) != 0)
        lab->failed = true;
}

void probe_lab_finish(struct lab *lab, int code, const char *kernel)
{
    if (!lab->failed && gpu_finish(code, kernel, lab->err) != 0)
        lab->failed = true;
}

bool probe_lab_guards(struct lab *lab)
{
    unsigned char guard[GUARD_BYTES];
    for (size_t i = 0; i < lab->device_count && !lab->failed; i++) {
        const unsigned char *behind =
            (const unsigned char *)lab->device[i].memory + lab->device[i].bytes;
        if (gpu_download(guard, behind, GUARD_BYTES, lab->err) != 0)
            lab->failed = true;
        for (size_t j = 0; j < GUARD_BYTES && !lab->failed; j++)
            if (guard[j] != GUARD_BYTE)
                return false;
    }
    return true;
}
