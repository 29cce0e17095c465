/* SPDX-License-Identifier: MIT */
/* The monotonic clock plus an offset that can jump, ahead and back. Any thread may read the clock. Only one thread may
 * make it jump. */
#ifndef VERGE_TOOL_JUMPING_CLOCK_H
#define VERGE_TOOL_JUMPING_CLOCK_H

#include <stdatomic.h>

#include <verge/base.h>

struct jumping_clock {
    _Atomic(uint64_t) ahead_ns; /* by how much this clock is ahead of the monotonic clock */
};

verge_clock jumping_clock_table(struct jumping_clock *jumping);        /* the struct must not move afterwards */
void jumping_clock_jump(struct jumping_clock *jumping, int64_t by_ns); /* the offset never becomes negative */

#endif
