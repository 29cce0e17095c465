/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* setenv */
/* A wheel with any options under any operations, against the model: G1 to G9. */
#include "fuzz/fuzz.h"
#include "model/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    static struct run run; /* too large for a stack */
    (void)setenv("CMOCKA_TEST_ABORT", "1", 1);
    run_from_bytes(&run, bytes, byte_count);
    return 0;
}
