/* SPDX-License-Identifier: MIT */
/* The data structure of ratas. */
#include "../baseline/tick_wheel.h"

#include "../clock.h"

#define LIBRARY tick_wheel
#define NODE ring_node
#define RIVAL bench_rival_ratas
#define NAME "ratas"

_Static_assert((int)RING_TICK_SHIFT == (int)BENCH_TICK_SHIFT, "one tick for everybody");

#include "embedded.h"
