/* SPDX-License-Identifier: MIT */
#include "base/one_thread.h"

#if defined(VERGE_ASSERTS) && VERGE_ASSERTS && VERGE__GNU_C && !defined(__STDC_NO_ATOMICS__)

#include <stdio.h>
#include <stdlib.h>

static const void *this_thread(void) {
    static _Thread_local char own;
    return &own;
}

static void check(const void *inside) {
    if (inside != NULL && inside != this_thread()) {
        (void)fputs(
            "verge: two threads use one wheel at the same time; a wheel is for one thread at a time, or needs a "
            "lock\n",
            stderr);
        abort();
    }
}

verge__stay verge__enter(verge__one_thread *one_thread) {
    verge__stay stay = {.one_thread = one_thread};
    if (one_thread != NULL) {
        stay.before = atomic_exchange_explicit(&one_thread->inside, this_thread(), memory_order_relaxed);
        check(stay.before);
    }
    return stay;
}

void verge__leave(const verge__stay *stay) {
    if (stay->one_thread != NULL) {
        atomic_store_explicit(&stay->one_thread->inside, stay->before, memory_order_relaxed);
    }
}

void verge__look(const verge__one_thread *one_thread) {
    check(atomic_load_explicit(&one_thread->inside, memory_order_relaxed));
}

void verge__go_outside(verge__one_thread *one_thread) {
    atomic_store_explicit(&one_thread->inside, NULL, memory_order_relaxed);
}

/* The thread may not be the one that went outside: a task may have moved to another thread meanwhile. */
void verge__come_back(verge__one_thread *one_thread) {
    (void)verge__enter(one_thread);
}

#else

typedef int verge__nothing_to_compile;

#endif
