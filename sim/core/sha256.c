#include "sim/core/sha256.h"

#include <assert.h>
#include <openssl/evp.h>

void sha256_print(const unsigned char digest[32], char hex[SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 32; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = '\0';
}

void sha256_of(const void *bytes, size_t length, char hex[SHA256_TEXT])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    int made = EVP_Digest(bytes, length, digest, NULL, EVP_sha256(), NULL);
    assert(made == 1 && "fails only without memory");
    (void)made;
    sha256_print(digest, hex);
}
