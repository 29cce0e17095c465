/* SPDX-License-Identifier: MIT */
/* The default allocator, which also counts the bytes that are allocated. Only for one thread. */
#ifndef VERGE_TOOL_COUNTING_ALLOCATOR_H
#define VERGE_TOOL_COUNTING_ALLOCATOR_H

#include <verge/base.h>

struct counting_allocator {
    verge_allocator table; /* pass its address in the options */
    uint64_t bytes, bytes_peak;
};

void counting_allocator_init(struct counting_allocator *counting); /* the struct must not move afterwards */

#endif
