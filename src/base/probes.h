/* SPDX-License-Identifier: MIT */
/*
 * base/probes.h - probes for tracers (USDT): verge:start and so on, for bpftrace, perf and systemtap.
 *
 * If <sys/sdt.h> exists at build time (VERGE_PROBES), a probe is one nop, and a note in the ELF file that says where
 * its arguments are. Otherwise a probe compiles to nothing. Its arguments may or may not be evaluated, so they must
 * have no side effects. On hot paths they must be values that are in registers anyway. "timer" is a handle, or the
 * address of a timeout.
 *
 *   start       wheel, timer, deadline_ns
 *   reset       wheel, timer, deadline_ns
 *   cancel      wheel, timer
 *   fire        wheel, timer, deadline_ns, now_ns      a poll or run hands out the timer
 *   cascade     calendar, level, node_count            nodes go from this level to lower ones. The calendar is an
 *                                                      address inside a wheel, or inside a worker of a service
 *   run         service, timer, callback, scheduled_ns, actual_ns      a callback begins
 *   ran         service, timer                         the callback has returned
 *   migrate     service, worker_id, deadline_ns        a timer leaves this worker for another
 */
#ifndef VERGE_SRC_BASE_PROBES_H
#define VERGE_SRC_BASE_PROBES_H

#if defined(VERGE_PROBES) && VERGE_PROBES

#include <sys/sdt.h>

#if defined(__clang__)
/* The macros of sys/sdt.h pass no variadic arguments, which ISO C did not allow before C23. clang warns, and since
 * version 19 the warning has another name. */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#if __has_warning("-Wc23-extensions")
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif
#endif

#define VERGE__PROBE2(name, a, b) DTRACE_PROBE2(verge, name, a, b)
#define VERGE__PROBE3(name, a, b, c) DTRACE_PROBE3(verge, name, a, b, c)
#define VERGE__PROBE4(name, a, b, c, d) DTRACE_PROBE4(verge, name, a, b, c, d)
#define VERGE__PROBE5(name, a, b, c, d, e) DTRACE_PROBE5(verge, name, a, b, c, d, e)

#else

#define VERGE__PROBE2(name, a, b) ((void)sizeof(a), (void)sizeof(b))
#define VERGE__PROBE3(name, a, b, c) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#define VERGE__PROBE4(name, a, b, c, d) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c), (void)sizeof(d))
#define VERGE__PROBE5(name, a, b, c, d, e) (VERGE__PROBE4(name, a, b, c, d), (void)sizeof(e))

#endif

#endif
