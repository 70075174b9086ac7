/* fuzz_require.h - what every fuzz target has. */
#ifndef SNAPSIM_FUZZ_REQUIRE_H
#define SNAPSIM_FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Ends the run, as a finding, with the error where something does not hold. */
static inline void require(bool holds, const char *what, const struct err *err)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

#endif
