#include "tools/probe/clock_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/cuda_check.cuh"
#include "tools/probe/gemm.h"
#include "tools/probe/host_copy.h"
#include "tools/probe/kernels.h"
#include "tools/probe/nvml_watch.h"
#include "tools/probe/probe_device.h"
#include "tools/probe/probe_work.h"

#define WARM_UP 5

struct cuda_clock {
    struct nvml_watch *watch;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    /* The point that is open. */
    const struct point *point;
    uint32_t launches;
    struct work *work;
    struct gemm *gemm;
    struct host_copy *copy;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
};

static int find_gpu(struct cuda_clock *clock, struct cudaDeviceProp *properties, struct err *err)
{
    int count = 0;
    char bus[32] = "";
    if (cuda_check(cudaGetDeviceCount(&count), "look for a GPU", err) != 0)
        return -1;
    if (count == 0)
        return err_set(err, "no GPU on this machine");
    if (cuda_check(cudaSetDevice(0), "use the first GPU", err) != 0 ||
        cuda_check(cudaGetDeviceProperties(properties, 0), "describe the GPU", err) != 0)
        return -1;
    if (properties->major < 9)
        return err_set(err, "%s has compute capability %d.%d, the kernels need 9.0",
                       properties->name, properties->major, properties->minor);
    if (cuda_check(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0), "find the PCI bus", err) != 0)
        return -1;
    clock->watch = nvml_watch_open(bus);
    if (cuda_check(cudaStreamCreateWithFlags(&clock->stream, cudaStreamNonBlocking),
                   "create a stream", err) != 0 ||
        cuda_check(cudaEventCreate(&clock->begin), "create an event", err) != 0 ||
        cuda_check(cudaEventCreate(&clock->end), "create an event", err) != 0)
        return -1;
    return 0;
}

static int clock_describe(void *self, struct device_facts *facts, struct err *err)
{
    struct cuda_clock *clock = static_cast<struct cuda_clock *>(self);
    struct cudaDeviceProp properties;
    int runtime = 0, driver = 0;
    if (find_gpu(clock, &properties, err) != 0 ||
        cuda_check(cudaRuntimeGetVersion(&runtime), "ask for the runtime", err) != 0 ||
        cuda_check(cudaDriverGetVersion(&driver), "ask for the driver", err) != 0)
        return -1;
    memset(facts, 0, sizeof(*facts));
    snprintf(facts->name, sizeof(facts->name), "%.120s", properties.name);
    snprintf(facts->runtime, sizeof(facts->runtime), "CUDA %d.%d", runtime / 1000,
             runtime % 1000 / 10);
    nvml_watch_driver(clock->watch, facts->driver, sizeof(facts->driver));
    if (facts->driver[0] == '\0')
        snprintf(facts->driver, sizeof(facts->driver), "for CUDA %d.%d", driver / 1000,
                 driver % 1000 / 10);
    facts->sm_count = (uint32_t)properties.multiProcessorCount;
    facts->memory_bytes = properties.totalGlobalMem;
    facts->l2_bytes = (uint64_t)properties.l2CacheSize;
    probe_device_find_peaks(facts);
    return 0;
}

static int clock_condition(void *self, struct device_condition *condition, struct err *err)
{
    (void)err;
    nvml_watch_read(static_cast<struct cuda_clock *>(self)->watch, condition);
    return 0;
}

/* Puts one launch of the open point on the stream. */
static int start_one(struct cuda_clock *clock, uint32_t index, struct err *err)
{
    if (clock->copy != nullptr)
        return host_copy_start(clock->copy, clock->stream, err);
    if (clock->gemm != nullptr)
        return gemm_start(clock->gemm, index, err);
    int code = clock->work != nullptr ? probe_work_launch(clock->work, index, clock->stream)
                                      : kernel_empty(clock->stream);
    return cuda_check(static_cast<cudaError_t>(code), probe_point_name(clock->point->kind),
                      err);
}

/* Everything runs as a graph except what a graph would hide. */
static bool runs_as_graph(const struct point *point)
{
    return point->kind != POINT_LAUNCH_STREAM && point->kind != POINT_HOST_COPY;
}

static int capture(struct cuda_clock *clock, struct err *err)
{
    if (cuda_check(cudaStreamBeginCapture(clock->stream, cudaStreamCaptureModeThreadLocal),
                   "begin a graph", err) != 0)
        return -1;
    /* The events are nodes of the graph: outside of it they would also time its submission. */
    int started =
        cuda_check(cudaEventRecordWithFlags(clock->begin, clock->stream, cudaEventRecordExternal),
                   "put an event into a graph", err);
    for (uint32_t i = 0; i < clock->launches && started == 0; i++)
        started = start_one(clock, i, err);
    if (started == 0)
        started =
            cuda_check(cudaEventRecordWithFlags(clock->end, clock->stream, cudaEventRecordExternal),
                       "put an event into a graph", err);
    /* The capture must end also after a failure, whose text is the one to keep. */
    struct err end;
    int ended = cuda_check(cudaStreamEndCapture(clock->stream, &clock->graph), "end a graph", &end);
    if (started == 0 && ended != 0)
        *err = end;
    if (started != 0 || ended != 0)
        return -1;
    if (cuda_check(cudaGraphInstantiate(&clock->executable, clock->graph, 0), "build a graph",
                   err) != 0)
        return -1;
    return cuda_check(cudaGraphUpload(clock->executable, clock->stream), "upload a graph", err);
}

