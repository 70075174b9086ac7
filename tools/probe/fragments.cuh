/* fragments.cuh - which lane holds and fetches what of a tensor core's operands. */
#ifndef SNAPSIM_PROBE_FRAGMENTS_CUH
#define SNAPSIM_PROBE_FRAGMENTS_CUH

#include "tools/probe/device.cuh"

/* A fragment from two C fragments that lie side by side. */
static __device__ inline void fragment_pack(uint32_t a[4], const float left[4],
                                            const float right[4])
{
    a[0] = bf16_pack(left[0], left[1]);
    a[1] = bf16_pack(left[2], left[3]);
    a[2] = bf16_pack(right[0], right[1]);
    a[3] = bf16_pack(right[2], right[3]);
}

/* Row and column, within a 16 x 16 block, whose address this lane gives to load_matrix so that
 * the four matrices are the B fragments of two products, block rows being columns of B. */
static __device__ inline unsigned fragment_row(void)
{
    unsigned lane = thread_index() % 32;
    return lane % 8 + lane / 16 * 8;
}
static __device__ inline unsigned fragment_column(void)
{
    return thread_index() % 32 / 8 % 2 * 8;
}
/* The same for load_matrix_transposed, block rows being rows of B; and for load_matrix of one A
 * fragment, block rows being rows of A. */
static __device__ inline unsigned fragment_row_transposed(void)
{
    return thread_index() % 16;
}
static __device__ inline unsigned fragment_column_transposed(void)
{
    return thread_index() % 32 / 16 * 8;
}

#endif
