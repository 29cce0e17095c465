/* SPDX-License-Identifier: MIT */
#include "base/fork.h"

#include <pthread.h>

_Atomic uint32_t verge__fork_count;

int verge__at_fork(_Atomic bool *is_asked, void (*in_child)(void)) {
    if (atomic_load_explicit(is_asked, memory_order_relaxed)) {
        return 0;
    }
    const int error = -pthread_atfork(NULL, NULL, in_child);
    if (error == 0) {
        atomic_store_explicit(is_asked, true, memory_order_relaxed);
    }
    return error;
}

static void count_fork(void) {
    atomic_store_explicit(&verge__fork_count, verge__forks() + 1, memory_order_relaxed);
}

int verge__watch_forks(void) {
    static _Atomic bool is_watching;
    return verge__at_fork(&is_watching, count_fork);
}