/* One sample's launches between two events. */
static int start_all(struct cuda_clock *clock, struct err *err)
{
    if (clock->executable != nullptr)
        return cuda_check(cudaGraphLaunch(clock->executable, clock->stream), "launch a graph", err);
    if (cuda_check(cudaEventRecord(clock->begin, clock->stream), "record an event", err) != 0)
        return -1;
    for (uint32_t i = 0; i < clock->launches; i++)
        if (start_one(clock, i, err) != 0)
            return -1;
    return cuda_check(cudaEventRecord(clock->end, clock->stream), "record an event", err);
}

static int warm_up(struct cuda_clock *clock, struct err *err)
{
    for (uint32_t i = 0; i < WARM_UP; i += clock->launches)
        if (start_all(clock, err) != 0)
            return -1;
    return cuda_check(cudaStreamSynchronize(clock->stream), "warm up", err);
}

static void release(struct cuda_clock *clock)
{
    if (clock->executable != nullptr)
        (void)cudaGraphExecDestroy(clock->executable);
    if (clock->graph != nullptr)
        (void)cudaGraphDestroy(clock->graph);
    probe_work_close(clock->work);
    gemm_close(clock->gemm);
    host_copy_close(clock->copy);
    clock->executable = nullptr;
    clock->graph = nullptr;
    clock->work = nullptr;
    clock->gemm = nullptr;
    clock->copy = nullptr;
}

static enum clock_answer prepare(struct cuda_clock *clock, uint32_t sets, struct err *err)
{
    const struct point *point = clock->point;
    if (point->kind == POINT_GEMM)
        return gemm_open(&clock->gemm, point, sets, clock->stream, err);
    if (point->kind == POINT_HOST_COPY) {
#if CUDART_VERSION < 13000
        if (point->batched) {
            err_set(err, "cudaMemcpyBatchAsync needs CUDA 13");
            return CLOCK_ABSENT;
        }
#endif
        if (host_copy_open(&clock->copy, point, err) != 0)
            return CLOCK_FAILED;
        /* A driver may be too old for batches. */
        if (point->batched && host_copy_start(clock->copy, clock->stream, err) != 0) {
            (void)cudaGetLastError();
            return CLOCK_ABSENT;
        }
        return CLOCK_READY;
    }
    if (!probe_point_facts(point->kind)->on_device)
        return CLOCK_READY;
    /* Inputs differ from point to point. */
    uint32_t seed = 1000u * (uint32_t)point->kind + point->heads + point->tokens;
    if (probe_work_open(&clock->work, point, sets, seed, err) != 0 ||
        probe_work_poison(clock->work, err) != 0)
        return CLOCK_FAILED;
    return CLOCK_READY;
}

static enum clock_answer clock_open(void *self, const struct point *point, uint32_t sets,
                                    uint32_t launches, struct err *err)
{
    struct cuda_clock *clock = static_cast<struct cuda_clock *>(self);
    clock->point = point;
    clock->launches = launches;
    enum clock_answer answer = prepare(clock, sets, err);
    /* cuBLAS chooses and loads its kernels at the first call, which no graph may hold. */
    if (answer == CLOCK_READY && clock->gemm != nullptr &&
        (gemm_start(clock->gemm, 0, err) != 0 ||
         cuda_check(cudaStreamSynchronize(clock->stream), "gemm", err) != 0))
        answer = CLOCK_FAILED;
    if (answer == CLOCK_READY &&
        ((runs_as_graph(point) && capture(clock, err) != 0) || warm_up(clock, err) != 0))
        answer = CLOCK_FAILED;
    if (answer != CLOCK_READY)
        release(clock);
    return answer;
}

static int clock_sample(void *self, double *us, struct err *err)
{
    struct cuda_clock *clock = static_cast<struct cuda_clock *>(self);
    float milliseconds = 0;
    if (start_all(clock, err) != 0 ||
        cuda_check(cudaStreamSynchronize(clock->stream),
                   probe_point_name(clock->point->kind), err) != 0 ||
        cuda_check(cudaEventElapsedTime(&milliseconds, clock->begin, clock->end), "read the events",
                   err) != 0)
        return -1;
    *us = (double)milliseconds * 1e3 / clock->launches;
    return 0;
}

static int clock_close(void *self, struct err *err)
{
    struct cuda_clock *clock = static_cast<struct cuda_clock *>(self);
    int result = 0;
    if (clock->work != nullptr)
        result = probe_work_verify(clock->work, err);
    else if (clock->gemm != nullptr)
        result = gemm_verify(clock->gemm, err);
    else if (clock->copy != nullptr)
        result = host_copy_verify(clock->copy, err);
    release(clock);
    return result;
}

struct cuda_clock *clock_cuda_open(void)
{
    return static_cast<struct cuda_clock *>(calloc(1, sizeof(struct cuda_clock)));
}

void clock_cuda_close(struct cuda_clock *clock)
{
    if (clock == nullptr)
        return;
    release(clock);
    if (clock->begin != nullptr)
        (void)cudaEventDestroy(clock->begin);
    if (clock->end != nullptr)
        (void)cudaEventDestroy(clock->end);
    if (clock->stream != nullptr)
        (void)cudaStreamDestroy(clock->stream);
    nvml_watch_close(clock->watch);
    free(clock);
}

struct probe_clock clock_cuda_interface(struct cuda_clock *clock)
{
    struct probe_clock interface = {clock,      true,         clock_describe, clock_condition,
                                    clock_open, clock_sample, clock_close};
    return interface;
}
