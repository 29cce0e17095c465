/* SPDX-License-Identifier: MIT */
/* bench/wheel/fail.h - ends a benchmark that cannot go on. */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include <stddef.h>

/* Ends the process. After bench_fail_into, as in a child, stores the message for the parent. Without it, prints the
 * message. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Messages of bench_fail go to this buffer from now on. */
void bench_fail_into(char *buffer, size_t size);

#endif
