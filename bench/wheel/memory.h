/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/memory.h - memory of one kind for all: user objects, verge and its rivals.
 *
 * Blocks of a megabyte and more are mapped, aligned to 2 MiB, made of huge pages or of small ones (by madvise), and
 * touched, so that no timed section pays for page faults.
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

/* Sets the kind of pages for all blocks that this process allocates from now on. */
void bench_memory_use(enum bench_pages pages);

/* Returns zeroed memory. Ends the process if there is none. */
void *bench_memory_allocate(size_t size, size_t alignment);
void bench_memory_release(void *memory, size_t size);

/* A realloc() for this memory, for libraries that take such a function. Size 0 releases. */
void *bench_memory_resize(void *memory, size_t size);

#endif
