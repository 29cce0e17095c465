/* SPDX-License-Identifier: MIT */
/* Plain threads are those that run no tasks. While they wait for a task or for each other, they sleep in a futex. */
#include <errno.h>

#include "task/runtime.h"
#include "task/waiters.h"

int verge__plain_wait(verge__waiter *waiter, uint64_t deadline_ns) {
    const verge_clock clock = verge_clock_monotonic();
    while (atomic_load(&waiter->is_woken) == 0) {
        if (deadline_ns != VERGE_NEVER && deadline_ns <= verge__clock_now(&clock)) {
            return -ETIMEDOUT;
        }
        verge__futex_sleep_until(&waiter->is_woken, 0, deadline_ns);
    }
    return 0;
}

void verge__plain_wake(verge__waiter *waiter) {
    atomic_store(&waiter->is_woken, 1);
    verge__futex_wake_one(&waiter->is_woken);
}
