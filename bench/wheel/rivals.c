/* SPDX-License-Identifier: MIT */
#include "rivals.h"

#include "rival.h"

const struct bench_rival *const bench_rivals[] = {
    &bench_rival_textbook,
#if BENCH_HAVE_VERGE
    &bench_rival_verge,     &bench_rival_verge_timeouts,
#endif
    &bench_rival_timeout_c, &bench_rival_timer_set,      &bench_rival_ratas, &bench_rival_heap,
#if BENCH_HAVE_LIBEV
    &bench_rival_libev,
#endif
#if BENCH_HAVE_LIBUV
    &bench_rival_libuv,
#endif
#if BENCH_HAVE_LIBEVENT
    &bench_rival_libevent,
#endif
    &bench_rival_timerfd,
};

const size_t bench_rival_count = sizeof(bench_rivals) / sizeof(bench_rivals[0]);
