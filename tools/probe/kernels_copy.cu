/* Kernels that only move bytes, 16 per thread and access, and the one that makes random inputs. */
#include "tools/probe/device.cuh"

#define THREADS 256
#define UNROLL 4
#define PIECE_BYTES (THREADS * UNROLL * sizeof(uint4)) /* of one block: 16 KiB */

/* Copies one piece; all loads are under way before the first store. */
static __device__ inline void copy_piece(uint4 *to, const uint4 *from, size_t words)
{
    uint4 held[UNROLL];
#pragma unroll
    for (unsigned i = 0; i < UNROLL; i++)
        if (i * THREADS + thread_index() < words)
            held[i] = from[i * THREADS + thread_index()];
#pragma unroll
    for (unsigned i = 0; i < UNROLL; i++)
        if (i * THREADS + thread_index() < words)
            to[i * THREADS + thread_index()] = held[i];
}

/* Piece number `piece` of a run of bytes, if there is one. */
static __device__ inline void copy_part_piece(void *to, const void *from, size_t bytes,
                                              size_t piece)
{
    size_t begin = piece * PIECE_BYTES;
    if (begin < bytes)
        copy_piece((uint4 *)((unsigned char *)to + begin),
                   (const uint4 *)((const unsigned char *)from + begin),
                   (bytes - begin) / sizeof(uint4));
}

static __global__ void snapshot_copy_kernel(struct snapshot_copy p)
{
    struct copy_part part = p.parts[block_y()];
    copy_part_piece(part.to, part.from, part.bytes, block_x());
}

static __global__ void page_gather_kernel(struct page_gather p)
{
    size_t page = block_x(), from = (size_t)p.index[page];
    copy_part_piece((unsigned char *)p.to + page * p.page_bytes,
                    (const unsigned char *)p.from + from * p.page_bytes, p.page_bytes, block_y());
}

static __global__ void plain_copy_kernel(struct plain_copy p)
{
    for (size_t piece = block_x(); piece * PIECE_BYTES < p.bytes; piece += blocks_x())
        copy_part_piece(p.to, p.from, p.bytes, piece);
}

static __global__ void plain_read_kernel(struct plain_read p)
{
    const uint4 *from = (const uint4 *)p.from;
    size_t words = p.bytes / sizeof(uint4), step = (size_t)blocks_x() * THREADS;
    uint32_t sum = 0;
    size_t i = (size_t)block_x() * THREADS + thread_index();
    for (; i + (UNROLL - 1) * step < words; i += UNROLL * step) {
        uint4 held[UNROLL];
#pragma unroll
        for (unsigned j = 0; j < UNROLL; j++)
            held[j] = from[i + j * step];
#pragma unroll
        for (unsigned j = 0; j < UNROLL; j++)
            sum += held[j].x + held[j].y + held[j].z + held[j].w;
    }
    for (; i < words; i += step)
        sum += from[i].x + from[i].y + from[i].z + from[i].w;
    atomic_add(p.to, sum);
}

/* A hash of position and seed (the finaliser of MurmurHash3), 24 bits of it as the value: the
 * same bits on every machine. */
static __device__ inline float random_value(const struct random_fill *p, uint64_t at)
{
    uint32_t h = (uint32_t)at * 0x9e3779b9u + (uint32_t)(at >> 32) * 0x85ebca6bu + p->seed;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return p->low + (p->high - p->low) * ((float)(h >> 8) * (1.0f / 16777216.0f));
}

static __global__ void random_fill_kernel(struct random_fill p)
{
    size_t step = (size_t)blocks_x() * THREADS;
    for (size_t i = (size_t)block_x() * THREADS + thread_index(); i < p.count; i += step) {
        if (p.single)
            ((float *)p.to)[i] = random_value(&p, i);
        else
            ((struct bf16 *)p.to)[i] = bf16_from_float(random_value(&p, i));
    }
}

struct nothing {
    int unused;
};

static __global__ void empty_kernel(struct nothing p)
{
    (void)p;
}

static unsigned pieces(uint64_t bytes)
{
    return (unsigned)((bytes + PIECE_BYTES - 1) / PIECE_BYTES);
}

extern "C" int kernel_snapshot_copy(void *stream, const struct snapshot_copy *p)
{
    struct launch_shape shape = {pieces(p->largest_bytes), p->part_count, 1, THREADS, 0};
    return launch_kernel(snapshot_copy_kernel, &shape, stream, p);
}

extern "C" int kernel_page_gather(void *stream, const struct page_gather *p)
{
    struct launch_shape shape = {p->page_count, pieces(p->page_bytes), 1, THREADS, 0};
    return launch_kernel(page_gather_kernel, &shape, stream, p);
}

extern "C" int kernel_plain_copy(void *stream, const struct plain_copy *p)
{
    struct launch_shape shape = {p->blocks, 1, 1, THREADS, 0};
    return launch_kernel(plain_copy_kernel, &shape, stream, p);
}

extern "C" int kernel_plain_read(void *stream, const struct plain_read *p)
{
    struct launch_shape shape = {p->blocks, 1, 1, THREADS, 0};
    return launch_kernel(plain_read_kernel, &shape, stream, p);
}

extern "C" int kernel_random_fill(void *stream, const struct random_fill *p)
{
    uint64_t blocks = (p->count + THREADS - 1) / THREADS;
    struct launch_shape shape = {(unsigned)(blocks < 2048 ? blocks : 2048), 1, 1, THREADS, 0};
    return launch_kernel(random_fill_kernel, &shape, stream, p);
}

extern "C" int kernel_empty(void *stream)
{
    struct nothing nothing = {0};
    struct launch_shape shape = {1, 1, 1, 32, 0};
    return launch_kernel(empty_kernel, &shape, stream, &nothing);
}
