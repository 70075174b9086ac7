#include "sim/core/digest.h"

#include <string.h>

uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *cursor = bytes;
    size_t left = length;
    for (; left >= 8; left -= 8, cursor += 8) {
        uint64_t word = 0;
        memcpy(&word, cursor, 8);
        digest = digest_u64(digest, word);
    }
    uint64_t tail = 0;
    if (left > 0)
        memcpy(&tail, cursor, left);
    return digest_u64(digest_u64(digest, tail), length);
}
