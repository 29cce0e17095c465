/* SPDX-License-Identifier: MIT */
/*
 * Linked into the tests that run on both backends. If the system does not allow io_uring, as in many containers, the
 * tests on io_uring are skipped before they begin. With VERGE_TEST_IO_URING=required they fail instead.
 *
 * The check asks the system, not the library. If only the library cannot set up its ring, the tests must fail.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SKIPPED = 77, /* SKIP_RETURN_CODE in tests/CMakeLists.txt */
    FAILED = 1,
};

static bool is_allowed(long result) {
    return result >= 0 || (errno != ENOSYS && errno != EPERM && errno != EACCES);
}

static bool io_uring_is_allowed(void) {
    /* Without parameters and without a ring, both calls fail. If they are allowed, they fail with EFAULT and EBADF. */
    return is_allowed(syscall(SYS_io_uring_setup, 1, NULL)) &&
           is_allowed(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
}

__attribute__((constructor)) static void skip_where_io_uring_is_not_allowed(void) {
    const char *backend = getenv("VERGE_BACKEND");
    if (backend == NULL || strcmp(backend, "io_uring") != 0 || io_uring_is_allowed()) {
        return;
    }
    const char *demand = getenv("VERGE_TEST_IO_URING");
    const bool is_required = demand != NULL && strcmp(demand, "required") == 0;
    (void)fprintf(stderr, "io_uring: %s\n", strerror(errno));
    _exit(is_required ? FAILED : SKIPPED);
}
