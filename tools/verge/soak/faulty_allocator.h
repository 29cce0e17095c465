/* SPDX-License-Identifier: MIT */
/* The default allocator, which can be made to fail now and then, and counts the bytes that are allocated. For any
 * threads. */
#ifndef VERGE_TOOL_FAULTY_ALLOCATOR_H
#define VERGE_TOOL_FAULTY_ALLOCATOR_H

#include <stdatomic.h>

#include <verge/base.h>

struct faulty_allocator {
    verge_allocator table;
    _Atomic(uint64_t) bytes;      /* held */
    _Atomic(uint64_t) asked;      /* how often */
    _Atomic(uint64_t) fail_every; /* so many times, it says no once; 0: never */
    _Atomic(uint64_t) refused;
};

void faulty_allocator_init(struct faulty_allocator *faulty); /* it must not move afterwards */

#endif
