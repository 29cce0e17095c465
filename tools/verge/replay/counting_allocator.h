/* SPDX-License-Identifier: MIT */
/* The default allocator, with a count of the bytes that are held from it. For one thread. */
#ifndef VERGE_TOOL_COUNTING_ALLOCATOR_H
#define VERGE_TOOL_COUNTING_ALLOCATOR_H

#include <verge/base.h>

struct counting_allocator {
    verge_allocator table; /* for the options of what is to be counted */
    uint64_t bytes, bytes_peak;
};

void counting_allocator_init(struct counting_allocator *counting); /* it must not move afterwards */

#endif
