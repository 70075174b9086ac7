/* Checks of the kernels that move bytes: equal to the byte, and nothing else touched. */
#include <string.h>

#include "tools/probe/probe_check.h"

static unsigned char *random_bytes(struct lab *lab, size_t count)
{
    unsigned char *bytes = probe_lab_host(lab, count, 1);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)rng_u64(&lab->rng);
    return bytes;
}

/* `sequences` layers, each with a recurrent part of heads KiB and a window of channels * 6 bytes,
 * scattered over one pool with gaps that must stay as they are. */
void check_bytes_snapshot(struct lab *lab, const struct check_shape *shape,
                          struct check_outcome *outcome)
{
    size_t state = shape->heads * 1024, window = shape->channels * 6, gap = 16;
    size_t layer = state + window + 2 * gap, pool = layer * shape->sequences;
    unsigned char *from = random_bytes(lab, pool), *want = probe_lab_host(lab, pool, 1);
    unsigned char *device_from = probe_lab_upload(lab, from, pool),
                  *to = probe_lab_device(lab, pool);
    struct copy_part *parts = probe_lab_host(lab, 2 * shape->sequences, sizeof(struct copy_part));
    memset(want, LAB_POISON, pool);
    for (uint32_t i = 0; i < shape->sequences && !lab->failed; i++) {
        size_t source = i * layer, target = (shape->sequences - 1 - i) * layer;
        parts[2 * i] = (struct copy_part){device_from + source, to + target, state};
        parts[2 * i + 1] = (struct copy_part){device_from + source + state + gap,
                                              to + target + state + gap, window};
        memcpy(want + target, from + source, state);
        memcpy(want + target + state + gap, from + source + state + gap, window);
    }
    struct snapshot_copy copy = {
        probe_lab_upload(lab, parts, 2 * shape->sequences * sizeof(struct copy_part)),
        2 * shape->sequences, state > window ? state : window};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_snapshot_copy(NULL, &copy), "snapshot_copy");
    probe_check_equal(outcome, "pool", probe_lab_read(lab, to, pool), want, pool);
}

/* `sequences` pages, picked backwards with every third one twice. */
void check_bytes_gather(struct lab *lab, const struct check_shape *shape,
                        struct check_outcome *outcome)
{
    size_t page = (size_t)shape->page_tokens * KERNEL_CACHED * 2, count = shape->sequences;
    unsigned char *from = random_bytes(lab, page * count),
                  *want = probe_lab_host(lab, page * count, 1);
    int32_t *index = probe_lab_host(lab, count, sizeof(int32_t));
    for (size_t i = 0; i < count; i++) {
        index[i] = (int32_t)(count - 1 - (i % 3 == 2 ? i - 1 : i));
        memcpy(want + i * page, from + (size_t)index[i] * page, page);
    }
    struct page_gather gather = {
        probe_lab_upload(lab, from, page * count), probe_lab_device(lab, page * count),
        probe_lab_upload(lab, index, count * sizeof(int32_t)), (uint32_t)count, page};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_page_gather(NULL, &gather), "page_gather");
    probe_check_equal(outcome, "pages", probe_lab_read(lab, gather.to, page * count), want,
                      page * count);
}

/* channels * 16 bytes in a plain copy and a plain read by 3 blocks. */
void check_bytes_plain(struct lab *lab, const struct check_shape *shape,
                       struct check_outcome *outcome)
{
    size_t bytes = (size_t)shape->channels * 16;
    unsigned char *from = random_bytes(lab, bytes);
    struct plain_copy copy = {probe_lab_upload(lab, from, bytes), probe_lab_device(lab, bytes),
                              bytes, 3};
    probe_lab_finish(lab, lab->failed ? 0 : kernel_plain_copy(NULL, &copy), "plain_copy");
    probe_check_equal(outcome, "copy", probe_lab_read(lab, copy.to, bytes), from, bytes);
    struct plain_read read = {copy.from, probe_lab_device(lab, 16), bytes, 3};
    probe_lab_fill(lab, read.to, 0, 16);
    probe_lab_finish(lab, lab->failed ? 0 : kernel_plain_read(NULL, &read), "plain_read");
    uint32_t want = 0, word;
    for (size_t i = 0; i < bytes; i += sizeof(word)) {
        memcpy(&word, from + i, sizeof(word));
        want += word;
    }
    probe_check_equal(outcome, "sum", probe_lab_read(lab, read.to, sizeof(want)), &want,
                      sizeof(want));
}

/* Random inputs: in range, spread out, and different for another seed. */
void check_bytes_fill(struct lab *lab, const struct check_shape *shape,
                      struct check_outcome *outcome)
{
    size_t count = shape->channels;
    struct random_fill fill = {probe_lab_device(lab, count * 4), count, -1, 1, 7, true};
    double mean[2], range = 1;
    double *values[2];
    for (int i = 0; i < 2; i++) {
        fill.seed += (uint32_t)i;
        probe_lab_finish(lab, lab->failed ? 0 : kernel_random_fill(NULL, &fill), "random_fill");
        values[i] = probe_lab_read_fp32(lab, fill.to, count);
        mean[i] = 0;
        for (size_t j = 0; j < count; j++) {
            mean[i] += values[i][j] / (double)count;
            if (!(values[i][j] >= -1 && values[i][j] < 1))
                range = 0;
        }
    }
    double one = 1, zero_mean = 1 + mean[0];
    probe_check_compare(outcome, "range", &range, &one, 1, 0);
    probe_check_compare(outcome, "mean", &zero_mean, &one, 1, 0.1);
    double differ = memcmp(values[0], values[1], count * sizeof(double)) != 0;
    probe_check_compare(outcome, "seed", &differ, &one, 1, 0);
}
