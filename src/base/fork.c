/* SPDX-License-Identifier: MIT */
#include "base/fork.h"

#include <pthread.h>

_Atomic uint32_t verge__fork_count;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int error_of_watching;

static void in_child(void) {
    atomic_store_explicit(&verge__fork_count, verge__forks() + 1, memory_order_relaxed);
}

static void watch(void) {
    error_of_watching = -pthread_atfork(NULL, NULL, in_child);
}

int verge__watch_forks(void) {
    (void)pthread_once(&once, watch);
    return error_of_watching;
}
