/* SPDX-License-Identifier: MIT */
/*
 * fuzz/fuzz.h - what the fuzz targets share.
 *
 * A target is a program with the entry that libFuzzer and AFL++ know. Some targets parse their input. The others read
 * it through support/random.h: each choice takes as few bytes as it needs, so that a fuzzer that changes a byte changes
 * one choice. A target ends the process when a promise is broken.
 *
 * Three mains drive a target: libFuzzer's (preset fuzz), AFL++'s (preset afl) and, in all other builds, replay.c, which
 * runs the committed inputs as an ordinary test.
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
