/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/clock.h - real time for the stop-watch, simulated time for the event libraries.
 *
 * The program defines clock_gettime, gettimeofday, epoll_wait and epoll_pwait itself. While simulated time is on, the
 * clocks return the time that was set here, and the waits return 0 at once. So an event loop does its timer work and no
 * system calls.
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BENCH_TICK_SHIFT = 20, /* a tick is 2^20 ns = 1.048576 ms, for all rivals */
};

#define BENCH_TICK_NS (UINT64_C(1) << BENCH_TICK_SHIFT)

uint64_t bench_wall_ns(void); /* real monotonic time */
uint64_t bench_cpu_ns(void);  /* processor time of this thread */

void bench_simulated_start(uint64_t now_ns);
void bench_simulated_set(uint64_t now_ns);

#endif
