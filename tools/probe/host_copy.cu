#include "tools/probe/host_copy.h"

#include <stdlib.h>
#include <string.h>

#include "tools/probe/cuda_check.cuh"

struct host_copy {
    const struct point *point;
    unsigned char *host, *device;
    size_t pieces;
    void **to;
    const void **from;
    size_t *bytes;
};

static void list_pieces(struct host_copy *copy)
{
    bool to_host = copy->point->to_host;
    for (size_t i = 0; i < copy->pieces; i++) {
        uint64_t offset;
        copy->bytes[i] = probe_point_piece(copy->point, i, &offset);
        copy->to[i] = (to_host ? copy->host : copy->device) + offset;
        copy->from[i] = (to_host ? copy->device : copy->host) + offset;
    }
}

/* Byte i of what is sent: nothing repeats with a period that pieces have. */
static void write_pattern(unsigned char *memory, size_t bytes)
{
    uint32_t word = 1;
    for (size_t i = 0; i < bytes; i++) {
        word = word * 1664525u + 1013904223u;
        memory[i] = (unsigned char)(word >> 24);
    }
}

int host_copy_open(struct host_copy **out, const struct point *point, struct err *err)
{
    struct host_copy *copy = static_cast<struct host_copy *>(calloc(1, sizeof(*copy)));
    if (copy == nullptr)
        return err_set(err, "out of memory");
    copy->point = point;
    copy->pieces = probe_point_piece_count(point);
    copy->to = static_cast<void **>(calloc(copy->pieces, sizeof(void *)));
    copy->from = static_cast<const void **>(calloc(copy->pieces, sizeof(void *)));
    copy->bytes = static_cast<size_t *>(calloc(copy->pieces, sizeof(size_t)));
    void *host = nullptr, *device = nullptr;
    if (copy->to == nullptr || copy->from == nullptr || copy->bytes == nullptr)
        err_set(err, "out of memory");
    else if (cuda_check(cudaMallocHost(&host, point->bytes), "pin host memory", err) == 0 &&
             gpu_alloc(&device, point->bytes, err) == 0) {
        copy->host = static_cast<unsigned char *>(host);
        copy->device = static_cast<unsigned char *>(device);
        write_pattern(copy->host, point->bytes);
        list_pieces(copy);
        /* The pattern to the sending side, poison to the receiving one. */
        int sent = point->to_host ? gpu_upload(copy->device, copy->host, point->bytes, err)
                                  : gpu_fill(copy->device, 0xff, point->bytes, err);
        if (point->to_host)
            memset(copy->host, 0xff, point->bytes);
        if (sent == 0) {
            *out = copy;
            return 0;
        }
    }
    copy->host = static_cast<unsigned char *>(host);
    host_copy_close(copy);
    return -1;
}

void host_copy_close(struct host_copy *copy)
{
    if (copy == nullptr)
        return;
    if (copy->host != nullptr)
        (void)cudaFreeHost(copy->host);
    gpu_free(copy->device);
    free(copy->to);
    free(copy->from);
    free(copy->bytes);
    free(copy);
}

static int start_batch(struct host_copy *copy, cudaStream_t stream, struct err *err)
{
#if CUDART_VERSION >= 13000
    struct cudaMemcpyAttributes attributes = {};
    size_t first = 0;
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    return cuda_check(cudaMemcpyBatchAsync(copy->to, copy->from, copy->bytes, copy->pieces,
                                           &attributes, &first, 1, stream),
                      "cudaMemcpyBatchAsync", err);
#else
    (void)copy;
    (void)stream;
    return err_set(err, "cudaMemcpyBatchAsync needs CUDA 13");
#endif
}

int host_copy_start(struct host_copy *copy, cudaStream_t stream, struct err *err)
{
    if (copy->point->batched)
        return start_batch(copy, stream, err);
    enum cudaMemcpyKind kind =
        copy->point->to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    for (size_t i = 0; i < copy->pieces; i++)
        if (cuda_check(cudaMemcpyAsync(copy->to[i], copy->from[i], copy->bytes[i], kind, stream),
                       "cudaMemcpyAsync", err) != 0)
            return -1;
    return 0;
}

int host_copy_verify(struct host_copy *copy, struct err *err)
{
    size_t bytes = copy->point->bytes;
    unsigned char *want = static_cast<unsigned char *>(malloc(bytes));
    unsigned char *got = static_cast<unsigned char *>(malloc(bytes));
    int result = -1;
    if (want == nullptr || got == nullptr)
        err_set(err, "out of memory");
    else {
        write_pattern(want, bytes);
        if (copy->point->to_host) {
            memcpy(got, copy->host, bytes);
            result = 0;
        } else
            result = gpu_download(got, copy->device, bytes, err);
        if (result == 0 && memcmp(want, got, bytes) != 0)
            result = err_set(err, "host copy: what arrived is not what was sent");
    }
    free(want);
    free(got);
    return result;
}
