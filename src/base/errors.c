/* SPDX-License-Identifier: MIT */
/* Sentences for error numbers. All are constants, so any thread may ask at any time. */
#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "verge/base.h"

/* For what comes from the system, which knows it better. */
static const char *of_the_system(int error) {
    const char *sentence = NULL;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
    sentence = error < -INT_MAX ? NULL : strerrordesc_np(-error); /* unlike strerror, constant */
#else
    (void)error;
#endif
    return sentence != NULL ? sentence : "an error without a sentence of its own";
}

const char *verge_strerror(int error) {
    /* Negative, not positive: the negative of INT_MIN does not fit. */
    switch (error > 0 ? -error : error) {
    case 0:
        return "success";
    case -EINVAL:
        return "an argument, an option or a time makes no sense";
    case -ERANGE:
        return "the time is too far ahead";
    case -ENOENT:
        return "not found: a timer that fired, was cancelled or was cleared, or a file that is not there";
    case -EBADF:
        return "not an open file descriptor, or not a handle of any timer";
    case -EPERM:
        return "not permitted: called outside of a task, or for what belongs to another";
    case -EOVERFLOW:
        return "the result does not fit";
    case -ENOSPC:
        return "a configured cap is reached, or the device is full";
    case -ENOMEM:
        return "out of memory; nothing has changed";
    case -EBUSY:
        return "not now: something that must be idle is not";
    case -EAGAIN:
        return "not at once, and it was not to wait";
    case -EDEADLK:
        return "it would wait for itself";
    case -EALREADY:
        return "that is so already, or about to be";
    case -ESHUTDOWN:
        return "it is shut down, or about to be";
    case -EPIPE:
        return "the other end is closed";
    case -ENODATA:
        return "the end came before all of it";
    case -ENOSYS:
        return "this system, or this build of the library, has no such thing";
    case -EOPNOTSUPP:
        return "not on this backend, or not for this descriptor";
    case -ETIMEDOUT:
        return "the deadline has passed, or the system has given the connection up";
    case -ECANCELED:
        return "the operation was cancelled";
    case -EOWNERDEAD:
        return "the thread of a worker ended in a task";
    default:
        return of_the_system(error > 0 ? -error : error);
    }
}
