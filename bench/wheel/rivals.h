/* SPDX-License-Identifier: MIT */
/* bench/wheel/rivals.h - one table per file in rivals/. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

struct bench_rival;

extern const struct bench_rival bench_rival_textbook;
extern const struct bench_rival bench_rival_verge;
extern const struct bench_rival bench_rival_verge_timeouts;
extern const struct bench_rival bench_rival_timeout_c;
extern const struct bench_rival bench_rival_timer_set;
extern const struct bench_rival bench_rival_ratas;
extern const struct bench_rival bench_rival_heap;
extern const struct bench_rival bench_rival_libev;
extern const struct bench_rival bench_rival_libuv;
extern const struct bench_rival bench_rival_libevent;
extern const struct bench_rival bench_rival_timerfd;

#endif
