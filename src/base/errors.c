/* SPDX-License-Identifier: MIT */
/* Sentences for error numbers. All are constants, so any thread may ask at any time. */
#include <errno.h>

#include "verge/base.h"

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
        return "the timer is gone: it fired, was cancelled or was cleared";
    case -EBADF:
        return "no such timer has ever been";
    case -EOVERFLOW:
        return "the result does not fit";
    case -ENOSPC:
        return "a configured cap is reached";
    case -ENOMEM:
        return "out of memory; nothing has changed";
    case -EBUSY:
        return "not now: something that must be idle is not";
    case -ETIMEDOUT:
        return "the deadline has passed";
    case -ECANCELED:
        return "the operation was cancelled";
    case -EOWNERDEAD:
        return "the thread of a worker ended in a task";
    default:
        return "an error without a sentence of its own";
    }
}
