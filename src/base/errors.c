/* SPDX-License-Identifier: MIT */
/* Sentences for error numbers. All are constants, so any thread may call verge_strerror at any time. */
#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "verge/base.h"

/* The sentence for an error that verge only passes on from the system. */
static const char *of_the_system(int error) {
    const char *sentence = NULL;
    (void)error;
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 32)
    sentence = error < -INT_MAX ? NULL : strerrordesc_np(-error); /* a constant, unlike the text of strerror */
#endif
#endif
    return sentence != NULL ? sentence : "an error without a sentence of its own";
}

const char *verge_strerror(int error) {
    if (error == VERGE_RUNNING) { /* and not EPERM, which is the same number */
        return "not an error: the callback or handler is running now";
    }
    /* The error is made negative, not positive, because -INT_MIN does not fit into an int. */
    switch (error > 0 ? -error : error) {
    case 0:
        return "success";
    case -EINVAL:
        return "invalid argument, option or time (a deadline is not a duration; the options of a wheel, a service, "
               "a runtime, a scope and durable have an ..._options_explain)";
    case -ERANGE:
        return "the time is too far ahead";
    case -ENOENT:
        return "not found: the timer has ended, or there is no such file, socket, host, table or other thing";
    case -EBADF:
        return "not an open file descriptor, or not a handle of any timer";
    case -EPERM:
        return "not permitted: called outside of a task, or for what belongs to another, or refused by the system";
    case -EOVERFLOW:
        return "the result does not fit";
    case -ENOSPC:
        return "a configured cap is reached, or the device is full";
    case -ENOMEM:
        return "out of memory; nothing has changed";
    case -EBUSY:
        return "not possible now: something is in use that must be idle";
    case -ECHILD:
        return "after fork, it belongs to the parent process and its threads; or there is no such child process";
    case -EAGAIN:
        return "it cannot be done at once, and the call does not wait; or no thread could be started";
    case -EDEADLK:
        return "deadlock: it would wait for itself, or all tasks wait for each other";
#if defined(EALREADY)
    case -EALREADY:
        return "already done, or about to be";
#endif
#if defined(ESHUTDOWN)
    case -ESHUTDOWN:
        return "shut down, or about to be";
#endif
    case -EPIPE:
        return "the other end is closed";
#if defined(ENODATA)
    case -ENODATA:
        return "the end of the data came too early";
#endif
    case -ENOSYS:
        return "not available on this system, or in this build of the library";
#if defined(EOPNOTSUPP)
    case -EOPNOTSUPP:
        return "not supported by this backend, or for this descriptor";
#endif
    case -ETIMEDOUT:
        return "the deadline has passed, or the system has given up the connection";
#if defined(ECANCELED)
    case -ECANCELED:
        return "the operation was cancelled";
#endif
#if defined(EOWNERDEAD)
    case -EOWNERDEAD:
        return "the thread of a worker ended in a task";
#endif
    default:
        return of_the_system(error > 0 ? -error : error);
    }
}
