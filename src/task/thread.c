/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "task/thread.h"

#include <errno.h>
#include <signal.h>

int verge__thread_create(pthread_t *ret_thread, void *(*function)(void *argument), void *argument) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked, before;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        (void)sigdelset(&blocked, faults[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int error = pthread_create(ret_thread, NULL, function, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? 0 : -EAGAIN;
}
