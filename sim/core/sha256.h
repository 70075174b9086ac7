/* sha256.h - the digest of contents that decide a result: traces, models, calibrations. */
#ifndef SNAPSIM_SHA256_H
#define SNAPSIM_SHA256_H

#include <stddef.h>

#define SHA256_TEXT 65 /* 64 hexadecimal digits and an end */

void sha256_of(const void *bytes, size_t length, char hex[SHA256_TEXT]);

/* The text of a digest that was made piece by piece. */
void sha256_print(const unsigned char digest[32], char hex[SHA256_TEXT]);

#endif
