/* SPDX-License-Identifier: MIT */
/* The data structure of timeout.c. */
#include "../baseline/bitmap_wheel.h"

#include "../clock.h"

#define LIBRARY bitmap_wheel
#define NODE ring_node
#define RIVAL bench_rival_timeout_c
#define NAME "timeout.c"

_Static_assert((int)RING_TICK_SHIFT == (int)BENCH_TICK_SHIFT, "one tick for everybody");

#include "embedded.h"
