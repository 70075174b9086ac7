/* digest.h - a 64-bit digest folded over a sequence of words.
 *
 * Not for secrets: it is there so that two runs that did the same things, in the same order, say so
 * with one number, and so that a damaged file is noticed. */
#ifndef SNAPSIM_DIGEST_H
#define SNAPSIM_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_START 0x736e617073696d31u

static inline uint64_t digest_u64(uint64_t digest, uint64_t word)
{
    uint64_t mixed = (digest ^ word) * 0x9e3779b97f4a7c15u;
    return mixed ^ (mixed >> 29);
}

/* Folds bytes in as words in the machine's byte order, then their number. */
uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t length);

#endif
