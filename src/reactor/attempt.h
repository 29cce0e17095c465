/* SPDX-License-Identifier: MIT */
/* reactor/attempt.h - operations as system calls that do not block, for the reactor on epoll. */
#ifndef VERGE_SRC_REACTOR_ATTEMPT_H
#define VERGE_SRC_REACTOR_ATTEMPT_H

#include "reactor/operation.h"

/* What is known of the file when an operation is attempted. */
enum verge__readiness {
    VERGE__NOT_KNOWN,    /* nothing */
    VERGE__READY,        /* it was ready a moment ago */
    VERGE__ALWAYS_READY, /* it knows no readiness: the call may block, and has to be made */
};

/* True: *ret_result is the result. False: it would have blocked. */
bool verge__attempt(struct verge__operation *operation, enum verge__readiness readiness, int32_t *ret_result);

/* Undoes what an attempt has left behind; after the last one. */
void verge__attempt_end(const struct verge__operation *operation);

#endif
