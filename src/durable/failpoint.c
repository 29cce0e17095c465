/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "durable/failpoint.h"

#if defined(VERGE_STEPS) && VERGE_STEPS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void verge__failpoint(const char *name) {
    static _Atomic(long) passed;
    const char *wanted = getenv("VERGE_DURABLE_FAILPOINT");
    if (wanted == NULL) {
        return;
    }
    const size_t length = strlen(name);
    if (strncmp(wanted, name, length) != 0 || wanted[length] != ':') {
        return;
    }
    if (atomic_fetch_add(&passed, 1) + 1 == strtol(wanted + length + 1, NULL, 10)) {
        (void)raise(SIGKILL);
    }
}

#else

typedef int verge__no_failpoints; /* an empty file is not C */

#endif
