/* SPDX-License-Identifier: MIT */
/*
 * fuzz/fuzz.h - what the fuzz targets share.
 *
 * A target is one file with the entry that libFuzzer and AFL++ know. It reads its input through support/random.h: each
 * choice takes as few bytes as it needs, so that a fuzzer that changes a byte changes one choice. It ends the process
 * when a promise is broken.
 *
 * Three mains drive a target: libFuzzer's (preset fuzz), AFL++'s (the same preset with CC=afl-clang-fast) and replay.c,
 * which runs the committed inputs as an ordinary test of any build.
 */
#ifndef VERGE_TESTS_FUZZ_FUZZ_H
#define VERGE_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

#define FUZZ_CHECK(condition, promise) \
    do { \
        if (!(condition)) { \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, promise); \
            abort(); \
        } \
    } while (0)

#endif
