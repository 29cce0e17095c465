/* SPDX-License-Identifier: MIT */
#include "output/reason.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <verge/base.h>

const char *reason_of(int error) {
    switch (error) {
    case -EAGAIN: /* this text is about threads; that of verge_strerror is about timers and tasks */
        return "a thread cannot be started: a limit on threads (ulimit -u) or on address space (ulimit -v)";
    case -ENOMEM:
        return "out of memory, or of address space (ulimit -v)";
    case -EMFILE:
        return "too many open files (ulimit -n)";
    case -ENFILE:
        return "too many open files in the whole system";
    default:
        return verge_strerror(error);
    }
}

const char *reason_of_runtime(int error) {
    static char text[160];
    const char *backend = getenv("VERGE_BACKEND");
    if (backend == NULL || *backend == '\0' || (error != -EINVAL && error != -ENOSYS && error != -EPERM)) {
        return reason_of(error);
    }
    (void)snprintf(text, sizeof(text), "VERGE_BACKEND=%.40s: %s", backend,
                   error == -EINVAL ? "no such backend; there are io_uring and epoll"
                                    : "not on this system, or not in this build");
    return text;
}
