/* SPDX-License-Identifier: MIT */
/*
 * base/one_thread.h - a wheel is for one thread at a time. Builds with VERGE_ASSERTS and GNU C notice when two threads
 * are inside the functions of one wheel at the same moment, and abort with a message. Other builds check nothing.
 *
 * VERGE__ENTER(wheel) marks the wheel as in use by this thread until the function returns. VERGE__LOOK(wheel) is for
 * functions that only read: it checks the mark and does not set it. While the wheel calls a function of the caller's,
 * the mark is lifted (VERGE__OUTSIDE): that function may unlock a mutex and let another thread use the wheel.
 *
 * The check does not demand that one thread makes all calls, because programs may pass a wheel from thread to thread,
 * or share it under a lock. Two threads inside at once are always a data race, so this check never raises a false
 * alarm. It does not find every race: only those in which both threads are inside. ThreadSanitizer finds the others.
 *
 * The mark is atomic and relaxed: it must not order the threads, or ThreadSanitizer would no longer see their race.
 */
#ifndef VERGE_SRC_BASE_ONE_THREAD_H
#define VERGE_SRC_BASE_ONE_THREAD_H

#include "base/compiler.h"

#if defined(VERGE_ASSERTS) && VERGE_ASSERTS && VERGE__GNU_C && !defined(__STDC_NO_ATOMICS__)

#include <stdatomic.h>

/* The thread that is inside, as the address of a variable of that thread. NULL: none. */
typedef struct verge__one_thread {
    _Atomic(const void *) inside;
} verge__one_thread;

/* The mark to restore when a function returns. It need not be NULL, as functions of the wheel call each other. */
typedef struct verge__stay {
    verge__one_thread *one_thread; /* NULL: there is no wheel */
    const void *before;
} verge__stay;

verge__stay verge__enter(verge__one_thread *one_thread);
void verge__leave(const verge__stay *stay);
void verge__look(const verge__one_thread *one_thread);
void verge__go_outside(verge__one_thread *one_thread);
void verge__come_back(verge__one_thread *one_thread);

#define VERGE__ONE_THREAD verge__one_thread one_thread;
#define VERGE__ENTER(wheel) \
    __attribute__((cleanup(verge__leave))) const verge__stay verge__stay_ = \
        verge__enter((wheel) == NULL ? NULL : &(wheel)->one_thread); \
    (void)verge__stay_
#define VERGE__LOOK(wheel) ((wheel) == NULL ? (void)0 : verge__look(&(wheel)->one_thread))
#define VERGE__OUTSIDE(wheel, call) \
    do { \
        verge__go_outside(&(wheel)->one_thread); \
        (call); \
        verge__come_back(&(wheel)->one_thread); \
    } while (0)

#else

#define VERGE__ONE_THREAD
#define VERGE__ENTER(wheel) ((void)0)
#define VERGE__LOOK(wheel) ((void)0)
#define VERGE__OUTSIDE(wheel, call) ((void)(call))

#endif

#endif
