/* SPDX-License-Identifier: MIT */
/* A rival: the data structure of timer_set in Seastar, a framework for C++ (baseline/bucket_set.h). */
#include "../baseline/bucket_set.h"

#include "../clock.h"

#define LIBRARY bucket_set
#define NODE ring_node
#define RIVAL bench_rival_timer_set
#define NAME "timer_set"

_Static_assert((int)RING_TICK_SHIFT == (int)BENCH_TICK_SHIFT, "one tick for everybody");

#include "embedded.h"
