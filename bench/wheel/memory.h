/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/memory.h - memory of one kind for everybody: user objects, verge and its rivals.
 *
 * Blocks of a megabyte and more are mapped, aligned to 2 MiB, advised to be huge pages or not to be, and touched, so
 * that no timed section pays for page faults.
 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stddef.h>

enum bench_pages {
    BENCH_PAGES_HUGE = 0,
    BENCH_PAGES_SMALL,
    BENCH_PAGES_COUNT,
};

const char *bench_pages_name(enum bench_pages pages);

/* The kind of all blocks allocated from now on in this process. */
void bench_memory_use(enum bench_pages pages);

/* Zeroed memory; ends the process if there is none. */
void *bench_memory_allocate(size_t size, size_t alignment);
void bench_memory_release(void *memory, size_t size);

/* realloc() on that memory, for libraries that take such a function; size 0 releases. */
void *bench_memory_resize(void *memory, size_t size);

#endif
