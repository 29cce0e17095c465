/* SPDX-License-Identifier: MIT */
/* support/crash.h - prints how to replay a test if it crashes. */
#ifndef VERGE_TESTS_SUPPORT_CRASH_H
#define VERGE_TESTS_SUPPORT_CRASH_H

/* `say` is called when the program aborts, faults or is ended by a sanitizer. */
void verge_test_on_crash(void (*say)(void));

#endif
