/* SPDX-License-Identifier: MIT */
/* The baseline: the hierarchical timing wheel of the textbooks. */
#include "../baseline/textbook_wheel.h"

#include "../clock.h"

#define LIBRARY textbook_wheel
#define NODE textbook_wheel_node
#define RIVAL bench_rival_textbook
#define NAME "textbook"

_Static_assert((int)TEXTBOOK_WHEEL_TICK_SHIFT == (int)BENCH_TICK_SHIFT, "one tick for everybody");

#include "embedded.h"
