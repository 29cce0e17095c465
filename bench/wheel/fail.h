/* SPDX-License-Identifier: MIT */
/* bench/wheel/fail.h - the one way in which a benchmark that cannot go on ends. */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include <stddef.h>

/* In a child: puts the message where the parent finds it and ends the child. Else: prints it and exits. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Messages of bench_fail go to this buffer from now on. */
void bench_fail_into(char *buffer, size_t size);

#endif
