/* packed.h - files that are compressed if their name says so. */
#ifndef SNAPSIM_PACKED_H
#define SNAPSIM_PACKED_H

#include <stddef.h>

#include "sim/core/err.h"

/* text_write_file, compressed by zstd if path ends in .zst. */
int packed_write(const char *path, const void *bytes, size_t length, struct err *err) MUST_CHECK;

#endif
